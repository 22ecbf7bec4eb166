"""Replay entries, the model calls they answer, and the lanes of a scenario (design 4.2).

An entry holds its chunks as they were found: chunk objects from an override, and spans of a log whose lines are
decoded only when the call is served. Entries are values: compare them by what they stream.
"""

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from replay.errors import FixtureError, Location
from replay.session import PACKED_DELTA, SessionLog, expand

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Call",
    "Chunks",
    "Entry",
    "Hang",
    "Lane",
    "Span",
    "Throw",
    "Unfinished",
    "nth",
    "unfinished_error",
]

type Entry = Chunks | Throw | Hang | Unfinished
type Source = list[dict[str, Any]] | Span


class Span:
    """The chunks of one (turn, step) on the lines `first`..`last` of a log, still packed and undecoded."""

    __slots__ = ("first", "last", "log", "step", "turn")

    def __init__(self, log: SessionLog, first: int, last: int, turn: int, step: int) -> None:
        self.log = log
        self.first = first
        self.last = last
        self.turn = turn
        self.step = step

    def rows(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """(line, "assistant/chunk" or the type of a packed row, data), in order."""
        for line in range(self.first, self.last + 1):
            row = self.log.row(line)
            if row.type != "assistant/chunk" and row.type not in PACKED_DELTA:
                continue
            if row.data["turn"] == self.turn and row.data["step"] == self.step:
                yield line, row.type, row.data

    def expand(self) -> Iterator[dict[str, Any]]:
        """The chunks one by one."""
        for _, kind, data in self.rows():
            if kind == "assistant/chunk":
                yield data["chunk"]
            else:
                yield from expand(kind, data)

    def has(self, needle: bytes) -> bool:
        """Whether a line of the span holds these bytes; cheaper than looking at the chunks."""
        return any(needle in raw for raw in self.log.lines[self.first - 1 : self.last])


class _Streaming:
    """What all entries have: the chunks that the call streams."""

    __slots__ = ("source",)
    kind = ""

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of `expand` as a list."""
        return list(self.expand())

    def expand(self) -> Iterator[dict[str, Any]]:
        """Chunks of design 4.1 one by one, packed runs expanded."""
        return iter(self.source) if isinstance(self.source, list) else self.source.expand()

    def to_json(self) -> dict[str, Any]:
        """The entry as an override would write it."""
        return {"kind": self.kind, "chunks": self.chunks}

    def with_source(self, source: Source) -> Self:
        """The same entry, streaming something else."""
        twin = copy(self)
        twin.source = source
        return twin

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_json() == self.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_json()!r})"


class Chunks(_Streaming):
    """The call streams its chunks and ends."""

    __slots__ = ()
    kind = "chunks"


class Throw(_Streaming):
    """The call streams a prefix, then fails."""

    __slots__ = ("code", "message")
    kind = "throw"

    def __init__(self, source: Source, message: str, code: str) -> None:
        self.source = source
        self.message = message
        self.code = code

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "message": self.message, "code": self.code}


class Hang(_Streaming):
    """The call streams a prefix, makes ready_file (a relative path) if there is one, then waits to be cancelled."""

    __slots__ = ("ready_file",)
    kind = "hang"

    def __init__(self, source: Source, ready_file: str | None = None) -> None:
        self.source = source
        self.ready_file = ready_file

    def to_json(self) -> dict[str, Any]:
        ready = {} if self.ready_file is None else {"readyFile": self.ready_file}
        return {**super().to_json(), **ready}


class Unfinished(_Streaming):
    """A recorded call that never ends and does not say why. It cannot be served; an override must cover it."""

    __slots__ = ()
    kind = "unfinished"


class Call:
    """One model call of a lane. `ordinal` counts from 1; file and line say where its entry stands.

    turn and step are 0 for an entry that an override appended.
    """

    __slots__ = ("entry", "file", "line", "ordinal", "step", "turn")

    def __init__(self, ordinal: int, entry: Entry, file: str, line: int, turn: int, step: int) -> None:
        self.ordinal = ordinal
        self.entry = entry
        self.file = file
        self.line = line
        self.turn = turn
        self.step = step

    @property
    def where(self) -> Location:
        return Location(self.file, self.line)

    def describe(self) -> str:
        """'2nd model call (turn 1, step 2)'."""
        place = f" (turn {self.turn}, step {self.step})" if self.turn or self.step else ""
        return f"{nth(self.ordinal)} model call{place}"


class Lane:
    """The model calls of one session in order.

    name is "parent" or "child k" (session.k.jsonl); session the recorded id, which may be a placeholder; opening
    the texts of the user messages before its first own call, inherited ones apart.
    """

    __slots__ = ("calls", "file", "name", "opening", "parent_lane", "session")

    def __init__(
        self,
        name: str,
        file: str,
        session: str,
        parent_lane: str | None,
        opening: list[str],
        calls: list[Call],
    ) -> None:
        self.name = name
        self.file = file
        self.session = session
        self.parent_lane = parent_lane
        self.opening = opening
        self.calls = calls


def nth(number: int) -> str:
    """1 -> "1st", 12 -> "12th", 23 -> "23rd"."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def unfinished_error(lane: Lane, call: Call, is_alone: bool) -> FixtureError:
    """The error of a call that no override covers. is_alone: the scenario has no other lane to be named."""
    count = len(call.entry.chunks)
    named = "" if is_alone else f'"lane":"{lane.name}",'
    return FixtureError(
        f"{call.describe()} streams {count} chunk{'' if count == 1 else 's'}, never ends",
        call.where,
        "in replay.override.json (at counts from 0): "
        f'{{"patches":[{{{named}"at":{call.ordinal - 1},"entry":{{"kind":"hang"}}}}]}}',
    )
