"""What a process wrote to a pipe, kept within a bound."""

from replay.errors import counted

__all__ = ["Output"]

_MAX_OUTPUT_BYTES = 4 << 20


class Output:
    """What a process wrote to one of its pipes: all of it, or of a flood the beginning and the end."""

    __slots__ = ("_head", "_tail", "count", "lines")

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.count = 0
        """Bytes in all."""
        self.lines = 0

    def take(self, data: bytes) -> None:
        self.count += len(data)
        self.lines += data.count(b"\n")
        room = _MAX_OUTPUT_BYTES // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Twice what is kept, so that a flood is not moved at every turn.
        if len(self._tail) > _MAX_OUTPUT_BYTES:
            del self._tail[: len(self._tail) - _MAX_OUTPUT_BYTES // 2]

    def text(self) -> bytes:
        """What was kept; a line says how much was not."""
        left_out = self.count - len(self._head) - len(self._tail)
        gap = f"\n… {counted(left_out, 'byte')} left out\n".encode() if left_out else b""
        return bytes(self._head) + gap + bytes(self._tail)

    def last_lines(self, most: int) -> list[str]:
        """The last lines that are not blank."""
        kept = (
            bytes(self._tail[-8192:]) if len(self._tail) >= 8192 else bytes(self._head + self._tail)[-8192:]
        )
        lines = [line.rstrip() for line in kept.decode("utf-8", "replace").split("\n")]
        return [line for line in lines if line][-most:]
