"""The JSON documents of a streamed reply of the Gemini wire, however they are framed.

Three framings occur: events (`alt=sse`), the elements of one JSON array (the default of the API) and, between or
instead of either, a bare object: that is how the provider breaks an event stream off with an error. Input may be
cut anywhere; memory is bounded by `max_bytes` for one document.
"""

from replay.errors import FixtureError
from replay.models.sse import MAX_EVENT_BYTES, EventDecoder

__all__ = ["DocumentDecoder"]

_BETWEEN = b" \t\n,[]"
_OPEN, _CLOSE, _QUOTE, _BACKSLASH = b'{}"\\'


class DocumentDecoder:
    """Bytes of one streamed reply -> its documents, as bytes that should be JSON."""

    __slots__ = ("_depth", "_escaped", "_events", "_max_bytes", "_place", "_quoted", "_rest", "_skip_lf")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._events = EventDecoder(max_bytes)
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._skip_lf = False
        # How far the first document is known, and what stands there.
        self._place = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        """The documents that `data` completes. Raises FixtureError if one grows beyond the bound."""
        if self._skip_lf and data:
            data = data.removeprefix(b"\n")
            self._skip_lf = False
        self._skip_lf = data.endswith(b"\r") or (self._skip_lf and not data)
        # Line ends count between documents only: inside one JSON escapes them, or they are white space.
        self._rest += data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        documents: list[bytes] = []
        while self._step(documents):
            pass
        if len(self._rest) > self._max_bytes:
            raise FixtureError(f"one piece of the provider's reply is larger than {self._max_bytes} bytes")
        return documents

    def _step(self, documents: list[bytes]) -> bool:
        """Takes one document off the front. False where more bytes are needed."""
        rest = self._rest
        if self._place == 0:
            between = 0
            while between < len(rest) and rest[between] in _BETWEEN:
                between += 1
            del rest[:between]
        if not rest:
            return False
        if rest[0] == _OPEN:
            if not self._object_ends():
                return False
            documents.append(self._take(self._place))
            return True
        end = rest.find(b"\n\n", max(self._place - 1, 0))
        if end < 0:
            self._place = len(rest)
            return False
        documents += (event.data for event in self._events.feed(self._take(end + 2)))
        return True

    def _object_ends(self) -> bool:
        """Goes on over a bare object. Afterwards `_place` is behind its last brace or at the end of what came."""
        rest = self._rest
        for place in range(self._place, len(rest)):
            byte = rest[place]
            if self._quoted:
                if self._escaped:
                    self._escaped = False
                elif byte == _BACKSLASH:
                    self._escaped = True
                elif byte == _QUOTE:
                    self._quoted = False
            elif byte == _QUOTE:
                self._quoted = True
            elif byte == _OPEN:
                self._depth += 1
            elif byte == _CLOSE:
                self._depth -= 1
                if self._depth == 0:
                    self._place = place + 1
                    return True
        self._place = len(rest)
        return False

    def _take(self, size: int) -> bytes:
        piece = bytes(self._rest[:size])
        del self._rest[:size]
        self._place = self._depth = 0
        return piece
