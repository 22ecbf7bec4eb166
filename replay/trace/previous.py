"""A report against the one before: what broke, what was mended, what cannot make up its mind. Pure.

Rates are compared over the traces that both judged: a suite that grew shows no fall for it. How much of a change is
chance, the two counts of traces that changed sides say: where nothing changed in truth, a trace that did is as likely to
have failed as to have been mended, whatever the rates are (McNemar's test, exact).
"""

import math
from collections.abc import Mapping, Sequence

from replay.trace.report import FAILED, HISTORY_LENGTH, PASSED, SKIPPED, Changes, Report, TraceResult
from replay.trace.statistics import Rate

__all__ = ["chance_of", "compare_with", "drop_of", "with_history"]


def with_history(traces: Sequence[TraceResult], previous: Report | None) -> tuple[TraceResult, ...]:
    """The results, each with how it changed and what was before it. A skipped trace keeps its history."""
    before = {} if previous is None else {trace.trace_id: trace for trace in previous.traces}
    return tuple(_aged(trace, before.get(trace.trace_id), previous is not None) for trace in traces)


def _aged(trace: TraceResult, before: TraceResult | None, is_compared: bool) -> TraceResult:
    history = "" if before is None else before.history
    if trace.status == SKIPPED:
        return trace._replace(history=history)
    letter = "M" if 0 < trace.runs_passed < trace.runs else "P" if trace.passed else "F"
    change = ""
    if is_compared:
        change = "added" if before is None or before.status == SKIPPED else _change(before, trace)
    return trace._replace(history=(history + letter)[-HISTORY_LENGTH:], change=change)


def _change(before: TraceResult, now: TraceResult) -> str:
    if before.passed:
        return "still_passing" if now.passed else "new_failure"
    return "fixed" if now.passed else "still_failing"


def compare_with(previous: Report, traces: Sequence[TraceResult]) -> Changes:
    """What changed. traces: as with_history gave them."""
    before = _judged(previous.traces)
    now = _judged(traces)
    both = [trace_id for trace_id in now if trace_id in before]
    new_failures = _those(traces, "new_failure")
    fixed = _those(traces, "fixed")
    return Changes(
        Rate(sum(before[trace_id].passed for trace_id in both), len(both)),
        Rate(sum(now[trace_id].passed for trace_id in both), len(both)),
        new_failures,
        fixed,
        tuple(trace.trace_id for trace in traces if trace.is_flaky),
        _those(traces, "added"),
        tuple(trace_id for trace_id in before if trace_id not in now),
        chance_of(len(new_failures), len(fixed)),
    )


def drop_of(
    previous: Report, traces: Sequence[TraceResult], category: str | None = None
) -> tuple[Rate, Rate]:
    """The rates before and now, of one category or of all, over the traces that both judged."""
    before = _judged(previous.traces)
    both = [
        (before[trace.trace_id].passed, trace.passed)
        for trace in _judged(traces).values()
        if trace.trace_id in before and category in (None, trace.category)
    ]
    return Rate(sum(was for was, _ in both), len(both)), Rate(sum(now for _, now in both), len(both))


def chance_of(broken: int, mended: int) -> float:
    """How likely a split at least as uneven as this is, where both ways are equally likely; 1 for no change."""
    changed = broken + mended
    tail = sum(math.comb(changed, few) for few in range(min(broken, mended) + 1))
    return float(min(1.0, 2 * tail / 2**changed))


def _judged(traces: Sequence[TraceResult]) -> Mapping[str, TraceResult]:
    return {trace.trace_id: trace for trace in traces if trace.status in (PASSED, FAILED)}


def _those(traces: Sequence[TraceResult], change: str) -> tuple[str, ...]:
    return tuple(trace.trace_id for trace in traces if trace.change == change)
