"""Trials of a trace: that it is run no further changes no verdict, and what is stored of them is read again, or refused."""

import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import AgentError, FixtureError, UsageError
from replay.trace.replayer import Run
from replay.trace.report_json import read_report, render_json
from replay.trace.strategies import STRATEGIES
from replay.trace.suite import Suite, read_suite
from replay.trace.trials import read_trials, write_trials
from replay.trace.verdict import judge, judge_trials
from replay.trace.vote import Ballot, count_trials, judge_trace, try_runs
from tests.trace.suite_values import make_trace, replayed

BASE = make_trace(category="c")
# What a run may come to: as recorded, by another way, another answer, no success, too many steps, a process that broke.
RUNS = (
    Run(BASE),
    Run(make_trace(calls=("read",))),
    Run(BASE._replace(final_answer="lost")),
    Run(BASE._replace(success=False)),
    Run(make_trace(calls=("find",) * 4)),
    Run(BASE, error=AgentError("hung")),
)
SHARES = st.sampled_from([0, 0.1, 1 / 3, 0.5, 0.6, 2 / 3, 1])
RULES = st.none() | st.integers(1, 7).flatmap(
    lambda runs: st.fixed_dictionaries(
        {"runs": st.just(runs), "passes": st.integers(1, runs), "agreement": SHARES}
    )
)


def suite_of(rule: dict[str, Any] | None, **members: Any) -> Suite:
    voted = {} if rule is None else {"consensus": rule}
    return read_suite(
        orjson.dumps({"schema": 1, "answer": "equal", "budgets": {"steps": 4}, **voted, **members}),
        "suite.json",
    )


@given(RULES, st.lists(st.sampled_from(RUNS), min_size=1, max_size=8), st.sampled_from(["consensus", "full"]))
def test_trace_that_is_run_no_further_has_the_verdict_of_all_its_runs(
    rule: dict[str, Any] | None, runs: list[Run], name: str
) -> None:
    suite, every = suite_of(rule), replayed(BASE, *runs, strategy=name)
    ballot = Ballot(suite, BASE, every.strategy)
    number = 0
    while (wanted := ballot.wanted(every.runs[:number])) > number:
        # What it wants is never taken back, and never more than there were to be.
        assert number < wanted <= len(runs)
        number += 1
    early = every._replace(runs=every.runs[:number])
    assert judge_trace(suite, early).status == judge_trace(suite, every).status
    assert judge(suite, [early]).passed is judge(suite, [every]).passed
    # One run fewer is not enough to say.
    if number > 1 and rule is not None and number < len(runs):
        with pytest.raises(UsageError, match="one could: "):
            judge_trace(suite, every._replace(runs=every.runs[: number - 1]))


@given(st.lists(st.sampled_from(RUNS), min_size=5, max_size=5), st.randoms(use_true_random=False))
def test_ballot_answers_by_the_runs_alone(runs: list[Run], chance: random.Random) -> None:
    strategy = STRATEGIES["consensus"]
    asked = Ballot(suite_of(None), BASE, strategy)
    for _ in range(8):
        listed = runs[: chance.randrange(6)]
        if listed:
            listed[chance.randrange(len(listed))] = chance.choice(RUNS)
        assert asked.wanted(listed) == Ballot(suite_of(None), BASE, strategy).wanted(listed)


@given(RULES, st.lists(st.sampled_from(RUNS), min_size=1, max_size=7))
def test_stored_trials_give_the_same_result(rule: dict[str, Any] | None, runs: list[Run]) -> None:
    suite = suite_of(rule)
    tried = try_runs(suite, replayed(BASE, *runs, strategy="consensus"))
    [again] = read_trials(write_trials([tried]), "trials.jsonl")
    assert again == tried._replace(metrics={})
    assert count_trials(suite, again) == count_trials(suite, tried)._replace(metrics={})
    assert judge_trials(suite, [again]).exit_code == judge_trials(suite, [tried]).exit_code


