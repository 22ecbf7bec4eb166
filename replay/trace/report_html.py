"""A report as one HTML file that needs nothing else: no script, no font, no address. Pure but for the template engine.

jinja2 is imported when a report is written, never before. Every text is escaped by it; numbers of the drawings are made
here, the template only puts them in. Drawings give their places in per cent of their width, so that a narrow window
squeezes the scale and not the letters.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from replay.errors import counted
from replay.trace.report import FAILED, PASSED, SKIPPED, Group, Measured, Report, TraceResult, percent
from replay.trace.report_console import headline
from replay.trace.suite import METRICS

__all__ = ["render_html"]

_MARKS: Final = {PASSED: "✓", FAILED: "✗", SKIPPED: "–"}
_CHANGES: Final = {
    "new_failure": "newly failed",
    "fixed": "fixed",
    "still_failing": "failed before",
    "added": "new",
}
_NAMES: Final = {"steps": "steps", "tokens": "tokens", "latency_ms": "time", "cost_usd": "cost"}
_HISTORY_NAMES: Final = {"P": "passed", "F": "failed", "M": "some runs"}
_BINS: Final = 80
_DOT: Final = 7
_MOST_HEIGHT: Final = 84
_LABEL: Final = 14
_SPACES: Final = "\n\N{NO-BREAK SPACE}"
_LEAST_WIDTH: Final = 0.2
"""Of the axis of ratios, around 1."""


def render_html(report: Report) -> bytes:
    """The file; the same report gives the same bytes."""
    from jinja2 import Environment, StrictUndefined

    from replay.trace.report_template import TEMPLATE

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
        keep_trailing_newline=True,
    )
    return environment.from_string(TEMPLATE).render(_view(report)).encode("utf-8", "backslashreplace")


def _view(report: Report) -> dict[str, Any]:
    """Everything that the template puts in."""
    failed = [_trace(trace) for trace in report.failures]
    others = [_trace(trace) for trace in report.traces if trace.status != FAILED]
    low, high = report.overall.rate.wilson()
    return {
        "title": report.name or "Trace suite",
        "description": report.description,
        "verdict": PASSED if report.passed else FAILED,
        "mark": _MARKS[PASSED if report.passed else FAILED],
        "headline": headline(report),
        "strategy": report.strategy,
        "versions": [(key.replace("_", " "), value) for key, value in report.versions.items()],
        "rate": percent(report.overall.rate.share),
        "interval": f"{percent(low)} to {percent(high)}",
        "counts": f"{report.overall.rate.passed} of {report.overall.rate.total}",
        "changes": _changes(report),
        "checks": [check._asdict() for check in report.checks],
        "rows": [_row(group) for group in (report.overall, *report.categories)],
        "metrics": list(_metrics(report.traces)),
        "failed": failed,
        "others": others,
        "notes": report.notes,
        "has_history": any(len(trace.history) > 1 for trace in report.traces),
        "columns": [
            _NAMES[metric] for metric in METRICS if any(metric in one.metrics for one in report.traces)
        ],
    }


def _changes(report: Report) -> list[dict[str, Any]]:
    if report.changes is None:
        return []
    changes = report.changes
    named = [
        ("newly failed", changes.new_failures, FAILED),
        ("fixed", changes.fixed, PASSED),
        ("flaky", changes.flaky, "uncertain"),
        ("new in the suite", changes.added, ""),
        ("no longer in it", changes.removed, ""),
    ]
    return [
        {"what": what, "count": len(ids), "ids": ids, "kind": kind if ids else ""}
        for what, ids, kind in named
    ]


def _row(group: Group) -> dict[str, Any]:
    """A pass rate as it is drawn: its interval, its point, its threshold, in per cent of the width."""
    low, high = group.rate.wilson()
    verdict = ""
    if group.threshold is not None and group.rate.total:
        verdict = (
            "uncertain" if group.is_uncertain else PASSED if group.rate.share >= group.threshold else FAILED
        )
    says = {
        "": "not judged",
        PASSED: "at least what is asked for",
        FAILED: "below what is asked for",
        "uncertain": "too few traces to tell",
    }[verdict]
    return {
        "name": group.name or "all traces",
        "is_all": not group.name,
        "total": group.rate.total,
        "low": _place(low),
        "width": _place(high - low),
        "share": _place(group.rate.share),
        "threshold": None if group.threshold is None else _place(group.threshold),
        "verdict": verdict,
        "says": says if group.threshold is not None else "",
        "text": f"{group.rate.passed} of {group.rate.total}, {percent(group.rate.share)}",
        "interval": f"{percent(low)} to {percent(high)}",
        "asked": "" if group.threshold is None else f"{percent(group.threshold)} asked for",
    }


def _metrics(traces: Sequence[TraceResult]) -> Iterator[dict[str, Any]]:
    """What the runs used against their baselines: a dot a trace, stacked, at the ratio of the two."""
    for metric, unit in METRICS.items():
        pairs = [
            (trace, trace.metrics[metric], trace.metrics[metric].baseline, trace.metrics[metric].actual)
            for trace in traces
            if metric in trace.metrics
        ]
        known = [
            (trace, measured, actual / before, before, actual)
            for trace, measured, before, actual in pairs
            if before and actual is not None
        ]
        if not known:
            continue
        before_sum, after_sum = sum(one[3] for one in known), sum(one[4] for one in known)
        ratio = after_sum / before_sum
        changed = sum(one[2] != 1 for one in known)
        yield {
            "name": _NAMES[metric],
            "unit": unit,
            "before": _short(before_sum),
            "after": _short(after_sum),
            "ratio": "as before"
            if ratio == 1
            else f"{ratio:.2f} times as much"
            if ratio >= 10
            else f"{(ratio - 1) * 100:+.1f}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}"),
            "changed": changed,
            "says": f"{changed} of {counted(len(known), 'trace')} changed",
            "plot": _plot(known) if changed else None,
        }


def _plot(known: Sequence[tuple[TraceResult, Measured, float, float, float]]) -> dict[str, Any]:
    ratios = [one[2] for one in known]
    low, high = min(1 - _LEAST_WIDTH, *ratios), max(1 + _LEAST_WIDTH, *ratios)
    margin = (high - low) * 0.04
    low, high = max(0.0, low - margin), high + margin
    heights: dict[int, int] = {}
    tallest = max(_stacks(ratios, low, high).values())
    step = min(_DOT, _MOST_HEIGHT / tallest)
    height = max(24.0, tallest * step + _DOT) + _LABEL
    dots = []
    for trace, measured, ratio, before, actual in known:
        column = _bin(ratio, low, high)
        level = heights[column] = heights.get(column, 0) + 1
        is_over = measured.allowed is not None and actual > measured.allowed
        dots.append(
            {
                "x": _place((column + 0.5) / _BINS),
                "y": round(height - (level - 0.5) * step - 2, 1),
                "kind": FAILED if is_over else "",
                "title": f"{trace.trace_id}: {_short(before)} → {_short(actual)}"
                + (", over its budget" if is_over else ""),
            }
        )
    return {
        "height": round(height, 1),
        "dots": dots,
        "one": _place((1 - low) / (high - low)),
        "low": f"{low:.2g}×",
        "high": f"{high:.2g}×",
        "has_over": any(dot["kind"] for dot in dots),
    }


def _stacks(ratios: Sequence[float], low: float, high: float) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for ratio in ratios:
        column = _bin(ratio, low, high)
        found[column] = found.get(column, 0) + 1
    return found


def _bin(ratio: float, low: float, high: float) -> int:
    return min(_BINS - 1, int((ratio - low) / (high - low) * _BINS))


def _trace(trace: TraceResult) -> dict[str, Any]:
    return {
        "id": trace.trace_id,
        "category": trace.category,
        "status": trace.status,
        "mark": _MARKS[trace.status],
        "change": _CHANGES.get(trace.change, ""),
        "is_new": trace.change == "new_failure",
        "is_flaky": trace.is_flaky,
        "runs": _runs(trace),
        "reasons": [(reason.kind.replace("_", " "), reason.message) for reason in trace.reasons],
        "notes": [(note.kind.replace("_", " "), note.message) for note in trace.notes],
        "metrics": [
            (_NAMES[metric], _used(trace.metrics.get(metric)), METRICS[metric])
            for metric in METRICS
            if metric in trace.metrics
        ],
        "history": [
            {"x": at * 9, "kind": letter, "title": _HISTORY_NAMES[letter]}
            for at, letter in enumerate(trace.history)
        ],
        "history_text": ", ".join(_HISTORY_NAMES[letter] for letter in trace.history),
    }


def _runs(trace: TraceResult) -> str:
    if trace.runs_asked <= 1 and trace.runs <= 1:
        return ""
    left_out = f", {trace.runs_asked} asked for" if trace.runs < trace.runs_asked else ""
    return f"{trace.runs_passed} of {trace.runs} runs{left_out}"


def _used(measured: Measured | None) -> str:
    if measured is None or measured.actual is None:
        return ""
    if measured.baseline is None or measured.baseline == measured.actual:
        return _short(measured.actual)
    return f"{_short(measured.baseline)} → {_short(measured.actual)}"


def _place(share: float) -> str:
    """ "37.5%"."""
    return f"{share * 100:.2f}".rstrip("0").rstrip(".") + "%"


def _short(number: float) -> str:
    if isinstance(number, int) or number.is_integer():
        return f"{int(number):,}".replace(",", "\N{NO-BREAK SPACE}")
    return f"{number:.4g}"


def _clean(value: Any) -> Any:
    """What a browser would act on or could not show is escaped; line ends stay."""
    # The type itself: markup that the engine made is text of another type, and is whole already.
    if type(value) is not str or value.isprintable():
        return value
    return "".join(char if char.isprintable() or char in _SPACES else ascii(char)[1:-1] for char in value)
