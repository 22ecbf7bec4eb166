"""NDJSON framing: bytes in any chunking -> complete lines, without their line ends.

A line ends at LF, or CRLF, and nowhere else (U+2028, U+0085 and a lone CR are content). The reader never
looks inside a line: a blank one is handed on like any other, and `connection.parse` refuses it. Reading the
pipe is the caller's work. Invariants: what comes out does not depend on where chunks were cut; at most
`max_line_bytes` are held back.
"""

from replay.errors import AgentError

__all__ = ["MAX_LINE_BYTES", "MAX_TOTAL_BYTES", "LineReader", "excerpt"]

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
_EXCERPT_CHARACTERS = 160


class LineReader:
    """Cuts a stream of bytes into lines.

    max_line_bytes: longest line accepted, its line end not counted. max_total_bytes: longest stream.
    Raises AgentError when the stream exceeds either, and from then on for every call.
    """

    __slots__ = ("_held", "_held_bytes", "_total", "max_line_bytes", "max_total_bytes")

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self.max_line_bytes = max_line_bytes
        self.max_total_bytes = max_total_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._total = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, in order."""
        self._total += len(data)
        if self._total > self.max_total_bytes:
            raise AgentError(f"the agent wrote more than {self.max_total_bytes} bytes to stdout")
        pieces = data.split(b"\n")
        tail = pieces.pop()
        lines = []
        for piece in pieces:
            lines.append(self._complete(piece))
        self._hold(tail)
        return lines

    def close(self) -> None:
        """End of the stream. Raises AgentError if it ends inside a line."""
        if self._held_bytes:
            start = excerpt(b"".join(self._held))
            raise AgentError(
                f"the agent's stdout ends in the middle of a line of {self._held_bytes} bytes: {start}"
            )

    def _complete(self, piece: bytes) -> bytes:
        self._hold(piece)
        line = b"".join(self._held) if len(self._held) != 1 else self._held[0]
        self._held = []
        self._held_bytes = 0
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self.max_line_bytes:
            raise self._too_long(line)
        return line

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._held.append(piece)
        self._held_bytes += len(piece)
        # One more than the limit: the byte may be the CR of a CRLF that is not complete yet.
        if self._held_bytes > self.max_line_bytes + 1:
            raise self._too_long(b"".join(self._held))

    def _too_long(self, line: bytes) -> AgentError:
        # So that a reader that was told once cannot go on with half a line.
        self.max_total_bytes = -1
        return AgentError(f"the agent wrote a line of more than {self.max_line_bytes} bytes: {excerpt(line)}")


def excerpt(line: bytes) -> str:
    """The start of a line, quoted and escaped so that it fits one line of a report."""
    text = line[: 4 * _EXCERPT_CHARACTERS].decode("utf-8", "backslashreplace")
    shown = text[:_EXCERPT_CHARACTERS]
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character)
        for character in shown
    )
    rest = "…" if len(text) > len(shown) or len(line) > 4 * _EXCERPT_CHARACTERS else ""
    return f'"{escaped}{rest}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character.encode("unicode_escape").decode("ascii")
