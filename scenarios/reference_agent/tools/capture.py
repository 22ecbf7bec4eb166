"""The output of a command: kept whole while short; a head, a tail and a file once it is long."""

from pathlib import Path
from typing import BinaryIO

__all__ = ["Capture"]


class Capture:
    """Holds at most `preview_bytes` in memory. The file appears only when that is too little.

    The preview's length does not depend on where the file lies, so the same output gives the same preview in
    every directory.
    """

    def __init__(self, spill_file: Path, preview_bytes: int, max_bytes: int) -> None:
        self.spill_file = spill_file
        self.preview_bytes = preview_bytes
        self.max_bytes = max_bytes
        self.total = 0
        self.head = b""
        self.tail = b""
        self.file: BinaryIO | None = None

    def feed(self, data: bytes) -> None:
        before = self.total
        self.total += len(data)
        if self.file is None and self.total > self.preview_bytes:
            self.spill_file.parent.mkdir(parents=True, exist_ok=True)
            self.file = self.spill_file.open("wb")
            self.file.write(self.head)
            self.head, self.tail = self.head[: self.preview_bytes // 2], self.head[self.preview_bytes // 2 :]
            data_for_head = self.preview_bytes // 2 - len(self.head)
            self.head, self.tail = self.head + data[:data_for_head], self.tail + data[data_for_head:]
        elif self.file is None:
            self.head += data
        else:
            self.tail += data
        if self.file is not None:
            self.file.write(data[: max(0, self.max_bytes - before)])
            self.tail = self.tail[-(self.preview_bytes - self.preview_bytes // 2) :]

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def preview(self) -> str:
        if self.file is None:
            return self.head.decode("utf-8", "replace")
        head, tail = whole_lines(self.head, self.tail)
        cut = self.total - len(head) - len(tail)
        kept = "" if self.total <= self.max_bytes else f", its first {self.max_bytes} bytes"
        note = f"[{cut} of {self.total} bytes left out here; all of it{kept}: {self.spill_file}]"
        return f"{decode(head)}\n{note}\n{decode(tail)}"


def whole_lines(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Head and tail without the lines that the cut went through, where that leaves anything."""
    end, start = head.rfind(b"\n"), tail.find(b"\n", 0, len(tail) - 1)
    return (head[:end] if end > 0 else head), (tail[start + 1 :] if start >= 0 else tail)


def decode(data: bytes) -> str:
    """Text of bytes that may begin or end inside a character."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    end = len(data)
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            end = len(data) - back if needed > back else end
            break
    return data[start:end].decode("utf-8", "replace")
