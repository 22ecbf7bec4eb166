"""An agent whose model is behind a URL: recorded through the proxy from a live provider, replayed by the gateway."""

from pathlib import Path

import pytest

from replay.trace.model import AgentTrace
from tests.models.provider import Provider, refusal, said
from tests.trace_agents.stage import Stage

_AGENT = str(Path(__file__).with_name("http_agent.py"))


@pytest.fixture
def recorded(stage: Stage) -> Stage:
    stage.agent.update(args=[_AGENT, "{gateway_url}"], model_api="openai_chat", inherited=["OPENAI_API_KEY"])
    stage.traces = [AgentTrace("one", "weather?")]
    with Provider(said("Be", "rn"), said("It rains.")) as provider:
        stage.agent["upstream"] = provider.url + "/v1"
        outcome = stage.command("record", "one", OPENAI_API_KEY="sk-of-the-shell")
        assert outcome.code == 0, outcome.text
        assert [seen.headers["authorization"] for seen in provider.seen] == ["Bearer sk-of-the-shell"] * 2
    return stage


def test_record_keeps_what_crossed_the_wire_and_no_key(recorded: Stage) -> None:
    steps = recorded.committed("one").steps
    assert [step.step_type for step in steps] == ["reasoning", "tool_call", "reasoning", "final_answer"]
    assert steps[0].reasoning == "Bern"
    assert (steps[0].prompt_tokens, steps[0].completion_tokens) == (10, 3)
    assert steps[0].temperature == 0
    assert steps[2].messages is not None
    text = (recorded.directory / "traces/one.json").read_text()
    assert "sk-of-the-shell" not in text
    # The agent never had it: the variable is the proxy's.
    assert "the key is None" in text


def test_replay_answers_from_the_trace_without_a_provider(recorded: Stage) -> None:
    outcome = recorded.run()
    assert outcome.code == 0, outcome.text
    assert outcome.actual("one").final_answer == "It rains."


def test_changed_prompt_is_told(recorded: Stage) -> None:
    recorded.agent["args"] = [_AGENT, "{gateway_url}", "other"]
    outcome = recorded.run()
    assert outcome.code == 1
    assert outcome.divergences() == ["prompt", "prompt"]
    assert "the 1st model call is not asked as recorded" in outcome.text


def test_call_too_many_ends_the_run(recorded: Stage) -> None:
    trace = recorded.committed("one")
    (recorded.directory / "traces/one.json").unlink()
    recorded.is_committed = False
    recorded.traces = [trace._replace(steps=(*trace.steps[:2], trace.steps[3]))]
    outcome = recorded.run()
    assert outcome.code == 1
    assert "the agent made a 2nd model call, the trace holds 1" in outcome.text
    assert outcome.processes() == []


def test_live_model_with_served_tools(recorded: Stage) -> None:
    recorded.manifest["strategy"] = "mock_tools"
    with Provider(said("Bern"), said("It rains.")) as provider:
        recorded.agent["upstream"] = provider.url + "/v1"
        outcome = recorded.run(OPENAI_API_KEY="k")
    assert outcome.code == 0, outcome.text


def test_provider_that_refuses_is_recorded_as_an_error_of_the_call(recorded: Stage) -> None:
    recorded.manifest["strategy"] = "mock_tools"
    with Provider(refusal(429, "slow down")) as provider:
        recorded.agent["upstream"] = provider.url + "/v1"
        outcome = recorded.run(OPENAI_API_KEY="k")
    # This agent does not handle it.
    assert outcome.code == 3
    [step, *_] = outcome.actual("one").steps
    assert step.error is not None
    assert "slow down" in step.error.message


def test_live_without_a_key_is_refused(recorded: Stage) -> None:
    recorded.manifest["strategy"] = "mock_tools"
    recorded.agent["upstream"] = "https://api.example.com/v1"
    outcome = recorded.run()
    assert outcome.code == 2
    assert "there is no key for https://api.example.com" in outcome.first_line
