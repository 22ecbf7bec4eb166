"""The agent's own log, replayed: the same run again, without a server."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.reference_agent.agent_process import AgentProcess
from tests.reference_agent.model_server import Answer, ModelServer, call, finish, text
from tests.reference_agent.workbench import Workbench

type Model = Callable[..., ModelServer]

TOOLS = finish("tool_calls")
STOP = finish("stop")
DONE = [text("do"), text("ne"), text("!"), STOP]
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def renamed(values: list[Any]) -> list[Any]:
    """The values with each id replaced by the number of its first appearance, and without times."""
    seen: dict[str, str] = {}
    written = json.dumps(values)
    named = UUID.sub(lambda found: seen.setdefault(found[0], f"id {len(seen)}"), written)
    renumbered: list[Any] = json.loads(re.sub(r'"createdAt": \d+', '"createdAt": 0', named))
    return renumbered


def check_same_run_again(
    bench: Workbench,
    agent: AgentProcess,
    session: str,
    play: Callable[[AgentProcess, str], None],
    **config: Any,
) -> None:
    """Play once more against the logs of the first run; frames and logs must be the same."""
    play(agent, session)
    assert agent.close() == 0
    sessions = family(bench, session)
    again, replayed = bench.replay(sessions, **config)
    play(again, replayed)
    assert again.close() == 0
    assert again.stderr.decode() == ""
    assert renamed(again.frames[2:]) == renamed(agent.frames[2:])
    for old, new in zip(sessions, family(bench, replayed), strict=True):
        assert renamed(bench.rows(new)) == renamed(bench.rows(old))
    journal = [json.loads(line) for line in (bench.root / "journal").read_text().splitlines()]
    assert {entry["kind"] for entry in journal} == {"call"}


def family(bench: Workbench, session: str) -> list[str]:
    """A session and its descendants in the order in which they were made."""
    found = [session]
    for member in found:
        found += bench.children(member)
    return sorted(found, key=lambda member: bench.rows(member)[0]["createdAt"])


def prompts(*texts: str) -> Callable[[AgentProcess, str], None]:
    def play(agent: AgentProcess, session: str) -> None:
        for said in texts:
            agent.prompt(session, said)

    return play


def test_tools_and_turns(bench: Workbench, model: Model) -> None:
    (bench.work / "a.txt").write_text("alpha\n")
    calls = [call(0, "c1", "read", {"path": "a.txt"}), call(1, "c2", "bash", {"command": "seq 1 900"}), TOOLS]
    settings = {"tools": {"bash_preview_bytes": 256}}
    agent, session = bench.start(model(calls, DONE, DONE), **settings)
    check_same_run_again(bench, agent, session, prompts("go", "more"), **settings)


def test_failures_and_retries(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(503, [text("pie"), text("ce"), "break"], DONE, [STOP], DONE, 401))
    check_same_run_again(bench, agent, session, prompts("one", "two", "three"))


def test_cut_replies_go_on(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model([text("half"), finish("length")], DONE))
    check_same_run_again(bench, agent, session, prompts("go"))


def test_cancel_in_the_middle(bench: Workbench, model: Model) -> None:
    def play(agent: AgentProcess, session: str) -> None:
        prompt = agent.begin_prompt(session, "go")
        agent.wait_for(lambda frame: frame.get("method") == "session/update")
        agent.notify("session/cancel", {"sessionId": session})
        agent.response(prompt)

    agent, session = bench.start(model([text("partly"), "hold"]))
    check_same_run_again(bench, agent, session, play)


def test_parallel_and_nested_subagents(bench: Workbench, model: Model) -> None:
    def delegate(*tasks: str) -> Answer:
        asked = [{"description": "d", "prompt": task} for task in tasks]
        return [
            *(
                call(n, f"{task} {n}", "subagent", a)
                for n, (a, task) in enumerate(zip(asked, tasks, strict=True))
            ),
            TOOLS,
        ]

    def choose(body: dict[str, Any]) -> Answer:
        said = body["messages"][-1]["content"]
        if said == "go":
            return delegate("left", "right")
        if said == "left":
            return delegate("leaf")
        return DONE

    agent, session = bench.start(model(choose=choose))
    check_same_run_again(bench, agent, session, prompts("go"))


def test_fork(bench: Workbench, model: Model) -> None:
    task = {"description": "d", "prompt": "again", "mode": "fork"}
    agent, session = bench.start(
        model(DONE, [call(0, "c1", "subagent", task), TOOLS], [text("x"), STOP], DONE)
    )
    check_same_run_again(bench, agent, session, prompts("remember", "go"))


def test_call_that_was_never_recorded_fails_the_prompt(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(DONE))
    agent.prompt(session, "go")
    agent.close()
    again, replayed = bench.replay([session])
    assert "result" in again.prompt(replayed, "go")
    assert again.prompt(replayed, "one more")["error"]["data"] == {"code": "REPLAY"}


def test_recorded_hang_waits_for_the_cancel(bench: Workbench, model: Model) -> None:
    agent, session = bench.start(model(DONE))
    agent.prompt(session, "go")
    agent.close()
    chunks: list[dict[str, Any]] = [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "partly"},
    ]
    entry = {"kind": "hang", "chunks": chunks, "readyFile": "ready"}
    bench.override({"patches": [{"at": 0, "entry": entry}]})
    again, replayed = bench.replay([session])
    prompt = again.begin_prompt(replayed, "go")
    while not (bench.work / "ready").exists():
        time.sleep(0.01)
    again.notify("session/cancel", {"sessionId": replayed})
    assert again.response(prompt)["result"] == {"stopReason": "cancelled"}
    assert [update["content"]["text"] for update in again.updates("agent_message_chunk")] == ["partly"]


def test_overlay_without_a_recording_is_explained(tmp_path: Path) -> None:
    overlay = Path(__file__).absolute().parents[2] / "scenarios" / "reference_agent" / "replay.overlay.yaml"
    with AgentProcess(["--config", str(overlay)]) as agent:
        assert agent.process.wait(20) == 2
        agent.threads[1].join()
        assert agent.stderr.decode().startswith("reference_agent: AGENT_REPLAY_FIXTURE is not set")
