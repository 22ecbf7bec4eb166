"""Files of a fixture that nothing asks for any more go with the next refresh or accept, and nothing else does."""

from pathlib import Path

import pytest

from tests.agents.stage import Scenario
from tests.agents.test_accept import _TEST, _command

_PINS = ("system-prompt.expected.md", "tool-schemas.expected.json")
_TALK = {"system": "Be kind.", "prompt": "say hello", "tools": None}


@pytest.fixture
def whole(scenario: Scenario) -> Scenario:
    """An agent that logs itself and asks the gateway, with every surface, and pins."""
    scenario.agent = {
        "session_log": "self", "model_api": "openai_chat", "replay_env": {"MODEL_URL": "{gateway_url}"},
    }  # fmt: skip
    scenario.options["wait_seconds"] = 5
    scenario.surfaces = ["requests"]
    scenario.pins = True
    header = {"header": {"config": {}, "system": "Be kind.", "tools": []}}
    scenario.agent_script["session/prompt"] = [
        {"talk_to_model": _TALK}, {"log_header": header}, {"log_words": "Hello there."}, {"end_turn": 0},
    ]  # fmt: skip
    outcome = scenario.refresh()
    assert outcome.code == 0, outcome.text
    assert scenario.refresh("hello").text == "hello: unchanged\n"
    assert {"requests.expected.jsonl", *_PINS} <= _names(scenario)
    return scenario


def _names(scenario: Scenario) -> set[str]:
    return {path.name for path in Path(scenario.fixture).iterdir()}


def test_refresh_deletes_requests_that_the_suite_no_longer_asks_for(whole: Scenario) -> None:
    before = _names(whole)
    whole.surfaces = []
    assert whole.refresh("hello").text == "hello: deleted requests.expected.jsonl (+0 -1)\n"
    assert _names(whole) == before - {"requests.expected.jsonl"}
    outcome = whole.run()
    assert outcome.code == 0, outcome.text
    assert whole.refresh("hello").text == "hello: unchanged\n"


def test_refresh_deletes_pins_of_a_scenario_that_no_longer_pins(whole: Scenario) -> None:
    before = _names(whole)
    whole.pins = False
    text = whole.refresh("hello").text
    assert all(f"deleted {name} (+0 -" in text for name in _PINS) and "wrote" not in text, text
    assert _names(whole) == before - set(_PINS)
    assert whole.run().code == 0
    assert whole.refresh("hello").text == "hello: unchanged\n"


def test_accept_deletes_them_beside_what_it_takes(whole: Scenario) -> None:
    whole.outputs = whole.directory / _TEST
    before = _names(whole)
    whole.pins = False
    whole.surfaces = []
    whole.agent_script["session/prompt"][0] = {"talk_to_model": {**_TALK, "prompt": "say goodbye"}}
    whole.agent_script["session/prompt"].insert(0, {"tell": {"sessionUpdate": "current_mode_update", "currentModeId": "m"}})  # fmt: skip
    assert whole.run().code == 1
    done = _command(whole, "accept")
    assert done.code == 0, done.text
    last = done.text.splitlines()[-2]
    assert last.startswith(
        "hello: deleted requests.expected.jsonl (+0 -1), wrote stdout.expected.jsonl (+1 -0), "
    )
    assert all(f"deleted {name} (+0 -" in last for name in _PINS)
    assert _names(whole) == before - {"requests.expected.jsonl", *_PINS}
    assert whole.run().code == 0


def test_accept_takes_requests_that_the_suite_asks_for(whole: Scenario) -> None:
    whole.outputs = whole.directory / _TEST
    before = _names(whole)
    whole.agent_script["session/prompt"][0] = {"talk_to_model": {**_TALK, "prompt": "say goodbye"}}
    assert whole.run().code == 1
    done = _command(whole, "accept")
    assert done.text.endswith("hello: wrote requests.expected.jsonl (+1 -1)\n1 scenario accepted\n"), (
        done.text
    )
    assert _names(whole) == before
    assert whole.run().code == 0


def test_run_that_does_not_end_well_deletes_nothing(whole: Scenario) -> None:
    before = _names(whole)
    whole.surfaces = []
    whole.pins = False
    whole.agent_script["session/prompt"] = [{"exit": 7}]
    assert whole.refresh("hello").code == 3
    assert _names(whole) == before
