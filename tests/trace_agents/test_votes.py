"""Several runs of a trace by the real runner: as many as decide it, kept as trials, and counted again without a run."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Outcome, Stage

GOOD = "It rains at 12 degrees."
LIVE = {"model": GOOD, "weather": "live: 9 degrees"}


@pytest.fixture
def voting(stage: Stage) -> Stage:
    """Five runs of two traces, of which three have to pass."""
    stage.traces = [WEATHER, WEATHER._replace(trace_id="wind")]
    stage.manifest.update(strategy="consensus", runs=5)
    stage.suite = {"schema": 1, "answer": "equal"}
    stage.script["answers"] = dict(LIVE)
    answering(stage)
    return stage


def answering(stage: Stage, **odd: str) -> None:
    """odd: "wind_2" is the second run of that trace, and what it answers in the place of the right thing."""
    told = {
        name.replace("_", "."): [*GOOD_STEPS[:3], {"final": text, "success": True}]
        for name, text in odd.items()
    }
    stage.script["steps"] = {**told, "*": GOOD_STEPS}


def made(outcome: Outcome) -> dict[str, tuple[str, list[bool]]]:
    """Of each trace, the verdict, and whether each of its runs passed."""
    verdicts = {trace["trace_id"]: trace["status"] for trace in outcome.report["traces"]}
    return {
        each["trace_id"]: (verdicts[each["trace_id"]], [trial["passed"] for trial in each["trials"]])
        for each in map(json.loads, (outcome.outputs / "trials.jsonl").read_bytes().splitlines())
    }


def untimed(outcome: Outcome) -> tuple[bytes, list[dict[str, Any]]]:
    """The trials, and the traces of the report, which do not hold how long the live model took."""
    traces = outcome.report["traces"]
    for trace in traces:
        del trace["metrics"]["latency_ms"]
    return (outcome.outputs / "trials.jsonl").read_bytes(), traces


def judged(stage: Stage, outputs: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """`replay trace judge` on outputs: its exit code, what it says, its report."""
    report = stage.directory / "again.json"
    done = subprocess.run(
        [*(sys.executable, "-m", "replay.cli", "trace", "judge", str(stage.directory), str(outputs)),
         *("--json", str(report), *arguments)],
        env=stage._environment({}), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    document = json.loads(report.read_bytes()) if report.exists() else {}
    return done.returncode, done.stdout + done.stderr, document


def trials_alone(stage: Stage) -> Path:
    """The outputs without the runs themselves."""
    alone = stage.directory / "alone"
    alone.mkdir()
    shutil.copy(stage.outputs / "trials.jsonl", alone)
    return alone


def with_rule(stage: Stage, **rule: Any) -> None:
    stage.suite["consensus"] = rule
    (stage.directory / "suite.json").write_text(json.dumps(stage.suite))


def test_no_run_is_made_that_could_change_nothing(voting: Stage) -> None:
    answering(voting, wind_1="sun")
    outcome = voting.run()
    assert outcome.code == 0, outcome.text
    assert made(outcome) == {
        "weather": ("passed", [True, True, True]),
        "wind": ("passed", [False, True, True, True]),
    }
    assert [len(each["runs"]) for each in outcome.replays()] == [3, 4]
    assert sorted(path.name for path in (outcome.outputs / "actual").glob("w*.json")) == [
        *(f"weather.{number}.json" for number in (1, 2, 3)),
        *(f"wind.{number}.json" for number in (1, 2, 3, 4)),
    ]
    assert "note: 7 of 10 runs were made: the others could change no verdict" in outcome.text
    weather, wind = outcome.report["traces"]
    assert (weather["runs"], weather["runs_passed"], weather["runs_asked"]) == (3, 3, 5)
    assert wind["notes"][0]["message"] == (
        "3 of 4 runs passed, they agree by 0.50; odd: run 1; 1 of 5 were not needed"
    )


def test_runs_that_fail_stop_as_well(voting: Stage) -> None:
    answering(voting, wind_1="a", wind_2="b", wind_3="c")
    outcome = voting.run()
    assert outcome.code == 1
    assert made(outcome)["wind"] == ("failed", [False, False, False])


def test_rule_that_asks_for_agreement_needs_more_runs(voting: Stage) -> None:
    voting.suite["consensus"] = {"runs": 5, "passes": 1, "agreement": 0.9}
    answering(voting, wind_2="sun")
    outcome = voting.run()
    # One odd answer is four of ten pairs, and those that are left are too few as soon as it has come.
    assert made(outcome) == {"weather": ("passed", [True] * 5), "wind": ("failed", [True, False, True])}


@pytest.mark.parametrize("runs", ["one", "many"])
def test_how_many_agents_run_at_once_changes_no_run(voting: Stage, runs: str) -> None:
    answering(voting, wind_1="sun", weather_2="sun", weather_3="sun")
    voting.script["runs"] = runs
    found = set()
    for jobs in (1, 2, 4):
        voting.manifest["jobs"] = jobs
        outcome = voting.run()
        assert made(outcome)["weather"][1] == [True, False, False, True, True]
        found.add((outcome.outputs / "trials.jsonl").read_bytes())
    assert len(found) == 1


def test_every_run_is_made_where_that_is_asked_for_and_where_runs_do_not_vote(voting: Stage) -> None:
    voting.manifest["all_runs"] = True
    assert made(voting.run())["wind"] == ("passed", [True] * 5)
    voting.manifest.update(all_runs=False, strategy="mock_tools", runs=3)
    answering(voting, wind_1="sun")
    assert made(voting.run())["wind"] == ("failed", [False, True, True])


@pytest.mark.parametrize("jobs", [1, 3])
def test_run_whose_process_fails_after_its_end_is_counted_as_failed(voting: Stage, jobs: int) -> None:
    # The third passes, and would decide; its process then exits with 3.
    voting.manifest["jobs"] = jobs
    voting.script["steps"] = {
        "wind.3": [*GOOD_STEPS, {"exit": 3}],
        "*": GOOD_STEPS,
    }
    assert made(voting.run())["wind"] == ("passed", [True, True, False, True])


def test_agent_that_does_not_start_is_no_vote(voting: Stage) -> None:
    voting.script["hello"] = None
    voting.script["before"] = [{"exit": 7}]
    outcome = voting.run()
    assert outcome.code == 3, outcome.text
    assert made(outcome)["weather"] == ("failed", [False] * 3)


def test_parts_stop_early_and_their_test_judges_the_same(voting: Stage) -> None:
    answering(voting, wind_1="sun")
    whole = untimed(voting.run())
    parts = [str(voting.directory / f"part{number}") for number in range(2)]
    for number, part in enumerate(parts):
        assert voting.run(f"--part={part}", f"--slice={number}/2").code == 0
    voting.manifest["parts"] = parts
    assert untimed(voting.run()) == whole
    # A suite that asks for more than they hold: they say so, and nothing is guessed.
    voting.suite["consensus"] = {"runs": 5, "passes": 5}
    (voting.directory / "suite.json").write_text(json.dumps(voting.suite))
    outcome = voting.run()
    assert outcome.code == 2
    assert '"weather" has 3 of 5 runs, since no other could change its outcome' in outcome.text


def test_part_judges_runs_as_they_are_left_without_their_times(voting: Stage) -> None:
    # By its times no run would pass, and three runs that fail would be enough.
    voting.suite["budgets"] = {"latency_ms": 0}
    answering(voting, weather_1="sun", weather_2="sun")
    part = str(voting.directory / "part")
    assert voting.run(f"--part={part}", "--slice=0/1").code == 0
    voting.manifest["parts"] = [part]
    assert made(voting.run())["weather"] == ("passed", [False, False, True, True, True])


@pytest.mark.parametrize("alone", [False, True])
def test_votes_are_counted_again_by_other_rules_without_a_run(voting: Stage, alone: bool) -> None:
    answering(voting, wind_2="sun", wind_4="moon")
    first = voting.run()
    assert made(first)["wind"] == ("passed", [True, False, True, False, True])
    outputs = trials_alone(voting) if alone else voting.outputs
    code, text, report = judged(voting, outputs)
    assert code == 0, text
    same = ("status", "reasons", "notes", "runs", "runs_passed", "runs_asked")
    assert [[trace[key] for key in same] for trace in report["traces"]] == [
        [trace[key] for key in same] for trace in first.report["traces"]
    ]
    with_rule(voting, runs=5, passes=2)
    assert judged(voting, outputs)[0] == 0
    # All five runs of the one are there, and three of the other.
    with_rule(voting, runs=5, passes=4)
    code, text, _ = judged(voting, outputs)
    assert code == 2 and text.startswith(
        '"weather" has 3 of 5 runs, since no other could change its outcome by the suite of then; by the suite as it '
        "is now one could: 3 of 3 runs passed, 4 of 5 have to, which is open\n    fix: run the test again"
    )
    voting.suite["traces"] = {"weather": {"skip": "not today"}}
    with_rule(voting, runs=5, passes=4)
    code, text, report = judged(voting, outputs)
    assert code == 1 and report["traces"][1]["reasons"][1]["message"] == "3 of 5 runs passed, 4 of 5 had to"
    with_rule(voting, runs=5, passes=3, agreement=0.5)
    assert "the runs agree by 0.30, 0.5 is asked for over 5 runs" in str(judged(voting, outputs)[2])


def test_trials_without_runs_cannot_be_judged_by_another_strategy(voting: Stage) -> None:
    voting.run()
    code, text, _ = judged(voting, trials_alone(voting), "--strategy", "exact")
    assert code == 2 and "holds trials and no runs, which cannot be judged as --strategy exact" in text


def test_unchanged_rule_of_all_runs_is_open_where_votes_stopped_them(voting: Stage) -> None:
    voting.manifest.update(strategy="mock_tools", runs=3)
    voting.suite["consensus"] = {"runs": 3, "passes": 2}
    assert made(voting.run())["weather"] == ("passed", [True, True])
    del voting.suite["consensus"]
    (voting.directory / "suite.json").write_text(json.dumps(voting.suite))
    code, text, _ = judged(voting, voting.outputs)
    assert code == 2 and "2 of 2 runs passed, 3 of 3 have to, which is open" in text
