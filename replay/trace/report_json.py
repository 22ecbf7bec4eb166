"""report.json: a report as a file, schema 1, and back. Pure.

What it leaves out can be had again from the suite and the replays. A later report reads it as the previous one, so that
a reader checks all that it takes: a report lies where anybody may have written it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.codec import parse_document
from replay.trace.limits import MAX_NAME_CHARACTERS
from replay.trace.report import (
    CHANGES,
    HISTORY_LENGTH,
    REASONS,
    SCHEMA,
    STATUSES,
    Changes,
    Check,
    Group,
    Measured,
    Reason,
    Report,
    TraceResult,
)
from replay.trace.statistics import Rate
from replay.trace.suite import METRICS

__all__ = ["read_report", "render_json"]

_MAX_BYTES: Final = 256 << 20
_MOST: Final = 1e15

type Parts = tuple[str | int, ...]


def render_json(report: Report) -> bytes:
    """The file; the same report gives the same bytes."""
    document = {
        "schema": SCHEMA,
        "name": report.name,
        "description": report.description,
        "strategy": report.strategy,
        "passed": report.passed,
        "exit_code": report.exit_code,
        "fault": report.fault,
        "versions": report.versions,
        "overall": _group(report.overall),
        "categories": [_group(group) for group in report.categories],
        "checks": [check._asdict() for check in report.checks],
        "changes": None if report.changes is None else _changes(report.changes),
        "notes": report.notes,
        "traces": [_trace(trace) for trace in report.traces],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_report(data: bytes, place: str) -> Report:
    """The report of a file. Raises FixtureError with line and JSON path; members that are not known are passed over."""
    document = parse_document(data, place, max_bytes=_MAX_BYTES)
    try:
        return _Reader().report(document)
    except _Refused as refusal:
        where = Location(place, line_of(data, refusal.parts), json_path(refusal.parts))
        raise FixtureError(refusal.what, where, refusal.fix) from None


# -- writing ------------------------------------------------------------------------------------------------------


def _group(group: Group) -> dict[str, Any]:
    low, high = group.rate.wilson()
    return {
        "name": group.name,
        "passed": group.rate.passed,
        "total": group.rate.total,
        "share": round(group.rate.share, 6),
        "interval": [round(low, 6), round(high, 6)],
        "threshold": group.threshold,
        "is_uncertain": group.is_uncertain,
    }


def _changes(changes: Changes) -> dict[str, Any]:
    return changes._asdict() | {"before": _rate(changes.before), "after": _rate(changes.after)}


def _rate(rate: Rate) -> dict[str, int]:
    return {"passed": rate.passed, "total": rate.total}


def _trace(trace: TraceResult) -> dict[str, Any]:
    return trace._asdict() | {
        "reasons": [reason._asdict() for reason in trace.reasons],
        "notes": [note._asdict() for note in trace.notes],
        "metrics": {name: measured._asdict() for name, measured in trace.metrics.items()},
        "is_flaky": trace.is_flaky,
    }


# -- reading ------------------------------------------------------------------------------------------------------


class _Refused(Exception):
    def __init__(self, what: str, parts: Parts, fix: str = "") -> None:
        super().__init__(what)
        self.what, self.parts, self.fix = what, parts, fix


class _Reader:
    """Checks what it takes; a method a shape."""

    def report(self, document: Any) -> Report:
        fields = self._object(document, ())
        schema = fields.get("schema")
        if type(schema) is not int or schema < 1 or "traces" not in fields:
            raise _Refused(f'is no report: it must say "schema": {SCHEMA} and hold "traces"', ())
        if schema != SCHEMA:
            what = f"is schema {schema}, this reader knows schema {SCHEMA}"
            raise _Refused(what, ("schema",), "use the agent_replay that wrote the report, or a newer one")
        traces = self._list(fields, "traces", (), self._trace)
        ids: set[str] = set()
        for at, trace in enumerate(traces):
            if trace.trace_id in ids:
                what = f"{shown(trace.trace_id)} is also an earlier trace"
                raise _Refused(what, ("traces", at, "trace_id"))
            ids.add(trace.trace_id)
        changes = fields.get("changes")
        return Report(
            self._text(fields, "name", ()),
            self._text(fields, "strategy", ()),
            self._group(fields.get("overall"), ("overall",)),
            self._list(fields, "categories", (), self._group),
            self._list(fields, "checks", (), self._check),
            traces,
            None if changes is None else self._changes(changes, ("changes",)),
            self._versions(fields.get("versions", {}), ("versions",)),
            self._list(fields, "notes", (), self._line),
            self._text(fields, "description", ()),
            self._count(fields, "fault", (), 4),
        )

    def _group(self, value: Any, parts: Parts) -> Group:
        fields = self._object(value, parts)
        threshold = fields.get("threshold")
        if threshold is not None:
            threshold = self._number(threshold, (*parts, "threshold"), 1)
        return Group(self._text(fields, "name", parts), self._rate(fields, parts), threshold)

    def _rate(self, value: Any, parts: Parts) -> Rate:
        fields = self._object(value, parts)
        total = self._count(fields, "total", parts)
        return Rate(self._count(fields, "passed", parts, total), total)

    def _check(self, value: Any, parts: Parts) -> Check:
        fields = self._object(value, parts)
        texts = [self._text(fields, key, parts) for key in ("name", "where", "message")]
        return Check(texts[0], texts[1], self._truth(fields, "passed", parts), texts[2])

    def _changes(self, value: Any, parts: Parts) -> Changes:
        fields = self._object(value, parts)
        new_failures, fixed, flaky, added, removed = (
            self._list(fields, key, parts, self._line)
            for key in ("new_failures", "fixed", "flaky", "added", "removed")
        )
        return Changes(
            self._rate(fields.get("before"), (*parts, "before")),
            self._rate(fields.get("after"), (*parts, "after")),
            new_failures,
            fixed,
            flaky,
            added,
            removed,
            self._number(fields.get("chance"), (*parts, "chance"), 1),
        )

    def _trace(self, value: Any, parts: Parts) -> TraceResult:
        fields = self._object(value, parts)
        trace_id = self._text(fields, "trace_id", parts)
        if not trace_id:
            raise _Refused("is missing: a result is that of a trace", (*parts, "trace_id"))
        runs = self._count(fields, "runs", parts)
        history = self._text(fields, "history", parts)
        if len(history) > HISTORY_LENGTH or set(history) - set("PFM"):
            what = f"must be at most {HISTORY_LENGTH} of the letters P, F and M, not {shown(history)}"
            raise _Refused(what, (*parts, "history"))
        metrics = self._object(fields.get("metrics", {}), (*parts, "metrics"))
        return TraceResult(
            trace_id,
            self._text(fields, "category", parts),
            self._one_of(fields, "status", STATUSES, parts),
            self._list(fields, "reasons", parts, self._reason),
            self._list(fields, "notes", parts, self._reason),
            runs,
            self._count(fields, "runs_passed", parts, runs),
            self._count({"runs_asked": runs} | fields, "runs_asked", parts),
            {
                name: self._measured(one, (*parts, "metrics", name))
                for name, one in metrics.items()
                if name in METRICS
            },
            self._one_of(fields, "change", ("", *CHANGES), parts),
            history,
        )

    def _reason(self, value: Any, parts: Parts) -> Reason:
        fields = self._object(value, parts)
        return Reason(self._one_of(fields, "kind", REASONS, parts), self._text(fields, "message", parts))

    def _measured(self, value: Any, parts: Parts) -> Measured:
        fields = self._object(value, parts)
        numbers = [
            None if fields.get(key) is None else self._number(fields[key], (*parts, key))
            for key in Measured._fields
        ]
        return Measured(*numbers)

    def _versions(self, value: Any, parts: Parts) -> Mapping[str, str]:
        fields = self._object(value, parts)
        return {key: self._line(one, (*parts, key)) for key, one in fields.items()}

    # Leaves.

    def _object(self, value: Any, parts: Parts) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Refused(f"must be an object, not {shown(value)}", parts)
        return value

    def _list[Item](
        self, fields: Mapping[str, Any], key: str, parts: Parts, of: Callable[[Any, Parts], Item]
    ) -> tuple[Item, ...]:
        value = fields.get(key, [])
        if not isinstance(value, list):
            raise _Refused(f"must be a list, not {shown(value)}", (*parts, key))
        return tuple([of(one, (*parts, key, at)) for at, one in enumerate(value)])

    def _line(self, value: Any, parts: Parts) -> str:
        if not isinstance(value, str):
            raise _Refused(f"must be a string, not {shown(value)}", parts)
        return value

    def _text(self, fields: Mapping[str, Any], key: str, parts: Parts) -> str:
        text = self._line(fields.get(key, ""), (*parts, key))
        if key in ("trace_id", "category", "name") and len(text) > MAX_NAME_CHARACTERS:
            raise _Refused(f"has {len(text)} characters, {MAX_NAME_CHARACTERS} are allowed", (*parts, key))
        return text

    def _one_of(self, fields: Mapping[str, Any], key: str, known: Sequence[str], parts: Parts) -> str:
        value = fields.get(key, "")
        if value not in known:
            listed = ", ".join(filter(None, known))
            raise _Refused(f"must be one of {listed}, not {shown(value)}", (*parts, key))
        return str(value)

    def _truth(self, fields: Mapping[str, Any], key: str, parts: Parts) -> bool:
        value = fields.get(key)
        if type(value) is not bool:
            raise _Refused(f"must be true or false, not {shown(value)}", (*parts, key))
        return value

    def _count(self, fields: Mapping[str, Any], key: str, parts: Parts, most: int = 1 << 53) -> int:
        value = fields.get(key, 0)
        if type(value) is not int or not 0 <= value <= most:
            limit = "0" if most == 1 << 53 else f"0 to {most}"
            raise _Refused(f"must be a whole number from {limit}, not {shown(value)}", (*parts, key))
        return value

    def _number(self, value: Any, parts: Parts, most: float = _MOST) -> float:
        if type(value) not in (int, float) or not 0 <= value <= most:
            limit = "0" if most == _MOST else f"0 to {most:g}"
            raise _Refused(f"must be a number from {limit}, not {shown(value)}", parts)
        return value  # type: ignore[no-any-return]
