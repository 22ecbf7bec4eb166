"""The agent's own session logs: watched while it runs, collected and ordered once it ended.

While it runs only complete lines are read, each once, for the driver's `waitFor…` conditions. At the end each
log is read whole; the order is by design 4.1: the first root by createdAt, then all others by createdAt, and
where two share a millisecond by where their parent's log mentions them first.
"""

import os
from collections.abc import Iterator
from typing import Any

import orjson

from replay.acp import WaitLogEvent
from replay.errors import AgentError, FixtureError
from replay.session import MAX_FILE_BYTES, SessionLog, decompress, read_log

__all__ = ["SessionTail", "collect_logs"]

_SUFFIXES = (".jsonl", ".jsonl.gz")


class TailedLog:
    """What is known of one log that is still being written."""

    __slots__ = ("_held", "_offset", "events", "header", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self._offset = 0
        self._held = b""

    @property
    def is_child(self) -> bool:
        return bool(self.header.get("parentSession"))

    def count(self, kind: str, after_turns: int) -> int:
        """Own events of type `kind` after the `after_turns`-th own turn/end."""
        found = 0
        turns = 0
        for event in self.own_events():
            if event.get("type") == kind and turns >= after_turns:
                found += 1
            turns += event.get("type") == "turn/end"
        return found

    def own_events(self) -> Iterator[dict[str, Any]]:
        """Events without those that a fork inherited, which are counted unpacked."""
        seed = self.header.get("seedLength") or 0
        for event in self.events:
            if seed > 0:
                data = event.get("data")
                gaps = data.get("dt") if isinstance(data, dict) else None
                seed -= len(gaps) + 1 if isinstance(gaps, list) else 1
            else:
                yield event

    def refresh(self) -> None:
        """Read the lines that were completed since the last time; a line that is no JSON is skipped here."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        pieces = (self._held + data).split(b"\n")
        self._held = pieces.pop()
        for piece in pieces:
            try:
                row = orjson.loads(piece)
            except orjson.JSONDecodeError:
                continue
            if not isinstance(row, dict):
                continue
            if not self.header:
                self.header = row
            else:
                self.events.append(row)


class SessionTail:
    """All logs below one directory."""

    __slots__ = ("_logs", "directory")

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._logs: dict[str, TailedLog] = {}

    def refresh(self) -> list[TailedLog]:
        """Every log with what it holds by now, in order of first sight."""
        for path in sorted(_log_paths(self.directory)):
            if path.endswith(".jsonl") and path not in self._logs:
                self._logs[path] = TailedLog(path)
        for log in self._logs.values():
            log.refresh()
        return list(self._logs.values())

    def has_happened(self, wait: WaitLogEvent) -> bool:
        """Whether the logs hold by now what the driver waits for."""
        logs = self.refresh()
        if wait.subagent:
            return sum(log.count(wait.type, wait.after_turns) for log in logs if log.is_child) >= wait.times
        roots = sorted((log for log in logs if log.header and not log.is_child), key=_created_at)
        named = [log for log in roots if log.header.get("id") == wait.session] or roots[wait.session_index :]
        return bool(named) and named[0].count(wait.type, wait.after_turns) >= wait.times


def collect_logs(directory: str, *, salvage: bool = False) -> list[SessionLog]:
    """Every log below `directory`, in fixture order.

    salvage: the run was stopped, so a last line that is not complete is dropped, and a log without a header too.
    Raises AgentError for a file that is no session log: what an agent persists must be readable.
    """
    logs: list[tuple[SessionLog, bytes]] = []
    for path in sorted(_log_paths(directory)):
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.relpath(path, directory)
        try:
            if path.endswith(".gz"):
                data = decompress(data, MAX_FILE_BYTES)
            if salvage:
                data = data[: data.rfind(b"\n") + 1]
            logs.append((read_log(data, name), data))
        except FixtureError as error:
            if salvage:
                continue
            raise AgentError(f"the agent's session log cannot be read: {error.at(name)}") from None
    return order_logs(logs)


def order_logs(logs: list[tuple[SessionLog, bytes]]) -> list[SessionLog]:
    """Logs with their bytes -> fixture order."""
    bytes_of = {log.header.id: data for log, data in logs}

    def is_root(log: SessionLog) -> bool:
        return not log.header.parent_session or log.header.parent_session not in bytes_of

    def key(log: SessionLog) -> tuple[float, int, str]:
        parent = bytes_of.get(log.header.parent_session or "", b"")
        mentioned = parent.find(log.header.id.encode())
        return (log.header.created_at or 0, mentioned if mentioned >= 0 else len(parent), log.file)

    ordered = sorted((log for log, _ in logs), key=key)
    first = next((log for log in ordered if is_root(log)), None)
    if first is not None:
        ordered.remove(first)
        ordered.insert(0, first)
    return ordered


def _created_at(log: TailedLog) -> float:
    value = log.header.get("createdAt")
    return value if isinstance(value, int | float) else 0.0


def _log_paths(directory: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _log_paths(entry.path)
        elif entry.name.endswith(_SUFFIXES):
            yield entry.path
