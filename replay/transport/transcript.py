"""The transcript file: a start line, then what crossed a provider's boundary, one entry a line. Pure.

Format 1 says `"schema":1` in its start line and is checked to the letter. A file without it is of the wild form,
which other projects write: the same entries, fewer promises, and placeholders spelled `<any>` and `<workspace>`.
Lines end at LF or CRLF and nowhere else; blank ones are accepted. Canonical form: keys in the order of the classes
below, compact, LF, no blank line; write_transcript(read_transcript(f)) == f for a canonical file.
What placeholders mean is placeholder.py's work, what frames mean a profile's.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.transport.fields import Fields, check_metadata

__all__ = [
    "MAX_ENTRIES",
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "SCHEMA",
    "EmitInbound",
    "Entry",
    "ExpectOutbound",
    "Frame",
    "RuntimeExit",
    "Start",
    "Transcript",
    "read_transcript",
    "write_transcript",
]

SCHEMA = 1
MAX_FILE_BYTES = 64 << 20
MAX_LINE_BYTES = 16 << 20
MAX_ENTRIES = 200_000

_BOM = b"\xef\xbb\xbf"
_SURELY_SHALLOW = 200
_DIGITS_TO_0 = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_LONG_NUMBER = b"0" * 19
_STATUSES = ("success", "error", "cancelled")
_MATCHES = ("exact", "subset")

type Frame = dict[str, Any]
"""One message of a provider's protocol, as its profile spells it."""


class Start(NamedTuple):
    """The first line. `schema` is 0 for the wild form; `version` is the provider's."""

    provider: str
    protocol: str
    version: str
    scenario: str
    metadata: Mapping[str, Any]
    schema: int = SCHEMA
    line: int = 1


class ExpectOutbound(NamedTuple):
    """The orchestrator has to send `frame`. `match`: "exact", "subset", or "" for what the profile says."""

    frame: Frame
    label: str = ""
    process: str = ""
    group: str = ""
    match: str = ""
    line: int = 0


class EmitInbound(NamedTuple):
    """The provider sends `frame`, not before its gate is released and `after_ms` have passed at this entry."""

    frame: Frame
    label: str = ""
    process: str = ""
    group: str = ""
    gate: str = ""
    after_ms: int = 0
    line: int = 0


class RuntimeExit(NamedTuple):
    """The provider's process or connection ends.

    "success" without code and signal: it ends because the orchestrator closes it. With either, and for "error" and
    "cancelled", it ends of its own accord as soon as the cursor is here.
    """

    status: str
    label: str = ""
    process: str = ""
    error: str = ""
    code: int | None = None
    signal: str = ""
    line: int = 0

    @property
    def is_on_close(self) -> bool:
        """Whether the orchestrator's closing is what this exit answers."""
        return self.status == "success" and self.code is None and not self.signal


type Entry = ExpectOutbound | EmitInbound | RuntimeExit


class Transcript(NamedTuple):
    """A file that was read. `place` is how a message calls it."""

    place: str
    start: Start
    entries: tuple[Entry, ...]


def read_transcript(data: bytes, place: str) -> Transcript:
    """Reads either form. Raises FixtureError with file, line and JSON path."""
    start: Start | None = None
    entries: list[Entry] = []
    for number, raw in _lines(data, place):
        fields = Fields(_parsed(raw, place, number), Location(place, number))
        if start is None:
            start = _read_start(fields)
            continue
        if len(entries) == MAX_ENTRIES:
            raise FixtureError(f"has more than {MAX_ENTRIES} entries", Location(place, number))
        entries.append(_read_entry(fields, number))
    if start is None:
        raise FixtureError("is empty; a transcript begins with a transcript_start line", Location(place, 1))
    return Transcript(place, start, tuple(entries))


def write_transcript(transcript: Transcript) -> bytes:
    """The canonical form. Raises ValueError for a frame that JSON cannot hold."""
    lines = [_start_fields(transcript.start), *map(_entry_fields, transcript.entries)]
    try:
        return b"".join(orjson.dumps(line) + b"\n" for line in lines)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"a frame holds what JSON cannot: {error}") from None


