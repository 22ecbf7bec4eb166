"""Reads a session log, strictly: whatever is wrong is one FixtureError with file, line and JSON path.

Every line is decoded and checked once and then dropped again (log.py says why). The loop is the hot path of the
whole product: it looks at each line with a few identity checks, and only a line that fails one is examined
in full to find the words. Lines end at LF or CRLF and nowhere else: U+2028, U+0085 and the like are content.
"""

from typing import Any

import orjson

from replay.errors import FixtureError, Location
from replay.session.chunk import PACKED_DELTA, chunk_complaint, packed_complaint, shown
from replay.session.diagnosis import (
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    MAX_NESTING,
    check_numbers,
    check_repeated_keys,
    is_too_deep,
    refused_line,
)
from replay.session.log import Header, SessionLog, StreamEvent

__all__ = ["read_log"]

_BOM = b"\xef\xbb\xbf"
_WHOLE = "must be a whole number from 0"
_OUTCOMES = ("completed", "failed", "cancelled")

# Fields and their types of the events that the product interprets; turn and step are checked apart.
_NOTHING: dict[str, type] = {}
_CHUNK: dict[str, type] = {"chunk": dict}
_PACKED: dict[str, type] = {"dt": list}
_STEP: dict[str, type] = {"turn": int, "step": int}
_IN_A_STEP: dict[str, dict[str, type]] = {
    "assistant/chunk": _CHUNK,
    **dict.fromkeys(PACKED_DELTA, _PACKED),
    "assistant/message": {"message": dict},
    "call/end": {"call": int, "outcome": dict},
    "call/start": {"call": int},
    "step/end": _NOTHING,
    "step/start": _NOTHING,
    "tool/call": {"callId": str, "name": str, "arguments": str},
    "tool/result": {"message": dict},
}
_OUTSIDE: dict[str, dict[str, type]] = {
    "session": _NOTHING,
    "turn/end": {"turn": int},
    "turn/start": {"turn": int},
    "user/message": _NOTHING,
}
_SHAPES = {kind: (True, fields) for kind, fields in _IN_A_STEP.items()} | {
    kind: (False, fields) for kind, fields in _OUTSIDE.items()
}
# Rows that say where a model call begins or ends, or what opened a conversation.
_STREAMED = {"assistant/message", "call/end", "call/start", "step/end", "turn/end", "user/message"}
_SURELY_SHALLOW = 2 * MAX_NESTING
_NAMES: dict[type, str] = {int: _WHOLE, str: "must be a string", dict: "must be an object"}
_PACKED_ROW_KEYS = {"type", "data", "seq", "time", "seq0", "time0"}


def read_log(data: bytes, file: str, *, strict: bool = False) -> SessionLog:
    """The log in `data`; `file` is the name used in errors.

    strict adds what costs too much for every run and belongs to the guard and the doctor: a key that stands twice
    in one object is refused (a JSON parser silently keeps the last). Raises FixtureError, whatever the bytes are.
    """
    lines, is_cut = _split(data, file)
    try:
        _check_lengths(lines, file)
        _check_nesting(lines[0], file, 1)
        header = _read_header(orjson.loads(lines[0]), file)
        stream: list[StreamEvent] = []
        _read_rows(lines, file, stream)
    except orjson.JSONDecodeError:
        # The loop cannot say where it stopped without paying for it on every line; the first refused line is it.
        for number, raw in enumerate(lines, 1):
            try:
                orjson.loads(raw)
            except orjson.JSONDecodeError as refusal:
                raise refused_line(raw, file, number, refusal, is_cut and number == len(lines)) from None
        raise
    check_numbers(data, lines, file)
    if strict:
        check_repeated_keys(lines, file)
    return SessionLog(file, header, lines, stream)


