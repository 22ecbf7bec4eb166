"""A report as JUnit XML: a suite a category, a case a trace, and a suite "conditions" with a case for each. Pure.

Whether the test passes is in the conditions: where a threshold allows a failure, a failed trace is a failed case all the
same, and a reader of the XML sees it. Times are there only where they were measured.
"""

from collections.abc import Iterator, Sequence

from replay.trace.report import AGENT, FAILED, SKIPPED, Report, TraceResult

__all__ = ["render_junit"]

_CONDITIONS = "conditions"
_FORBIDDEN = {
    code: "�" for code in (*range(32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)) if code not in (9, 10, 13)
}
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def render_junit(report: Report) -> bytes:
    """The whole file."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites{_attribute('name', report.name)}>"]
    lines += _conditions(report)
    for category in dict.fromkeys(trace.category for trace in report.traces):
        lines += _category(category, [trace for trace in report.traces if trace.category == category])
    lines.append("</testsuites>")
    return ("\n".join(lines) + "\n").translate(_FORBIDDEN).encode()


def _conditions(report: Report) -> Iterator[str]:
    failed = sum(not check.passed for check in report.checks)
    yield _suite(_CONDITIONS, len(report.checks), failed)
    for check in report.checks:
        name = f"{check.name} {check.where}".strip()
        head = f"    <testcase{_attribute('classname', _CONDITIONS)}{_attribute('name', name)}"
        if check.passed:
            yield f"{head}/>"
        else:
            yield f"{head}><failure{_attribute('message', check.message)}{_attribute('type', check.name)}/></testcase>"
    yield "  </testsuite>"


def _category(name: str, traces: Sequence[TraceResult]) -> Iterator[str]:
    errors = [trace for trace in traces if _is_error(trace)]
    failed = [trace for trace in traces if trace.status == FAILED and not _is_error(trace)]
    skipped = sum(trace.status == SKIPPED for trace in traces)
    yield _suite(name or "traces", len(traces), len(failed), len(errors), skipped)
    for trace in traces:
        head = f"    <testcase{_attribute('classname', name or 'traces')}{_attribute('name', trace.trace_id)}{_time(trace)}"
        message = trace.reasons[0].message if trace.reasons else ""
        if trace.status == SKIPPED:
            note = trace.notes[0].message if trace.notes else ""
            yield f"{head}><skipped{_attribute('message', note)}/></testcase>"
        elif trace.status == FAILED:
            tag = "error" if _is_error(trace) else "failure"
            kind = trace.reasons[0].kind if trace.reasons else FAILED
            body = "\n".join(f"{reason.kind}: {reason.message}" for reason in trace.reasons).translate(_TEXT)
            yield f"{head}>"
            yield f"      <{tag}{_attribute('message', message)}{_attribute('type', kind)}>{body}</{tag}>"
            yield "    </testcase>"
        else:
            yield f"{head}/>"
    yield "  </testsuite>"


def _suite(name: str, tests: int, failures: int, errors: int = 0, skipped: int = 0) -> str:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    attributes = "".join(_attribute(key, count) for key, count in counts.items())
    return f"  <testsuite{_attribute('name', name)}{attributes}>"


def _is_error(trace: TraceResult) -> bool:
    """Whether the agent gave nothing to judge."""
    return trace.status == FAILED and bool(trace.reasons) and trace.reasons[0].kind == AGENT


def _time(trace: TraceResult) -> str:
    measured = trace.metrics.get("latency_ms")
    if measured is None or measured.actual is None:
        return ""
    return _attribute("time", f"{measured.actual / 1000:.3f}")


def _attribute(name: str, value: object) -> str:
    return f' {name}="{str(value).translate(_ATTRIBUTE)}"'
