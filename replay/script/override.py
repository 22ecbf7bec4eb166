"""`replay.override.json`: replaces or patches a derived script where a log cannot say what the model did (design 4.2).

A bare list replaces the parent lane's script; {"patches":[{"at":n,"entry":{...},"lane"?}]} replaces single calls
(`at` counts from 0; the length of the script appends). Keys are checked exactly. An entry is one of

    {"kind":"chunks","chunks":[...]}                                     the reply as it comes
    {"kind":"throw","chunks":[...],"message","code","retryAfterMs"?}     the provider fails: without chunks by its
                                                                         status, else in the middle of the stream
    {"kind":"hang","chunks"?:[...],"readyFile"?}                         silence until the agent cancels
    {"kind":"fault","chunks":[...],"fault":FAULT}                        the connection fails or is slow; FAULT is
        {"kind":"malformed"}, {"kind":"reset"}, {"kind":"stall","at","afterMs"} or {"kind":"trickle","everyMs"}

A fault takes a minute at most, so that no fixture holds a test. What each one means: entry.py, `Fault`.
"""

from typing import TYPE_CHECKING, Any, Never

import orjson

from replay.errors import FixtureError, Location
from replay.script.entry import Call, Chunks, Entry, Fault, Hang, Lane, Throw
from replay.script.reference import check_references
from replay.session import (
    MAX_LINE_BYTES,
    chunk_complaint,
    json_path,
    line_of,
    repeated_key,
    shown,
    value_lines,
)
from replay.session.diagnosis import MAX_NESTING, check_numbers, is_too_deep, refused_document

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_FAULT_MS", "Override", "Patch", "apply_override", "parse_override"]

MAX_FAULT_MS = 60_000

_KEYS: dict[str, tuple[set[str], set[str]]] = {  # kind -> needed, allowed
    "chunks": ({"kind", "chunks"}, set()),
    "throw": ({"kind", "chunks", "message", "code"}, {"retryAfterMs"}),
    "hang": ({"kind"}, {"chunks", "readyFile"}),
    "fault": ({"kind", "chunks", "fault"}, set()),
}
_FAULT_KEYS: dict[str, set[str]] = {
    "malformed": {"kind"},
    "reset": {"kind"},
    "stall": {"kind", "at", "afterMs"},
    "trickle": {"kind", "everyMs"},
}
type _Path = tuple[str | int, ...]


class Patch:
    """One entry for one place. lane is None where the file names none; line is where the patch stands."""

    __slots__ = ("at", "entry", "lane", "line", "path")

    def __init__(self, at: int, entry: Entry, lane: str | None, line: int, path: str) -> None:
        self.at = at
        self.entry = entry
        self.lane = lane
        self.line = line
        self.path = path


class Override:
    """A checked override: either `entries` (with their lines) or `patches` is set."""

    __slots__ = ("entries", "file", "patches")

    def __init__(self, file: str, entries: list[tuple[Entry, int]] | None, patches: list[Patch]) -> None:
        self.file = file
        self.entries = entries
        self.patches = patches


def parse_override(data: bytes, file: str, *, strict: bool = False) -> Override:
    """Checks an override. strict refuses repeated keys too. Raises FixtureError, whatever the bytes are."""
    reader = _Reader(data, file)
    value = reader.document(strict)
    if isinstance(value, list):
        entries = [(reader.entry(item, (at,)), reader.line((at,))) for at, item in enumerate(value)]
        return Override(file, entries, [])
    if not isinstance(value, dict):
        reader.fail((), f'must be a list of entries or {{"patches":[...]}}, not {shown(value)}')
    reader.keys(value, (), {"patches"}, set())
    if not isinstance(value["patches"], list):
        reader.fail(("patches",), f"must be a list, not {shown(value['patches'])}")
    if not value["patches"]:
        reader.fail(("patches",), "is empty, so the file says nothing")
    return Override(
        file, None, [reader.patch(item, ("patches", at)) for at, item in enumerate(value["patches"])]
    )


