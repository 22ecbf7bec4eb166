"""One session log on disk: rows appended, each given to the system (and to the disk, if asked) before we go on.

The deltas of one block become one packed row when another row comes; until then they are safe in the log's tail
(tail.py). `flush` puts the log to rest: all in it, no tail. A compressed log is a series of gzip members: what is in
it can be read as soon as it is written, and a flush ends the member, so that a log at rest is a complete file.
"""

import fcntl
import os
import zlib
from pathlib import Path
from typing import Any

from replay.session import DELTA_FIELD, LogWriter, encode_line
from scenarios.reference_agent.tail import Tail, sync_directory

__all__ = ["Journal", "JournalError"]

GZIP_WBITS = 31


class JournalError(Exception):
    """The log cannot be opened: in use by another process, or not ours to write."""


class Journal:
    """`file` ends in `.gz` for a compressed log; `rows` counts the header and every event. Raises JournalError."""

    def __init__(self, file: Path, *, fsync: bool) -> None:
        self.file = file
        self.fsync = fsync
        self.rows = 0
        self.tail = Tail(file, fsync=fsync)
        self.writer = LogWriter()
        self.compressor: zlib._Compress | None = None
        try:
            self.descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"{file}: cannot be opened for writing: {error.strerror}") from error
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.descriptor)
            raise JournalError(f"{file}: is open in another process") from error
        if fsync:
            sync_directory(file.parent)

    def append(self, row: dict[str, Any]) -> None:
        """Raises FixtureError for a row that JSON cannot hold; nothing of it is kept."""
        written = self.writer.append(row)
        self.rows += 1
        if may_be_held(row):
            self.tail.append(self.rows, encode_line(row))
            self.write(written)
        else:
            self.write(written)
            self.tail.clear()

    def flush(self) -> None:
        self.write(self.writer.flush())
        if self.compressor is not None:
            self.write_all(self.compressor.flush(zlib.Z_FINISH))
            self.compressor = None
        self.tail.remove()

    def close(self) -> None:
        self.flush()
        self.release()

    def release(self) -> None:
        """Let others have the log, as it is."""
        os.close(self.descriptor)

    def write(self, data: bytes) -> None:
        if not data:
            return
        if self.file.suffix == ".gz":
            self.compressor = self.compressor or zlib.compressobj(wbits=GZIP_WBITS)
            data = self.compressor.compress(data) + self.compressor.flush(zlib.Z_SYNC_FLUSH)
        self.write_all(data)
        if self.fsync:
            os.fsync(self.descriptor)

    def write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]


def may_be_held(row: dict[str, Any]) -> bool:
    """Whether the writer may wait for more of the kind. Any other row brings out all that it held."""
    return row["type"] == "assistant/chunk" and row["data"]["chunk"]["type"] in DELTA_FIELD
