"""The directory of session logs: new ones, one opened again, the list of all."""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from replay.errors import ReplayError
from replay.session import SessionLog, read_log, unpack
from scenarios.reference_agent.config import Config
from scenarios.reference_agent.journal import GZIP_WBITS, Journal, JournalError
from scenarios.reference_agent.session import Header, Session
from scenarios.reference_agent.state import closing_events

__all__ = ["Store", "Summary"]

SUFFIXES = (".jsonl", ".jsonl.gz")
MAX_LOG_BYTES = 256 * 1024 * 1024
TITLE_CHARS = 60


class Summary:
    """A line of the list: which session, where, and how it began."""

    def __init__(self, session_id: str, cwd: str, created_at: int, title: str | None) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.created_at = created_at
        self.title = title


class Store:
    """`clock` gives milliseconds since 1970, `new_id` a fresh session id."""

    def __init__(self, directory: Path, clock: Callable[[], int], new_id: Callable[[], str]) -> None:
        self.directory = directory
        self.clock = clock
        self.new_id = new_id
        self.last_created_at = 0

    def create(
        self, config: Config, cwd: Path, parent: Session | None = None, *, fork: bool = False
    ) -> Session:
        """A new session and its log, down to the header and, for a fork, the parent's finished turns."""
        # Two sessions made in one millisecond still have an order.
        self.last_created_at = max(self.clock(), self.last_created_at + 1)
        seed = parent.finished_turns() if parent and fork else []
        header = Header(
            id=self.new_id(),
            created_at=self.last_created_at,
            cwd=cwd,
            parent=parent.id if parent else None,
            depth=parent.header.depth + 1 if parent else 0,
            seed_length=len(seed) if fork else None,
        )
        self.directory.mkdir(parents=True, exist_ok=True)
        suffix = ".jsonl.gz" if config.session_log.compress == "gzip" else ".jsonl"
        journal = Journal(self.directory / (header.id + suffix), fsync=config.session_log.fsync)
        session = Session(header, config, journal, self.clock)
        journal.append(header.row())
        for event in seed:
            session.append(event)
        if fork:
            session.record("session/end-seed", {})
            session.header_reason = "resume"
        journal.flush()
        return session

    def reopen(self, session_id: str, config: Config, cwd: Path) -> Session:
        """The session of an earlier process, or of this one after it was closed. Raises JournalError.

        A process that was killed leaves all that it recorded; the log gets what it still lacks of that, and an end.
        """
        file = self.find(session_id)
        if file is None:
            raise JournalError(f"there is no session {session_id}")
        # Locked before it is read: what looks half-written may be another process at work.
        journal = Journal(file, fsync=config.session_log.fsync)
        try:
            log, is_mended = read_mended(file)
        except JournalError:
            journal.release()
            raise
        if is_mended:
            journal.release()
            journal = Journal(file, fsync=config.session_log.fsync)
        header = log.header
        known = Header(header.id, header.created_at, cwd, header.parent_session, header.delegation_depth)
        session = Session(known, config, journal, self.clock)
        self.last_created_at = max(self.last_created_at, header.created_at)
        for row in unpack(log.rows):
            session.learn(row.fields)
        journal.rows = 1 + len(session.events)
        for event in journal.tail.events_after(journal.rows):
            session.append(event)
        for kind, data in closing_events(session.events):
            session.record(kind, data)
        journal.flush()
        session.header_reason = "resume"
        return session

    def find(self, session_id: str) -> Path | None:
        """The log of a session. An id with a path in it is nobody's."""
        if not session_id or Path(session_id).name != session_id:
            return None
        files = (self.directory / (session_id + suffix) for suffix in SUFFIXES)
        return next((file for file in files if file.is_file()), None)

    def summaries(self, cwd: str | None) -> list[Summary]:
        """All sessions that a person began (in `cwd`, if given), the newest first."""
        files = sorted(file for suffix in SUFFIXES for file in self.directory.glob("*" + suffix))
        found = map(summary_of, files)
        kept = [summary for summary in found if summary and cwd in (None, summary.cwd)]
        return sorted(kept, key=lambda summary: (-summary.created_at, summary.session_id))


def read_mended(file: Path) -> tuple[SessionLog, bool]:
    """The log of `file`, and whether the file was replaced: a crash may leave a half-written end, which goes."""
    try:
        stored = file.read_bytes()
        text, complete = decompress(stored) if file.suffix == ".gz" else (stored, True)
        whole = text[: text.rfind(b"\n") + 1]
        log = read_log(whole, file.name)
        if complete and len(whole) == len(text):
            return log, False
        replace(file, gzip.compress(whole) if file.suffix == ".gz" else whole)
        return log, True
    except (OSError, zlib.error, ReplayError) as error:
        raise JournalError(f"{file}: cannot be read: {error}") from error


def decompress(data: bytes) -> tuple[bytes, bool]:
    """The text of gzip members and whether the last one was finished."""
    text = bytearray()
    finished = True
    while data:
        member = zlib.decompressobj(wbits=GZIP_WBITS)
        text += member.decompress(data, MAX_LOG_BYTES - len(text))
        if member.unconsumed_tail:
            raise zlib.error(f"the log is longer than {MAX_LOG_BYTES} bytes")
        finished, data = member.eof, member.unused_data
    return bytes(text), finished


def replace(file: Path, data: bytes) -> None:
    aside = file.with_name(file.name + ".tmp")
    with aside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(file)


def summary_of(file: Path) -> Summary | None:
    """From the first rows only: a list must not cost what the sessions cost. None for what is not listed."""
    rows = first_rows(file)
    header = next(rows, {})
    if header.get("type") != "session" or "parentSession" in header:
        return None
    said = next((row for row in rows if row.get("type") == "user/message"), None)
    texts = [block["text"] for block in said["data"]["content"] if block["type"] == "text"] if said else []
    title = " ".join(" ".join(texts).split())
    short = title if len(title) <= TITLE_CHARS else title[: TITLE_CHARS - 1] + "…"
    return Summary(header["id"], header.get("cwd", ""), header["createdAt"], short or None)


def first_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Decoded rows until the file or our understanding of it ends."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            for line in stream:
                yield json.loads(line)
    except OSError, EOFError, ValueError, zlib.error:
        return