class _Reader:
    """Checks the values of one file and knows the lines on which they stand."""

    __slots__ = ("_data", "_file", "_lines")

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self._file = file
        self._lines: dict[_Path, int] = {}

    def document(self, strict: bool) -> Any:
        where = Location(self._file, 1)
        data = self._data
        if not data.strip():
            raise FixtureError(
                "is empty; an override is a list of entries or a set of patches", Location(self._file)
            )
        if data.startswith(b"\xef\xbb\xbf"):
            raise FixtureError("starts with a byte order mark; save it as plain UTF-8", where)
        if len(data) > MAX_LINE_BYTES:
            raise FixtureError(f"has {len(data)} bytes, an override may have {MAX_LINE_BYTES}", where)
        if is_too_deep(data):
            raise FixtureError(f"nests deeper than {MAX_NESTING} levels", where)
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as refusal:
            line, path, what = refused_document(data, refusal)
            raise FixtureError(what, Location(self._file, line, path)) from None
        check_numbers(data, data.split(b"\n"), self._file)
        repeated = repeated_key(data) if strict else None
        if repeated is not None:
            self.fail(repeated, f"the key {shown(repeated[-1])} stands twice in one object")
        self._lines = value_lines(data, 2)
        return value

    def line(self, path: _Path) -> int:
        return self._lines[path]

    def fail(self, path: _Path, what: str) -> Never:
        raise FixtureError(what, Location(self._file, line_of(self._data, path), json_path(path)))

    def keys(self, value: dict[str, Any], path: _Path, needed: set[str], allowed: set[str]) -> None:
        for key in value:
            if key not in needed and key not in allowed:
                self.fail((*path, key), f"is no key here (known: {', '.join(sorted(needed | allowed))})")
        for key in sorted(needed - value.keys()):
            self.fail(path, f"lacks the key {shown(key)}")

    def patch(self, value: Any, path: _Path) -> Patch:
        if not isinstance(value, dict):
            self.fail(path, f"must be an object, not {shown(value)}")
        self.keys(value, path, {"at", "entry"}, {"lane"})
        at, lane = value["at"], value.get("lane")
        if type(at) is not int or at < 0:
            self.fail((*path, "at"), f"must be a whole number from 0, not {shown(at)}")
        if "lane" in value and type(lane) is not str:
            self.fail((*path, "lane"), f"must be a string, not {shown(lane)}")
        return Patch(at, self.entry(value["entry"], (*path, "entry")), lane, self.line(path), json_path(path))

    def entry(self, value: Any, path: _Path) -> Entry:
        if not isinstance(value, dict):
            self.fail(path, f"must be an object, not {shown(value)}")
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in _KEYS:
            self.fail(
                (*path, "kind"), f"{shown(kind)} is no kind of entry (known: {', '.join(sorted(_KEYS))})"
            )
        self.keys(value, path, *_KEYS[kind])
        chunks = self.chunks(value.get("chunks", []), (*path, "chunks"))
        if kind == "throw":
            for key in ("message", "code"):
                if type(value[key]) is not str:
                    self.fail((*path, key), f"must be a string, not {shown(value[key])}")
            retry = value.get("retryAfterMs")
            if "retryAfterMs" in value and (type(retry) is not int or retry < 0):
                self.fail((*path, "retryAfterMs"), f"must be a whole number from 0, not {shown(retry)}")
            return Throw(chunks, value["message"], value["code"], retry)
        if kind == "hang":
            return Hang(chunks, self.ready_file(value, (*path, "readyFile")))
        if kind == "fault":
            return Fault(chunks, self.fault(value["fault"], len(chunks), (*path, "fault")))
        return Chunks(chunks)

    def fault(self, value: Any, count: int, path: _Path) -> dict[str, Any]:
        """count: how many chunks the entry has."""
        if not isinstance(value, dict):
            self.fail(path, f"must be an object, not {shown(value)}")
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in _FAULT_KEYS:
            known = ", ".join(sorted(_FAULT_KEYS))
            self.fail((*path, "kind"), f"{shown(kind)} is no kind of fault (known: {known})")
        self.keys(value, path, _FAULT_KEYS[kind], set())
        at = value.get("at", 0)
        if type(at) is not int or not 0 <= at <= count:
            what = f"must be a whole number from 0 to {count}, the number of chunks, not {shown(at)}"
            self.fail((*path, "at"), what)
        for key in ("afterMs", "everyMs"):
            ms = value.get(key, 1)
            if type(ms) is not int or not 1 <= ms <= MAX_FAULT_MS:
                self.fail((*path, key), f"must be milliseconds from 1 to {MAX_FAULT_MS}, not {shown(ms)}")
        whole_ms = count * value.get("everyMs", 0)
        if whole_ms > MAX_FAULT_MS:
            what = f"makes {whole_ms} ms with {count} chunks, a fault may take {MAX_FAULT_MS}"
            self.fail((*path, "everyMs"), what)
        return value

    def chunks(self, value: Any, path: _Path) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            self.fail(path, f"must be a list, not {shown(value)}")
        started: set[int] = set()
        for at, chunk in enumerate(value):
            complaint = chunk_complaint(chunk)
            if complaint is not None:
                below = tuple(name for name in complaint[0].split(".") if name)
                self.fail((*path, at, *below), complaint[1])
            index = chunk.get("index")
            if chunk["type"] == "block-start":
                started.add(index)
            elif chunk["type"] not in ("usage", "finish") and index not in started:
                self.fail((*path, at, "index"), f"block {index} was never started in this entry")
        return value

    def ready_file(self, value: dict[str, Any], path: _Path) -> str | None:
        if "readyFile" not in value:
            return None
        name = value["readyFile"]
        if type(name) is not str or not name or "\0" in name:
            self.fail(path, f"must be the name of a file, not {shown(name)}")
        if (
            name.startswith(("/", "\\", "~"))
            or ".." in name.replace("\\", "/").split("/")
            or name[1:2] == ":"
        ):
            self.fail(path, f"must stay inside the session's cwd, {shown(name)} does not")
        return str(name)


