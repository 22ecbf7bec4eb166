"""The strategy table says of each strategy that cannot be measured why, and what to do, in one sentence."""

import pytest

from replay.cli.trace_table import render
from replay.runner.trace_matrix import Row
from replay.trace.changes import AgentChange
from replay.trace.report import FAILED, PASSED, Check, Group, Reason, Report, TraceResult
from replay.trace.statistics import Rate


def failed(*reasons: tuple[str, str, str], total: int = 3) -> Report:
    """A report in which these traces failed, each (trace, kind, message)."""
    traces = [TraceResult(name, "", FAILED, (Reason(kind, said),)) for name, kind, said in reasons]
    traces += [TraceResult(f"good{at}", "", PASSED) for at in range(total - len(traces))]
    group = Group("", Rate(total - len(reasons), total), 1.0)
    checks = (Check("threshold", "", False, "too few passed"),)
    return Report("shop", "exact", group, checks=checks, traces=tuple(traces))


def told(row: Row, repeats: int = 3) -> list[str]:
    return render([row], [AgentChange("c", "harmless")], repeats).split("\n\n")[1].splitlines()


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("agent", "start the agent as the command does, and see what it says"),
        ("trace", "if the agent is right, record the traces again, else measure strategies under which"),
        ("answer", "if the agent is right, record the traces again, else say in suite.json what may differ"),
        ("snapshot", "accept its snapshots by a trace_snapshot_test over the suite"),
        ("consensus", "ask for fewer passes or less agreement in suite.json"),
        ("latency_ms", "give more in suite.json"),
    ],
)
def test_suite_that_fails_unchanged_is_told_with_its_first_trace(kind: str, advice: str) -> None:
    reports = [failed(("a", kind, "it is \x1b[31mso"), ("b", "answer", "other"))] * 3
    [line] = told(Row("exact", False, 1.0, {}, {}, 0.1, failing=reports))
    assert line.startswith(
        f"exact: the unchanged agent fails in 2 traces of 3: a, and 1 more: {kind}: it is \\x1b[31mso; {advice}"
    )


def test_suite_that_fails_now_and_then_is_told_as_such() -> None:
    [line] = told(Row("full", False, 0.8, {}, {}, 0.1, failing=[failed(("a", "answer", "other"))]))
    assert line == (
        "full: the unchanged agent fails in 1 of 3 runs, in 1 trace of 3: a: answer: other; "
        "its runs differ: lower the threshold in suite.json, or say there what may differ"
    )


def test_condition_that_no_trace_fails_for_is_told() -> None:
    [line] = told(Row("full", False, 1.0, {}, {}, 0.1, failing=[failed()] * 3))
    assert line == (
        "full: the unchanged agent fails: too few passed; mend the suite before its strategies are measured"
    )


def test_strategy_that_cannot_be_measured_says_what_it_needs() -> None:
    row = Row("semantic", False, 0.0, {}, {}, 0.0, "it needs a model", "take one\nor none")
    assert told(row) == ["semantic: it needs a model; take one; or none"]
    table = render([row], [], 2)
    assert table.splitlines()[1] == "semantic  not measured"
    assert table.endswith("no changes.json: nothing to detect, and nothing to let pass\n")
