"""The cursor of one process in a transcript, and what may happen there next. Pure.

Two marks move over the entries. The cursor says what is played: it stops at an outbound entry until its frame has come, at
an inbound one until it may go. The outbound mark runs ahead of it: a frame that comes early is matched at once with the
next outbound entry, and counts when the cursor gets there. Neither passes a runtime_exit before it is played, since
what follows belongs to the next life of the process.

Positions count the lane's own entries, indices those of the transcript. A span is a group, or one entry.
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

from replay.transport.prepared import Prepared
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit

__all__ = ["Gates", "Lane", "Turn", "TurnKind"]


class TurnKind:
    """What a lane would do next, the most pressing first."""

    PLAY, WAIT, HELD, OUTBOUND, CLOSE, OPEN, FINISHED = range(7)


class Turn(NamedTuple):
    """kind; indices it is about; until_ms of a WAIT; gate of a HELD."""

    kind: int
    indices: tuple[int, ...] = ()
    until_ms: int = 0
    gate: str = ""


_FINISHED = Turn(TurnKind.FINISHED)
_OPEN = Turn(TurnKind.OPEN)


class Gates:
    """Which entries are held: by a gate of the transcript, or by the test under a label."""

    __slots__ = ("_held", "_released")

    def __init__(self) -> None:
        self._held: dict[int, str] = {}
        self._released: set[str] = set()

    def hold(self, index: int, name: str) -> None:
        """The test's own gate on an entry."""
        self._held[index] = name
        self._released.discard(name)

    def release(self, name: str) -> None:
        """Opens a gate for good."""
        self._released.add(name)

    def closed(self, index: int, entry: EmitInbound | RuntimeExit) -> str:
        """The name of the gate that holds the entry, "" if none does."""
        own = self._held.get(index) if self._held else None
        if own is not None and own not in self._released:
            return own
        gate = entry.gate if isinstance(entry, EmitInbound) else ""
        return gate if gate and gate not in self._released else ""