def apply_override(lanes: Sequence[Lane], override: Override) -> list[Lane]:
    """The lanes with the override applied; the given ones stay as they are. Raises FixtureError."""
    if not lanes:
        raise FixtureError("overrides a scenario that has no session log", Location(override.file))
    calls = {lane.name: list(lane.calls) for lane in lanes}
    if override.entries is not None:
        # What is asked stays what was asked; only the answers are others.
        keys = [call.key for call in calls[lanes[0].name]]
        keys += [""] * (len(override.entries) - len(keys))
        calls[lanes[0].name] = [
            Call(ordinal, entry, override.file, line, 0, 0, keys[ordinal - 1])
            for ordinal, (entry, line) in enumerate(override.entries, 1)
        ]
    patched: dict[tuple[str, int], Patch] = {}
    for patch in sorted(override.patches, key=lambda patch: patch.at):
        name = _patched_lane(patch, lanes, override.file)
        _apply_patch(patch, name, calls[name], patched, override.file)
    changed = [lane.with_calls(calls[lane.name]) for lane in lanes]
    for lane in changed:
        for call in lane.calls:
            if call.file == override.file:
                check_references(lane, call)
    return changed


def _patched_lane(patch: Patch, lanes: Sequence[Lane], file: str) -> str:
    names = [lane.name for lane in lanes]
    known = ", ".join(f'"{name}"' for name in names)
    if patch.lane is None:
        if len(names) > 1:
            raise FixtureError(
                f"names no lane, and the scenario has {known}", Location(file, patch.line, patch.path)
            )
        return names[0]
    if patch.lane not in names:
        what = f"there is no lane {shown(patch.lane)} (known: {known})"
        raise FixtureError(what, Location(file, patch.line, f"{patch.path}.lane"))
    return patch.lane


def _apply_patch(
    patch: Patch, name: str, calls: list[Call], patched: dict[tuple[str, int], Patch], file: str
) -> None:
    where = Location(file, patch.line, f"{patch.path}.at")
    earlier = patched.setdefault((name, patch.at), patch)
    if earlier is not patch:
        raise FixtureError(
            f"place {patch.at} of lane {shown(name)} is patched twice, first on line {earlier.line}", where
        )
    if patch.at > len(calls):
        what = f"is {patch.at}, but lane {shown(name)} has {len(calls)} calls (at most {len(calls)}, which appends)"
        raise FixtureError(what, where)
    if patch.at == len(calls):
        calls.append(Call(patch.at + 1, patch.entry, file, patch.line, 0, 0))
    else:
        old = calls[patch.at]
        calls[patch.at] = Call(old.ordinal, patch.entry, file, patch.line, old.turn, old.step, old.key)
