"""The strategy snapshot: what the agent says to hold, against what was accepted."""

import json
from typing import Any

from tests.trace_agents.stage import GOOD_STEPS, Stage

NOTES: dict[str, Any] = {"memory": {"cities": ["Bern"]}, "state": {"phase": "looked up"}}


def remembering(stage: Stage, **changes: Any) -> Stage:
    held = {**NOTES, **changes}
    stage.manifest["strategy"] = "snapshot"
    stage.script["hello"] = {"tools": [{"name": "weather", "description": "of a city"}]}
    stage.script["steps"] = [*GOOD_STEPS[:2], {"state": held, "label": "looked-up"}, *GOOD_STEPS[2:]]
    return stage


def accepted(stage: Stage) -> Stage:
    assert remembering(stage).run().code == 1
    taken = stage.command("accept")
    assert taken.code == 0, taken.text
    return stage


def test_first_run_fails_until_it_is_accepted(stage: Stage) -> None:
    accepted(stage)
    snapshot = json.loads((stage.directory / "snapshots/weather/looked-up.json").read_bytes())
    assert snapshot["memory"] == NOTES["memory"]
    assert snapshot["tools"] == {"weather": {"description": "of a city"}}
    outcome = stage.run()
    assert outcome.code == 0, outcome.text


def test_lost_memory_fails_with_its_path(stage: Stage) -> None:
    outcome = remembering(accepted(stage), memory={"cities": []}).run()
    assert outcome.code == 1
    assert "$.memory.cities" in outcome.text


def test_other_tool_registry_fails(stage: Stage) -> None:
    remembering(accepted(stage)).script["hello"] = {"tools": [{"name": "forecast"}]}
    outcome = stage.run()
    assert outcome.code == 1
    assert "$.tools" in outcome.text


def test_prompt_may_change(stage: Stage) -> None:
    remembering(accepted(stage))
    stage.script["steps"][0] = {"model": [{"role": "user", "content": "please: {{task}}"}]}
    outcome = stage.run()
    assert outcome.code == 0, outcome.text


def test_snapshot_that_is_no_longer_taken_fails_and_accept_deletes_it(stage: Stage) -> None:
    remembering(accepted(stage))
    stage.script["steps"] = [
        *GOOD_STEPS[:2],
        {"state": NOTES, "label": "found"},
        *GOOD_STEPS[2:],
    ]
    outcome = stage.run()
    assert outcome.code == 1
    assert stage.command("accept").code == 0
    assert sorted(path.name for path in (stage.directory / "snapshots/weather").iterdir()) == ["found.json"]


def test_label_that_names_no_file_is_told(stage: Stage) -> None:
    remembering(stage)
    stage.script["steps"][2]["label"] = "../up"
    outcome = stage.run()
    assert outcome.code != 0
    assert "which names no file" in outcome.text
    assert "Traceback" not in outcome.text
