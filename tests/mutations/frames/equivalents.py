"""Which mutants no orchestrator could tell from the original. Pure.

By construction: what the engine itself does not ask for (an ignored field, a renumbered request) and the orders that
are as legal as the recorded one. By name: fields and frames that the reference orchestrator deliberately does not
read; named.py lists them, each with its reason.
"""

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from replay.errors import FixtureError, Location
from replay.transport.matcher import IgnoreRules
from replay.transport.placeholder import compile_frame, has_template
from replay.transport.profile import Profile
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    Frame,
    RuntimeExit,
    Transcript,
)
from tests.mutations.frames.leaves import ABSENT, Path, with_value

__all__ = ["Equivalents", "Frames", "Named"]

# Where the frames of one method or type differ in kind; what is there is appended.
_FINER: dict[str, tuple[tuple[str, ...], ...]] = {
    "acp.ndjson-jsonrpc": (("params", "update", "sessionUpdate"),),
    "claude-agent-sdk.query": (("subtype",),),
    "codex.app-server": (("params", "item", "type"),),
    "cursor-agent-sdk.local": (("update", "type"),),
    "opencode-sdk.sse": (
        ("operation",),
        ("event", "type"),
        ("event", "properties", "part", "type"),
        ("event", "properties", "info", "role"),
        ("event", "properties", "status", "type"),
    ),
}


class Named(NamedTuple):
    """What of the provider's frames is not read, and why that is right.

    kinds, paths, but: one or more, with spaces between; `*` matches any text. kinds: as Frames.kind. paths: keys and
    indices with dots, a final `!` where only its absence is meant, "" for the frame as a whole. but: paths that are read.
    operations: what the row is limited to. may: it depends on the rest of the transcript, so such mutants are played, and
    the row explains those that survive.
    """

    protocol: str
    kinds: str
    paths: str
    reason: str
    but: str = ""
    operations: str = ""
    may: bool = False

    def covers(self, protocol: str, kind: str, operation: str, path: str) -> bool:
        """path: of a change, as in `paths`; "" for a frame that moves."""
        if protocol != self.protocol or (self.operations and operation not in self.operations.split()):
            return False
        if not any(fnmatchcase(kind, each) for each in self.kinds.split()):
            return False
        if not self.paths:
            return not self._is_read(path)
        is_said = any(
            fnmatchcase(path if each.endswith("!") else path.removesuffix("!"), each)
            for each in self.paths.split()
        )
        return bool(path) and is_said and not self._is_read(path)

    def _is_read(self, path: str) -> bool:
        """Whether a path is one of `but`, lies below one or holds one."""
        path = path.removesuffix("!")
        return any(
            fnmatchcase(path, each) or path.startswith(f"{each}.") or each.startswith(f"{path}.")
            for each in self.but.split()
        )


