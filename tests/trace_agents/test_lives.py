"""One process a run, many runs a process, several processes at once; parts; what an agent finds around it."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Stage, final


def many(number: int) -> list[Any]:
    return [WEATHER._replace(trace_id=f"t{at}") for at in range(number)]


def pids(stage: Stage, number: int, **members: Any) -> set[str]:
    """The processes that played `number` runs."""
    stage.traces = many(number)
    stage.script["steps"] = [{"state": "{{pid}}", "label": "pid"}, *GOOD_STEPS]
    stage.manifest.update(members)
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    return {trace["runs"][0]["states"][0][1] for trace in outcome.replays()}


def test_one_run_a_process(stage: Stage) -> None:
    assert len(pids(stage, 3)) == 3


def test_many_runs_a_process(stage: Stage) -> None:
    stage.script["runs"] = "many"
    assert len(pids(stage, 4)) == 1


def test_many_runs_in_two_processes_at_once(stage: Stage) -> None:
    stage.script["runs"] = "many"
    assert len(pids(stage, 6, jobs=2)) <= 2


def test_workspace_is_fresh_in_each_run(stage: Stage) -> None:
    note = stage.directory / "note.txt"
    note.write_text("one\n")
    stage.workspace = {"note.txt": str(note)}
    stage.script["runs"] = "many"
    stage.traces = many(2)
    stage.script["steps"] = [{"file": "{{cwd}}/note.txt", "text": "two\n"}, *GOOD_STEPS]
    assert len(pids(stage, 2)) == 2
    assert note.read_text() == "one\n"


def test_nothing_of_the_callers_environment_reaches_the_agent(stage: Stage, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    agent = tmp_path / "agent.sh"
    agent.write_text(f'#!/bin/sh\nenv > {seen}\nexec {sys.executable} "$@"\n')
    agent.chmod(0o755)
    stage.agent["binary"] = str(agent)
    stage.environment["OPENAI_API_KEY"] = "sk-secret"
    assert stage.run().code == 0
    assert "sk-secret" not in seen.read_text()
    assert "RUNFILES" not in seen.read_text()


def test_live_agent_gets_the_variables_that_its_target_names(stage: Stage, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    agent = tmp_path / "agent.sh"
    agent.write_text(f'#!/bin/sh\nenv > {seen}\nexec {sys.executable} "$@"\n')
    agent.chmod(0o755)
    stage.agent.update(binary=str(agent), inherited=["SHOP_KEY"])
    stage.environment.update(SHOP_KEY="k1", OTHER="no")
    stage.manifest.update(strategy="full")
    stage.script["answers"] = {"model": "It rains at 12 degrees.", "weather": "12 degrees, rain"}
    outcome = stage.run()
    assert outcome.code == 0, outcome.text
    assert "SHOP_KEY=k1" in seen.read_text()
    assert "OTHER" not in seen.read_text()


def test_filter_runs_the_traces_that_it_names(stage: Stage) -> None:
    stage.traces = many(3)
    outcome = stage.run(TESTBRIDGE_TEST_ONLY="t[12]")
    assert outcome.code == 0, outcome.text
    assert sorted(path.name for path in (outcome.outputs / "actual").iterdir()) == [
        "replays.jsonl",
        "t1.json",
        "t2.json",
    ]
    refused = stage.run(TESTBRIDGE_TEST_ONLY="nothing")
    assert refused.code == 2
    assert "matches none of 3 traces" in refused.first_line


def test_shards_of_bazel_are_refused(stage: Stage) -> None:
    outcome = stage.run(TEST_TOTAL_SHARDS="2", TEST_SHARD_INDEX="0")
    assert outcome.code == 2
    assert "which no shard of Bazel's sees" in outcome.text


@pytest.mark.parametrize("broken", [False, True])
def test_verdict_over_parts_is_that_of_one_test(stage: Stage, tmp_path: Path, broken: bool) -> None:
    stage.traces = many(5)
    stage.manifest["threshold"] = 0.7
    # Two of five fail: one in each part, so that each part alone has more than 0.6 and one has less than 0.7.
    bad = {"t0": [{"final": "?"}], "t3": [{"final": "?"}]} if broken else {"t0": [{"final": "?"}]}
    stage.script["steps"] = {**bad, "*": GOOD_STEPS}
    alone = stage.run()
    parts = [tmp_path / f"part{number}" for number in range(2)]
    for number, part in enumerate(parts):
        assert stage.run(f"--part={part}", f"--slice={number}/2").code == 0
    stage.manifest["parts"] = [str(part) for part in parts]
    # Judging starts no agent.
    stage.agent["binary"] = "/nowhere/agent"
    judged = stage.run()
    assert judged.code == alone.code == (1 if broken else 0), judged.text


def test_part_leaves_the_same_bytes_each_time(stage: Stage, tmp_path: Path) -> None:
    stage.traces = many(2)
    left = []
    for name in ("a", "b"):
        assert stage.run(f"--part={tmp_path / name}", "--slice=0/1").code == 0
        left.append({path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("*.json*"))})
    assert left[0] == left[1]


def test_missing_part_is_told(stage: Stage, tmp_path: Path) -> None:
    stage.traces = many(4)
    assert stage.run(f"--part={tmp_path / 'a'}", "--slice=0/2").code == 0
    stage.manifest["parts"] = [str(tmp_path / "a")]
    outcome = stage.run()
    assert outcome.code == 2
    assert "no part holds a replay of t1, t3" in outcome.text


def test_trace_under_another_name_is_refused(stage: Stage) -> None:
    stage.write()
    (stage.directory / "traces/other.json").write_bytes(
        (stage.directory / "traces/weather.json").read_bytes()
    )
    outcome = stage.run()
    assert outcome.code == 2
    assert 'shop/traces/other.json $.trace_id: says "weather", and the file is called "other"' in outcome.text


def test_xml_is_left(stage: Stage, tmp_path: Path) -> None:
    xml = tmp_path / "test.xml"
    stage.script["steps"] = [final_step()]
    assert stage.run(XML_OUTPUT_FILE=str(xml)).code == 1
    assert "<failure" in xml.read_text()
    assert final(1, "x").response == "x"


def final_step() -> dict[str, Any]:
    return {"final": "nothing", "success": True}
