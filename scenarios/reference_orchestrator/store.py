"""The event store: one SQLite file, append-only, with one writer.

An append is one transaction: the events of a decision and the receipt of the command that asked for it are there together
or not at all. Sequence numbers have no gaps. Who writes holds a lock file for as long as it lives, so a second writer is
refused at once and a killed one leaves nothing behind; readers need no lock.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from scenarios.reference_orchestrator.commands import Command, Receipt, command_to_json
from scenarios.reference_orchestrator.errors import OrchestratorError, StoreError
from scenarios.reference_orchestrator.events import Event, StoredEvent, event_from_data, type_of

__all__ = ["EventStore", "read_events"]

VERSION = 1
SCHEMA = f"""
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    thread_id TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    occurred_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_thread ON events (thread_id, sequence);
CREATE TABLE receipts (command_id TEXT PRIMARY KEY, command TEXT NOT NULL, receipt TEXT NOT NULL) STRICT;
CREATE TRIGGER events_next BEFORE INSERT ON events
    WHEN NEW.sequence != (SELECT COALESCE(MAX(sequence), 0) + 1 FROM events)
    BEGIN SELECT RAISE(ABORT, 'a sequence number is left out or given twice'); END;
CREATE TRIGGER events_kept BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_all BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER receipts_kept BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are never changed'); END;
CREATE TRIGGER receipts_all BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are never deleted'); END;
PRAGMA user_version = {VERSION};
"""
SELECT_EVENTS = (
    "SELECT sequence, thread_id, type, data, occurred_at_ms FROM events WHERE sequence > ? ORDER BY sequence"
)


class EventStore:
    """The writer. Raises StoreError if another one is alive, or the file is of another version."""

    def __init__(self, path: Path) -> None:
        self._lock = hold(path)
        try:
            self._database = opened(path)
        except BaseException:
            os.close(self._lock)
            raise
        self.last_sequence: int = self._database.execute(
            "SELECT COALESCE(MAX(sequence), 0) FROM events"
        ).fetchone()[0]

    def append(
        self,
        thread_id: str,
        events: Sequence[Event],
        occurred_at_ms: int,
        command: Command | None = None,
        receipt: Receipt | None = None,
    ) -> list[StoredEvent]:
        """All of it or nothing. Raises StoreError where an invariant of the store would break."""
        first = self.last_sequence + 1
        stored = [
            StoredEvent(first + index, thread_id, occurred_at_ms, event) for index, event in enumerate(events)
        ]
        rows = [
            (sequence, thread_id, type_of(event), orjson.dumps(event._asdict()).decode(), occurred_at_ms)
            for sequence, _, _, event in stored
        ]
        # A receipt is on the disk before it is given, and with it all that came before. A power cut may take what a
        # provider said since then; the end of a process takes nothing.
        synchronous = "NORMAL" if receipt is None else "FULL"
        try:
            self._database.execute(f"PRAGMA synchronous = {synchronous}")
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
            if command is not None and receipt is not None:
                kept = (
                    command.command_id,
                    canonical(command).decode(),
                    orjson.dumps(receipt._asdict()).decode(),
                )
                self._database.execute("INSERT INTO receipts VALUES (?, ?, ?)", kept)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise StoreError(f"cannot append: {error}") from error
        self.last_sequence += len(stored)
        return stored

    def receipt_of(self, command: Command) -> Receipt | None:
        """What the command got when it was sent before. Raises OrchestratorError if its id was another command's."""
        row = self._database.execute(
            "SELECT command, receipt FROM receipts WHERE command_id = ?", (command.command_id,)
        ).fetchone()
        if row is None:
            return None
        if row[0].encode() != canonical(command):
            raise OrchestratorError(f"command id {command.command_id!r} was used for another command")
        return Receipt(**orjson.loads(row[1]))

    def events(self, after: int = 0) -> Iterator[StoredEvent]:
        return stored_events(self._database, after)

    def close(self) -> None:
        self._database.close()
        os.close(self._lock)


def opened(path: Path) -> sqlite3.Connection:
    """For writing; a new file gets its tables."""
    try:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            database.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is no event store: {error}") from error
    if version not in (0, VERSION):
        raise StoreError(f"{path} has version {version}, this is for version {VERSION}")
    return database


def read_events(path: Path, after: int = 0) -> list[StoredEvent]:
    """What a store holds, for whoever does not write it: also while somebody else does, and after a crash."""
    database = sqlite3.connect(path)
    try:
        return list(stored_events(database, after))
    finally:
        database.close()


def stored_events(database: sqlite3.Connection, after: int) -> Iterator[StoredEvent]:
    for sequence, thread_id, name, data, occurred_at_ms in database.execute(SELECT_EVENTS, (after,)):
        yield StoredEvent(sequence, thread_id, occurred_at_ms, event_from_data(name, orjson.loads(data)))


def canonical(command: Command) -> bytes:
    return orjson.dumps(command_to_json(command), option=orjson.OPT_SORT_KEYS)


def hold(path: Path) -> int:
    """The descriptor that holds the writer's lock; the kernel lets go of it when the process ends."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreError(f"{path} is being written by another orchestrator") from error
    return descriptor
