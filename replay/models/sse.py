"""Server-sent events: the frames of a streamed reply, as bytes.

Decoding takes input cut anywhere and ends a line at LF, CRLF or CR, as the specification of event streams says.
Memory is bounded by `max_bytes` for one event. Source: WHATWG HTML, 9.2.6.
"""

from typing import NamedTuple

from replay.errors import FixtureError

__all__ = ["MAX_EVENT_BYTES", "Event", "EventDecoder", "encode_event"]

MAX_EVENT_BYTES = 64 << 20


class Event(NamedTuple):
    """One event: `name` is "" where the stream gave none, `data` its data lines joined by LF."""

    name: str
    data: bytes


def encode_event(data: bytes, name: str = "") -> bytes:
    """One frame. data: without line ends, as JSON is."""
    if name:
        return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
    return b"data: %b\n\n" % data


class EventDecoder:
    """Bytes of an event stream -> events. What follows the last blank line is no event and is dropped at the end."""

    __slots__ = ("_data", "_max_bytes", "_name", "_size", "_skip_lf", "_tail", "_tail_size")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._data: list[bytes] = []
        self._name = ""
        self._size = 0
        self._skip_lf = False
        self._max_bytes = max_bytes

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes. Raises FixtureError if one grows beyond the bound."""
        # A CR at the end of one piece ends its line at once; the LF of the same CRLF may open the next piece.
        if self._skip_lf and data:
            data = data.removeprefix(b"\n")
            self._skip_lf = False
        if not data:
            return []
        self._skip_lf = data.endswith(b"\r")
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop()
        events: list[Event] = []
        for line in lines:
            # Pieces of an unfinished line are joined once: a line of megabytes must not be copied at every read.
            self._tail.append(line)
            event = self._line(b"".join(self._tail))
            self._tail.clear()
            self._tail_size = 0
            if event:
                events.append(event)
        self._tail.append(rest)
        self._tail_size += len(rest)
        if self._size + self._tail_size > self._max_bytes:
            raise FixtureError(f"one server-sent event is larger than {self._max_bytes} bytes")
        return events

    def _line(self, line: bytes) -> Event | None:
        if not line:
            event = Event(self._name, b"\n".join(self._data)) if self._data else None
            self._data, self._name, self._size = [], "", 0
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None
