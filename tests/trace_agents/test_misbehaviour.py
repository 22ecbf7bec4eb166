"""Agents that crash, hang, break the protocol or leave something behind: a sentence each, and no process is left."""

import signal
from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage

SENTENCES: list[tuple[str, dict[str, Any], int, str]] = [
    (
        "exits before hello",
        {"hello": None, "before": [{"exit": 3}]},
        3,
        "exited with status 3 before it said hello",
    ),
    (
        "crashes in a run",
        {"steps": [GOOD_STEPS[0], {"stderr": "out of luck"}, {"exit": 7}]},
        3,
        "exited with status 7 before it ended its run",
    ),
    (
        "is killed",
        {"steps": [{"kill": int(signal.SIGKILL)}]},
        3,
        "was ended by SIGKILL before it ended its run",
    ),
    ("exits badly after its final", {"exit": 4}, 3, "exited with status 4 after its final"),
    ("does not exit", {"stays": 60}, 3, "did not exit 1 s after its last run"),
    (
        "prints on stdout",
        {"steps": [{"raw": "hello, world\n"}, *GOOD_STEPS]},
        3,
        "a line of the agent is not JSON: hello,",
    ),
    ("sends no object", {"steps": [{"raw": "[1]\n"}]}, 3, "a line of the agent is no JSON object"),
    (
        "says an op that is none",
        {"steps": [{"raw": '{"op":"think"}\n'}]},
        3,
        'has no op of the protocol, but "think"',
    ),
    (
        "misspells a member",
        {"steps": [{"raw": '{"op":"model","id":1,"messages":[],"modell":"x"}\n'}]},
        3,
        'a line of the agent (model) has no member "modell"',
    ),
    (
        "uses an id twice",
        {"steps": [GOOD_STEPS[0], {**GOOD_STEPS[1], "id": 1}]},
        3,
        "used the id 1 for two calls",
    ),
    (
        "is done with what it did not ask",
        {"steps": [{"raw": '{"op":"done","id":9,"result":1}\n'}]},
        3,
        "is done with a call 9 that it never made",
    ),
    ("speaks another protocol", {"hello": {"protocol": 2}}, 3, "speaks protocol 2; this runner speaks 1"),
    (
        "does not begin with hello",
        {"hello": None, "before": [{"raw": '{"op":"final","answer":1}\n'}]},
        3,
        "first message",
    ),
    (
        "leaves a process behind",
        {"steps": [{"orphan": 60}, *GOOD_STEPS]},
        3,
        "left processes behind: sleep 60",
    ),
]


@pytest.mark.parametrize(
    ("script", "code", "sentence"), [row[1:] for row in SENTENCES], ids=[row[0] for row in SENTENCES]
)
def test_agent_that(stage: Stage, script: dict[str, Any], code: int, sentence: str) -> None:
    stage.script.update(script)
    outcome = stage.run()
    assert sentence in outcome.text, outcome.text
    assert outcome.code == code, outcome.text
    assert "Traceback" not in outcome.text
    assert outcome.processes() == []


def test_agent_that_hangs_in_a_run_is_ended(stage: Stage) -> None:
    stage.manifest["run_seconds"] = 1
    stage.script["steps"] = [GOOD_STEPS[0], {"hang": True}]
    outcome = stage.run()
    assert outcome.code == 3
    assert "the run is not over after 1 s" in outcome.text
    assert outcome.processes() == []
    # What it did until then is kept.
    assert len(outcome.actual("weather").steps) == 1


def test_agent_that_never_says_hello_stops_the_whole_test(stage: Stage) -> None:
    stage.manifest["run_seconds"] = 1
    stage.traces = [WEATHER._replace(trace_id=f"t{number}") for number in range(5)]
    stage.script.update(hello=None, before=[{"stderr": "waiting for a login"}, {"hang": True}])
    outcome = stage.run()
    assert outcome.code == 3
    assert "said no hello in 1 s" in outcome.text
    assert "waiting for a login" in outcome.text
    assert outcome.seconds < 10


def test_agent_that_is_not_there(stage: Stage) -> None:
    stage.agent["binary"] = "/nowhere/agent"
    outcome = stage.run()
    assert outcome.code == 3
    assert '"/nowhere/agent" cannot be started: No such file or directory' in outcome.text


def test_broken_run_costs_no_other_run(stage: Stage) -> None:
    stage.traces = [WEATHER._replace(trace_id=f"t{number}") for number in range(4)]
    stage.manifest.update(threshold=0.75, jobs=2)
    stage.script.update(runs="many", steps={"t1": [{"exit": 5}], "*": GOOD_STEPS})
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert "3 of 4 traces passed, 75 %" in outcome.first_line


def test_stop_signal_ends_agent_and_names_what_was_not_run(stage: Stage) -> None:
    stage.traces = [WEATHER._replace(trace_id=f"t{number}") for number in range(2)]
    stage.script["steps"] = [{"file": "{{cwd}}/../../../started", "text": "x"}, {"hang": True}]
    stage.manifest["run_seconds"] = 60
    started = stage.temporary.parent / "started"
    process = stage.start()
    try:
        while not started.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        text = process.communicate(timeout=20)[0].decode()
    finally:
        process.kill()
    assert process.returncode == 3
    assert "SIGTERM ended the test" in text
