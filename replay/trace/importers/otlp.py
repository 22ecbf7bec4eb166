"""OTLP in JSON: spans, their events, and log records that belong to spans, out of exports in any order. Pure.

One document, or one a line, as collectors write files; each holds `resourceSpans` or `resourceLogs`, and any number of
resources and scopes. Ids are hex, as OTLP says, or base64, as plain protobuf JSON has them; 64-bit numbers are strings or
numbers; keys are in camel case or in snake case. A span that was exported twice is one.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.trace.codec import parse_document
from replay.trace.limits import MAX_SPANS

__all__ = ["Event", "Export", "Span", "read_export"]

_MAX_FILE_BYTES = 1 << 30
_HEX = re.compile(r"[0-9a-fA-F]+")
_UNDERSCORED = re.compile(r"(?<=[a-z0-9])([A-Z])")
_MOST_NS = 1 << 64

type Parts = tuple[str | int, ...]


class Event(NamedTuple):
    """An event of a span: a span event, or a log record with its ids. body: of a log record."""

    name: str
    time_ns: int
    attributes: Mapping[str, Any]
    body: Any = None


class Span(NamedTuple):
    """A span. Ids are hex; parent_id is "" for a root. status: 0 unset, 1 ok, 2 error. place: for messages."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    events: tuple[Event, ...]
    status: int
    status_message: str
    resource: Mapping[str, Any]
    scope: str
    place: Location


class Export(NamedTuple):
    """Spans by trace and id, and log records of spans."""

    spans: dict[str, dict[str, Span]]
    logs: dict[tuple[str, str], list[Event]]


def read_export(data: bytes, place: str) -> Export:
    """Everything in a file. Raises FixtureError with file, line and JSON path."""
    export = Export({}, {})
    for document, line in _documents(data, place):
        _Document(export, place, line).take(document)
    return export


def _documents(data: bytes, place: str) -> Iterator[tuple[Any, int]]:
    """The documents of a file, and the lines on which they stand; 0 for one document that is the file."""
    if len(data) > _MAX_FILE_BYTES:
        raise FixtureError(f"has {len(data)} bytes, {_MAX_FILE_BYTES} are allowed", Location(place))
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    # One document a line, if the first line is one.
    if len(lines) > 1 and lines[0][1].rstrip().endswith(b"}"):
        for number, line in lines:
            try:
                yield parse_document(line, place), number
            except FixtureError as error:
                error.where = error.where._replace(line=number)
                raise
    else:
        yield parse_document(data, place, max_bytes=_MAX_FILE_BYTES), 0


