"""The file of a trace: one JSON document, schema 1. Pure but for the store of blobs that it is given.

Members that this version does not know survive reading and writing, at the document, its steps and their errors.
Canonical form: known members in the order of model.py, absent ones left out, unknown ones after them in the order in
which they came, two spaces of indent, LF at the end; keys inside values keep their order, since models and tools see
it. write_trace(read_trace(f)) == f for a canonical file, and read_trace(write_trace(t)) == t for every trace that can
be written. What a file spells in another way than it is stands in markers.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import check_numbers, json_path, refused_document, repeated_key
from replay.session.place import line_of
from replay.trace.blobs import BlobStore
from replay.trace.limits import MAX_NESTING, MAX_TRACE_BYTES
from replay.trace.markers import Beginnings, Put, encode_value, has_markers, is_deeper, literal
from replay.trace.model import ABSENT, SCHEMA, AgentStep, AgentTrace, StepError
from replay.trace.reading import Reader, Refused

__all__ = ["blob_digests", "parse_document", "read_trace", "write_trace"]

_BOM = b"\xef\xbb\xbf"
# Absent is not null in these.
_ANY = frozenset(("tool_input", "tool_output", "response"))
_LISTS = ("messages", "tools")
_MAPPINGS = frozenset(
    ("env_state_before", "env_state_after", "environment", "inputs", "metadata", "options", "tool_versions")
)
_TRACE_MEMBERS = tuple(name for name in AgentTrace._fields if name not in ("steps", "extra"))
# "" is absent in the members whose default it is; an empty task is one, and so is an empty text of a model.
_EMPTY_IS_ABSENT = frozenset(
    name
    for kind in (AgentTrace, AgentStep)
    for name, default in kind._field_defaults.items()
    if default == ""
)
_STEP_MEMBERS = tuple(name for name in AgentStep._fields if name != "extra")


def read_trace(
    data: bytes, place: str, blobs: BlobStore | None = None, *, strict: bool = False
) -> AgentTrace:
    """The trace of a file. `place` is how messages call it; without blobs, a value there stays a BlobRef.

    strict also refuses a key that stands twice in one object, which costs too much for every run. Raises FixtureError
    with file, line and JSON path, whatever the bytes are.
    """
    document = parse_document(data, place, strict=strict)
    return _read(Reader(blobs, has_markers(data)), document, data, place)


def _read(reader: Reader, document: Any, data: bytes, place: str) -> AgentTrace:
    try:
        return reader.trace(document)
    except Refused as refusal:
        line = line_of(data, refusal.parts) if b"\n" in data.strip() else 0
        where = Location(place, line, json_path(refusal.parts))
        raise FixtureError(refusal.what, where, refusal.fix) from None


def parse_document(data: bytes, place: str, *, strict: bool = False, max_bytes: int = MAX_TRACE_BYTES) -> Any:
    """The JSON of a whole file, within the limits of a trace. Raises FixtureError."""
    if data.startswith(_BOM):
        raise FixtureError("starts with a byte order mark; save it as plain UTF-8", Location(place, 1))
    if len(data) > max_bytes:
        raise FixtureError(f"has {len(data)} bytes, {max_bytes} are allowed", Location(place))
    if not data.strip():
        raise FixtureError("is empty", Location(place))
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as refusal:
        line, path, what = refused_document(data, refusal)
        raise FixtureError(what, Location(place, line, path)) from None
    if is_deeper([document], MAX_NESTING + 1):
        raise FixtureError(f"nests deeper than {MAX_NESTING} levels", Location(place))
    try:
        check_numbers(data, [data], place)
    except FixtureError as error:
        error.where = error.where._replace(line=0)
        raise
    parts = repeated_key(data) if strict else None
    if parts is not None:
        what = f"the key {shown(parts[-1])} stands twice in one object"
        raise FixtureError(what, Location(place, line_of(data, parts), json_path(parts)))
    return document


def write_trace(trace: AgentTrace, blobs: BlobStore | None = None, *, indent: bool = True) -> bytes:
    """The canonical form; indent=False writes it on one line, for files of many traces.

    With blobs, long values go there. Raises ValueError for a trace that read_trace would refuse.
    """
    put = None if blobs is None else blobs.put
    try:
        return _checked(_spelled(trace, put), indent)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"the trace holds what JSON cannot: {error}") from None


def _spelled(trace: AgentTrace, put: Put | None) -> dict[str, Any]:
    lists = {key: Beginnings() for key in _LISTS}
    document = {"schema": SCHEMA} | _spell_members(trace, _TRACE_MEMBERS, put)
    document["steps"] = [_spell_step(step, lists, put) for step in trace.steps]
    return _with_unknown(document, trace.extra, put)


def _spell_step(step: AgentStep, lists: Mapping[str, Beginnings], put: Put | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key in _STEP_MEMBERS:
        value = getattr(step, key)
        if key in lists:
            if value is not None:
                out[key] = lists[key].spell(step.step_id, value, put)
        elif isinstance(value, StepError):
            out[key] = _with_unknown({"type": value.type, "message": value.message}, value.extra, put)
        else:
            out |= _spell_members(step, (key,), put)
    return _with_unknown(out, step.extra, put)


def _spell_members(of: AgentTrace | AgentStep, keys: Sequence[str], put: Put | None) -> dict[str, Any]:
    """The members that are there."""
    out: dict[str, Any] = {}
    for key in keys:
        value = getattr(of, key)
        if key in _ANY:
            if value is not ABSENT:
                out[key] = encode_value(value, put)
        elif key in _MAPPINGS:
            # An empty state is one; an empty mapping of a trace says nothing.
            if value or (value is not None and isinstance(of, AgentStep)):
                # Each value by itself: a reader that fetches no blobs sees the names.
                out[key] = literal({name: encode_value(inner, put) for name, inner in value.items()})
        elif value is None or (value == "" and key in _EMPTY_IS_ABSENT):
            continue
        else:
            out[key] = encode_value(value, put) if key == "final_answer" else value
    return out


def _with_unknown(known: dict[str, Any], extra: Mapping[str, Any], put: Put | None) -> dict[str, Any]:
    for key, value in extra.items():
        if key in known:
            raise ValueError(f"{key!r} stands among the members that are not known, and is")
        known[key] = encode_value(value, put)
    return known


def _checked(document: dict[str, Any], indent: bool) -> bytes:
    """The bytes of a document that read_trace takes."""
    try:
        data = orjson.dumps(document)
        if is_deeper([document], MAX_NESTING + 1):
            raise ValueError(f"the trace nests deeper than {MAX_NESTING} levels")
        Reader(None, has_markers(data)).trace(orjson.loads(data))
    except Refused as refusal:
        raise ValueError(f"{json_path(refusal.parts)} {refusal.what}") from None
    if indent:
        data = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    if len(data) >= MAX_TRACE_BYTES:
        raise ValueError(f"the trace has {len(data)} bytes, {MAX_TRACE_BYTES} are allowed")
    return data + b"\n"


def blob_digests(data: bytes, place: str) -> frozenset[str]:
    """The digests of the blobs that a trace file refers to. Raises FixtureError."""
    document = parse_document(data, place)
    reader = Reader(None, has_markers(data))
    _read(reader, document, data, place)
    return frozenset(reader.digests)
