"""Record and accept: what is written into the source tree, and when nothing is."""

import os
from typing import Any

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage, model

OTHER_ANSWER = [*GOOD_STEPS[:3], {"final": "Rain, 12 degrees.", "success": True}]
OTHER_PROMPT = [
    {"model": [{"role": "user", "content": "tell me: {{task}}"}]},
    *GOOD_STEPS[1:],
]


def test_accept_takes_what_the_failed_run_did(stage: Stage) -> None:
    stage.script["steps"] = OTHER_ANSWER
    assert stage.run().code == 1
    accepted = stage.command("accept")
    assert accepted.code == 0, accepted.text
    assert "+" in accepted.text and "Rain, 12 degrees." in accepted.text
    assert stage.committed().final_answer == "Rain, 12 degrees."
    # The steps that did not change kept their bytes.
    assert stage.committed().steps[:3] == WEATHER.steps[:3]
    assert stage.run().code == 0


def test_accept_takes_a_changed_prompt_with_the_recorded_answer(stage: Stage) -> None:
    stage.script["steps"] = OTHER_PROMPT
    assert stage.run().code == 1
    assert stage.command("accept", "weather").code == 0
    [asked] = stage.committed().steps[0].messages or ()
    assert asked["content"] == "tell me: what is the weather in Bern?"
    assert stage.committed().steps[0].response == "ask the weather tool"
    assert stage.run().code == 0


def test_accept_of_a_run_that_passed_takes_nothing(stage: Stage) -> None:
    assert stage.run().code == 0
    before = (stage.directory / "traces/weather.json").read_bytes()
    accepted = stage.command("accept")
    assert accepted.code == 0
    assert "nothing to take" in accepted.text
    named = stage.command("accept", "weather")
    assert named.code == 0
    assert "the source tree holds these outputs already" in named.text
    assert (stage.directory / "traces/weather.json").read_bytes() == before


def test_accept_refuses_a_run_that_broke(stage: Stage) -> None:
    stage.script["steps"] = [GOOD_STEPS[0], {"exit": 3}]
    assert stage.run().code == 3
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "its run broke, and is no baseline" in accepted.text


def test_accept_refuses_a_run_that_left_its_trace(stage: Stage) -> None:
    stage.script["steps"] = [GOOD_STEPS[0], {**GOOD_STEPS[1], "input": {"city": "Basel"}}, *GOOD_STEPS[2:]]
    assert stage.run().code == 1
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "its run could not go on, and is no baseline" in accepted.text
    assert "bazel run //shop:agent_test.record -- weather" in accepted.text


def test_accept_refuses_a_trace_that_changed_since(stage: Stage) -> None:
    stage.script["steps"] = OTHER_ANSWER
    assert stage.run().code == 1
    path = stage.directory / "traces/weather.json"
    path.write_bytes(path.read_bytes().replace(b"12 degrees, rain", b"13 degrees, rain"))
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "shop/traces/weather.json has changed since the test ran" in accepted.text


def test_accept_of_a_name_that_is_none(stage: Stage) -> None:
    assert stage.run().code == 0
    accepted = stage.command("accept", "nope")
    assert accepted.code == 2
    assert 'the newest run has no trace "nope"' in accepted.text


def test_accept_without_outputs(stage: Stage) -> None:
    accepted = stage.command("accept")
    assert accepted.code == 2
    assert "has left no outputs" in accepted.text


def test_accept_of_several_runs_asks_which(stage: Stage) -> None:
    stage.manifest.update(strategy="consensus", runs=3)
    stage.suite = {"schema": 1, "answer": "equal"}
    stage.script["steps"] = OTHER_ANSWER
    stage.script["answers"] = {"model": "It rains at 12 degrees."}
    assert stage.run().code == 1
    assert "say which with --run N" in stage.command("accept").text
    assert stage.command("accept", "--run", "2").code == 0
    assert stage.committed().final_answer == "Rain, 12 degrees."


