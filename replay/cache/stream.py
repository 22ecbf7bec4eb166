"""The files that Bazel leaves behind, message by message: which kind one is, and what of it can be read.

Read are the compact execution log (zstd over length-delimited ExecLogEntry) and build events, binary (length-delimited
BuildEvent) and JSON (one a line). The messages are those of spawn.proto and build_event_stream.proto beside this file,
which say what is read; everything else in a file is skipped. A file is not trusted: what it unpacks to, each message and
each line are bounded, and whatever cannot be read is one FixtureError with file, place and what to do.
"""

from collections.abc import Callable, Iterator
from compression import zstd
from enum import Enum
from typing import Final, NoReturn, Protocol

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from replay.cache.build_event_stream_pb2 import BuildEvent
from replay.cache.spawn_pb2 import ExecLogEntry
from replay.errors import FixtureError, Location, UsageError, counted

__all__ = ["FileKind", "kind_of", "read_entries", "read_events", "spelled"]

MAX_CONTENT_BYTES: Final = 2 << 30
"""What a file may unpack to; the log of 5,000 tests has about 50 MB."""
MAX_MESSAGE_BYTES: Final = 64 << 20
MAX_MESSAGES: Final = 20_000_000
"""An empty message takes one byte, so that the bytes alone are no bound."""
_CHUNK: Final = 1 << 20
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP: Final = b"\x1f\x8b"
_MAKE_LOG: Final = "--execution_log_compact_file=FILE"
_MAKE_EVENTS: Final = "--build_event_json_file=FILE or --build_event_binary_file=FILE"
_AGAIN: Final = (
    "let the run come to its end, and take the file after it; a run that was killed leaves none that is whole"
)


class FileKind(Enum):
    """What a file holds; the value is what it is called."""

    EXECUTION_LOG = "a compact execution log"
    EVENTS_BINARY = "build events in binary form"
    EVENTS_JSON = "build events in JSON form"

    @property
    def is_events(self) -> bool:
        """True for build events of either form."""
        return self is not FileKind.EXECUTION_LOG


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Bytes:
    """A stream in pieces of a known length. `offset` counts the bytes taken so far; raises where there are too many."""

    __slots__ = ("_at", "_chunk", "_file", "_path", "offset")

    def __init__(self, file: _Readable, path: str) -> None:
        self._file = file
        self._path = path
        self._chunk = b""
        self._at = 0
        self.offset = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes, fewer at the end."""
        while len(self._chunk) - self._at < count:
            more = self._file.read(_CHUNK)
            if not more:
                break
            self._chunk = self._chunk[self._at :] + more
            self._at = 0
        taken = self._chunk[self._at : self._at + count]
        self._at += len(taken)
        self.offset += len(taken)
        if self.offset > MAX_CONTENT_BYTES:
            raise FixtureError(
                f"unpacks to more than {MAX_CONTENT_BYTES >> 20} MiB",
                Location(self._path),
                "run fewer targets, a part of the tests at a time",
            )
        return taken


def kind_of(path: str) -> FileKind:
    """What the file is, by its first bytes. Raises for whatever is none of the three, and says what it is where it can."""
    try:
        with open(path, "rb") as file:
            start = file.read(_CHUNK)
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", Location(path), "name a file of Bazel's"
        ) from None
    if not start:
        raise FixtureError("is empty: Bazel writes it in the course of the run", Location(path), _AGAIN)
    if start.startswith(_ZSTD):
        return FileKind.EXECUTION_LOG
    if start.lstrip().startswith(b"{"):
        return _json_kind(start.lstrip(), path)
    if start.startswith(_GZIP):
        _refuse(path, "is packed with gzip, as a profile of Bazel is (--profile)")
    if _is_first_event(start):
        return FileKind.EVENTS_BINARY
    _refuse(path, "is neither an execution log in compact form nor a file of build events")


def read_entries(path: str) -> Iterator[ExecLogEntry]:
    """The entries of a compact execution log, in the order of the file. Raises FixtureError."""
    with open(path, "rb") as packed, zstd.ZstdFile(packed) as file:
        source = _Bytes(file, path)
        try:
            yield from _delimited(source, path, ExecLogEntry.FromString, "entry")
        except EOFError:
            raise _cut_off(path, source.offset, "the zstd stream has no end") from None
        except zstd.ZstdError as error:
            raise FixtureError(
                f"is damaged after byte {source.offset} of what it unpacks to: {error}",
                Location(path),
                _AGAIN,
            ) from None


def read_events(path: str, kind: FileKind) -> Iterator[BuildEvent]:
    """The events of a file of build events, in the order of the file. Raises FixtureError."""
    with open(path, "rb") as file:
        if kind is FileKind.EVENTS_JSON:
            yield from _lines(file, path)
        else:
            yield from _delimited(_Bytes(file, path), path, BuildEvent.FromString, "event")


def spelled(text: str) -> str:
    """A label or path as people write it: Bazel before 8 keeps names as bytes, and each byte comes out as a character."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _delimited[T](source: _Bytes, path: str, parse: Callable[[bytes], T], noun: str) -> Iterator[T]:
    """Messages, each behind its length. parse: raises DecodeError."""
    for number in range(1, MAX_MESSAGES + 1):
        start = source.offset
        length = _varint(source, path)
        if length is None:
            return
        _check_size(path, noun, number, length, start)
        data = source.take(length)
        if len(data) < length:
            raise _cut_off(path, start, f"{noun} {number} has {len(data)} of its {counted(length, 'byte')}")
        try:
            yield parse(data)
        except DecodeError:
            raise FixtureError(
                f"{noun} {number} at byte {start} is no message of Bazel's", Location(path), _AGAIN
            ) from None
    raise FixtureError(
        f"holds {MAX_MESSAGES} messages or more", Location(path), "run fewer targets at a time"
    )


