"""What only a real process shows: the client's files and terminals, conditions, restarts, batches."""

import json
import os
from pathlib import Path
from typing import Any

from tests.agents.stage import Scenario


def _ask(method: str, **params: Any) -> dict[str, Any]:
    return {
        "ask": {"jsonrpc": "2.0", "id": 100, "method": method, "params": {"sessionId": "{session}", **params}}
    }


def _answers(recorded: Scenario) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (recorded.outputs / "agent.stderr.txt").read_text().splitlines()]


def test_files_of_the_client_stay_in_the_sandbox(recorded: Scenario) -> None:
    recorded.agent_script = {
        "session/prompt": [
            _ask("fs/write_text_file", path="{cwd}/a.txt", content="one"),
            _ask("fs/read_text_file", path="{cwd}/a.txt"),
            _ask("fs/read_text_file", path="/etc/passwd"),
            {"normal": 0},
        ]
    }
    recorded.run()
    written, read, refused = _answers(recorded)
    assert written["result"] == {}
    assert read["result"] == {"content": "one"}
    assert "outside" in refused["error"]["message"]


def test_terminal_of_the_client_answers_when_the_command_ended(recorded: Scenario) -> None:
    recorded.agent_script = {
        "session/prompt": [
            _ask("terminal/create", command="sh", args=["-c", "sleep 0.1; echo done; exit 4"]),
            _ask("terminal/wait_for_exit", terminalId="terminal-1"),
            _ask("terminal/output", terminalId="terminal-1"),
            _ask("terminal/release", terminalId="terminal-1"),
            {"normal": 0},
        ]
    }
    outcome = recorded.run()
    created, ended, output, released = _answers(recorded)
    assert created["result"] == {"terminalId": "terminal-1"}
    assert ended["result"]["exitCode"] == 4
    assert output["result"]["output"] == "done\n"
    assert released["result"] == {}
    assert outcome.processes() == []


def test_terminal_that_was_never_released_is_ended_and_no_fault_of_the_agent(recorded: Scenario) -> None:
    recorded.agent_script = {
        "session/prompt": [_ask("terminal/create", command="sleep", args=["60"]), {"normal": 0}]
    }
    outcome = recorded.run()
    assert outcome.code == 1
    assert outcome.first_line.startswith("hello: stdout:3")
    assert outcome.processes() == []


def test_restarted_agent_goes_on_where_it_stopped(scenario: Scenario) -> None:
    scenario.answers = ["One.", "Two."]
    scenario.steps = [
        {"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": "a"}, {"op": "waitForTurnEnd"},
        {"op": "restartAgent"}, {"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": "b"},
    ]  # fmt: skip
    assert scenario.refresh().code == 0
    outcome = scenario.run()
    assert outcome.code == 0, outcome.text
    assert outcome.result["agent"]["starts"] == 2
    assert [case["surface"] for case in outcome.result["cases"]] == [
        "stdout",
        "session",
        "session.1",
        "consumption",
    ]


def test_wait_for_a_file_that_never_comes_says_so(recorded: Scenario) -> None:
    (recorded.fixture / "input.json").unlink()
    recorded.steps = [*recorded.steps, {"op": "waitForFile", "path": "ready.txt"}]
    outcome = recorded.run()
    assert outcome.code == 3
    assert 'no file "ready.txt" in the cwd in 1 s; the agent lives' in outcome.first_line


def _batch(recorded: Scenario, count: int) -> Path:
    """A manifest of several copies of one scenario; the copies' names end in their numbers."""
    path = recorded.write()
    value = json.loads(path.read_text())
    value["batched"] = True
    value["scenarios"] = [{**value["scenarios"][0], "name": f"hello-{number}"} for number in range(count)]
    path.write_text(json.dumps(value))
    recorded.write = lambda: path  # type: ignore[method-assign]
    return path


def test_batch_runs_its_shard_and_keeps_artefacts_apart(recorded: Scenario) -> None:
    _batch(recorded, 5)
    xml = recorded.directory / "test.xml"
    outcome = recorded.run(
        TEST_TOTAL_SHARDS="2", TEST_SHARD_INDEX="1", TEST_SHARD_STATUS_FILE=str(recorded.directory / "shard"),
        XML_OUTPUT_FILE=str(xml),
    )  # fmt: skip
    assert outcome.code == 0, outcome.text
    assert sorted(os.listdir(recorded.outputs)) == ["hello-1", "hello-3"]
    assert "2 of 2 scenarios passed" in outcome.text
    assert (recorded.directory / "shard").exists()
    assert xml.read_text().count("<testsuite ") == 2


def test_batch_goes_on_after_a_failure_unless_told_otherwise(recorded: Scenario) -> None:
    _batch(recorded, 3)
    recorded.agent_script = {"start": [{"exit": 1}]}
    (recorded.directory / "agent.json").write_text(json.dumps(recorded.agent_script))
    outcome = recorded.run()
    assert outcome.code == 3
    assert "0 of 3 scenarios passed; failed: hello-0, hello-1, hello-2" in outcome.text
    outcome = recorded.run(TESTBRIDGE_TEST_RUNNER_FAIL_FAST="1")
    assert "0 of 1 scenarios passed; failed: hello-0" in outcome.text


def test_filter_chooses_scenario_and_surface(recorded: Scenario) -> None:
    _batch(recorded, 3)
    expected = recorded.fixture / "stdout.expected.jsonl"
    expected.write_text(expected.read_text().replace("there", "here"))
    assert recorded.run(TESTBRIDGE_TEST_ONLY="hello-1").code == 1
    assert recorded.run(TESTBRIDGE_TEST_ONLY="hello-1:session").code == 0
    assert recorded.run(TESTBRIDGE_TEST_ONLY="nothing").code == 2


def test_development_command_leaves_artefacts_where_told(recorded: Scenario, tmp_path: Path) -> None:
    outcome = recorded.refresh("--outputs", str(tmp_path / "out"), "hello")
    assert outcome.code == 0, outcome.text
    assert (tmp_path / "out" / "hello" / "result.json").exists()