def _split(data: bytes, file: str) -> tuple[list[bytes], bool]:
    """The lines, and whether the last one lacks its line end."""
    if not data:
        raise FixtureError("is empty; a session log starts with a header line", Location(file))
    if data.startswith(_BOM):
        raise FixtureError("starts with a byte order mark; save it as plain UTF-8", Location(file, 1))
    if len(data) > MAX_FILE_BYTES:
        raise FixtureError(f"has {len(data)} bytes, a log may have {MAX_FILE_BYTES}", Location(file))
    lines = data.split(b"\n")
    is_cut = lines[-1] != b""
    if not is_cut:
        lines.pop()
    return lines, is_cut


def _read_rows(lines: list[bytes], file: str, stream: list[StreamEvent]) -> None:
    """Checks every row and appends what matters to a script to `stream`."""
    loads = orjson.loads
    shape_of = _SHAPES.get
    append = stream.append
    blocks: dict[tuple[int, int], set[int]] = {}
    turn: Any = object()
    step: Any = object()
    started: set[int] = set()
    is_streaming = False
    number = 1
    try:
        for raw in lines[1:]:
            number += 1
            if len(raw) > _SURELY_SHALLOW and raw.count(b"[") + raw.count(b"{") > MAX_NESTING:
                _check_nesting(raw, file, number)
            row = loads(raw)
            kind = row["type"]
            data = row["data"]
            if type(data) is not dict:
                raise TypeError
            shape = shape_of(kind)
            if shape is None:
                if type(kind) is not str:
                    raise TypeError
                continue
            is_in_step, fields = shape
            if is_in_step:
                at_turn, at_step = data["turn"], data["step"]
                # True and 1.0 equal 1, so equal is not enough; a small int is one object, which is.
                if at_step is not step or at_turn != turn or type(at_turn) is not int:
                    if type(at_turn) is not int or type(at_step) is not int or at_turn < 0 or at_step < 0:
                        _check_fields(data, _STEP, file, number)
                    if at_step != step or at_turn != turn:
                        started = blocks.setdefault((at_turn, at_step), set())
                        is_streaming = False
                    turn, step = at_turn, at_step
            if fields is _CHUNK:
                chunk = data["chunk"]
                complaint = chunk_complaint(chunk)
                if complaint is not None:
                    raise FixtureError(complaint[1], Location(file, number, "$.data.chunk" + complaint[0]))
                kind = chunk["type"]
            elif fields is _PACKED:
                complaint = packed_complaint(kind, data)
                if complaint is not None:
                    raise FixtureError(complaint[1], Location(file, number, "$.data" + complaint[0]))
                if len(row) > 2:
                    _check_packed_row(row, kind, file, number)
                chunk = data
            else:
                for name, wanted in fields.items():
                    value = data.get(name)
                    if type(value) is not wanted or (type(value) is int and value < 0):
                        _check_fields(data, fields, file, number)
                if kind == "call/end":
                    _check_outcome(data["outcome"], file, number)
                if kind in _STREAMED:
                    if is_in_step:
                        append((number, kind, turn, step, data.get("call", -1)))
                    else:
                        append((number, kind, data.get("turn", -1), data.get("step", -1), -1))
                    # What the user says may arrive in the middle of a stream.
                    is_streaming = is_streaming and kind == "user/message"
                elif kind == "session":
                    raise FixtureError("is a second header", Location(file, number, "$.type"))
                continue
            if kind == "block-start":
                index = chunk["index"]
                if index in started:
                    is_streaming = False
                started.add(index)
            if not is_streaming:
                append((number, "chunks", turn, step, -1))
                is_streaming = True
            if kind == "finish":
                append((number, kind, turn, step, -1))
                started.clear()
                is_streaming = False
            elif kind != "usage" and chunk["index"] not in started:
                what = f"block {chunk['index']} was never started in this call (turn {turn}, step {step})"
                path = "$.data.index" if chunk is data else "$.data.chunk.index"
                raise FixtureError(what, Location(file, number, path))
    except KeyError, TypeError:
        _explain_row(loads(lines[number - 1]), file, number)
        raise


def _check_lengths(lines: list[bytes], file: str) -> None:
    if max(map(len, lines)) <= MAX_LINE_BYTES:
        return
    for line, raw in enumerate(lines, 1):
        if len(raw) > MAX_LINE_BYTES:
            what = f"the line has {len(raw)} bytes, a line may have {MAX_LINE_BYTES}"
            raise FixtureError(what, Location(file, line))