def _check_size(path: str, noun: str, number: int, length: int, offset: int) -> None:
    if length > MAX_MESSAGE_BYTES:
        raise FixtureError(
            f"{noun} {number} at byte {offset} claims {length} bytes; at most {MAX_MESSAGE_BYTES} are read",
            Location(path),
            _AGAIN,
        )


def _varint(source: _Bytes, path: str) -> int | None:
    """The length of the next message, None at the end."""
    start = source.offset
    value = 0
    for shift in range(0, 35, 7):
        byte = source.take(1)
        if not byte:
            if shift:
                raise _cut_off(path, start, "a length has no end")
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    raise FixtureError(f"the length at byte {start} is longer than any of Bazel's", Location(path), _AGAIN)


def _lines(file: _Readable, path: str) -> Iterator[BuildEvent]:
    """Events in JSON, one a line."""
    for number, line in enumerate(_split(_Bytes(file, path), path), start=1):
        if number > MAX_MESSAGES:
            raise FixtureError(
                f"holds more than {MAX_MESSAGES} lines", Location(path), "run fewer targets at a time"
            )
        if line.strip():
            yield _event_of_line(line, path, number)


def _split(source: _Bytes, path: str) -> Iterator[bytes]:
    """Lines with their ends; the last has none where the file was cut off."""
    rest = b""
    number = 1
    while chunk := source.take(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        number += len(whole)
        for line in whole:
            yield line + b"\n"
        _check_size(path, "the event of line", number, len(rest), source.offset - len(rest))
    yield rest


def _event_of_line(line: bytes, path: str, number: int) -> BuildEvent:
    try:
        event = orjson.loads(line)
        if not isinstance(event, dict):
            raise TypeError("it is no object")
        return json_format.ParseDict(event, BuildEvent(), ignore_unknown_fields=True)
    except (json_format.ParseError, orjson.JSONDecodeError, AttributeError, TypeError) as error:
        what = f"no event of Bazel's: {str(error).partition(chr(10))[0][:200]}"
        if not line.endswith(b"\n"):
            what = "cut off within an event"
        raise FixtureError(what, Location(path, number), _AGAIN) from None


def _json_kind(start: bytes, path: str) -> FileKind:
    """Build events, where the first line is a whole object with an id."""
    line = start.partition(b"\n")[0]
    if line.startswith(b'{"id":'):
        return FileKind.EVENTS_JSON
    if b'"commandArgs"' in start or b'"environmentVariables"' in start:
        _refuse(path, "is an execution log in JSON form (--execution_log_json_file)")
    if b'"traceEvents"' in start:
        _refuse(path, "is a profile of Bazel (--profile)")
    _refuse(path, "is JSON, and neither build events nor an execution log")


def _is_first_event(start: bytes) -> bool:
    """True where the first message is the event that every stream of them starts with."""
    source = _Bytes(_Start(start), "")
    try:
        event = next(_delimited(source, "", BuildEvent.FromString, "event"), None)
    except FixtureError:
        # The first event of a large command line can be longer than what was read of it: its first field is its id.
        return b"\n\x02\x1a\x00" in start[:8]
    return event is not None and event.id.WhichOneof("id") == "started"


class _Start:
    """What was read of a file, as a stream."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int = -1, /) -> bytes:
        """All of it, once."""
        data, self._data = self._data, b""
        return data


def _refuse(path: str, what: str) -> NoReturn:
    raise FixtureError(what, Location(path), f"run Bazel with {_MAKE_LOG}, or {_MAKE_EVENTS}")


def _cut_off(path: str, offset: int, how: str) -> FixtureError:
    return FixtureError(f"is cut off at byte {offset} of what it unpacks to: {how}", Location(path), _AGAIN)
