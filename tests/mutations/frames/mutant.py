"""Mutants of a transcript: one frame changed, dropped, said twice, or swapped with the next one. Pure.

What cannot be told from the original by any orchestrator is not made, and counted by why: see `Skipped`. The draw is
the same for the same seed, and a longer draw begins with the shorter one, so that a mutant keeps its number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from random import Random
from typing import Any, NamedTuple

import orjson

from replay.errors import FixtureError
from replay.transport.placeholder import template_of
from replay.transport.profile import Profile
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit, Transcript
from tests.mutations.frames.equivalents import Equivalents, Frames, Named
from tests.mutations.frames.leaves import (
    ABSENT,
    Path,
    changed_values,
    leaves_of,
    places_of,
    spelled,
    with_value,
)

__all__ = ["CHANGE", "DROP", "DUPLICATE", "OPERATIONS", "SWAP", "Mutant", "Mutants", "draw"]

CHANGE, DROP, DUPLICATE, SWAP = "change", "drop", "duplicate", "swap"
OPERATIONS = (CHANGE, DROP, DUPLICATE, SWAP)
# In turn, since a frame has many leaves and one place.
_TURNS = (CHANGE, DROP, CHANGE, DUPLICATE, CHANGE, SWAP)
_MAX_SHOWN = 60
_EXITS = {"success": "error", "error": "success", "cancelled": "error"}


class Mutant(NamedTuple):
    """One mutant. at: index of the entry that it begins at; path and value: of a change."""

    file: str
    line: int
    operation: str
    at: int
    what: str
    path: Path = ()
    value: Any = None
    named: Named | None = None
    """The row of the named equivalents that covers it."""

    @property
    def is_unread(self) -> bool:
        """Whether a row says that it cannot be told, whatever else the transcript holds."""
        return self.named is not None and not self.named.may

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    def applied(self, transcript: Transcript) -> Transcript:
        """The mutated transcript."""
        entries, at = list(transcript.entries), self.at
        match self.operation:
            case "drop":
                del entries[at]
            case "duplicate":
                entries.insert(at, entries[at])
            case "swap":
                entries[at], entries[at + 1] = entries[at + 1], entries[at]
            case _:
                entries[at] = _changed(entries[at], self.path, self.value)
        return transcript._replace(entries=tuple(entries))


class Mutants:
    """All mutants of one transcript, and how many were not made, by why."""

    def __init__(self, file: str, transcript: Transcript, profile: Profile, equivalents: Equivalents) -> None:
        self._file = file
        self._frames = Frames(transcript, profile)
        self._equivalents = equivalents
        self._seen = _seen_values(transcript.entries)
        self.skipped: Counter[str] = Counter()
        self.made: list[Mutant] = []
        for index in range(len(transcript.entries)):
            self._change(index)
            self._move(index)

    def _add(self, index: int, operation: str, what: str, path: Path = (), value: Any = None) -> None:
        frames = self._frames
        by_construction = frames.why_equivalent(operation, index, path, is_drop=value is ABSENT)
        if by_construction:
            self.skipped[by_construction] += 1
            return
        named = self._equivalents.named(frames, operation, index, path, is_drop=value is ABSENT)
        line = frames.entries[index].line
        self.made.append(Mutant(self._file, line, operation, index, what, path, value, named))

    def _move(self, index: int) -> None:
        kind = self._frames.kind(index) or "runtime_exit"
        self._add(index, DROP, f"drop {kind}")
        self._add(index, DUPLICATE, f"duplicate {kind}")
        if index + 1 < len(self._frames.entries):
            following = self._frames.kind(index + 1) or "runtime_exit"
            self._add(index, SWAP, f"swap {kind} with {following}")

    def _change(self, index: int) -> None:
        entry = self._frames.entries[index]
        if isinstance(entry, RuntimeExit):
            other = _EXITS[entry.status]
            self._add(
                index, CHANGE, f"change runtime_exit status: {entry.status} -> {other}", ("status",), other
            )
            if entry.code is not None:
                what = f"change runtime_exit code: {entry.code} -> {entry.code + 1}"
                self._add(index, CHANGE, what, ("code",), entry.code + 1)
            return
        kind = self._frames.kind(index)
        for path, value in leaves_of(entry.frame):
            if isinstance(entry, ExpectOutbound) and _is_placeholder(value):
                self.skipped["placeholder"] += 1
                continue
            for other in changed_values(path, value, self._seen):
                what = f"change {kind} {spelled(path)}: {_shown(value)} -> {_shown(other)}"
                self._add(index, CHANGE, what, path, other)
        for path, _ in places_of(entry.frame):
            self._add(index, CHANGE, f"change {kind} {spelled(path)}: gone", path, ABSENT)


def draw(mutants: Iterable[Mutant], count: int, seed: str) -> list[Mutant]:
    """`count` mutants, or all: the operations in turn, and within one the frames in turn."""
    random = Random(seed)
    chosen: dict[str, Iterator[Mutant]] = {}
    listed = list(mutants)
    for operation in OPERATIONS:
        by_frame: dict[tuple[str, int], list[Mutant]] = {}
        for mutant in listed:
            if mutant.operation == operation:
                by_frame.setdefault((mutant.file, mutant.at), []).append(mutant)
        groups = list(by_frame.values())
        random.shuffle(groups)
        for group in groups:
            random.shuffle(group)
        chosen[operation] = iter(
            [mutant for rank in zip_longest(*groups) for mutant in rank if mutant is not None]
        )
    drawn: list[Mutant] = []
    before = -1
    while len(drawn) < count and before < len(drawn):
        before = len(drawn)
        for operation in _TURNS:
            drawn.extend(islice(chosen[operation], 1))
    return drawn[:count]


def _changed(entry: Entry, path: Path, value: Any) -> Entry:
    if isinstance(entry, RuntimeExit):
        return entry._replace(status=value) if path == ("status",) else entry._replace(code=value)
    return entry._replace(frame=with_value(entry.frame, path, value))


def _seen_values(entries: Sequence[Entry]) -> dict[Path, list[Any]]:
    """What each path holds in frames that the provider sends, and in those that it is sent, each value once."""
    seen: dict[Path, list[Any]] = {}
    for entry in entries:
        if isinstance(entry, EmitInbound):
            for path, value in leaves_of(entry.frame):
                known = seen.setdefault(path, [])
                if value not in known:
                    known.append(value)
    return seen


def _is_placeholder(value: Any) -> bool:
    """Whether more than one value would do here. The workspace is one value."""
    if not isinstance(value, str) or "{{" not in value:
        return False
    try:
        return not isinstance(template_of(value.replace("{{workspace}}", "")), str)
    except FixtureError:
        return True


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
