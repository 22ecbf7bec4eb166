"""The strategy table as people read it: a row a strategy, and below it what each missed, failed for nothing, or could not do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.errors import counted
from replay.runner.trace_matrix import Row
from replay.trace.changes import AgentChange
from replay.trace.report import AGENT, Report
from replay.trace.report_console import printable

__all__ = ["render"]

_HEAD: Final = ("strategy", "unchanged", "determinism", "detection", "maintenance", "seconds")
_AGAIN: Final = "if the agent is right, record the traces again"
_IN_SUITE: Final = f"{_AGAIN}, else say in suite.json what may differ"
# Kind of a reason -> what there is to do about it. All others are budgets.
_ADVICE: Final[Mapping[str, str]] = {
    AGENT: "start the agent as the command does, and see what it says",
    "trace": f"{_AGAIN}, else measure strategies under which it may leave them",
    "success": _IN_SUITE,
    "trajectory": _IN_SUITE,
    "answer": _IN_SUITE,
    "state": _IN_SUITE,
    "snapshot": "accept its snapshots by a trace_snapshot_test over the suite",
    "consensus": "ask for fewer passes or less agreement in suite.json",
}
_BUDGET: Final = "give more in suite.json"


def render(rows: Sequence[Row], changes: Sequence[AgentChange], repeats: int) -> str:
    """The table and what there is to say of each row. repeats: how often the unchanged agent ran."""
    cells = [_HEAD, *map(_cells, rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(_HEAD))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    lines.append("")
    for row in rows:
        lines += _told(row, repeats)
    if not changes:
        lines.append("no changes.json: nothing to detect, and nothing to let pass")
    # What the agent said must not act on the terminal.
    return "".join(printable(line) + "\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    if row.refusal:
        return row.strategy, "not measured", "", "", "", ""
    return (
        row.strategy,
        "passes" if row.passes else "FAILS",
        f"{row.determinism:.2f}",
        _fraction(row.caught),
        _fraction(row.failed),
        f"{row.seconds:.2f}",
    )


def _told(row: Row, repeats: int) -> Iterator[str]:
    if row.refusal:
        yield "; ".join(filter(None, (f"{row.strategy}: {row.refusal}", *row.fix.split("\n"))))
        return
    if not row.passes:
        yield f"{row.strategy}: {_failure(row.failing, repeats)}"
        return
    missed = [name for name, is_caught in row.caught.items() if not is_caught]
    failed = [name for name, is_failed in row.failed.items() if is_failed]
    yield (
        f"{row.strategy}: regressions {len(row.caught) - len(missed)} caught, {len(missed)} missed; "
        f"harmless {len(failed)} failed, {len(row.failed) - len(failed)} passed"
    )
    if missed:
        yield f"  missed: {', '.join(missed)}"
    if failed:
        yield f"  failed for nothing: {', '.join(failed)}"


def _failure(failing: Sequence[Report], repeats: int) -> str:
    """One sentence: how often the unchanged agent fails, for what, and what there is to do."""
    report = failing[0]
    rate = report.overall.rate
    traces = list(report.failures)
    often = "" if len(failing) == repeats else f" in {len(failing)} of {repeats} runs,"
    if not traces or not traces[0].reasons:
        why = next((check.message for check in report.checks if not check.passed), "nothing could be judged")
        return f"the unchanged agent fails{often.rstrip(',')}: {why}; mend the suite before its strategies are measured"
    first = traces[0].reasons[0]
    advice = _ADVICE.get(first.kind, _BUDGET)
    if often:
        advice = "its runs differ: lower the threshold in suite.json, or say there what may differ"
    more = f", and {len(traces) - 1} more" if traces[1:] else ""
    return (
        f"the unchanged agent fails{often} in {counted(len(traces), 'trace')} of {rate.total}: "
        f"{traces[0].trace_id}{more}: {first.kind}: {first.message}; {advice}"
    )


def _fraction(verdicts: Mapping[str, bool]) -> str:
    return f"{sum(verdicts.values())}/{len(verdicts)}" if verdicts else "-"
