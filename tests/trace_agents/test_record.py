"""The record command: what a new recording keeps of the old one, what it says, and what it refuses before anything runs."""

from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage

LIVE: dict[str, Any] = {"model": "live answer", "weather": "9 degrees"}
RAISED = {"raw": '{"op":"final","error":{"type":"ValueError","message":"a word of the agent"}}\n'}


@pytest.fixture
def recording(stage: Stage) -> Stage:
    stage.script["answers"] = LIVE
    return stage


def test_provenance_of_the_old_recording_stays(recording: Stage) -> None:
    old = {"category": "lookup", "provenance": {"kind": "authored", "model": "a script"}}
    recording.traces = [WEATHER._replace(metadata=old)]
    assert recording.command("record", "weather").code == 0
    assert recording.committed().metadata == {
        "category": "lookup",
        "provenance": {"kind": "recorded", "model": "a script"},
    }


def test_run_that_raised_is_recorded_and_told_without_a_word_of_the_agents(recording: Stage) -> None:
    recording.script["steps"] = [*GOOD_STEPS[:2], RAISED]
    recorded = recording.command("record", "weather")
    assert recorded.code == 0, recorded.text
    assert recorded.text.startswith("weather: 2 steps, and the agent raised an exception\n")
    trace = recording.committed()
    assert trace.success is False and trace.metadata["error"]["type"] == "ValueError"
    # Recorded again by an agent that was mended, nothing is left of it.
    recording.script["steps"] = GOOD_STEPS
    recorded = recording.command("record", "weather")
    assert recorded.text.startswith("weather: 4 steps\n")
    assert "error" not in recording.committed().metadata and recording.committed().success


def test_task_takes_the_place_of_the_old_one(recording: Stage) -> None:
    assert recording.command("record", "weather", "--task", "and in Basel?").code == 0
    assert recording.committed().task == "and in Basel?"


def test_run_that_broke_keeps_the_others_from_nothing(recording: Stage) -> None:
    recording.traces = [WEATHER, WEATHER._replace(trace_id="wind")]
    recording.script["steps"] = {"weather": [{"exit": 1}], "*": GOOD_STEPS}
    recorded = recording.command("record", "--all")
    assert recorded.code == 3
    assert recorded.text.endswith("1 trace recorded, 1 not\n")
    assert recording.committed("wind").steps[0].response == "live answer"
    assert recording.committed().steps == WEATHER.steps


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--id", "weather", "--task", "x"], 'there is a trace "weather" already'),
        (["--id", "new"], "--id is a new trace"),
        (["--id", "new", "--task", "x", "--all"], "--id is a new trace"),
        (["--id", "../new", "--task", "x"], '"../new" names no file'),
        (["weather", "wind", "--task", "x"], "--task is of one trace"),
        (["weather", "--category", "x"], "--category is of a new trace"),
        (["gone"], 'there is no trace "gone"'),
    ],
)
def test_what_cannot_be_recorded_is_told_before_anything_runs(
    recording: Stage, arguments: list[str], sentence: str
) -> None:
    recording.traces = [WEATHER, WEATHER._replace(trace_id="wind")]
    started = recording.directory / "started"
    recording.script["steps"] = [{"file": str(started), "text": "x"}, *GOOD_STEPS]
    recorded = recording.command("record", *arguments)
    assert recorded.code == 2 and sentence in recorded.text and "fix: " in recorded.text
    assert "Traceback" not in recorded.text and not started.exists()
