"""Verdicts: one trace by its runs, a suite by its conditions, a report against the one before."""

import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import AgentError, FixtureError, UsageError
from replay.trace.divergence import Divergence
from replay.trace.model import AgentStep
from replay.trace.previous import chance_of, with_history
from replay.trace.replayer import Run
from replay.trace.report import Report, TraceResult, percent
from replay.trace.report_json import render_json
from replay.trace.snapshot import Snapshot
from replay.trace.suite import Suite, read_suite
from replay.trace.verdict import judge, needs_closeness
from replay.trace.vote import judge_trace
from tests.trace.suite_values import make_trace, replayed


def suite_of(**members: Any) -> Suite:
    return read_suite(orjson.dumps({"schema": 1, **members}), "suite.json")


def reasons(result: TraceResult) -> list[str]:
    return [f"{reason.kind}: {reason.message}" for reason in result.reasons]


BASE = make_trace(calls=("find", "read"))
# What a run did otherwise, under which suite, and what is said of it; nothing for what holds.
RUNS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "the same": (BASE, {}, []),
    "another answer": (BASE._replace(final_answer="lost"), {}, ['answer: $: "done" became "lost"']),
    "an answer that is not compared": (BASE._replace(final_answer="lost"), {"answer": "any"}, []),
    "a time in the answer": (
        BASE._replace(final_answer="at 12:30"),
        {"compare": {"answer": [{"path": "$", "pattern": "at [0-9:]+", "reason": "a time"}]}},
        [],
    ),
    "no success": (BASE._replace(success=False), {}, ["success: ended with success false, expected true"]),
    "success unsaid": (BASE._replace(success=None), {}, ["success: did not say whether it succeeded, expected true"]),
    "failure as expected": (BASE._replace(success=False), {"expected_success": False}, []),
    "a tool left out": (
        make_trace(calls=("find",)), {}, ['trajectory: call 2 is missing: read({"n":2})'],
    ),
    "a tool left out of a subset": (make_trace(calls=("find",)), {"trajectory": "subset"}, []),
    "a tool more": (
        make_trace(calls=("find", "read", "list")), {}, ['trajectory: call 3 is extra: list({"n":3})'],
    ),
    "a tool more in a superset": (make_trace(calls=("find", "read", "list")), {"trajectory": "superset"}, []),
    "another input": (
        make_trace(calls=(("find", {"n": "9"}), ("read", {"n": 2}))), {},
        ['trajectory: call 1 find: $.input.n: number 1 became text "9"'],
    ),
    "too many steps": (
        make_trace(calls=("find", "read", "list")),
        {"trajectory": "superset", "budgets": {"steps": {"over_baseline": 0.25}}},
        ["steps: took 6 steps, 5 are allowed; the baseline took 4"],
    ),
    "too many tokens": (
        BASE, {"budgets": {"tokens": 219}}, ["tokens: took 220 tokens, 219 are allowed; the baseline took 220"],
    ),
    "too dear": (
        BASE, {"budgets": {"cost_usd": 0.0001}, "prices": {"m": {"prompt": 1, "completion": 1}}},
        ["cost_usd: took 0.00022 USD, 0.0001 are allowed; the baseline took 0.00022"],
    ),
    "too slow": (
        BASE._replace(total_duration_ms=50.0), {"budgets": {"latency_ms": 20}},
        ["latency_ms: took 50 ms, 20 are allowed; the baseline took 10"],
    ),
    "an agent that crashed": (Run(BASE, error=AgentError("exited with 1")), {}, ["agent: exited with 1"]),
    "a run that left its trace": (
        Run(BASE._replace(final_answer=None), (Divergence("exhausted", -1, "a 3rd model call", is_fatal=True),)),
        {}, ["trace: a 3rd model call"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_judged_with_a_reason_for_each_difference(name: str) -> None:
    actual, members, expected = RUNS[name]
    suite = suite_of(**members)
    # An answer that is matched by a pattern needs a baseline that matches as well.
    baseline = BASE._replace(final_answer="at 09:00") if name == "a time in the answer" else BASE
    result = judge_trace(suite, replayed(baseline, actual))
    assert reasons(result) == expected
    assert result.passed is not expected


def test_state_is_compared_where_the_baseline_tells_it() -> None:
    def with_state(value: Any) -> Any:
        steps = [*BASE.steps]
        steps[1] = steps[1]._replace(
            env_state_before={"db": {"rows": "w"}}, env_state_after={"db": {"rows": value}}
        )
        return BASE._replace(steps=tuple(steps))

    def judged(baseline: Any, actual: Any, strategy: str = "full", suite: Suite | None = None) -> TraceResult:
        return judge_trace(suite or Suite(), replayed(baseline, actual, strategy=strategy))

    assert judged(with_state("x"), with_state("x")).passed
    assert judged(BASE, with_state("x")).passed
    assert reasons(judged(with_state("x"), with_state("y"))) == ['state: $.db.rows: "x" became "y"']
    assert not judged(with_state("x"), BASE).passed
    assert judged(with_state("x"), BASE, suite=suite_of(state="any")).passed
    # Where a tool made the change and is served, nothing can be said, and that is said.
    served = judged(with_state("x"), with_state("w"), "mock_tools")
    assert served.passed
    assert [note.message for note in served.notes] == [
        'the state of "db" is not judged: served tools change nothing'
    ]


def test_divergences_fail_a_strict_strategy_and_are_notes_of_another() -> None:
    run = Run(BASE, (Divergence("prompt", 0, "the 1st model call is not asked as recorded"),))
    assert reasons(judge_trace(Suite(), replayed(BASE, run, strategy="exact"))) == [
        "trace: the 1st model call is not asked as recorded"
    ]
    loose = judge_trace(Suite(), replayed(BASE, run, strategy="mock_tools"))
    assert loose.passed and [note.kind for note in loose.notes] == ["trace"]


@pytest.mark.parametrize("trajectory", ["strict", "unordered", "subset", "superset", "any"])
def test_another_order_fails_a_strict_strategy_only_where_the_suite_asks_for_the_order(
    trajectory: str,
) -> None:
    found = (
        Divergence("order", 2, "the 2nd model call of the trace came when its 1st was due"),
        Divergence("repeated", 1, "called again"),
    )
    suite = suite_of(traces={BASE.trace_id: {"trajectory": trajectory}})
    alone = judge_trace(suite, replayed(BASE, Run(BASE, found[:1]), strategy="exact"))
    both = judge_trace(suite, replayed(BASE, Run(BASE, found), strategy="exact"))
    sentences = [f"trace: {one.message}" for one in found]
    if trajectory == "strict":
        assert reasons(alone) == sentences[:1] and not alone.notes
        assert reasons(both) == sentences
    else:
        assert alone.passed and [note.message for note in alone.notes] == [found[0].message]
        assert reasons(both) == sentences[1:] and [note.message for note in both.notes] == [found[0].message]
    # Of another trace's suite nothing follows.
    other = suite_of(traces={"t2": {"trajectory": "any"}})
    assert not judge_trace(other, replayed(BASE, Run(BASE, found[:1]), strategy="exact")).passed


def test_snapshots_are_compared_by_file_name() -> None:
    accepted = {"end.json": Snapshot("end", state={"a": "x"})}
    good = Run(BASE, states=(("end", {"a": "x"}),))
    bad = Run(BASE, states=(("end", {"a": "y"}), ("more", 1)))

    def judged(run: Run, snapshots: Any) -> list[str]:
        return reasons(judge_trace(Suite(), replayed(BASE, run, strategy="snapshot"), None, snapshots))

    assert judged(good, accepted) == []
    assert judged(good, {}) == ["snapshot: no snapshot of it is accepted yet"]
    assert judged(Run(BASE), accepted) == ["snapshot: end.json was not taken"]
    assert judged(bad, accepted) == [
        'snapshot: end.json $.state.a: "x" became "y"',
        "snapshot: more.json was taken, and is not accepted yet",
    ]


def test_the_time_of_a_served_run_is_in_no_report() -> None:
    suite = suite_of(budgets={"latency_ms": 1})
    slow = BASE._replace(total_duration_ms=9999.0)
    served = [judge(suite, [replayed(BASE, actual, strategy="exact")]) for actual in (BASE, slow)]
    assert render_json(served[0]) == render_json(served[1])
    assert served[0].passed and "not judged" in served[0].notes[0]
    assert not judge(suite, [replayed(BASE, slow, strategy="full")]).passed


def test_a_budget_that_the_run_does_not_tell_is_a_note() -> None:
    silent = BASE._replace(
        steps=tuple(step._replace(prompt_tokens=None, completion_tokens=None) for step in BASE.steps)
    )
    report = judge(suite_of(budgets={"tokens": 5}), [replayed(BASE, silent)])
    assert report.passed and report.notes == ("tokens are not judged: the run does not tell (1 trace)",)


def test_of_several_runs_all_must_pass_without_a_consensus() -> None:
    bad = BASE._replace(success=False)
    result = judge_trace(Suite(), replayed(BASE, BASE, bad, BASE))
    assert (result.status, result.runs, result.runs_passed) == ("failed", 3, 2)
    assert reasons(result) == [
        "consensus: 2 of 3 runs passed",
        "success: run 2: ended with success false, expected true",
    ]


def test_a_consensus_lets_odd_runs_pass_and_names_them() -> None:
    odd = BASE._replace(final_answer="nonsense")
    suite = suite_of(answer="equal", consensus={"runs": 4, "passes": 3, "agreement": 0.5})
    result = judge_trace(suite, replayed(BASE, BASE, odd, BASE, BASE, strategy="consensus"))
    assert result.passed and "odd: run 2" in result.notes[0].message
    worse = judge_trace(suite, replayed(BASE, BASE, odd, odd, BASE, strategy="consensus"))
    assert not worse.passed and "2 of 4 runs passed" in worse.reasons[0].message


def test_meaning_asks_for_a_text_model_only_where_it_is_used() -> None:
    other = replayed(BASE, BASE._replace(final_answer="finished"), strategy="semantic")
    assert needs_closeness(Suite(), [other]) and not needs_closeness(suite_of(answer="equal"), [other])
    with pytest.raises(UsageError):
        judge_trace(Suite(), other)
    assert judge_trace(Suite(), replayed(BASE, strategy="semantic")).passed


# -- suites -------------------------------------------------------------------------------------------------------


def runs_of(passed: int, failed: int, category: str = "c") -> list[Any]:
    traces = [make_trace(f"{category}{number:03d}", category) for number in range(passed + failed)]
    return [
        replayed(trace, trace if number < passed else trace._replace(success=False))
        for number, trace in enumerate(traces)
    ]


def failed_checks(report: Report) -> list[str]:
    return [f"{check.name} {check.where}".strip() for check in report.checks if not check.passed]


def test_the_threshold_decides_and_the_interval_is_said() -> None:
    report = judge(suite_of(threshold=0.9), runs_of(37, 3))
    assert (report.passed, report.exit_code, report.overall.is_uncertain) == (True, 0, True)
    assert report.checks[0].message == (
        "37 of 40 passed, 92 % (95 % interval 80 % to 97 %), 90 % asked for; the threshold lies within: 40 traces cannot tell"
    )
    assert judge(suite_of(threshold=0.95), runs_of(37, 3)).exit_code == 1
    assert not judge(suite_of(threshold=0.9, judge_by="lower_bound"), runs_of(37, 3)).passed
    assert judge(suite_of(threshold=0.79, judge_by="lower_bound"), runs_of(37, 3)).passed


def test_a_category_has_its_own_threshold_and_must_not_be_empty() -> None:
    suite = suite_of(
        threshold=0.5, categories={"a": {"threshold": 1}, "b": {"threshold": 1}, "empty": {"threshold": 0}}
    )
    report = judge(suite, [*runs_of(9, 1, "a"), *runs_of(3, 0, "b")])
    assert failed_checks(report) == ["threshold a", "threshold empty"]


def test_nothing_to_judge_and_an_override_of_nothing_fail() -> None:
    assert judge(Suite(), []).exit_code == 1
    assert failed_checks(judge(suite_of(traces={"c000": {"skip": "x"}}), runs_of(1, 0))) == ["traces"]
    assert failed_checks(judge(suite_of(traces={"gone": {}}), runs_of(1, 0))) == ["traces"]


def test_two_traces_of_one_id_are_refused() -> None:
    with pytest.raises(FixtureError, match='2 traces have the id "t1"'):
        judge(Suite(), [replayed(BASE), replayed(BASE)])


def test_exit_codes_tell_an_agent_that_did_not_run_from_one_that_did_wrong() -> None:
    crashed = replayed(make_trace("a"), Run(BASE, error=AgentError("hung")))
    wrong = replayed(make_trace("b"), make_trace("b", success=False))
    broken = replayed(make_trace("c"), Run(BASE, error=FixtureError("no blob")))
    good = replayed(make_trace("d"))
    assert judge(Suite(), [crashed, good]).exit_code == 3
    assert judge(Suite(), [crashed, wrong]).exit_code == 1
    assert judge(Suite(), [broken, good]).exit_code == 2
    assert judge(suite_of(threshold=0.5), [crashed, good]).exit_code == 0


def test_a_drop_is_judged_over_the_traces_that_both_reports_judged() -> None:
    suite = suite_of(threshold=0, allowed_drop=0.1)
    before = judge(suite, runs_of(10, 0))
    assert judge(suite, runs_of(9, 1), before).passed
    assert failed_checks(judge(suite, runs_of(8, 2), before)) == ["drop"]
    # Twenty new traces that fail are no fall of the others.
    assert judge(suite, [*runs_of(10, 0), *runs_of(0, 20, "new")], before).passed
    assert judge(suite, runs_of(0, 5, "other"), before).passed


def test_changes_name_what_broke_what_was_mended_and_what_cannot_decide() -> None:
    suite = suite_of(threshold=0)

    def report(pattern: str, previous: Report | None) -> Report:
        traces = [make_trace(name) for name in "abc"]
        return judge(
            suite,
            [
                replayed(t, t if ok == "P" else t._replace(success=False))
                for t, ok in zip(traces, pattern, strict=True)
            ],
            previous,
        )

    first = report("PFP", None)
    second = report("FPP", first)
    assert second.changes is not None
    assert (second.changes.new_failures, second.changes.fixed, second.changes.flaky) == (("a",), ("b",), ())
    third = report("PPP", second)
    assert third.changes is not None and third.changes.flaky == ("a",)
    assert [trace.history for trace in third.traces] == ["PFP", "FPP", "PPP"]


def test_history_is_bounded_and_a_skipped_trace_keeps_its_own() -> None:
    old = Report(
        "",
        "",
        judge(Suite(), runs_of(1, 0)).overall,
        traces=(TraceResult("t", "", "passed", history="P" * 20),),
    )
    [now] = with_history([TraceResult("t", "", "failed", runs_passed=0)], old)
    assert now.history == "P" * 19 + "F" and now.change == "new_failure"
    [skipped] = with_history([TraceResult("t", "", "skipped", runs=0)], old)
    assert skipped.history == "P" * 20


def test_chance_is_that_of_coins() -> None:
    assert chance_of(0, 0) == 1 and chance_of(1, 1) == 1
    assert chance_of(5, 0) == 2 / 32
    assert chance_of(0, 8) == 2 / 256


@given(st.integers(0, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(max(n, 1)))))
def test_a_share_that_is_not_all_never_reads_as_all(pair: tuple[int, int]) -> None:
    passed, total = pair
    text = percent(passed / total)
    assert (text == "100 %") == (passed == total) and (text == "0 %") == (passed == 0)


def test_a_report_does_not_depend_on_the_order_of_the_replays() -> None:
    replays = [*runs_of(7, 3, "a"), *runs_of(5, 2, "b")]
    suite = suite_of(threshold=0.5)
    expected = render_json(judge(suite, replays, judge(suite, replays)))
    random.Random(1).shuffle(replays)
    assert render_json(judge(suite, replays, judge(suite, replays))) == expected


def test_an_observation_is_no_step_of_a_budget() -> None:
    seen = BASE._replace(steps=(*BASE.steps, AgentStep("o", "observation", tool_name="mail", tool_output=1)))
    assert judge_trace(suite_of(budgets={"steps": 4}), replayed(BASE, seen)).passed
