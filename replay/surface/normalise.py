"""The normaliser: volatile values become placeholders, everything else stays as it is.

Invariants, each a property test: normalising is idempotent (a fixture is a fixed point), keeps the number and the
order of values, keys and elements, never drops a frame, and renames ids by a bijection. Null and absent differ.

One walk visits each leaf once. A leaf asks the finders (placeholders that stand there already, paths, learned ids,
UUIDs and clock times, id fields of JSON inside the string) for matches, keeps the leftmost longest ones, and puts the
replacements in. A finder never matches next to a placeholder: what a replacement exposed would otherwise match the
second time. A row that holds nothing that a finder could find is not walked at all; its JSON text decides.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from replay.surface import eventlog
from replay.surface.fields import MAYBE_ID, field_kinds, field_placeholders
from replay.surface.names import NESTED_ID, Match, Names, bounds_name, looks_minted
from replay.surface.paths import PathTable
from replay.surface.pieces import Replacement, replace
from replay.surface.rules import CompiledRules, Rule
from replay.surface.values import Json

__all__ = ["Normaliser", "Volatile"]

_ID_KINDS: Final = field_kinds()
_VALUE_FIELDS: Final = field_placeholders()

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DASHED: Final = re.compile(
    r"([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})"
    r"|[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:Z|[+-][01]\d:?[0-5]\d)?"
    r"|[12]\d{3}-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-6]\d(?:[.,]\d{1,9})?(?:Z| ?[+-][01]\d:?[0-5]\d| UTC)?"
)
_HTTP_DATE: Final = re.compile(rf"\w{{3}}, \d\d {_MONTH} \d{{4}} [0-2]\d:[0-5]\d:[0-6]\d GMT")
# What must stand in a text for _DASHED to match; begins with a literal, which the engine finds many times faster.
_DASH: Final = re.compile(r"-(?<=[0-9A-Fa-f]{4}-)[0-9A-Fa-f]{2}")
_DASH_BYTES: Final = re.compile(_DASH.pattern.encode())
_SHORTEST_MATCH = 4


class Volatile:
    """What the caller knows to differ between two runs.

    paths: (placeholder, spellings) of the run's directories, at least as given and by the real path; the other
        spellings are derived. session_ids: parent first, children in order. kept_ids: ids that the recording itself
        serves to the agent (`served_ids`), the same on both sides and so no business of the normaliser.
    """

    __slots__ = ("kept_ids", "paths", "session_ids")

    def __init__(
        self,
        paths: Sequence[tuple[str, Sequence[str]]] = (),
        session_ids: Sequence[str] = (),
        kept_ids: Iterable[str] = (),
    ) -> None:
        self.paths = paths
        self.session_ids = session_ids
        self.kept_ids = kept_ids


class Normaliser:
    """The normaliser of one side of a comparison; its table of names grows from surface to surface."""

    __slots__ = ("_names", "_paths", "_plain_keys", "_rules")

    def __init__(self, volatile: Volatile, rules: Sequence[Rule] = ()) -> None:
        """Raises UsageError for a rule that is unsafe, reserved or without a reason."""
        self._names = Names(volatile.kept_ids)
        self._paths = PathTable(volatile.paths)
        self._rules = CompiledRules(rules)
        self._plain_keys: set[str] = set()
        for session_id in volatile.session_ids:
            self._names.learn(session_id, "sessionId")
            self._names.placeholder(session_id, "sessionId")

    def normalise_all(self, surfaces: Mapping[str, Sequence[Json]]) -> dict[str, list[Json]]:
        """All surfaces of a side, in order: an id that a later surface names is known in the earlier ones."""
        flags = {name: self._learn_all(name, values) for name, values in surfaces.items()}
        return {name: self._walk_all(name, values, flags[name]) for name, values in surfaces.items()}

    def normalise(self, surface: str, values: Sequence[Json]) -> list[Json]:
        """One surface ("stdout", "session", "session.1", …): as many values as came in, in the same order."""
        return self._walk_all(surface, values, self._learn_all(surface, values))

    # -- learning ids -----------------------------------------------------------------------------------------

    def _learn_all(self, surface: str, values: Sequence[Json]) -> list[bool]:
        """Learn the ids of a surface; returns which values hold anything volatile besides learned names."""
        self._plain_keys.clear()
        always = bool(self._rules)
        is_log = surface.startswith("session")
        flags: list[bool] = []
        for value in values:
            if is_log and eventlog.packed_of(value) is not None:
                flags.append(True)  # judged by its joined text: a path in two pieces is in no single string
                continue
            data = _dumped(value)
            if data is None or _may_hold_id(data):
                self._learn(value, _settled(surface, value))
                flags.append(True)
            else:
                flags.append(
                    always or _is_volatile(data) or any(map(data.__contains__, self._paths.json_needles))
                )
        return flags

    def _learn(self, value: Json, settled: str = "") -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str):
                    kind = _ID_KINDS.get(key)
                    if kind is not None and key != settled:
                        self._learn_name(item, kind)
                    elif '"' in item:
                        self._learn_nested(item)
                elif isinstance(item, (dict, list)):
                    self._learn(item)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, (dict, list)):
                    self._learn(item)
                elif isinstance(item, str) and '"' in item:
                    self._learn_nested(item)

    def _learn_name(self, name: str, kind: str) -> None:
        if kind == MAYBE_ID:
            if not looks_minted(name):
                return
            kind = "id"
        if _is_whole_id(name):
            self._names.learn(name, kind)

    def _learn_nested(self, text: str) -> None:
        for found in NESTED_ID.finditer(text):
            kind = _ID_KINDS.get(found[1])
            if kind is not None:
                self._learn_name(found[3], kind)

    # -- walking ----------------------------------------------------------------------------------------------

    def _walk_all(self, surface: str, values: Sequence[Json], flags: Sequence[bool]) -> list[Json]:
        is_log = surface.startswith("session")
        out: list[Json] = []
        for value, is_volatile in zip(values, flags, strict=True):
            row = eventlog.without_clock(value) if is_log else value
            packed = eventlog.packed_of(row) if is_log else None
            if packed is not None and isinstance(row, dict):
                row = self._walk_packed(row, packed)
            elif is_volatile or self._mentions_name(row):
                row = self._walk(row, "", _settled(surface, row))
            out.append(row)
        return out

    def _mentions_name(self, row: Json) -> bool:
        data = _dumped(row)
        return data is None or self._names.are_mentioned(data)

    def _walk_packed(self, row: dict[str, Json], packed: eventlog.Packed) -> Json:
        """A packed row; its pieces are one text, for a model streams a path in several of them."""
        data, field, pieces = packed
        replaced: list[Json] = [*self._rewrite(pieces)]
        lists = {field: replaced, "dt": data.get("dt")}
        # The lists are long and hold nothing more: walk what is beside them, and keep every field's place.
        walked = self._walk({**row, "data": {**data, **dict.fromkeys(lists.keys() & data.keys())}}, "")
        if isinstance(walked, dict) and isinstance(walked["data"], dict):
            walked["data"].update({name: item for name, item in lists.items() if name in data})
        return walked

    def _walk(self, value: Json, key: str, settled: str = "") -> Json:
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, dict):
            return self._walk_object(value, key, settled)
        if isinstance(value, list):
            return [self._walk(item, key) for item in value]
        if value is not None and not isinstance(value, bool):
            return _VALUE_FIELDS.get(key, value)
        return value

    def _walk_object(self, value: dict[str, Json], key: str, settled: str) -> Json:
        out: dict[str, Json] = {}
        # {"duration": {"secs": 0, "nanos": 1}}: the numbers below such a field are the field's.
        inherited = key if key in _VALUE_FIELDS else ""
        for name, item in value.items():
            if name == settled:
                out[name] = item
                continue
            new_name = name if name in self._plain_keys else self._key(name)
            while new_name in out:
                new_name += "'"  # two keys that differ only in what is volatile: both stay
            out[new_name] = self._walk(item, inherited or name)
        return out

    def _key(self, name: str) -> str:
        found = self._replacements(name)
        if found:
            return "".join(replace([name], found))
        self._plain_keys.add(name)
        return name

    def _text(self, text: str, key: str) -> str:
        if key in _VALUE_FIELDS and text:
            return _VALUE_FIELDS[key]
        kind = _ID_KINDS.get(key)
        if kind is not None and _is_whole_id(text) and (kind != MAYBE_ID or looks_minted(text)):
            return self._names.placeholder(text, "id" if kind == MAYBE_ID else kind)
        return self._rewrite([text])[0]

    def _rewrite(self, pieces: list[str]) -> list[str]:
        """The pieces of one text, normalised: the built-in finders first, then the suite's rules."""
        found = self._replacements("".join(pieces))
        if found:
            pieces = replace(pieces, found)
        return self._rules.apply(pieces) if self._rules else pieces

    def _replacements(self, text: str) -> list[Replacement]:
        """All that is volatile in `text`: leftmost, longest, not overlapping."""
        found = self._find(text) if len(text) >= _SHORTEST_MATCH else []
        if not found:
            return []
        found.sort(key=_leftmost_longest)
        out: list[Replacement] = []
        at = 0
        for start, end, replacement, kind in found:
            if start >= at:
                name = self._names.placeholder(text[start:end], kind) if kind else replacement
                out.append(Replacement(start, end, name))
                at = end
        return out

    def _find(self, text: str) -> list[Match]:
        found: list[Match] = []
        if "{{" in text:
            found.extend(self._names.find_tokens(text))
        if any(map(text.__contains__, self._paths.needles)):
            found.extend(self._paths.find(text))
        if self._names.are_in(text):
            found.extend(self._names.find(text))
        if "-" in text and _DASH.search(text):
            found.extend(_find_dashed(text))
        if " GMT" in text:
            found.extend(Match(at.start(), at.end(), "{{time}}", "") for at in _HTTP_DATE.finditer(text))
        if '":' in text or '" :' in text:
            found.extend(_find_nested(text))
        return found