class _Document:
    """One export document."""

    def __init__(self, export: Export, place: str, line: int) -> None:
        self._export = export
        self._where = Location(place, line)

    def take(self, document: Any) -> None:
        """All spans and records of it."""
        fields = self._object(document, ())
        if not any(_get(fields, key) is not None for key in ("resourceSpans", "resourceLogs")):
            raise self._wrong("is no OTLP export: it has neither resourceSpans nor resourceLogs", ())
        for resource, scope, span, parts in self._items(fields, "resourceSpans", "scopeSpans", "spans"):
            self._add_span(self._span(span, resource, scope, parts), parts)
        for _, _, record, parts in self._items(fields, "resourceLogs", "scopeLogs", "logRecords"):
            self._add_record(self._object(record, parts), parts)

    def _items(
        self, fields: Mapping[str, Any], resources: str, scopes: str, items: str
    ) -> Iterator[tuple[Mapping[str, Any], str, Any, Parts]]:
        """(attributes of the resource, name of the scope, item, its path)."""
        for resource_at, value in enumerate(self._list(fields, resources, ())):
            parts: Parts = (resources, resource_at)
            resource = self._object(value, parts)
            about = self._object(resource.get("resource") or {}, (*parts, "resource"))
            attributes = self._attributes(about, (*parts, "resource"))
            for scope_at, inner in enumerate(self._list(resource, scopes, parts)):
                scope_parts: Parts = (*parts, scopes, scope_at)
                scope = self._object(inner, scope_parts)
                named = self._object(scope.get("scope") or {}, (*scope_parts, "scope"))
                name = self._text(named, "name", (*scope_parts, "scope"))
                for at, item in enumerate(self._list(scope, items, scope_parts)):
                    yield attributes, name, item, (*scope_parts, items, at)

    def _span(self, value: Any, resource: Mapping[str, Any], scope: str, parts: Parts) -> Span:
        fields = self._object(value, parts)
        status = self._object(fields.get("status") or {}, (*parts, "status"))
        events = [
            self._event(event, (*parts, "events", at))
            for at, event in enumerate(self._list(fields, "events", parts))
        ]
        start = self._time(fields, "startTimeUnixNano", parts)
        return Span(
            self._id(fields, "traceId", 16, parts), self._id(fields, "spanId", 8, parts),
            self._id(fields, "parentSpanId", 8, parts, may_be_absent=True), self._text(fields, "name", parts),
            start, self._time(fields, "endTimeUnixNano", parts, start), self._attributes(fields, parts),
            tuple(sorted(events, key=lambda event: event.time_ns)), self._status(status, (*parts, "status")),
            self._text(status, "message", (*parts, "status")), resource, scope,
            self._where._replace(path=json_path(parts)),
        )  # fmt: skip

    def _add_span(self, span: Span, parts: Parts) -> None:
        spans = self._export.spans.setdefault(span.trace_id, {})
        known = spans.get(span.span_id)
        if known is not None and known._replace(place=span.place) != span:
            raise self._wrong(f"{span.span_id} is also another span, at {known.place}", (*parts, "spanId"))
        if known is None:
            spans[span.span_id] = span
            if sum(map(len, self._export.spans.values())) > MAX_SPANS:
                raise self._wrong(f"is one of more than {MAX_SPANS} spans", parts)

    def _add_record(self, fields: Mapping[str, Any], parts: Parts) -> None:
        if not _get(fields, "spanId") or not _get(fields, "traceId"):
            return
        key = self._id(fields, "traceId", 16, parts), self._id(fields, "spanId", 8, parts)
        records = self._export.logs.setdefault(key, [])
        if len(records) == MAX_SPANS:
            raise self._wrong(f"is one of more than {MAX_SPANS} records of a span", parts)
        records.append(self._event(fields, parts))

    def _event(self, value: Any, parts: Parts) -> Event:
        fields = self._object(value, parts)
        attributes = self._attributes(fields, parts)
        # Before records had names, events were named by an attribute.
        name = self._text(fields, "eventName", parts) or self._text(fields, "name", parts)
        body = fields.get("body")
        return Event(
            name or str(attributes.get("event.name", "")),
            self._time(fields, "timeUnixNano", parts, 0)
            or self._time(fields, "observedTimeUnixNano", parts, 0),
            attributes,
            None if body is None else self._any(body, (*parts, "body")),
        )

    def _wrong(self, what: str, parts: Parts) -> FixtureError:
        return FixtureError(what, self._where._replace(path=json_path(parts)))

    def _object(self, value: Any, parts: Parts) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(f"must be an object, not {shown(value)}", parts)
        return value

    def _list(self, fields: Mapping[str, Any], key: str, parts: Parts) -> list[Any]:
        value = _get(fields, key)
        if value is not None and not isinstance(value, list):
            raise self._wrong(f"must be a list, not {shown(value)}", (*parts, key))
        return value or []

    def _text(self, fields: Mapping[str, Any], key: str, parts: Parts) -> str:
        value = _get(fields, key)
        if value is not None and not isinstance(value, str):
            raise self._wrong(f"must be a string, not {shown(value)}", (*parts, key))
        return value or ""

    def _id(
        self, fields: Mapping[str, Any], key: str, size: int, parts: Parts, *, may_be_absent: bool = False
    ) -> str:
        value = _get(fields, key)
        if may_be_absent and value in (None, ""):
            return ""
        found = _decoded_id(value, size) if isinstance(value, str) else None
        if found is None:
            what = f"must be {2 * size} hex digits, or the base64 of {size} bytes, not {shown(value)}"
            raise self._wrong(what, (*parts, key))
        if not found.strip("0"):
            if may_be_absent:
                return ""
            raise self._wrong("is all zeros, which is no id", (*parts, key))
        return found

    def _time(self, fields: Mapping[str, Any], key: str, parts: Parts, default: int | None = None) -> int:
        value = _get(fields, key)
        if value is None and default is not None:
            return default
        number = _whole(value)
        if number is None or not 0 <= number < _MOST_NS:
            raise self._wrong(f"must be nanoseconds since 1970, not {shown(value)}", (*parts, key))
        return number

    def _status(self, status: Mapping[str, Any], parts: Parts) -> int:
        code = status.get("code", 0)
        known = {0: 0, 1: 1, 2: 2, "STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
        if isinstance(code, bool) or not isinstance(code, int | str) or code not in known:
            raise self._wrong(f"must be a status code from 0 to 2, not {shown(code)}", (*parts, "code"))
        return known[code]

    def _attributes(self, fields: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
        return self._pairs(self._list(fields, "attributes", parts), (*parts, "attributes"))

    def _pairs(self, values: list[Any], parts: Parts) -> dict[str, Any]:
        found = {}
        for at, value in enumerate(values):
            pair = self._object(value, (*parts, at))
            key = pair.get("key")
            if not isinstance(key, str):
                raise self._wrong(f"must be a string, not {shown(key)}", (*parts, at, "key"))
            found[key] = self._any(pair.get("value"), (*parts, at, "value"))
        return found

    def _any(self, value: Any, parts: Parts) -> Any:
        """An AnyValue as the JSON that it stands for. An empty one is null."""
        fields = self._object({} if value is None else value, parts)
        if not fields:
            return None
        if len(fields) != 1:
            raise self._wrong("must hold one value, as an AnyValue does", parts)
        [(kind, inner)] = fields.items()
        kind = _camel(kind)
        parts = (*parts, kind)
        if kind == "arrayValue":
            values = self._list(self._object(inner, parts), "values", parts)
            return [self._any(each, (*parts, "values", at)) for at, each in enumerate(values)]
        if kind == "kvlistValue":
            return self._pairs(self._list(self._object(inner, parts), "values", parts), (*parts, "values"))
        is_right, found = _scalar(kind, inner)
        if not is_right:
            raise self._wrong(f"is no {kind} of OTLP: {shown(inner)}", parts)
        return found


def _scalar(kind: str, value: Any) -> tuple[bool, Any]:
    """Whether a value is right for its kind, and what it is."""
    match kind:
        case "stringValue":
            return isinstance(value, str), value
        case "boolValue":
            return isinstance(value, bool), value
        case "intValue":
            number = _whole(value)
            return number is not None and -(1 << 63) <= number < 1 << 63, number
        case "doubleValue":
            # Protobuf has names for what JSON cannot hold.
            is_named = value in ("NaN", "Infinity", "-Infinity") if isinstance(value, str) else False
            return is_named or (isinstance(value, int | float) and not isinstance(value, bool)), value
        case "bytesValue":
            return isinstance(value, str), {"$bytes": value}
        case _:
            return False, None


def _get(fields: Mapping[str, Any], key: str) -> Any:
    """A member in camel case, or in snake case."""
    value = fields.get(key)
    return fields.get(_UNDERSCORED.sub(r"_\1", key).lower()) if value is None else value


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value, re.ASCII):
        return int(value)
    return value if type(value) is int else None


def _decoded_id(text: str, size: int) -> str | None:
    """An id as lower-case hex. An id of hex digits is one, even where it could be base64."""
    if len(text) == 2 * size and _HEX.fullmatch(text):
        return text.lower()
    try:
        data = base64.b64decode(
            text + "=" * (-len(text) % 4), altchars=b"-_" if set(text) & set("-_") else None, validate=True
        )
    except binascii.Error, ValueError:
        return None
    return data.hex() if len(data) == size else None
