"""The agent started as people start it. The other tests start theirs in a quicker way (fork_server.py)."""

from collections.abc import Callable

from tests.reference_agent.model_server import ModelServer, finish, text
from tests.reference_agent.workbench import Workbench


def test_agent_in_an_interpreter_of_its_own_serves_a_turn_and_goes(
    spawning_bench: Workbench, model: Callable[..., ModelServer]
) -> None:
    agent, session = spawning_bench.start(model([text("ok"), finish("stop")]))
    assert agent.prompt(session, "hi")["result"] == {"stopReason": "end_turn"}
    assert agent.close() == 0
    assert agent.stderr == b""
    assert spawning_bench.kinds(session)[-1] == "turn/end"
    assert spawning_bench.kept_files() == [f"{session}.jsonl"]
