"""Agents that misbehave: each gets the right verdict in time, leaves evidence and no process."""

import itertools
import json
import signal
import time
from typing import Any

import pytest

from tests.agents.stage import Scenario

_GRACE_SECONDS = 5.0
_DEADLINE_SECONDS = 1.0

# name: (script of the agent, exit code, words of the first line)
CASES: dict[str, tuple[dict[str, Any], int, str]] = {
    "exits_at_once": ({"start": [{"exit": 3}]}, 3, 'exited with status 3: no answer to "initialize" (id 1)'),
    "never_answers": ({"initialize": [{"silence": 0}]}, 3, 'no answer to "initialize" (id 1) in 1 s; the agent lives'),
    "prints_noise_on_stdout": ({"start": [{"write": "Debugger listening\n"}]}, 3, "stdout carries a line that is not JSON"),
    "answers_twice": ({"session/new": [{"answer_twice": 0}]}, 3, "answers a second time"),
    "answers_out_of_order": ({"session/prompt": [{"answer_later_id": 1}]}, 3, "answers an id that was never sent"),
    "floods": ({"session/prompt": [{"flood": 0}]}, 3, 'no answer to "session/prompt" (id 3) in 1 s; the agent lives'),
    "ignores_sigterm": (
        {"start": [{"ignore": signal.SIGTERM}], "end": [{"sleep": 60}]}, 3, "did not exit in 1 s after its stdin closed; SIGKILL",
    ),
    "leaves_a_child": ({"end": [{"leave_child": "plain"}]}, 3, "left 1 process behind, now ended"),
    "leaves_a_daemon": ({"end": [{"leave_child": "daemon"}]}, 3, "left 1 process behind, now ended"),
    "leaves_a_child_that_holds_stdout": ({"end": [{"leave_child": "holding"}]}, 3, "left 1 process behind, now ended"),
    "closes_stdout_early": (
        {"session/prompt": [{"close_stdout": 0}, {"sleep": 60}]}, 3, "closed its stdout and lives on",
    ),
    "crashes_mid_prompt": (
        {"session/prompt": [{"stderr": "Traceback: boom\n"}, {"write": '{"jsonrpc":"2.0","id":3'}, {"exit": 1}]},
        3, 'exited with status 1: no answer to "session/prompt" (id 3)',
    ),
    "dies_by_signal": ({"session/prompt": [{"signal": signal.SIGSEGV}]}, 3, "was ended by SIGSEGV"),
    "exits_non_zero_at_the_end": ({"end": [{"exit": 7}]}, 3, "after its stdin closed the agent exited with status 7"),
    "never_exits": ({"end": [{"sleep": 60}]}, 3, "did not exit in 1 s after its stdin closed; SIGTERM ended it"),
    "writes_a_line_that_is_too_long": ({"session/prompt": [{"long_line": 17 << 20}, {"normal": 0}]}, 3, "a line of more than 16777216 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_misbehaving_agent_gets_its_verdict(recorded: Scenario, name: str) -> None:
    recorded.agent_script, code, words = CASES[name]
    outcome = recorded.run()
    assert words in outcome.first_line, outcome.text
    assert outcome.code == code
    assert outcome.seconds < _DEADLINE_SECONDS + _GRACE_SECONDS
    assert outcome.processes() == []
    assert "Traceback (most recent call last)" not in outcome.text
    assert not any(recorded.temporary.iterdir())
    assert outcome.result["first_line"] == outcome.first_line


def test_crash_leaves_frames_stderr_and_an_accept_ready_bundle(recorded: Scenario) -> None:
    recorded.agent_script = CASES["crashes_mid_prompt"][0]
    outcome = recorded.run()
    frames = [json.loads(line) for line in (recorded.outputs / "frames.jsonl").read_text().splitlines()]
    assert [frame["from"] for frame in frames] == ["client", "agent", "client", "agent", "client"]
    assert all(one["ms"] <= other["ms"] for one, other in itertools.pairwise(frames))
    assert (recorded.outputs / "agent.stderr.txt").read_text() == "Traceback: boom\n"
    assert "stderr: Traceback: boom" in outcome.text
    actual = (recorded.outputs / "actual" / "stdout.expected.jsonl").read_text()
    assert len(actual.splitlines()) == 2
    assert (recorded.outputs / "actual" / "session.jsonl").exists()
    assert outcome.result["agent"]["exit_status"] == 1


def test_line_of_sixteen_mebibytes_is_read(recorded: Scenario) -> None:
    recorded.options["wait_seconds"] = 10
    recorded.agent_script = {"session/prompt": [{"long_line": (16 << 20) - 400}, {"normal": 0}]}
    outcome = recorded.run()
    assert outcome.code == 1
    assert 'expected "Hello ", actual "xxx' in outcome.first_line
    assert len(outcome.text) < 20_000
    assert outcome.result["agent"]["stdout_bytes"] > 16_000_000


def test_accepted_misbehaviour_is_a_warning_with_its_reason(recorded: Scenario) -> None:
    recorded.agent_script = {"end": [{"leave_child": "daemon"}, {"exit": 7}]}
    recorded.options |= {"leftovers": "it keeps a language server", "exit_status": "7 means goodbye"}
    file = recorded.directory / "warnings"
    outcome = recorded.run(TEST_WARNINGS_OUTPUT_FILE=str(file))
    assert outcome.code == 0, outcome.text
    assert "accepted: it keeps a language server" in file.read_text()
    assert "accepted: 7 means goodbye" in file.read_text()
    assert outcome.processes() == []


def test_hang_is_reported_before_the_time_of_the_test_is_over(recorded: Scenario) -> None:
    recorded.agent_script = {"session/prompt": [{"silence": 0}]}
    recorded.options["wait_seconds"] = 30
    outcome = recorded.run(TEST_TIMEOUT="4")
    assert outcome.code == 3
    assert 'no answer to "session/prompt"' in outcome.first_line
    assert outcome.seconds < 4


def test_sigterm_ends_the_agent_and_leaves_what_is_known(recorded: Scenario) -> None:
    recorded.agent_script = {"session/prompt": [{"stderr": "waiting\n"}, {"sleep": 60}]}
    recorded.options["wait_seconds"] = 30
    xml = recorded.directory / "test.xml"
    process = recorded.start(XML_OUTPUT_FILE=str(xml))
    log = recorded.temporary
    limit = time.monotonic() + 10
    while not any(log.rglob("sessions/*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.01)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    text = process.communicate(timeout=15)[0].decode()
    assert process.returncode == 3
    assert time.monotonic() - began < _GRACE_SECONDS
    assert "SIGTERM or SIGINT ended the run" in text.split("\n")[0]
    assert 'type="AgentError"' in xml.read_text()
    assert (recorded.outputs / "actual" / "stdout.expected.jsonl").exists()
    assert not any(recorded.temporary.iterdir())


def test_attempt_to_leave_this_machine_is_named_without_a_gateway(recorded: Scenario) -> None:
    recorded.agent_script["start"] = [{"fetch": "https://api.example.com/v1"}]
    outcome = recorded.run()
    assert outcome.code == 3
    assert "api.example.com:443" in outcome.first_line
    assert outcome.processes() == []