def _lines(data: bytes, place: str) -> list[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    if data.startswith(_BOM):
        raise FixtureError("starts with a byte order mark; save it as plain UTF-8", Location(place, 1))
    if len(data) > MAX_FILE_BYTES:
        raise FixtureError(f"has {len(data)} bytes, a transcript may have {MAX_FILE_BYTES}", Location(place))
    # The CR of a CRLF is white space to JSON.
    found = list(enumerate(data.split(b"\n"), 1))
    if _LONG_NUMBER in data.translate(_DIGITS_TO_0):
        from replay.session.diagnosis import check_numbers  # only a file with such digits pays for it

        check_numbers(data, [raw for _, raw in found], place)
    return [(number, raw) for number, raw in found if raw.strip(b" \t\r")]


def _parsed(raw: bytes, place: str, number: int) -> Any:
    """The JSON of a line. What explains a refused one is imported where there is one."""
    if len(raw) > MAX_LINE_BYTES:
        from replay.acp.framing import excerpt

        what = f"the line has {len(raw)} bytes, a line may have {MAX_LINE_BYTES}: {excerpt(raw)}"
        raise FixtureError(what, Location(place, number))
    if raw.count(b"[") + raw.count(b"{") > _SURELY_SHALLOW:
        from replay.session.diagnosis import MAX_NESTING, is_too_deep

        if is_too_deep(raw):
            raise FixtureError(f"nests deeper than {MAX_NESTING} levels", Location(place, number))
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as refusal:
        from replay.session.diagnosis import refused_line

        raise refused_line(raw, place, number, refusal, False) from None


def _read_start(fields: Fields) -> Start:
    if fields.values.get("type") != "transcript_start":
        raise fields.error('must be the start: {"type":"transcript_start","schema":1,"provider":…}', "type")
    fields.check_keys(("type", "schema", "provider", "protocol", "version", "scenario", "metadata"))
    schema = fields.number("schema", 0)
    if "schema" in fields.values and schema != SCHEMA:
        raise fields.error(f"this reader knows schema {SCHEMA}, not {schema}", "schema")
    names = [fields.text(key, is_needed=True) for key in ("provider", "protocol", "version", "scenario")]
    metadata = fields.mapping("metadata", is_needed=bool(schema))
    if schema:
        check_metadata(Fields(metadata, fields.where, "$.metadata"))
    return Start(names[0], names[1], names[2], names[3], metadata, schema, fields.where.line)


def _read_entry(fields: Fields, line: int) -> Entry:
    kind = fields.values.get("type")
    if kind == "expect_outbound":
        fields.check_keys(("type", "label", "process", "group", "match", "frame"))
        match = fields.choice("match", _MATCHES)
        return ExpectOutbound(_frame(fields), *_names(fields), fields.text("group"), match, line)
    if kind == "emit_inbound":
        fields.check_keys(("type", "label", "process", "group", "gate", "afterMs", "frame"))
        after_ms = fields.number("afterMs", 0)
        return EmitInbound(
            _frame(fields), *_names(fields), fields.text("group"), fields.text("gate"), after_ms, line
        )
    if kind == "runtime_exit":
        return _read_exit(fields, line)
    known = "expect_outbound, emit_inbound or runtime_exit"
    if kind == "transcript_start":
        raise fields.error("is a second start", "type")
    raise fields.error(f"must be {known}, not {fields.shown('type')}", "type")


def _read_exit(fields: Fields, line: int) -> RuntimeExit:
    fields.check_keys(("type", "label", "process", "status", "error", "code", "signal"))
    status = fields.choice("status", _STATUSES, is_needed=True)
    code = fields.number("code", 0, most=255) if "code" in fields.values else None
    signal = fields.text("signal")
    if signal and not re.fullmatch(r"SIG[A-Z0-9]{2,10}", signal):
        raise fields.error(f"must be the name of a signal such as SIGKILL, not {signal!r}", "signal")
    if signal and code is not None:
        raise fields.error("has a code and a signal, and a process ends by one of them", "signal")
    return RuntimeExit(status, *_names(fields), fields.text("error"), code, signal, line)


def _names(fields: Fields) -> tuple[str, str]:
    return fields.text("label"), fields.text("process")


def _frame(fields: Fields) -> Frame:
    return dict(fields.mapping("frame", is_needed=True))


def _start_fields(start: Start) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "transcript_start"}
    if start.schema:
        out["schema"] = start.schema
    out |= {
        "provider": start.provider,
        "protocol": start.protocol,
        "version": start.version,
        "scenario": start.scenario,
    }
    if start.metadata or start.schema:
        out["metadata"] = dict(start.metadata)
    return out


def _entry_fields(entry: Entry) -> dict[str, Any]:
    kept = {"label": entry.label, "process": entry.process}
    if isinstance(entry, ExpectOutbound):
        kept |= {"group": entry.group, "match": entry.match}
        return {"type": "expect_outbound", **_given(kept), "frame": entry.frame}
    if isinstance(entry, EmitInbound):
        kept |= {"group": entry.group, "gate": entry.gate}
        after = {"afterMs": entry.after_ms} if entry.after_ms else {}
        return {"type": "emit_inbound", **_given(kept), **after, "frame": entry.frame}
    code = {} if entry.code is None else {"code": entry.code}
    error = _given({"error": entry.error})
    signal = _given({"signal": entry.signal})
    return {"type": "runtime_exit", **_given(kept), "status": entry.status, **error, **code, **signal}


def _given(fields: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in fields.items() if value}
