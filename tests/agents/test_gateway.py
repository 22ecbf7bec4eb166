"""An agent that talks HTTP: the gateway serves the recording, counts it, and sees who leaves this machine."""

import pytest

from tests.agents.stage import Scenario


@pytest.fixture
def gateway(scenario: Scenario) -> Scenario:
    scenario.agent = {
        "session_log": "gateway",
        "model_api": "openai_chat",
        "replay_env": {"MODEL_URL": "{gateway_url}"},
    }
    scenario.options["wait_seconds"] = 5
    scenario.agent_script = {
        "session/prompt": [{"call_model": ["say hello"]}],
        "session/new": [{"new_without_log": 0}],
    }
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    return scenario


def test_run_through_the_gateway_replays(gateway: Scenario) -> None:
    outcome = gateway.run()
    assert outcome.code == 0, outcome.text
    assert [case["surface"] for case in outcome.result["cases"]] == ["stdout", "requests", "consumption"]
    assert "Hello there." in (gateway.fixture / "stdout.expected.jsonl").read_text()


def test_one_call_too_many_is_a_divergence(gateway: Scenario) -> None:
    gateway.agent_script["session/prompt"] = [{"call_model": ["say hello", "and again"]}]
    outcome = gateway.run()
    assert outcome.code == 1
    assert 'lane "parent"' in outcome.first_line
    assert outcome.processes() == []


def test_call_never_made_fails_consumption(gateway: Scenario) -> None:
    gateway.agent_script["session/prompt"] = [{"call_model": []}]
    outcome = gateway.run()
    assert outcome.code == 1
    assert "were never made" in outcome.text


def test_attempt_to_leave_this_machine_names_the_host(gateway: Scenario) -> None:
    gateway.agent_script["session/prompt"] = [
        {"fetch": "https://api.example.com/v1"},
        {"call_model": ["say hello"]},
    ]
    outcome = gateway.run()
    assert outcome.code == 3
    assert "api.example.com:443" in outcome.first_line


def test_host_is_named_where_the_agent_tells_the_failure_in_its_own_words(gateway: Scenario) -> None:
    gateway.agent_script["session/prompt"] = [
        {"fetch": "https://api.example.com/v1"},
        {"refuse": "the model cannot be reached"},
    ]
    outcome = gateway.run()
    assert outcome.code == 3
    assert "api.example.com:443" in outcome.first_line
    assert "the model cannot be reached" in outcome.text