def test_accept_keeps_what_lies_inside_a_served_call(stage: Stage) -> None:
    inner = model(3, "inside the tool", "x", parent_id="s2")
    outer = WEATHER.steps[2]._replace(step_id="s4")
    stage.traces = [
        WEATHER._replace(steps=(*WEATHER.steps[:2], inner, outer, WEATHER.steps[3]._replace(step_id="s5")))
    ]
    stage.script["steps"] = OTHER_ANSWER
    assert stage.run().code == 1
    assert stage.command("accept").code == 0
    steps = stage.committed().steps
    assert [(step.step_id, step.parent_id) for step in steps[:4]] == [
        ("s1", ""),
        ("s2", ""),
        ("s3", "s2"),
        ("s4", ""),
    ]
    assert stage.run().code == 0


LIVE: dict[str, Any] = {"model": "live answer", "weather": "9 degrees"}


def test_record_runs_the_agent_live_and_writes_its_trace(stage: Stage) -> None:
    stage.script["answers"] = LIVE
    recorded = stage.command("record", "weather")
    assert recorded.code == 0, recorded.text
    trace = stage.committed()
    assert [step.response for step in trace.steps if step.step_type == "reasoning"] == ["live answer"] * 2
    assert trace.category == "lookup"
    assert trace.metadata["provenance"] == {"kind": "recorded"}
    stage.script["steps"] = [*GOOD_STEPS[:3], {"final": "live answer", "success": True}]
    assert stage.run().code == 0


def test_record_makes_a_new_trace(stage: Stage) -> None:
    stage.script["answers"] = LIVE
    recorded = stage.command("record", "--id", "basel", "--task", "weather in Basel?", "--category", "lookup")
    assert recorded.code == 0, recorded.text
    assert stage.committed("basel").task == "weather in Basel?"
    assert stage.committed("basel").category == "lookup"


def test_record_of_a_run_that_broke_writes_nothing(stage: Stage) -> None:
    before = stage.write() and (stage.directory / "traces/weather.json").read_bytes()
    stage.script["steps"] = [GOOD_STEPS[0], {"stderr": "no key"}, {"exit": 1}]
    recorded = stage.command("record", "--all")
    assert recorded.code == 3
    assert "weather: not recorded: the agent exited with status 1" in recorded.text
    assert "stderr: no key" in recorded.text
    assert (stage.directory / "traces/weather.json").read_bytes() == before


def test_record_writes_no_secret(stage: Stage) -> None:
    before = stage.write() and (stage.directory / "traces/weather.json").read_bytes()
    secret = "sk-ant-" + "api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"
    stage.script["answers"] = {**LIVE, "model": f"the key is {secret}"}
    recorded = stage.command("record", "--all")
    assert recorded.code == 2
    assert "nothing is written" in recorded.text
    assert secret not in recorded.text
    assert (stage.directory / "traces/weather.json").read_bytes() == before


def test_record_puts_long_values_beside_the_trace_and_takes_them_away_again(stage: Stage) -> None:
    stage.script["answers"] = {**LIVE, "weather": "rain. " * 10_000}
    assert stage.command("record", "--all").code == 0
    blobs = stage.directory / "traces/blobs"
    assert len(list(blobs.iterdir())) == 2
    assert stage.run().code == 0
    stage.script["answers"] = LIVE
    assert stage.command("record", "--all").code == 0
    assert not blobs.exists() or not list(blobs.iterdir())


def test_record_writes_no_name_of_this_machine_and_replays_all_the_same(stage: Stage) -> None:
    host = os.uname().nodename
    stage.script["answers"] = {**LIVE, "weather": f"rain, says {host}.example and /home/somebody/notes"}
    assert stage.command("record", "--all").code == 0
    text = (stage.directory / "traces/weather.json").read_text()
    assert "somebody" not in text
    # What the agent itself sees of the machine is the same in a replay, and is no change of its prompt.
    stage.script["steps"] = [
        {"model": [{"role": "user", "content": f"{{{{task}}}} in /home/somebody/{host}"}]},
        *GOOD_STEPS[1:3],
        {"final": "live answer", "success": True},
    ]
    assert stage.command("record", "--all").code == 0
    outcome = stage.run()
    assert outcome.code == 0, outcome.text


def test_record_of_nothing(stage: Stage) -> None:
    recorded = stage.command("record")
    assert recorded.code == 2
    assert "name traces, or --all: weather" in recorded.text
