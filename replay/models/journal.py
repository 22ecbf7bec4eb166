"""The journal of a run as a file: one JSON object a line, appended as calls are served.

The runner reads it to check that every lane was consumed; an agent that is restarted in the same run reads it to
go on where its predecessor stopped.
"""

import os
from typing import TYPE_CHECKING

import orjson

from replay.errors import UsageError

if TYPE_CHECKING:
    from replay.models.wire import Json

__all__ = ["append_entry", "read_journal"]


def append_entry(path: str, entry: dict[str, Json]) -> None:
    """Appends one line by one write to a file opened for appending, so that writers never mix their lines.

    Raises UsageError if the file cannot be written.
    """
    line = orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UsageError(f"the journal {path} cannot be written: {error.strerror}") from None
    if written != len(line):
        raise UsageError(f"the journal {path} took {written} of {len(line)} bytes: is its disk full?")


def read_journal(path: str) -> list[dict[str, Json]]:
    """The lines of a journal, [] if there is none yet. Raises UsageError naming the line that is no entry."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"the journal {path} cannot be read: {error.strerror}") from None
    entries = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            entry = None
        if not isinstance(entry, dict):
            raise UsageError(
                f"{path}:{number}: no journal entry", fix="start the run with a journal of its own"
            )
        entries.append(entry)
    return entries
