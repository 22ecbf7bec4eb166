"""A transcript made ready to be played: one form, placeholders taken apart, answers paired with requests. Pure.

Whatever is wrong with the file beyond its syntax is found here, before anything is played.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from replay.errors import FixtureError, Location, UsageError
from replay.transport.matcher import IgnoreRules
from replay.transport.placeholder import compile_frame, from_wild, holes
from replay.transport.profile import Profile, Ref
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    Frame,
    RuntimeExit,
    Transcript,
)

__all__ = ["Mention", "Prepared", "prepare"]


class Mention(NamedTuple):
    """An outbound frame names an earlier request of its own side: at `path` stands the handle of the entry `request`."""

    path: tuple[str, ...]
    request: int

    def in_frame(self, frame: Frame, ref: Ref | None) -> Frame:
        """The frame with another handle at the path."""
        changed: Frame = _replaced(frame, self.path, ref)
        return changed


class Prepared(NamedTuple):
    """Indices count all entries from 0.

    frames: compiled, None for a runtime_exit. pairs: answer -> what it answers; requests: what is answered.
    sequence: the indices in the order in which they are played. needs: inbound -> entries that capture what it refers to.
    """

    place: str
    profile: Profile
    rules: IgnoreRules
    entries: tuple[Entry, ...]
    frames: tuple[Any, ...]
    pairs: Mapping[int, int]
    requests: frozenset[int]
    mentions: Mapping[int, Mention]
    needs: Mapping[int, tuple[int, ...]]
    sequence: tuple[int, ...]

    def where(self, index: int, path: str = "") -> Location:
        """The place of an entry; `path` counts from its frame."""
        return Location(self.place, self.entries[index].line, path)


def prepare(
    transcript: Transcript, profile: Profile, workspace: str, order: Sequence[int] | None = None
) -> Prepared:
    """Raises FixtureError for a transcript that cannot be played, UsageError for an order that is none of it."""
    place = transcript.place
    if transcript.start.protocol != profile.protocol:
        raise UsageError(f"{place} speaks {transcript.start.protocol}, not {profile.protocol}")
    entries = transcript.entries
    if not transcript.start.schema:
        entries = tuple(map(_spelled_anew, entries))
    entries = profile.prepare(entries, place)
    try:
        pairs = profile.pairs(entries)
    except FixtureError as error:
        raise error.at(place) from None
    frames = tuple(_compiled(entry, place, workspace) for entry in entries)
    _check_groups(entries, place)
    return Prepared(
        place,
        profile,
        IgnoreRules(profile.ignored),
        entries,
        frames,
        pairs,
        frozenset(pairs.values()),
        _find_mentions(entries, profile),
        _find_needs(entries, frames, pairs, place),
        _sequence(entries, order, place),
    )


def _spelled_anew(entry: Entry) -> Entry:
    if isinstance(entry, RuntimeExit):
        return entry
    return entry._replace(frame=from_wild(entry.frame, is_sent=isinstance(entry, EmitInbound)))


def _compiled(entry: Entry, place: str, workspace: str) -> Any:
    if isinstance(entry, RuntimeExit):
        return None
    where = Location(place, entry.line)
    try:
        return compile_frame(entry.frame, where, is_sent=isinstance(entry, EmitInbound), workspace=workspace)
    except FixtureError as error:
        error.where = error.where._replace(path="$.frame" + error.where.path.removeprefix("$"))
        raise


def _check_groups(entries: Sequence[Entry], place: str) -> None:
    """A group is one run of a process's entries: a name that comes back later would be two groups."""
    ended: set[tuple[str, str]] = set()
    current: dict[str, str] = {}
    for entry in entries:
        group = "" if isinstance(entry, RuntimeExit) else entry.group
        before = current.get(entry.process, "")
        if group == before:
            continue
        if before:
            ended.add((entry.process, before))
        if (entry.process, group) in ended:
            what = f'the group "{group}" ended before this entry; the entries of a group follow one another'
            raise FixtureError(what, Location(place, entry.line, "$.group"))
        current[entry.process] = group


def _find_mentions(entries: Sequence[Entry], profile: Profile) -> dict[int, Mention]:
    found: dict[int, Mention] = {}
    asked: dict[tuple[str, Ref], int] = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, ExpectOutbound):
            continue
        path = profile.mentions(entry.frame)
        ref = _value_at(entry.frame, path) if path else None
        if isinstance(ref, (int, str)) and (entry.process, ref) in asked:
            found[index] = Mention(path, asked[entry.process, ref])
        own = profile.ref_of(entry.frame)
        if own is not None:
            asked[entry.process, own] = index
    return found


def _value_at(frame: Frame, path: Sequence[str]) -> Any:
    value: Any = frame
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _find_needs(
    entries: Sequence[Entry], frames: Sequence[Any], pairs: Mapping[int, int], place: str
) -> dict[int, tuple[int, ...]]:
    """Which captures an inbound frame waits for. Refuses a reference to what no earlier entry captures."""
    needs: dict[int, tuple[int, ...]] = {}
    captured: dict[str, int] = {}
    for index, frame in enumerate(frames):
        entry = entries[index]
        if isinstance(entry, RuntimeExit) or frame is entry.frame:
            continue  # without placeholders
        own: set[str] = set()
        wanted: list[int] = []
        for hole in holes(frame):
            if hole.kind == "capture":
                own.add(hole.name)
            elif hole.kind == "ref" and hole.name not in own:
                wanted.append(_capture_of(hole.name, captured, entries, index, pairs, place))
        captured |= dict.fromkeys(own, index)
        if wanted and isinstance(entry, EmitInbound):
            needs[index] = tuple(dict.fromkeys(wanted))
    return needs


def _capture_of(
    name: str,
    captured: Mapping[str, int],
    entries: Sequence[Entry],
    index: int,
    pairs: Mapping[int, int],
    place: str,
) -> int:
    where = Location(place, entries[index].line, "$.frame")
    if name not in captured:
        raise FixtureError(
            f"{{{{ref:{name}}}}} refers to nothing that an earlier entry captures",
            where,
            f"write {{{{capture:{name}}}}} in the outbound frame where the value appears first",
        )
    source, entry = entries[captured[name]], entries[index]
    is_one_group = (
        not isinstance(source, RuntimeExit)
        and not isinstance(entry, RuntimeExit)
        and (source.process, source.group) == (entry.process, entry.group)
        and entry.group != ""
    )
    if is_one_group and isinstance(entry, ExpectOutbound):
        what = f"{{{{ref:{name}}}}} stands in the group in which it is captured, where either may come first"
        raise FixtureError(what, where)
    return captured[name]


def _sequence(entries: Sequence[Entry], order: Sequence[int] | None, place: str) -> tuple[int, ...]:
    if order is None:
        return tuple(range(len(entries)))
    if sorted(order) != list(range(len(entries))):
        raise UsageError(
            f"{place}: an order names each of the {len(entries)} entries once, and this one does not"
        )
    return tuple(order)


def _replaced(value: Any, path: Sequence[str], item: Any) -> Any:
    """A copy of nested objects with `item` at the path."""
    return item if not path else {**value, path[0]: _replaced(value[path[0]], path[1:], item)}
