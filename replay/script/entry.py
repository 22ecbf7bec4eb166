"""Replay entries, the model calls they answer, and the lanes of a scenario (design 4.2).

An entry holds its chunks as they were found: chunk objects from an override, and spans of a log whose lines are
decoded only when the call is served. Entries are values: compare them by what they stream.
"""

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from replay.errors import FixtureError, Location
from replay.session import PACKED_DELTA, SessionLog, expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Call",
    "Chunks",
    "Entry",
    "Fault",
    "Hang",
    "Lane",
    "Span",
    "Throw",
    "Unfinished",
    "nth",
    "unfinished_error",
]

type Entry = Chunks | Throw | Hang | Fault | Unfinished
type Source = list[dict[str, Any]] | Span


_FAULT_OUTCOME: Mapping[str, dict[str, str]] = {
    "malformed": {"message": "the stream holds what is no event", "code": "MALFORMED"},
    "reset": {"message": "the connection was reset", "code": "CONNECTION_RESET"},
}


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

    @property
    def outcome(self) -> dict[str, Any]:
        """The outcome that call/end of a log has for such a call."""
        return {"kind": "completed"}

    def pause_ms(self, place: int) -> int:
        """Milliseconds of silence before the chunk at `place`, counted from 0; after the last one for their number."""
        return 0

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

    __slots__ = ("code", "message", "retry_after_ms")
    kind = "throw"

    def __init__(self, source: Source, message: str, code: str, retry_after_ms: int | None = None) -> None:
        """retry_after_ms: when the provider wants to be asked again, in milliseconds."""
        self.source = source
        self.message = message
        self.code = code
        self.retry_after_ms = retry_after_ms

    @property
    def outcome(self) -> dict[str, Any]:
        retry = {} if self.retry_after_ms is None else {"retryAfterMs": self.retry_after_ms}
        return {"kind": "failed", "message": self.message, "code": self.code, **retry}

    def to_json(self) -> dict[str, Any]:
        retry = {} if self.retry_after_ms is None else {"retryAfterMs": self.retry_after_ms}
        return {**super().to_json(), "message": self.message, "code": self.code, **retry}


class Hang(_Streaming):
    """The call streams a prefix, makes ready_file (a relative path) if there is one, then waits to be cancelled."""

    __slots__ = ("ready_file",)
    kind = "hang"

    def __init__(self, source: Source, ready_file: str | None = None) -> None:
        self.source = source
        self.ready_file = ready_file

    @property
    def outcome(self) -> dict[str, Any]:
        return {"kind": "cancelled"}

    def to_json(self) -> dict[str, Any]:
        ready = {} if self.ready_file is None else {"readyFile": self.ready_file}
        return {**super().to_json(), **ready}


class Fault(_Streaming):
    """The call meets a fault of the connection, not of the provider. `fault` says which, by its kind:

    malformed     after the chunks comes what is no event of the wire, and then a proper end
    reset         after the chunks, or before any byte where there are none, the connection is reset
    stall         silence of `afterMs` before the chunk at `at` (from 0; their number: before the end), then the rest
    trickle       each chunk, and the end, comes `everyMs` after what was before it
    """

    __slots__ = ("fault",)
    kind = "fault"

    def __init__(self, source: Source, fault: Mapping[str, Any]) -> None:
        """fault: as an override writes it, and checked."""
        self.source = source
        self.fault = fault

    @property
    def outcome(self) -> dict[str, Any]:
        failure = _FAULT_OUTCOME.get(self.fault["kind"])
        return super().outcome if failure is None else {"kind": "failed", **failure}

    def pause_ms(self, place: int) -> int:
        if place == self.fault.get("at"):
            return int(self.fault["afterMs"])
        return int(self.fault.get("everyMs", 0)) if place else 0

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "fault": dict(self.fault)}


class Unfinished(_Streaming):
    """A recorded call that never ends and does not say why. It cannot be served; an override must cover it."""

    __slots__ = ()
    kind = "unfinished"


class Call:
    """One model call of a lane. `ordinal` counts from 1; file and line say where its entry stands.

    turn and step are 0 for an entry that an override appended. key: that of the request which was answered, "" where
    nothing recorded it.
    """

    __slots__ = ("entry", "file", "key", "line", "ordinal", "step", "turn")

    def __init__(
        self, ordinal: int, entry: Entry, file: str, line: int, turn: int, step: int, key: str = ""
    ) -> None:
        self.ordinal = ordinal
        self.entry = entry
        self.file = file
        self.line = line
        self.turn = turn
        self.step = step
        self.key = key

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
    the texts of the user messages before its first own call, inherited ones apart. hashes: the keys of the system
    prompt and the tools of its first request, {} where nothing recorded them. log: where the lane comes from.
    """

    __slots__ = ("calls", "file", "hashes", "log", "name", "opening", "parent_lane", "session")

    def __init__(
        self,
        name: str,
        file: str,
        session: str,
        parent_lane: str | None,
        opening: list[str],
        calls: list[Call],
        hashes: Mapping[str, str] | None = None,
        log: SessionLog | None = None,
    ) -> None:
        self.name = name
        self.file = file
        self.session = session
        self.parent_lane = parent_lane
        self.opening = opening
        self.calls = calls
        self.hashes = hashes or {}
        self.log = log

    def with_calls(self, calls: list[Call]) -> Lane:
        """The same lane, serving something else."""
        twin = copy(self)
        twin.calls = calls
        return twin


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
