"""A report on the console: one line that says the verdict and what broke, then what a person needs next. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from replay.errors import counted
from replay.trace.report import Report, TraceResult, percent

__all__ = ["headline", "printable", "render_console"]

_MOST_TRACES: Final = 8
_MOST_REASONS: Final = 2
_MOST_NAMES: Final = 5


def render_console(report: Report, label: str = "") -> str:
    """Lines for a terminal. label: how the first line calls the suite; its own name without one."""
    lines = [f"{label or report.name or 'suite'}: {headline(report)}"]
    lines += _conditions(report)
    lines += _failures(report)
    lines += _changes(report)
    lines += [f"  note: {note}" for note in report.notes]
    # What the model or the agent said must not act on the terminal.
    return "".join(printable(line) + "\n" for line in lines)


def headline(report: Report) -> str:
    """ "failed: 37 of 40 traces passed, 92 % (80 % to 97 %), 95 % asked for; newly failed: t1, t2"."""
    rate = report.overall.rate
    low, high = rate.wilson()
    fails = [
        f"{check.name} of {check.where}" if check.where else check.name
        for check in report.checks
        if not check.passed
    ]
    verdict = f"failed ({_names(fails)})" if fails else "passed" if report.passed else "failed"
    line = f"{verdict}: {rate.passed} of {counted(rate.total, 'trace')} passed, {percent(rate.share)} ({percent(low)} to {percent(high)})"
    if report.overall.threshold is not None and report.overall.threshold < 1:
        line += f", {percent(report.overall.threshold)} asked for"
    broken = [trace.trace_id for trace in report.failures if trace.change == "new_failure"]
    if report.changes is not None:
        return line + (f"; newly failed: {_names(broken)}" if broken else "")
    failed = [trace.trace_id for trace in report.failures]
    return line + (f"; failed: {_names(failed)}" if failed else "")


def _conditions(report: Report) -> Iterator[str]:
    """What does not hold, and what holds without being sure."""
    for check in report.checks:
        where = f' of "{check.where}"' if check.where else ""
        if not check.passed:
            yield f"  {check.name}{where} fails: {check.message}"
    uncertain = {group.name for group in (report.overall, *report.categories) if group.is_uncertain}
    for check in report.checks:
        if check.passed and check.name == "threshold" and check.where in uncertain:
            where = f' of "{check.where}"' if check.where else ""
            yield f"  threshold{where} holds, not surely: {check.message}"


def _failures(report: Report) -> Iterator[str]:
    failed = list(report.failures)
    for trace in failed[:_MOST_TRACES]:
        yield f"  {_title(trace)}"
        yield from (f"    {reason.kind}: {reason.message}" for reason in trace.reasons[:_MOST_REASONS])
        if len(trace.reasons) > _MOST_REASONS:
            yield f"    and {counted(len(trace.reasons) - _MOST_REASONS, 'reason')} more"
    if len(failed) > _MOST_TRACES:
        yield f"  and {counted(len(failed) - _MOST_TRACES, 'failed trace')} more in the report"


def _title(trace: TraceResult) -> str:
    category = f" ({trace.category})" if trace.category else ""
    change = {"new_failure": ", newly failed", "still_failing": ", failed before"}.get(trace.change, "")
    flaky = ", flaky" if trace.is_flaky else ""
    return f"{trace.trace_id}{category}{change}{flaky}"


def _changes(report: Report) -> Iterator[str]:
    changes = report.changes
    if changes is None:
        return
    said = [
        (changes.fixed, "fixed"),
        (changes.flaky, "flaky"),
        (changes.added, "new in the suite"),
        (changes.removed, "no longer in the suite"),
    ]
    for names, what in said:
        if names:
            yield f"  {what}: {_names(names)}"


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def printable(line: str) -> str:
    """The line with what would act on a terminal escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
