"""One conversation: its log, the state that the log adds up to, and its children.

Everything that happens is recorded as an event first; `State` learns of it from there only.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from replay.errors import ReplayError
from scenarios.reference_agent.config import Config
from scenarios.reference_agent.journal import Journal
from scenarios.reference_agent.state import State

__all__ = ["Header", "Session"]


class Header(NamedTuple):
    """The first line of a log. `created_at`: milliseconds since 1970, later in each session of a process."""

    id: str
    created_at: int
    cwd: Path
    parent: str | None = None
    depth: int = 0
    seed_length: int | None = None

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "type": "session",
            "version": 0,
            "id": self.id,
            "createdAt": self.created_at,
            "cwd": str(self.cwd),
        }
        if self.parent is not None:
            row |= {"parentSession": self.parent, "origin": "subagent"}
        if self.seed_length is not None:
            row["seedLength"] = self.seed_length
        return row | {"delegationDepth": self.depth}


class Session:
    """`config` is the deployment's with the project's settings; `events` is the log so far, unpacked."""

    def __init__(self, header: Header, config: Config, journal: Journal, clock: Callable[[], int]) -> None:
        self.header = header
        self.config = config
        self.journal = journal
        self.clock = clock
        self.state = State(config.permissions.mode)
        self.events: list[dict[str, Any]] = []
        # The header of a request is written again by each process that continues the log, and by a fork.
        self.header_reason = "initial"
        self.running: asyncio.Task[str] | None = None
        self.abort_kind = "user"
        self.parent: Session | None = None
        self.closed = False

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def cwd(self) -> Path:
        return self.header.cwd

    def record(self, kind: str, data: dict[str, Any]) -> None:
        """Append one event to the log, then take note of it. A closed session records nothing more."""
        event: dict[str, Any] = {"type": kind, "data": data}
        if self.config.session_log.timestamps:
            event["time"] = self.clock()
        self.append(event)

    def append(self, event: dict[str, Any]) -> None:
        if self.closed:
            return
        try:
            self.journal.append(event)
        except ReplayError:
            # A client, a model or a file can hand us halves of surrogate pairs, which JSON text cannot hold.
            event = without_surrogates(event)
            self.journal.append(event)
        self.learn(event)

    def learn(self, event: dict[str, Any]) -> None:
        """Take note of an event that is in the log already."""
        self.events.append(event)
        self.state.apply(event)

    def finished_turns(self) -> list[dict[str, Any]]:
        """The events up to the end of the last finished turn: what a fork starts with."""
        ends = (number for number, event in enumerate(self.events, 1) if event["type"] == "turn/end")
        return self.events[: max(ends, default=0)]

    def why_aborted(self) -> str:
        """Who stopped the turn. A child's turn stops because its parent's does."""
        return self.parent.why_aborted() if self.parent else self.abort_kind

    def cancel(self, abort_kind: str = "user") -> None:
        """Ask the running turn to stop, once; it records why."""
        if self.running is not None and not self.running.done() and not self.running.cancelling():
            self.abort_kind = abort_kind
            self.running.cancel()

    async def give_up(self) -> NoReturn:
        """Stop the whole turn from within, a child's parents included. Raises CancelledError.

        By the same door as a client's cancel, which is usually on its way too and would otherwise stop what is being
        put in order here.
        """
        root = self
        while root.parent is not None:
            root = root.parent
        root.cancel()
        await asyncio.get_running_loop().create_future()
        raise AssertionError("unreachable: nothing but the cancel ends this")

    async def close(self) -> None:
        """Stop the running turn, if any, and close the log."""
        self.cancel("closed")
        if self.running is not None:
            await asyncio.wait({self.running})
        if not self.closed:
            self.closed = True
            self.journal.close()


def without_surrogates(value: Any) -> Any:
    """The value with a replacement character for each lone surrogate in its strings."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
