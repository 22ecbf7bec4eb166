"""What a suite ignores, through real processes: a test that passes, a report without it, commands that leave it alone."""

import json
from typing import Any

import pytest

from tests.agents.stage import Scenario
from tests.agents.test_accept import _TEST, _command

_WHY = "how long the disk took"


def _tell(scenario: Scenario, note: str, title: str = "Reads", **more: Any) -> None:
    """The agent reports a tool with a note that differs from run to run, and logs one."""
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": title,
        "rawOutput": {"durationNote": note, "lines": 3},
        **more,
    }
    scenario.agent_script = {
        "session/prompt": [{"tell": update}, {"note": {"took": note, "what": title}}, {"normal": 0}]
    }


def _texts(scenario: Scenario) -> dict[str, str]:
    return {path.name: path.read_text() for path in scenario.fixture.iterdir() if path.is_file()}


@pytest.fixture
def noted(scenario: Scenario) -> Scenario:
    scenario.options["ignored"] = [
        {"surface": "stdout", "path": "$.params.update.rawOutput.durationNote", "reason": _WHY},
        {"surface": "session", "kind": "agent/note", "path": "$.data.took", "reason": _WHY},
    ]
    _tell(scenario, "a while")
    outcome = scenario.refresh()
    assert (outcome.code, "warning" in outcome.text) == (0, False), outcome.text
    return scenario


def test_other_value_passes_and_is_not_written(noted: Scenario) -> None:
    before = _texts(noted)
    assert "a while" in before["stdout.expected.jsonl"] and "a while" in before["session.jsonl"]
    _tell(noted, "no time")
    outcome = noted.run()
    assert outcome.code == 0, outcome.text
    assert "warning" not in outcome.text
    assert noted.refresh("hello").text == "hello: unchanged\n"
    assert _texts(noted) == before


def test_value_that_is_gone_is_a_difference(noted: Scenario) -> None:
    _tell(noted, "no time", rawOutput={"lines": 3})
    outcome = noted.run()
    assert outcome.code == 1
    assert "$.params.update.rawOutput.durationNote: expected" in outcome.first_line
    assert "a while" not in outcome.text


def test_report_of_another_difference_does_not_show_it(noted: Scenario) -> None:
    _tell(noted, "no time", title="Writes")
    outcome = noted.run()
    assert outcome.code == 1
    assert '$.params.update.title: expected "Reads", actual "Writes"' in outcome.first_line
    assert "a while" not in outcome.text and "no time" not in outcome.text
    result = json.dumps(outcome.result)
    assert "a while" not in result and "no time" not in result


def test_refresh_of_another_difference_writes_the_lines_that_hold_it(noted: Scenario) -> None:
    before = _texts(noted)
    _tell(noted, "no time")
    same = noted.agent_script["session/prompt"][:2]
    _tell(noted, "an hour", title="Writes")
    noted.agent_script["session/prompt"][2:2] = same
    assert noted.refresh("hello").code == 0
    for name, told in (("stdout.expected.jsonl", "durationNote"), ("session.jsonl", "agent/note")):
        lines = [line for line in _texts(noted)[name].splitlines() if told in line]
        kept = [line for line in before[name].splitlines() if told in line]
        assert len(lines) == 2 and lines[1:] == kept, name
        assert "an hour" in lines[0]


def test_accept_takes_the_line_that_differs_and_leaves_the_one_that_is_ignored(noted: Scenario) -> None:
    noted.outputs = noted.directory / _TEST
    before = _texts(noted)["stdout.expected.jsonl"]
    _tell(noted, "no time")
    noted.agent_script["session/prompt"].insert(0, {"tell": {"sessionUpdate": "current_mode_update", "currentModeId": "m"}})  # fmt: skip
    assert noted.run().code == 1
    done = _command(noted, "accept")
    assert done.code == 0, done.text
    assert done.text.endswith("hello: wrote stdout.expected.jsonl (+1 -0)\n1 scenario accepted\n")
    assert "no time" not in done.text
    after = _texts(noted)["stdout.expected.jsonl"].splitlines()
    assert [line for line in after if "current_mode_update" not in line] == before.splitlines()
    assert noted.run().code == 0


def test_path_at_which_nothing_stands_is_a_warning(noted: Scenario) -> None:
    noted.options["ignored"].append({"surface": "stdout", "path": "$.params.update.rawInput", "reason": _WHY})
    outcome = noted.run()
    assert outcome.code == 0
    sentence = f'nothing stands at $.params.update.rawInput of "stdout", which is ignored ({_WHY}): drop it'
    assert f"  warning: {sentence}\n" in outcome.text
    assert outcome.result["warnings"] == [sentence]
    assert sentence in noted.refresh("hello").text


def test_path_that_is_none_is_refused_before_anything_runs(noted: Scenario) -> None:
    noted.options["ignored"].append({"surface": "stdout", "path": "params.update", "reason": _WHY})
    outcome = noted.run()
    assert outcome.code == 2
    assert outcome.first_line.endswith(
        "manifest.json $.options.ignored[2].path: ignored: params.update of stdout is no JSON path"
    ), outcome.first_line
    assert "fix: write a path as a failing test prints it" in outcome.text
