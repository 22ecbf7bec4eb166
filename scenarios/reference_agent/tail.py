"""The deltas that a session log does not hold yet: a file beside the log, made to survive our sudden end.

The log takes the deltas of a block as one row, once there are no more of them. Until then each is a line here, its
place among the log's events before it. The place tells what the log has by now, so that a process which ended between
two writes, whichever they were, leaves nothing doubtful behind. The file goes when the log is at rest.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Tail", "sync_directory"]

SUFFIX = ".tail"


class Tail:
    """Belongs to `log` and to whoever holds its lock. Nothing is created before it is needed."""

    def __init__(self, log: Path, *, fsync: bool) -> None:
        self.file = log.with_name(log.name + SUFFIX)
        self.fsync = fsync
        self.descriptor: int | None = None

    def append(self, place: int, line: bytes) -> None:
        """`line` is the event's JSON with its line end, `place` counts from 1 for the header."""
        if self.descriptor is None:
            self.descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if self.fsync:
                sync_directory(self.file.parent)
        view = memoryview(b"%d %b" % (place, line))
        while view:
            view = view[os.write(self.descriptor, view) :]
        if self.fsync:
            os.fsync(self.descriptor)

    def clear(self) -> None:
        """The log has it all."""
        if self.descriptor is not None:
            os.ftruncate(self.descriptor, 0)

    def remove(self) -> None:
        """The same, and the log is at rest."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        self.file.unlink(missing_ok=True)

    def events_after(self, place: int) -> Iterator[dict[str, Any]]:
        """What follows the event at `place`, as far as it is whole."""
        try:
            lines = self.file.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines[:-1]:
            number, _, event = line.partition(b" ")
            try:
                if int(number) == place + 1:
                    yield json.loads(event)
                    place += 1
            except ValueError:
                return


def sync_directory(directory: Path) -> None:
    """Make the names of new files survive the machine, not only what is in them."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