def _check_nesting(raw: bytes, file: str, line: int) -> None:
    if is_too_deep(raw):
        raise FixtureError(f"nests deeper than {MAX_NESTING} levels", Location(file, line))


def _explain_row(row: Any, file: str, line: int) -> None:
    """Raises the FixtureError of a row that lacks what every row must have."""
    if type(row) is not dict:
        raise FixtureError(f"must be a JSON object, not {shown(row)}", Location(file, line, "$")) from None
    kind, data = row.get("type"), row.get("data")
    if type(kind) is not str:
        what = f"must be a string, not {shown(kind)}"
        raise FixtureError(what, Location(file, line, "$.type")) from None
    if kind == "session":
        raise FixtureError("is a second header", Location(file, line, "$.type")) from None
    if type(data) is not dict:
        what = f"must be an object, not {shown(data)}"
        raise FixtureError(what, Location(file, line, "$.data")) from None
    if kind in _IN_A_STEP:
        _check_fields(data, _STEP | _IN_A_STEP[kind], file, line)


def _check_fields(data: dict[str, Any], fields: dict[str, type], file: str, line: int) -> None:
    for name, wanted in fields.items():
        value: Any = data.get(name)
        if type(value) is not wanted or (type(value) is int and value < 0):
            what = f"{_NAMES[wanted]}, not {shown(value)}"
            raise FixtureError(what, Location(file, line, f"$.data.{name}"))


def _is_a(value: Any, wanted: type) -> bool:
    """Exactly of this type (True is no whole number), and no number below 0."""
    return type(value) is wanted and (type(value) is not int or value >= 0)


def _check_outcome(outcome: dict[str, Any], file: str, line: int) -> None:
    if outcome.get("kind") not in _OUTCOMES:
        what = f"must be one of {', '.join(_OUTCOMES)}, not {shown(outcome.get('kind'))}"
        raise FixtureError(what, Location(file, line, "$.data.outcome.kind"))
    for name in ("message", "code"):
        if name in outcome and type(outcome[name]) is not str:
            what = f"must be a string, not {shown(outcome[name])}"
            raise FixtureError(what, Location(file, line, f"$.data.outcome.{name}"))


def _check_packed_row(row: dict[str, Any], kind: str, file: str, line: int) -> None:
    if not row.keys() <= _PACKED_ROW_KEYS:
        extra = sorted(row.keys() - _PACKED_ROW_KEYS)[0]
        raise FixtureError(f"a {kind} row has no field {shown(extra)}", Location(file, line, "$"))
    for name in ("seq", "time", "seq0", "time0"):
        if name in row and type(row[name]) is not int:
            what = f"must be a whole number, not {shown(row[name])}"
            raise FixtureError(what, Location(file, line, f"$.{name}"))


_HEADER_FIELDS: dict[str, tuple[type, bool]] = {
    "id": (str, True),
    "createdAt": (int, True),
    "cwd": (str, False),
    "parentSession": (str, False),
    "origin": (str, False),
    "delegationDepth": (int, False),
    "seedLength": (int, False),
}


def _read_header(fields: Any, file: str) -> Header:
    if type(fields) is not dict or fields.get("type") != "session":
        what = 'must be a session header ({"type":"session","version":0,"id":...,"createdAt":...})'
        raise FixtureError(what, Location(file, 1, "$"))
    version = fields.get("version")
    if type(version) is not int or version != 0:
        raise FixtureError(
            f"this reader knows version 0, not {shown(version)}", Location(file, 1, "$.version")
        )
    for name, (wanted, is_needed) in _HEADER_FIELDS.items():
        if name not in fields and not is_needed:
            continue
        value: Any = fields.get(name)
        if not _is_a(value, wanted):
            raise FixtureError(f"{_NAMES[wanted]}, not {shown(value)}", Location(file, 1, f"$.{name}"))
    return Header(fields)