def _find_dashed(text: str) -> Iterator[Match]:
    """UUIDs and clock times."""
    for found in _DASHED.finditer(text):
        if bounds_name(text, found.start(), found.end()):
            yield Match(found.start(), found.end(), "{{time}}", "" if found[1] is None else "uuid")


def _find_nested(text: str) -> Iterator[Match]:
    """The values of id fields of JSON inside a string."""
    for found in NESTED_ID.finditer(text):
        kind = _ID_KINDS.get(found[1])
        name = found[3]
        if kind is not None and _is_whole_id(name) and (kind != MAYBE_ID or looks_minted(name)):
            yield Match(found.start(3), found.end(3), "", "id" if kind == MAYBE_ID else kind)


def _leftmost_longest(match: Match) -> tuple[int, int]:
    return match.start, -match.end


def _may_hold_id(data: bytes) -> bool:
    """Whether JSON text may hold a field of an id, at any depth of strings; false is certain."""
    return (
        b'Id"' in data or b"Id\\" in data or b'id"' in data or b"id\\" in data
        or b'ID"' in data or b"ID\\" in data or b"_key" in data or b"Key" in data or b"Session" in data
    )  # fmt: skip


def _is_volatile(data: bytes) -> bool:
    """Whether JSON text may hold a placeholder, a time or a field whose value goes; false is certain.

    A few endings stand for all the names of such fields: a test proves that they cover the table.
    """
    return (
        b"{{" in data or b'At":' in data or b'_at":' in data or b'ime":' in data or b"imestamp" in data
        or b'Ms":' in data or b'_ms":' in data or b'pid":' in data or b'gid":' in data or b"ration" in data
        or b'lapsed":' in data or b'econds":' in data or b" GMT" in data or _DASH_BYTES.search(data) is not None
    )  # fmt: skip


def _settled(surface: str, row: Json) -> str:
    """The field of a whole row that no rule may touch: a protocol id, which counts deterministically, or a zeroed time.

    An agent may number its own requests with names that it mints: those are ids like any other.
    """
    if surface == "stdout":
        is_request = isinstance(row, dict) and "method" in row and isinstance(row.get("id"), str)
        return "" if is_request else "id"
    is_header = surface.startswith("session") and isinstance(row, dict) and row.get("type") == eventlog.HEADER
    return "createdAt" if is_header else ""


def _is_whole_id(text: str) -> bool:
    """Whether the value of an id field is an id and nothing around it: a path or a sentence is walked as a text."""
    if not text or len(text) > 512 or "/" in text or " " in text or "\n" in text:
        return False
    return "{{" not in text or _is_numbered_token(text)


def _is_numbered_token(text: str) -> bool:
    return text.startswith(("{{sessionId", "{{uuid:", "{{id:")) and text.find("}}") == len(text) - 2


def _dumped(value: Any) -> bytes | None:
    """The JSON text of `value`, None where it has none (a lone surrogate, a number past 64 bits)."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return None
