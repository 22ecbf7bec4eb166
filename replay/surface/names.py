"""The table of names: which id of a run became which placeholder.

One table serves all surfaces of one side. A placeholder's ordinal is the order of first appearance, so two runs that
do the same thing give the same text, and the table is a bijection: two ids never share a placeholder, one id never
has two. A placeholder that stands in a text already is a name like any other, which makes renaming idempotent.

An id is looked for inside longer strings only if it can be told from prose (`is_distinct`); "1" and "read" are
renamed in the fields that hold ids and nowhere else.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = [
    "NESTED_ID",
    "TOKEN",
    "UUID",
    "Match",
    "Names",
    "bounds_name",
    "is_distinct",
    "is_uuid",
    "looks_minted",
]

TOKEN: Final = re.compile(r"\{\{([A-Za-z][A-Za-z0-9_-]*)(?::([A-Za-z0-9_-]+))?\}\}")
"""A placeholder that stands in a text."""

NESTED_ID: Final = re.compile(r'"([A-Za-z_]*(?:[iI]d|ID|_key|Key|Session))(\\*)"\s*:\s*\2"([^"\\]+)(?=\2")')
"""A field of JSON inside a string that may hold an id: its name, the escape of its quotes, its value.

The quotes may be escaped once or more often, all four of them alike.
"""

UUID: Final = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
_RUN: Final = re.compile(r"[A-Za-z0-9]{6,}")
_RUN_BYTES: Final = re.compile(rb"[A-Za-z0-9]{6,}")
_NUMBERED: Final = frozenset(("sessionId", "uuid", "id"))
_LONG_RUN = 20
_FEW = 32


class Match(NamedTuple):
    """A piece of a text that becomes `replacement`, or, where `kind` is set, the placeholder of the name there."""

    start: int
    end: int
    replacement: str
    kind: str


def bounds_name(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is not glued to a letter, a digit or a placeholder."""
    if start < 0 or (start and text[start - 1].isalnum()) or text[end : end + 1].isalnum():
        return False
    return not (text.endswith("}}", 0, start) or text.startswith("{{", end))


def is_uuid(text: str) -> bool:
    """Whether `text` is a UUID in its dashed form and nothing else."""
    return len(text) == 36 and UUID.fullmatch(text) is not None


def _anchor(name: str) -> str:
    """The run of letters and digits by which `name` is found in a text, "" if it has none unlike prose."""
    best = ""
    for run in _RUN.findall(name):
        unlike_prose = not run.isalpha() or run[1:] != run[1:].lower() or len(run) >= _LONG_RUN
        if unlike_prose and len(run) > len(best):
            best = run
    return best


def is_distinct(name: str) -> bool:
    """Whether `name` can be told from prose, so that it may be renamed wherever it occurs."""
    return bool(_anchor(name))


def looks_minted(name: str) -> bool:
    """Whether the value of a bare `id` field comes from a random source or a clock, not from a list of choices.

    Dates are no sign: `claude-x-20250101` names a model. Ten digits are a clock's.
    """
    if any(char in name for char in " /\\\n{}"):
        return False
    for run in _RUN.findall(name):
        digits = sum(char.isdigit() for char in run)
        if digits >= 10 or (digits != len(run) and digits >= 2):
            return True
        if len(run) >= _LONG_RUN and not run.islower():
            return True
    return False


class Names:
    """Names of one side of a comparison, their placeholders, and how to find them in a text."""

    __slots__ = ("_anchor_bytes", "_anchors", "_counts", "_kept", "_kinds", "_placeholders")

    def __init__(self, kept: Iterable[str] = ()) -> None:
        """kept: ids that the recording itself serves (the model's tool call ids); they stay as they are."""
        self._placeholders: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._anchors: dict[str, list[str]] = {}
        self._anchor_bytes: set[bytes] = set()
        self._kept = frozenset(kept)

    def is_kept(self, name: str) -> bool:
        """Whether `name` stays as it is."""
        return name in self._kept

    def learn(self, name: str, kind: str) -> None:
        """Know that `name` is an id of `kind`; the first kind that is told holds."""
        if name in self._kinds or name in self._kept:
            return
        self._kinds[name] = kind
        if is_uuid(name) and kind != "sessionId":
            return  # found by its shape, which is cheaper than a search for each one
        anchor = _anchor(name)
        if anchor and "{{" not in name:
            self._anchor_bytes.add(anchor.encode())
            known = self._anchors.setdefault(anchor, [])
            known.append(name)
            known.sort(key=len, reverse=True)

    def placeholder(self, name: str, kind: str) -> str:
        """The placeholder of `name`, made now if this is its first appearance."""
        if name in self._kept:
            return name
        known = self._placeholders.get(name)
        if known is None:
            kind = self._kind(name, kind)
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            # The session of a scenario with one session has no ordinal to read past.
            known = "{{sessionId}}" if kind == "sessionId" and count == 1 else f"{{{{{kind}:{count}}}}}"
            self._placeholders[name] = known
        return known

    def _kind(self, name: str, kind: str) -> str:
        token = TOKEN.fullmatch(name)
        if token is not None:
            return token[1]  # whatever field it stands in, it was of this kind when it was made
        kind = self._kinds.get(name, kind)
        return "uuid" if kind == "id" and is_uuid(name) else kind

    def find_tokens(self, text: str) -> Iterator[Match]:
        """Placeholders that stand in `text`; nothing else may match inside one."""
        for found in TOKEN.finditer(text):
            base, ordinal = found.groups()
            numbered = base in _NUMBERED and (ordinal is None or ordinal.isdigit())
            yield Match(found.start(), found.end(), found.group(), base if numbered else "")

    def are_in(self, text: str) -> bool:
        """Whether `text` may hold a learned name; false is certain, and cheaper than to find none."""
        return not self._anchors.keys().isdisjoint(_RUN.findall(text))

    def find(self, text: str) -> Iterator[Match]:
        """Learned names in `text`, not glued to a letter, a digit or a placeholder."""
        anchors = self._anchors
        for run in _RUN.finditer(text):
            for name in anchors.get(run.group(), ()):
                start = run.start() - name.find(run.group())
                if text.startswith(name, start) and bounds_name(text, start, start + len(name)):
                    yield Match(start, start + len(name), "", self._kinds[name])
                    break

    def are_mentioned(self, data: bytes) -> bool:
        """Whether JSON text `data` may hold a learned name; false is certain."""
        if len(self._anchor_bytes) <= _FEW:
            return any(anchor in data for anchor in self._anchor_bytes)
        return not self._anchor_bytes.isdisjoint(_RUN_BYTES.findall(data))
