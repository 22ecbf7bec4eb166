"""The strategy mock_tools: the model live, tools by name and input, and the policies for calls that the trace does not hold."""

from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Outcome, Stage, final, tool

LIVE = {"model": "It rains at 12 degrees.", "weather": "live: 9 degrees"}


@pytest.fixture
def mocked(stage: Stage) -> Stage:
    stage.manifest.update(strategy="mock_tools")
    stage.script["answers"] = dict(LIVE)
    return stage


def replayed(stage: Stage, city: Any, unknown: str = "") -> Outcome:
    stage.manifest["unknown"] = unknown
    stage.script["steps"] = [GOOD_STEPS[0], {**GOOD_STEPS[1], "input": city}, *GOOD_STEPS[2:]]
    return stage.run()


def test_model_is_live_and_tools_are_served(mocked: Stage) -> None:
    outcome = mocked.run()
    assert outcome.code == 0, outcome.text
    steps = outcome.actual("weather").steps
    assert steps[0].response == "It rains at 12 degrees."
    assert steps[1].tool_output == "12 degrees, rain"


def test_another_prompt_is_no_failure(mocked: Stage) -> None:
    mocked.script["steps"] = [{"model": [{"role": "system", "content": "be brief"}]}, *GOOD_STEPS[1:]]
    outcome = mocked.run()
    assert outcome.code == 0, outcome.text
    assert outcome.divergences() == []


def test_fail_ends_the_run_and_names_the_nearest(mocked: Stage) -> None:
    outcome = replayed(mocked, {"city": "Berne"})
    assert outcome.code == 1
    assert 'expected "Bern", actual "Berne"' in outcome.text


def test_nearest_serves_what_is_most_alike_and_says_so(mocked: Stage) -> None:
    outcome = replayed(mocked, {"city": "Berne"}, "nearest")
    assert outcome.divergences() == ["nearest"]
    assert outcome.actual("weather").steps[1].tool_output == "12 degrees, rain"


def test_nearest_fails_where_nothing_is_alike(mocked: Stage) -> None:
    outcome = replayed(mocked, {"q": 7, "page": 2}, "nearest")
    assert outcome.code == 1
    assert outcome.divergences() == ["unknown_tool"]


def test_nearest_serves_no_other_tool(mocked: Stage) -> None:
    mocked.manifest["unknown"] = "nearest"
    mocked.script["steps"] = [GOOD_STEPS[0], {**GOOD_STEPS[1], "tool": "forecast"}, *GOOD_STEPS[2:]]
    outcome = mocked.run()
    assert outcome.code == 1
    assert outcome.divergences() == ["unknown_tool"]


def test_live_lets_the_agent_call(mocked: Stage) -> None:
    outcome = replayed(mocked, {"city": "Basel"}, "live")
    assert outcome.divergences() == ["unknown_tool", "unconsumed"]
    assert outcome.actual("weather").steps[1].tool_output == "live: 9 degrees"


def test_same_call_twice_gets_its_recordings_in_order_and_then_the_last(mocked: Stage) -> None:
    twice = [tool(number, "weather", {"city": "Bern"}, f"answer {number}") for number in (1, 2)]
    mocked.traces = [WEATHER._replace(steps=(*twice, final(3, "x")), final_answer="x")]
    asked = {"tool": "weather", "input": {"city": "Bern"}}
    mocked.steps(asked, asked, asked, {"final": "x", "success": True})
    outcome = mocked.run()
    assert outcome.divergences() == ["repeated"]
    assert [step.tool_output for step in outcome.actual("weather").steps[:3]] == [
        "answer 1",
        "answer 2",
        "answer 2",
    ]


def test_order_of_keys_is_no_other_input(mocked: Stage) -> None:
    mocked.traces = [
        WEATHER._replace(steps=(tool(1, "weather", {"a": 1, "b": 2}, "y"), final(2, "x")), final_answer="x")
    ]
    mocked.steps({"tool": "weather", "input": {"b": 2, "a": 1}}, {"final": "x", "success": True})
    assert mocked.run().code == 0


def test_several_runs_are_kept_each(mocked: Stage) -> None:
    mocked.manifest.update(strategy="consensus", runs=3)
    mocked.suite = {"schema": 1, "answer": "equal"}
    mocked.script["steps"] = {
        "weather.2": [*GOOD_STEPS[:3], {"final": "sun", "success": True}],
        "*": GOOD_STEPS,
    }
    outcome = mocked.run()
    assert outcome.code == 0, outcome.text
    assert "odd: run 2" in str(outcome.report)
    answers = [outcome.actual(f"weather.{number}").final_answer for number in (1, 2, 3)]
    assert answers == ["It rains at 12 degrees.", "sun", "It rains at 12 degrees."]


@pytest.mark.parametrize("lack", ["text model", "suite", "previous"])
def test_nothing_is_run_that_could_not_be_judged(mocked: Stage, lack: str) -> None:
    mocked.hide_text_model()
    if lack == "text model":
        mocked.manifest.update(strategy="semantic", meaning=[])
    elif lack == "suite":
        mocked.suite = {"schema": 7}
    else:
        mocked.manifest["previous"] = str(mocked.write())
    outcome = mocked.run()
    assert outcome.code == 2
    says = {
        "text model": "comparing by meaning needs the package",
        "suite": "shop/suite.json:1 $.schema: is schema 7",
        "previous": "manifest.json:1 $: is no report",
    }[lack]
    assert says in outcome.first_line
    assert not (outcome.outputs / "actual").exists()


def test_live_in_a_strategy_that_compares_call_by_call_is_refused(stage: Stage) -> None:
    stage.manifest["model"] = "live"
    outcome = stage.run()
    assert outcome.code == 2
    assert 'strategy "exact" compares call by call' in outcome.text
