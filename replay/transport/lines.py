"""Lines of JSON as they cross a pipe or a socket: cut, bounded, parsed. Pure.

A line ends at LF or CRLF and nowhere else. Whoever wrote the bytes is not trusted: a line that is too long, is no
JSON, is no object or is nested too deeply is refused with one sentence that names the writer, and nothing that
follows it is read. What comes out does not depend on where the bytes were cut.
"""

from typing import Any

import orjson

from replay.errors import DivergenceError

__all__ = ["MAX_DEPTH", "MAX_LINE_BYTES", "Lines", "parse_line"]

MAX_LINE_BYTES = 16 << 20
MAX_DEPTH = 128
_EXCERPT_CHARACTERS = 120


class Lines:
    """Cuts what `writer` ("the orchestrator") sends into lines."""

    __slots__ = ("_held", "_held_bytes", "_is_broken", "_writer")

    def __init__(self, writer: str) -> None:
        self._writer = writer
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._is_broken = False

    @property
    def is_inside(self) -> bool:
        """Whether a line has begun and its end has not come."""
        return self._held_bytes > 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, in order, without their ends; blank ones are left out.

        Raises DivergenceError where a line is longer than MAX_LINE_BYTES, and from then on for every call.
        """
        if self._is_broken:
            raise self._too_long(b"")
        pieces = data.split(b"\n")
        tail = pieces.pop()
        lines = []
        for piece in pieces:
            line = self._complete(piece)
            if line:
                lines.append(line)
        self._hold(tail)
        return lines

    def close(self) -> None:
        """End of the stream. Raises DivergenceError where it ends inside a line."""
        if self._held_bytes:
            start = _excerpt(b"".join(self._held))
            raise DivergenceError(
                f"{self._writer} stopped writing in the middle of a line of {self._held_bytes} bytes: {start}"
            )

    def _complete(self, piece: bytes) -> bytes:
        self._hold(piece)
        line = b"".join(self._held)
        self._held = []
        self._held_bytes = 0
        line = line.removesuffix(b"\r")
        if len(line) > MAX_LINE_BYTES:
            raise self._too_long(line)
        return line

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._held.append(piece)
        self._held_bytes += len(piece)
        # One more than the limit: the byte may be the CR of a CRLF that is not complete yet.
        if self._held_bytes > MAX_LINE_BYTES + 1:
            raise self._too_long(self._held[0])

    def _too_long(self, line: bytes) -> DivergenceError:
        self._is_broken = True
        self._held = []
        self._held_bytes = 0
        what = f"{self._writer} wrote a line of more than {MAX_LINE_BYTES} bytes"
        return DivergenceError(f"{what}: {_excerpt(line)}" if line else what)


def parse_line(line: bytes, writer: str, max_depth: int = MAX_DEPTH) -> dict[str, Any]:
    """The JSON object on a line. Raises DivergenceError that names `writer` and what is wrong with it."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DivergenceError(
            f"{writer} wrote a line that is no JSON ({error.msg} at byte {error.pos}): {_excerpt(line)}"
        ) from None
    if not isinstance(value, dict):
        raise DivergenceError(f"{writer} wrote a line that is no JSON object: {_excerpt(line)}")
    # Counting is cheap, walking is not: few frames have so many brackets.
    if line.count(b"{") + line.count(b"[") > max_depth and _is_deeper(value, max_depth):
        raise DivergenceError(
            f"{writer} wrote a line that is nested more than {max_depth} deep: {_excerpt(line)}"
        )
    return value


def _is_deeper(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        level = [each for each in inner if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def _excerpt(line: bytes) -> str:
    """The start of a line, quoted and escaped so that it fits one line of a report."""
    text = line[: 4 * _EXCERPT_CHARACTERS].decode("utf-8", "backslashreplace")
    shown = text[:_EXCERPT_CHARACTERS]
    rest = "…" if len(text) > len(shown) or len(line) > 4 * _EXCERPT_CHARACTERS else ""
    return orjson.dumps(
        "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in shown
        )
        + rest
    ).decode()
