"""Writes session logs: canonical lines, whole logs, and a stream of events as an agent makes them.

A line is compact JSON in the given key order, ended by LF. What JSON cannot hold (a lone surrogate, NaN, an integer
beyond 64 bits) is refused with its JSON path and never replaced. Nothing here opens a file: bytes are returned and
the caller writes them.
"""

from typing import TYPE_CHECKING, Any

import orjson

from replay.errors import FixtureError, Location
from replay.session.diagnosis import MAX_LINE_BYTES, refused_value
from replay.session.log import Row, SessionLog
from replay.session.packing import Packer, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LogWriter", "canonical_form", "encode_line", "encode_log"]

# orjson would write dataclasses, dates and str subclasses in its own way; a log holds plain JSON values only.
_OPTIONS = (
    orjson.OPT_APPEND_NEWLINE
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def encode_line(fields: dict[str, Any]) -> bytes:
    """One canonical line with its LF. Raises FixtureError with the JSON path of a refused value."""
    try:
        line = orjson.dumps(fields, option=_OPTIONS)
    except TypeError as error:
        raise _refusal(fields, str(error)) from None
    # orjson writes NaN and infinities as null.
    if b"null" in line and refused_value(fields) is not None:
        raise _refusal(fields, "")
    if len(line) > MAX_LINE_BYTES:
        raise _refusal(fields, f"the line has {len(line)} bytes, a line may have {MAX_LINE_BYTES}")
    return line


def _refusal(fields: dict[str, Any], fallback: str) -> FixtureError:
    path, reason = refused_value(fields) or ("$", fallback)
    return FixtureError(reason, Location(path=path))


def encode_log(header_fields: dict[str, Any], rows: Iterable[Row | dict[str, Any]]) -> bytes:
    """A whole log, rows as they stand (`pack` them first for the canonical form)."""
    lines = [encode_line(header_fields)]
    lines.extend(encode_line(row.fields if isinstance(row, Row) else row) for row in rows)
    return b"".join(lines)


def canonical_form(log: SessionLog) -> bytes:
    """The log as the newest writer would write it; equal to the file's bytes for a canonical file."""
    return encode_log(log.header.fields, pack(unpack(log.rows)))


class LogWriter:
    """Streaming writer: hand it events (the header first, for a new log), write what it returns.

    A run of deltas is held back until it ends, so that it can be packed. Whatever must be durable needs flush()
    first; packing across a flush simply ends the run. append raises FixtureError for an event that a log cannot
    hold, and then keeps nothing of it. The caller may change or reuse the event afterwards.
    """

    __slots__ = ("_packer",)

    def __init__(self) -> None:
        self._packer = Packer()

    def append(self, event: dict[str, Any]) -> bytes:
        """The bytes that are complete now, b"" while a run is held."""
        # Encoding first refuses the event before anything of it is kept, and decoding again makes the copy.
        rows = self._packer.push(orjson.loads(encode_line(event)))
        return b"".join(map(encode_line, rows))

    def flush(self) -> bytes:
        """Everything that was held back."""
        return b"".join(map(encode_line, self._packer.flush()))