class Lane:
    """One process. connection: the number of the one that is bound, None while there is none."""

    __slots__ = (
        "_ends",
        "_entries",
        "_gates",
        "_matched",
        "_needs",
        "_outbound_at",
        "_pairs",
        "_played_ahead",
        "_reached_ms",
        "connection",
        "cursor",
        "indices",
        "lives",
        "name",
        "waiting",
    )

    def __init__(
        self,
        name: str,
        indices: Sequence[int],
        prepared: Prepared,
        gates: Gates,
        matched: Set[int],
    ) -> None:
        self.name = name
        self.indices = indices
        self.cursor = 0
        self.connection: int | None = None
        self.waiting: list[int] = []
        """Connections that were opened before this life ended."""
        self.lives = 0
        self._matched = matched
        """Indices of outbound entries of any lane whose frame has come; the engine adds to it."""
        self._entries = [prepared.entries[index] for index in indices]
        self._ends = _span_ends(self._entries)
        self._pairs = prepared.pairs
        self._needs = prepared.needs
        self._gates = gates
        self._outbound_at = 0
        self._played_ahead: set[int] = set()
        """Positions of the group at the cursor that are played."""
        self._reached_ms: int | None = None

    @property
    def is_finished(self) -> bool:
        """Whether every entry is played."""
        return self.cursor >= len(self._entries)

    @property
    def has_exit_ahead(self) -> bool:
        """Whether this life ends with a runtime_exit that another one follows."""
        return any(isinstance(entry, RuntimeExit) for entry in self._entries[self.cursor : -1])

    def next_entry(self) -> Entry | None:
        """The entry at the cursor, None at the end."""
        self.settle()
        return None if self.is_finished else self._entries[self.cursor]

    def last_outbound(self) -> int | None:
        """The index of the entry before the cursor, if it is an outbound one."""
        self.settle()
        at = self.cursor - 1
        return self.indices[at] if at >= 0 and isinstance(self._entries[at], ExpectOutbound) else None

    def expected(self) -> list[int]:
        """Indices of the outbound entries that the next frame may meet: one, or what is left of a group."""
        at = max(self._outbound_at, self.cursor)
        while at < len(self._entries):
            entry = self._entries[at]
            if isinstance(entry, RuntimeExit):
                break
            if isinstance(entry, ExpectOutbound) and self.indices[at] not in self._matched:
                self._outbound_at = at
                span = range(at, self._ends[at])
                return [self.indices[one] for one in span if self._is_awaited(one)]
            at += 1
        self._outbound_at = at
        return []

    def remaining(self) -> list[int]:
        """Indices of every outbound entry whose frame has not come, in this life and later ones."""
        places = range(self.cursor, len(self._entries))
        return [self.indices[at] for at in places if self._is_awaited(at)]

    def _is_awaited(self, at: int) -> bool:
        return isinstance(self._entries[at], ExpectOutbound) and self.indices[at] not in self._matched

    def turn(self, now_ms: int) -> Turn:
        """What comes next at `now_ms`. Moves the cursor over outbound entries whose frames have come."""
        self.settle()
        at = self.cursor
        if at >= len(self._entries):
            return _FINISHED
        if self.connection is None:
            return _OPEN
        if self._reached_ms is None:
            self._reached_ms = now_ms
        entry = self._entries[at]
        if self._ends[at] - at > 1 or self._played_ahead:
            return self._group_turn(now_ms)
        if isinstance(entry, ExpectOutbound):
            return Turn(TurnKind.OUTBOUND, (self.indices[at],))
        return self._sending_turn(at, entry, now_ms)

    def _sending_turn(self, at: int, entry: EmitInbound | RuntimeExit, now_ms: int) -> Turn:
        index = self.indices[at]
        gate = self._gates.closed(index, entry)
        if gate:
            return Turn(TurnKind.HELD, (index,), gate=gate)
        if isinstance(entry, RuntimeExit):
            return Turn(TurnKind.CLOSE if entry.is_on_close else TurnKind.PLAY, (index,))
        if index in self._needs:
            missing = tuple(one for one in self._needs[index] if one not in self._matched)
            if missing:
                return Turn(TurnKind.OUTBOUND, missing)
        if entry.after_ms:
            until_ms = (self._reached_ms or 0) + entry.after_ms
            if until_ms > now_ms:
                return Turn(TurnKind.WAIT, (index,), until_ms)
        return Turn(TurnKind.PLAY, (index,))

    def _group_turn(self, now_ms: int) -> Turn:
        """In a group a response waits for its request only, an event for everything before it."""
        best: Turn | None = None
        awaited: list[int] = []
        is_all_played = True
        for at in range(self.cursor, self._ends[self.cursor]):
            if at in self._played_ahead:
                continue
            entry, index = self._entries[at], self.indices[at]
            if isinstance(entry, ExpectOutbound):
                if index not in self._matched:
                    awaited.append(index)
                    is_all_played = False
                continue
            asked = self._pairs.get(index)
            is_ready = is_all_played if asked is None else asked not in awaited
            if is_ready and not isinstance(entry, RuntimeExit):
                turn = self._sending_turn(at, entry, now_ms)
                if turn.kind == TurnKind.PLAY:
                    return turn
                best = min(best or turn, turn, key=lambda one: (one.kind, one.until_ms))
            is_all_played = False
        return best or Turn(TurnKind.OUTBOUND, tuple(awaited))

    def settle(self) -> None:
        """Moves the cursor over what is done."""
        entries, indices = self._entries, self.indices
        while self.cursor < len(entries):
            at = self.cursor
            is_matched = isinstance(entries[at], ExpectOutbound) and indices[at] in self._matched
            if at in self._played_ahead:
                self._played_ahead.discard(at)
            elif not is_matched:
                break
            self.cursor += 1
            if self._ends[at] == self.cursor:
                self._reached_ms = None

    def play(self, index: int) -> None:
        """An inbound entry or an exit has happened."""
        at = self.cursor
        if self.indices[at] != index or self._ends[at] - at > 1:
            self._played_ahead.add(self.indices.index(index, at))
            return
        self.cursor += 1
        self._reached_ms = None

    def count_played(self) -> int:
        """Entries that are played."""
        self.settle()
        return self.cursor + len(self._played_ahead)


def _span_ends(entries: Sequence[Entry]) -> list[int]:
    """For each position the end of the group that it stands in, one further where it stands in none."""
    ends = [0] * len(entries)
    end = len(entries)
    for at in reversed(range(len(entries))):
        group = _group(entries[at])
        if at + 1 < len(entries) and (not group or group != _group(entries[at + 1])):
            end = at + 1
        ends[at] = end
    return ends


def _group(entry: Entry) -> str:
    return "" if isinstance(entry, RuntimeExit) else entry.group