def test_rule_of_votes_holds_for_no_strategy_that_runs_once() -> None:
    suite = suite_of({"runs": 3, "passes": 2})
    good, bad = (judge_trace(suite, replayed(BASE, run, strategy="full")) for run in (RUNS[0], RUNS[3]))
    assert good.passed and not good.notes
    assert [reason.kind for reason in bad.reasons] == ["success"]
    # Of two runs it is a rule again, as if they were two of three.
    two = judge_trace(suite, replayed(BASE, RUNS[0], RUNS[0], strategy="full"))
    assert two.passed and [note.kind for note in two.notes] == ["consensus"]


def test_trace_that_the_suite_skips_has_no_trials() -> None:
    suite = suite_of(None, traces={BASE.trace_id: {"skip": "not today"}})
    tried = try_runs(suite, replayed(BASE))
    assert write_trials([tried]) == b"" and count_trials(suite, tried).status == "skipped"


def test_report_says_how_many_runs_were_made_of_how_many() -> None:
    every = replayed(BASE, *[Run(BASE)] * 5, strategy="consensus")
    report = judge(suite_of(None), [every._replace(runs=every.runs[:3])])
    assert report.notes == ("3 of 5 runs were made: the others could change no verdict",)
    [trace] = read_report(render_json(report), "report.json").traces
    assert (trace.runs, trace.runs_passed, trace.runs_asked) == (3, 3, 5)
    # A report that was made before this was said.
    old = orjson.loads(render_json(report))
    del old["traces"][0]["runs_asked"]
    assert read_report(orjson.dumps(old), "report.json").traces[0].runs_asked == 3


TRIAL = {"run": 1, "answer": 1, "passed": True, "reasons": [], "notes": [], "fault": 0}
TRACE = {"trace_id": "t", "category": "", "strategy": "consensus", "of": 5, "trials": [TRIAL]}
FAILED = TRIAL | {"passed": False, "reasons": [["answer", "another"]]}


def one(**members: Any) -> bytes:
    return orjson.dumps(TRACE | members) + b"\n"


def trial(**members: Any) -> bytes:
    return one(trials=[TRIAL, FAILED | {"run": 2} | members])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{\n", "t:1: is not JSON: "),
        (b"\n", "t:1: is empty"),
        (b"7\n", "t:1: is no trace with its trials"),
        (one()[:-1], "t:1: ends in the middle of a line"),
        (one() + one(), 't:2: holds "t" a second time'),
        (one(trace_id=""), "t:1: is no trace with its trials"),
        (one(of=True), "t:1: is no trace with its trials"),
        (one(of=1001), "t:1: is no trace with its trials"),
        (one(strategy="guess"), 't:1 $.strategy: "guess" is no strategy'),
        (one(trials=[]), "t:1 $.trials: holds 0 trials of at most 5"),
        (one(of=1, trials=[TRIAL, TRIAL]), "t:1 $.trials: holds 2 trials of at most 1"),
        (one(trials=["passed"]), "t:1 $.trials[0]: is not the trial of run 1"),
        (trial(run=1), "t:1 $.trials[1]: is not the trial of run 2"),
        (trial(run=True), "t:1 $.trials[1]: is not the trial of run 2"),
        (trial(fault=9), "t:1 $.trials[1]: is not the trial of run 2"),
        (trial(passed=1), "t:1 $.trials[1]: is not the trial of run 2"),
        (trial(passed=True), "t:1 $.trials[1]: passed, and says why not, or the other way round"),
        (trial(reasons=[]), "t:1 $.trials[1]: passed, and says why not, or the other way round"),
        (trial(reasons=[["why", "not"]]), "t:1 $.trials[1]: holds what is no reason"),
        (trial(notes=[{"kind": "answer"}]), "t:1 $.trials[1]: holds what is no reason"),
        (one(trials=[{**TRIAL, "answer": [[]]} | {"notes": 1}]), "t:1 $.trials[0]: is not the trial of run 1"),
    ],
)  # fmt: skip
def test_trials_that_no_test_left_are_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read_trials(data, "t")
    assert str(caught.value).startswith(sentence)


def test_trials_that_nest_too_deep_are_refused() -> None:
    deep = b"[" * 300 + b"]" * 300
    with pytest.raises(FixtureError) as caught:
        read_trials(one(trials=[TRIAL | {"answer": 5}]).replace(b'"answer":5', b'"answer":' + deep), "t")
    assert str(caught.value).startswith("t:1: nests deeper than")
