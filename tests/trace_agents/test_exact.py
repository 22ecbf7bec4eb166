"""The strategy exact: a real process, its model and tools served from the trace."""

from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage, final, model, tool


def changed(at: int, **members: Any) -> list[dict[str, Any]]:
    return [{**step, **members} if number == at else step for number, step in enumerate(GOOD_STEPS)]


@pytest.mark.parametrize("channel", ["stdio", "socket"])
def test_agent_that_does_as_recorded_passes(stage: Stage, channel: str) -> None:
    stage.agent["channel"] = channel
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    actual = outcome.actual("weather")
    assert [step.step_type for step in actual.steps] == [
        "reasoning",
        "tool_call",
        "reasoning",
        "final_answer",
    ]
    # It is what the agent did and no copy: the agent puts its messages together from what it was served.
    assert actual.steps[2].messages == [{"role": "user", "content": "the tool says: 12 degrees, rain"}]
    assert actual.steps[0].timestamp != WEATHER.steps[0].timestamp
    assert outcome.divergences() == []


def test_agent_that_ignores_what_it_is_served_fails(stage: Stage) -> None:
    stage.script["steps"] = changed(2, model=[{"role": "user", "content": "the tool says: something"}])
    outcome = stage.run()
    assert outcome.code == 1
    assert 'the 2nd model call is not asked as recorded: $.messages[0].content: expected "the' in outcome.text
    assert outcome.divergences() == ["prompt"]


def test_changed_order_is_told_from_a_changed_prompt(stage: Stage) -> None:
    steps = [model(1, "a", "A"), model(2, "b", "B"), final(3, "done")]
    stage.traces = [WEATHER._replace(steps=tuple(steps), final_answer="done", success=None)]
    ask = [{"model": [{"role": "user", "content": text}]} for text in ("b", "a")]
    stage.steps(*ask, {"final": "done"})
    outcome = stage.run()
    assert outcome.code == 1
    assert outcome.divergences() == ["order"]
    assert "the 2nd model call of the trace came when its 1st was due" in outcome.text
    # Each was answered with what belongs to it.
    assert [step.response for step in outcome.actual("weather").steps[:2]] == ["B", "A"]
    # Where the suite asks for no order, it is told and fails nothing.
    stage.suite = {"schema": 1, "trajectory": "unordered"}
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    [trace] = outcome.report["traces"]
    assert "the 2nd model call of the trace came when its 1st was due" in str(trace["notes"])


def test_calls_that_were_under_way_at_once_may_come_in_any_order(stage: Stage) -> None:
    both = [model(1, "a", "A"), model(2, "b", "B")]
    steps = [both[0]._replace(model_duration_ms=100.0), both[1], final(20, "done")]
    stage.traces = [WEATHER._replace(steps=tuple(steps), final_answer="done", success=None)]
    stage.steps(*({"model": [{"role": "user", "content": text}]} for text in ("b", "a")), {"final": "done"})
    outcome = stage.run()
    assert outcome.code == 0, outcome.text


def test_extra_model_call_is_one_divergence_and_spoils_no_other(stage: Stage) -> None:
    stage.script["steps"] = [{"model": [{"role": "user", "content": "think first"}]}, *GOOD_STEPS]
    outcome = stage.run()
    assert outcome.code == 1
    assert outcome.divergences() == ["prompt"]


def test_model_call_too_many_ends_the_run(stage: Stage) -> None:
    asked = {"model": [{"role": "user", "content": "and now?"}]}
    stage.script["steps"] = [*GOOD_STEPS[:3], asked, asked, GOOD_STEPS[3]]
    outcome = stage.run()
    assert outcome.code == 1
    assert "the agent made a 3rd model call, the trace holds 2" in outcome.text


def test_agent_that_goes_on_after_the_end_is_ended(stage: Stage) -> None:
    asked = {"model": [{"role": "user", "content": "and now?"}]}
    stage.script.update(steps=[*GOOD_STEPS[:3], asked, {"hang": True}], ignores_over=True)
    outcome = stage.run()
    assert outcome.code == 1
    assert outcome.seconds < 10
    assert outcome.processes() == []


def test_unknown_tool_input_fails_and_shows_the_nearest(stage: Stage) -> None:
    stage.script["steps"] = changed(1, input={"city": "Basel"})
    outcome = stage.run()
    assert outcome.code == 1
    assert 'the trace holds no call of "weather" with this input; nearest: $.input.city' in outcome.text
    assert 'expected "Bern", actual "Basel"' in outcome.text


def test_call_that_was_never_made_fails(stage: Stage) -> None:
    stage.script["steps"] = [
        GOOD_STEPS[0],
        GOOD_STEPS[1],
        {"final": "It rains at 12 degrees.", "success": True},
    ]
    outcome = stage.run()
    assert outcome.code == 1
    assert outcome.divergences() == ["unconsumed"]
    assert "the model call (s3) of the trace was never made" in outcome.text


def test_other_answer_of_the_same_calls_fails(stage: Stage) -> None:
    stage.script["steps"] = changed(3, final="It is sunny.")
    outcome = stage.run()
    assert outcome.code == 1
    assert outcome.divergences() == []
    assert "sunny" in outcome.text


def test_recorded_errors_are_served_as_errors(stage: Stage) -> None:
    from replay.trace.model import ABSENT, StepError

    broken = tool(2, "weather", {"city": "Bern"}, ABSENT, error=StepError("TimeoutError", "no answer"))
    asked = model(3, "the tool says: TimeoutError: no answer", "No answer.")
    steps = (WEATHER.steps[0], broken, asked, final(4, "No answer."))
    stage.traces = [WEATHER._replace(steps=steps, final_answer="No answer.")]
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert outcome.actual("weather").steps[1].error == StepError("TimeoutError", "no answer")


def test_steps_below_a_served_call_do_not_happen_and_are_not_missed(stage: Stage) -> None:
    inner = model(3, "inside the tool", "x", parent_id="s2")
    steps = (
        *WEATHER.steps[:2],
        inner,
        WEATHER.steps[2]._replace(step_id="s4"),
        final(5, WEATHER.final_answer),
    )
    stage.traces = [WEATHER._replace(steps=steps)]
    outcome = stage.run()
    assert outcome.code == 0, outcome.text


def test_ids_and_directories_of_the_run_are_no_change_of_a_prompt(stage: Stage) -> None:
    said = "in {{cwd}} at 2026-01-01T00:00:00Z as 01234567-89ab-4cde-8f01-23456789abcd"
    live = "in {{cwd}} at 2027-02-02T01:01:01Z as a1234567-89ab-4cde-8f01-23456789abcd"
    stage.traces = [
        WEATHER._replace(steps=(model(1, said, "{{cwd}}/x"), final(2, "{{cwd}}/x")), final_answer="{{cwd}}/x")
    ]
    stage.steps({"model": [{"role": "user", "content": live}]}, {"final": "{{last}}", "success": True})
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert outcome.actual("weather").final_answer == "{{cwd}}/x"
