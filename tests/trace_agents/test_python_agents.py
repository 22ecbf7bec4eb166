"""Agents in Python behind one seam: recorded live over the protocol, then replayed from what was recorded."""

import sys
from pathlib import Path

import pytest

from replay.trace.model import AgentTrace, StepError
from tests.trace_agents.stage import Stage

_ENTRY = ["-m", "replay.trace.entry"]


def agent_of(stage: Stage, name: str, task: str, channel: str = "stdio") -> Stage:
    root = str(Path(__file__).parents[2])
    stage.agent.update(
        args=[*_ENTRY, f"tests.trace_agents.shop_agents:{name}"],
        env={"PYTHONPATH": ":".join(dict.fromkeys([root, *(place for place in sys.path if place)]))},
        channel=channel,
    )
    stage.traces = [AgentTrace("one", task)]
    return stage


def recorded(stage: Stage) -> AgentTrace:
    outcome = stage.command("record", "one")
    assert outcome.code == 0, outcome.text
    return stage.committed("one")


@pytest.mark.parametrize("channel", ["stdio", "socket"])
@pytest.mark.parametrize("name", ["plain", "streaming", "asynchronous", "threaded", "nested"])
def test_what_was_recorded_replays(stage: Stage, name: str, channel: str) -> None:
    trace = recorded(agent_of(stage, name, "weather in Bern?", channel))
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert outcome.actual("one").final_answer == trace.final_answer
    assert outcome.divergences() == []
    # The functions are not called in a replay: what is served differs from what they would give.
    text = (stage.directory / "traces/one.json").read_text()
    (stage.directory / "traces/one.json").write_text(
        text.replace("rain in", "snow in").replace("live", "recorded")
    )
    changed = stage.run()
    assert changed.code == 0, changed.text
    assert changed.actual("one").final_answer == stage.committed("one").final_answer


def test_exception_of_a_tool_is_recorded_and_raised_again(stage: Stage) -> None:
    trace = recorded(agent_of(stage, "plain", "weather in Atlantis?"))
    [tool] = [step for step in trace.steps if step.step_type == "tool_call"]
    assert tool.error == StepError("LookupError", "no such city")
    assert stage.run().code == 0
    assert trace.final_answer == "live: failed: no such city"


def test_nested_call_is_recorded_below_its_tool_and_not_missed_when_that_is_served(stage: Stage) -> None:
    trace = recorded(agent_of(stage, "nested", "x"))
    assert [(step.step_type, step.parent_id) for step in trace.steps[:2]] == [
        ("tool_call", ""),
        ("reasoning", "s1"),
    ]
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert [step.step_type for step in outcome.actual("one").steps] == ["tool_call", "final_answer"]


def test_stream_is_kept_in_pieces(stage: Stage) -> None:
    [asked, _] = recorded(agent_of(stage, "streaming", "x")).steps
    assert (asked.response, asked.stream, asked.reasoning) == (
        ["live ", "pieces ", "x"],
        "complete",
        "live pieces x",
    )


def test_agent_says_its_versions_and_tools(stage: Stage) -> None:
    assert recorded(agent_of(stage, "plain", "Bern")).agent_version == "7"


def test_agent_that_tries_again_for_ever_is_over_at_once(stage: Stage) -> None:
    stage = agent_of(stage, "stubborn", "x")
    outcome = stage.run()
    assert outcome.code == 1
    assert 'the trace holds no call of "weather" with this input' in outcome.text
    assert outcome.seconds < 5


def test_agent_that_raises_did_not_succeed_and_the_run_is_sound(stage: Stage) -> None:
    stage = agent_of(stage, "raising", "x")
    trace = recorded(stage)
    assert trace.success is False
    assert trace.metadata["error"] == {"type": "ValueError", "message": "the agent itself is broken"}
    assert stage.run().code == 0


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("tests.trace_agents.shop_agents", "names no function"),
        ("tests.trace_agents.nothing:plain", 'there is no module "tests.trace_agents.nothing"'),
        ("tests.trace_agents.shop_agents:nothing", 'has no function "nothing"'),
    ],
)
def test_entry_that_is_none_is_one_sentence(stage: Stage, entry: str, sentence: str) -> None:
    agent_of(stage, "plain", "x").agent["args"] = [*_ENTRY, entry]
    outcome = stage.run()
    assert outcome.code == 3
    assert sentence in outcome.text
    assert "Traceback" not in outcome.text
