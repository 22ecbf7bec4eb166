"""Paths that name places of a JSON value: `$.a.b`, `$.a[0]`, `$["odd key"]`, `[*]` any index, `.*` any member, and
`..name` a member of that name at any depth. Pure.

A place is the tuple of keys and indices that lead to it. A walk takes its patterns along: `Cursor.step` narrows them
to what still fits, so that a rule costs nothing where it cannot apply.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.surface.values import json_path_step

__all__ = ["Cursor", "Path", "Place", "parse_path", "shown_path"]

type Place = tuple[str | int, ...]
_MAX_STEPS = 64
_STEP: Final = re.compile(
    r"""\[(?P<index>\d{1,9})\]|(?P<each>\[\*\])|(?P<all>\.\*)|\.\.(?P<deep>[^.\[\]"*\s]+)"""
    r"""|\.(?P<name>[^.\[\]"*\s]+)|\[(?P<key>"(?:[^"\\]|\\.)*")\]"""
)


class _Step(NamedTuple):
    """One step: `name` a key or an index, None any of its kind. `is_deep`: at any depth below."""

    name: str | int | None
    of_list: bool = False
    is_deep: bool = False

    def fits(self, key: str | int) -> bool:
        return isinstance(key, int) == self.of_list and (self.name is None or self.name == key)


class Path(NamedTuple):
    """A pattern and how it is written."""

    text: str
    steps: tuple[_Step, ...]


class Cursor:
    """Where a walk stands in several patterns at once. `ended`: the numbers of those that name this very place."""

    __slots__ = ("_states", "ended")

    def __init__(self, paths: Sequence[Path], states: frozenset[tuple[int, int]] | None = None) -> None:
        self._states = frozenset((number, 0) for number in range(len(paths))) if states is None else states
        self.ended = sorted({number for number, at in self._states if at == len(paths[number].steps)})

    def step(self, paths: Sequence[Path], key: str | int) -> Cursor:
        """The cursor one step further down."""
        if not self._states:
            return self
        states = set()
        for number, at in self._states:
            steps = paths[number].steps
            if at == len(steps):
                continue
            if steps[at].fits(key):
                states.add((number, at + 1))
            if steps[at].is_deep:
                states.add((number, at))
        return Cursor(paths, frozenset(states))


def parse_path(text: str) -> Path | None:
    """The pattern, None for a text that is none."""
    if not text.startswith("$"):
        return None
    steps: list[_Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or len(steps) == _MAX_STEPS:
            return None
        at = found.end()
        if found["index"]:
            steps.append(_Step(int(found["index"]), of_list=True))
        elif found["each"] or found["all"]:
            steps.append(_Step(None, of_list=bool(found["each"])))
        elif found["deep"]:
            steps.append(_Step(found["deep"], is_deep=True))
        else:
            steps.append(_Step(found["name"] or re.sub(r"\\(.)", r"\1", found["key"][1:-1], flags=re.DOTALL)))
    return Path(text, tuple(steps))


def shown_path(place: Place, root: str = "$") -> str:
    """The place as a person reads it; `parse_path` of it names this place and no other."""
    return root + "".join(map(json_path_step, place))