class Frames:
    """The entries of a transcript with what the engine makes of them."""

    def __init__(self, transcript: Transcript, profile: Profile) -> None:
        self.protocol = profile.protocol
        self._profile = profile
        self.entries: Sequence[Entry] = profile.prepare(transcript.entries, transcript.place)
        self.pairs = profile.pairs(self.entries)
        self._asked = set(self.pairs.values())
        self._rules = IgnoreRules(profile.ignored)

    def kind(self, index: int) -> str:
        """Method or type, of an answer that of its request with `.response`, and what else tells frames apart."""
        entry = self.entries[index]
        if isinstance(entry, RuntimeExit):
            return ""
        kind = self._profile.kind_of(entry.frame)
        if index in self.pairs and not kind:
            kind = f"{self.kind(self.pairs[index])}.response"
        for path in _FINER[self.protocol]:
            finer: Any = entry.frame
            for key in path:
                finer = finer.get(key) if isinstance(finer, dict) else None
            kind = f"{kind}:{finer}" if isinstance(finer, str) else kind
        return kind

    def is_inbound(self, index: int) -> bool:
        return isinstance(self.entries[index], EmitInbound)

    def why_equivalent(self, operation: str, index: int, path: Path, *, is_drop: bool) -> str:
        """Why this mutant is equivalent by construction; "" if it is not. is_drop: the key at the path goes."""
        match operation:
            case "swap":
                return self._why_swap(self.entries[index], self.entries[index + 1], index)
            case "drop":
                return self._why_dropped(index)
            case "change":
                return self._why_changed(self.entries[index], index, path, is_drop)
        return ""

    def _why_swap(self, first: Entry, second: Entry, index: int) -> str:
        if first._replace(line=0) == second._replace(line=0):
            return "two equal frames"
        are_inbound = isinstance(first, EmitInbound), isinstance(second, EmitInbound)
        if first.process != second.process and not all(are_inbound):
            return "frames of two processes"
        if isinstance(first, RuntimeExit) or isinstance(second, RuntimeExit):
            return ""
        is_one_group = first.group == second.group != ""
        if is_one_group and not any(are_inbound):
            return "two requests of a group"
        answers = index in self.pairs, index + 1 in self.pairs
        if all(are_inbound) and any(answers) and not _gate(first) and not _gate(second):
            return "legal order of a race"
        return ""

    def _why_dropped(self, index: int) -> str:
        entry = self.entries[index]
        later = [other for other in self.entries[index + 1 :] if other.process == entry.process]
        if not isinstance(entry, RuntimeExit) or not entry.is_on_close:
            return ""
        earlier = [other for other in self.entries[:index] if other.process == entry.process]
        farewell = earlier[-1] if earlier else None
        is_said = isinstance(farewell, ExpectOutbound) and self._profile.closes(farewell.frame)
        return "the exit that closing brings" if is_said or not later else ""

    def _why_changed(self, entry: Entry, index: int, path: Path, is_drop: bool) -> str:
        if isinstance(entry, RuntimeExit):
            if entry.is_on_close:
                return "the exit that closing brings"
            has_more = entry.code is not None or entry.signal
            return "status beside a code or a signal" if path == ("status",) and has_more else ""
        lone = self._profile.ref_of(entry.frame) is not None and index not in self.pairs.keys() | self._asked
        if lone and self._profile.ref_of(with_value(entry.frame, path, "~")) != self._profile.ref_of(
            entry.frame
        ):
            return "number of a request without an answer"
        if not isinstance(entry, ExpectOutbound):
            return "null left out" if is_drop and _at(entry.frame, path) is None else ""
        if is_drop and (entry.match or self._profile.match) == "subset":
            return "fewer keys of a subset"
        if self._is_ignored(entry.frame, path):
            return "ignored by the profile"
        if is_drop and self._is_put_back(entry, index, path):
            return "put back by the profile"
        return ""

    def _is_put_back(self, entry: ExpectOutbound, index: int, path: Path) -> bool:
        """Whether the profile's form of the entry is the same without what is at the path."""
        entries = list(self.entries)
        entries[index] = entry._replace(frame=with_value(entry.frame, path, ABSENT))
        try:
            return self._profile.prepare(entries, "")[index] == entry
        except FixtureError:
            return False

    def _is_ignored(self, frame: Frame, path: Path) -> bool:
        for steps in self._rules.of(self._profile.kind_of(frame)):
            is_below = len(path) >= len(steps) and all(
                step is None or step == key for step, key in zip(steps, path, strict=False)
            )
            if is_below and not has_template(_compiled(frame, path[: len(steps)])):
                return True
        return False


CROSSING = Named(
    "*",
    "*",
    "",
    "frames of two directions cross on the wire unless one waits for the other",
    operations="swap",
    may=True,
)


class Equivalents:
    """The named list, and how often each row was used."""

    def __init__(self, rows: Sequence[Named]) -> None:
        self.rows = (*rows, CROSSING)
        self.used: Counter[Named] = Counter()

    def named(self, frames: Frames, operation: str, index: int, path: Path, *, is_drop: bool) -> Named | None:
        """The row that says that nobody reads what this mutant changes."""
        if operation == "change":
            return self._row(frames, index, operation, ".".join(map(str, path)) + ("!" if is_drop else ""))
        row = self._row(frames, index, operation, "")
        if row is None and operation == "swap":
            row = self._row(frames, index + 1, operation, "")
            kinds = {type(entry) for entry in frames.entries[index : index + 2]}
            if row is None and kinds == {ExpectOutbound, EmitInbound}:
                self.used[CROSSING] += 1
                return CROSSING
        return row

    def _row(self, frames: Frames, index: int, operation: str, path: str) -> Named | None:
        if not frames.is_inbound(index):
            return None
        kind = frames.kind(index)
        for row in self.rows:
            if row.covers(frames.protocol, kind, operation, path):
                self.used[row] += 1
                return row
        return None


def _gate(entry: Entry) -> str:
    return entry.gate if isinstance(entry, EmitInbound) else ""


def _compiled(frame: Frame, path: Path) -> Any:
    return compile_frame({"": _at(frame, path)}, Location(""), is_sent=False, workspace="")


def _at(frame: Frame, path: Path) -> Any:
    value: Any = frame
    for key in path:
        value = value[key]
    return value
