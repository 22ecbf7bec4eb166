"""Accept shows what changed and nothing else, and writes no value that this shell holds as a secret."""

import difflib

import pytest

from replay.trace.codec import write_trace
from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage, tool

ANSWERED = [*GOOD_STEPS[:3], {"final": "Rain, 12 degrees.", "success": True}]
ASKED = [
    GOOD_STEPS[0],
    GOOD_STEPS[1],
    {"model": [{"role": "user", "content": "the tool says that it is {{last}}"}]},
    GOOD_STEPS[3],
]
COUNTED = WEATHER._replace(total_duration_ms=60.5, total_tokens=7)


def changed(stage: Stage) -> list[str]:
    """The lines of the committed trace that are others than before."""
    before, after = (write_trace(trace).decode().splitlines() for trace in (COUNTED, stage.committed()))
    return [line for line in difflib.ndiff(before, after) if line[0] in "+-"]


def accepted(stage: Stage, *arguments: str) -> list[str]:
    stage.traces = [COUNTED]
    assert stage.run().code == 1
    done = stage.command("accept", *arguments)
    assert done.code == 0, done.text
    return changed(stage)


def test_changed_answer_is_the_only_change(stage: Stage) -> None:
    stage.script["steps"] = ANSWERED
    assert accepted(stage) == [
        '-   "final_answer": "It rains at 12 degrees.",',
        '+   "final_answer": "Rain, 12 degrees.",',
        '-       "response": "It rains at 12 degrees."',
        '+       "response": "Rain, 12 degrees."',
    ]


@pytest.mark.parametrize("by_part", [False, True])
def test_changed_prompt_is_the_only_change(stage: Stage, by_part: bool) -> None:
    stage.script["steps"] = ASKED
    stage.traces = [COUNTED]
    if by_part:
        part = str(stage.directory / "part")
        assert stage.run(f"--part={part}", "--slice=0/1").code == 0
        stage.manifest["parts"] = [part]
    assert accepted(stage) == [
        '-           "content": "the tool says: 12 degrees, rain"',
        '+           "content": "the tool says that it is 12 degrees, rain"',
    ]


def test_trace_that_is_accepted_where_nothing_changed_keeps_its_bytes(stage: Stage) -> None:
    inside = tool(3, "look", 1, "x", parent_id="s2")
    stage.traces = [
        COUNTED._replace(
            steps=(
                *WEATHER.steps[:2],
                inside,
                WEATHER.steps[2]._replace(step_id="s4", timestamp=40.0),
                WEATHER.steps[3]._replace(step_id="s5", timestamp=50.0),
            )
        )
    ]
    assert stage.run().code == 0
    path = stage.directory / "traces/weather.json"
    before = path.read_bytes()
    assert "holds these outputs already" in stage.command("accept", "weather").text
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["SHOP_TOKEN", "DATABASE_PASSWORD"])
def test_value_of_a_variable_that_holds_a_credential_is_not_written(stage: Stage, name: str) -> None:
    # By its look it is a word like others.
    value = "Correct-horse-battery-9"
    stage.script["steps"] = [*GOOD_STEPS[:3], {"final": f"I used {value}.", "success": True}]
    assert stage.run().code == 1
    before = (stage.directory / "traces/weather.json").read_bytes()
    refused = stage.command("accept", **{name: value})
    assert refused.code == 2
    assert name in refused.text
    assert "nothing is written" in refused.text and value not in refused.text
    assert (stage.directory / "traces/weather.json").read_bytes() == before
    assert stage.command("accept").code == 0
