"""What differs between two JSON values, where, and by how much. Pure.

Exact where no rule says otherwise: key order is no difference, nor is 1 against 1.0 (JSON has one kind of number);
true against 1, null against absent, and the order of a list are. `differences` returns every mismatch, in the order
of the baseline. Two values without one are alike; whether that is symmetric and what rules may hide is in the tests.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeGuard

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.pattern import Pattern, PatternError
from replay.surface.values import ABSENT, Absent, Json
from replay.trace.assignment import cheapest_pairs, most_pairs
from replay.trace.canonical import canonical
from replay.trace.json_paths import Cursor, Place, shown_path
from replay.trace.meaning import compare_meaning
from replay.trace.rules import EXACT, Demand, Rules

__all__ = ["MAX_MISMATCHES", "Closeness", "Mismatch", "are_alike", "differences", "distance", "shown"]

type Closeness = Callable[[str, str], float]
MAX_MISMATCHES = 1000
_NOTHING = Demand()
_MAX_SHOWN = 80
# Above it, equal elements of lists without an order are taken away first, and what is then left is paired by place.
_MAX_PAIRS = 250_000


class Mismatch(NamedTuple):
    """One place that is not as expected.

    kind: "changed", "type", "missing", "extra", "number", "pattern", "similarity", "meaning". amount, by how much: of
    numbers actual - expected; of texts and lists the share that differs, 0..1; of similarity and meaning 1 - cosine;
    None where there is no measure. `message` is for a person and holds no path; `place` is `path` as keys and indices.
    """

    path: str
    kind: str
    message: str
    expected: Json | Absent
    actual: Json | Absent
    amount: float | None = None
    place: Place = ()

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def differences(
    expected: Json | Absent,
    actual: Json | Absent,
    rules: Rules = EXACT,
    closeness: Closeness | None = None,
    path: str = "$",
    limit: int = MAX_MISMATCHES,
    at: Place = (),
) -> list[Mismatch]:
    """Every mismatch up to `limit`; [] for values that are alike. `path` is what a path begins with; `at` is where in
    a document the two values stand, since rules name places from its root.

    Raises UsageError where a rule asks for a text model and there is none, FixtureError where a pattern could take
    too long on a text.
    """
    if rules.needs_closeness and closeness is None:
        raise UsageError("a rule compares texts by closeness, and no text model was loaded")
    walk = _Walk(rules, closeness, path)
    cursor, demand = rules.start(), _NOTHING
    for key in at:
        demand = rules.demand(cursor, demand).below()
        cursor = cursor.step(rules.paths, key)
    return list(islice(walk.compare(expected, actual, at, cursor, demand), limit))


def are_alike(expected: Json, actual: Json, rules: Rules = EXACT, closeness: Closeness | None = None) -> bool:
    """Whether there is no mismatch."""
    return not differences(expected, actual, rules, closeness, limit=1)


def distance(expected: Json, actual: Json, rules: Rules = EXACT, closeness: Closeness | None = None) -> float:
    """How far apart, 0 for alike ..1: mismatches per value inside the larger one."""
    found = differences(expected, actual, rules, closeness)
    return min(1.0, len(found) / max(_count(expected), _count(actual), 1))


def _count(value: Json) -> int:
    if isinstance(value, dict):
        return sum(map(_count, value.values())) or 1
    return (sum(map(_count, value)) or 1) if isinstance(value, list) else 1


def shown(value: Json | Absent) -> str:
    """A value in a sentence: short, one line."""
    if isinstance(value, Absent):
        return "nothing"
    try:
        text = orjson.dumps(value).decode()
    except TypeError, ValueError:
        text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 20]}… ({len(text)} characters)"


class _Walk:
    """One comparison."""

    __slots__ = ("closeness", "root", "rules")

    def __init__(self, rules: Rules, closeness: Closeness | None, root: str) -> None:
        self.rules = rules
        self.closeness = closeness
        self.root = root

    def compare(
        self, expected: Json | Absent, actual: Json | Absent, place: Place, cursor: Cursor, above: Demand
    ) -> Iterator[Mismatch]:
        demand = self.rules.demand(cursor, above)
        if demand.is_ignored:
            return
        if isinstance(expected, Absent) or isinstance(actual, Absent):
            yield from self._one_sided(expected, actual, place)
        elif isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._members(expected, actual, place, cursor, demand.below())
        elif isinstance(expected, list) and isinstance(actual, list):
            if demand.is_unordered:
                yield from self._any_order(expected, actual, place, cursor, demand.below())
            else:
                yield from self._elements(expected, actual, place, cursor, demand.below())
        elif isinstance(expected, str) and isinstance(actual, str):
            yield from self._texts(expected, actual, place, demand)
        elif _is_number(expected) and _is_number(actual):
            yield from self._numbers(expected, actual, place, demand)
        elif type(expected) is not type(actual):
            message = f"{_type(expected)} {shown(expected)} became {_type(actual)} {shown(actual)}"
            yield self._found(place, "type", message, expected, actual)
        elif expected != actual:
            message = f"{shown(expected)} became {shown(actual)}"
            yield self._found(place, "changed", message, expected, actual)

    def _one_sided(self, expected: Json | Absent, actual: Json | Absent, place: Place) -> Iterator[Mismatch]:
        if not isinstance(expected, Absent):
            yield self._found(place, "missing", f"{shown(expected)} is missing", expected, actual)
        elif not isinstance(actual, Absent):
            yield self._found(place, "extra", f"{shown(actual)} was added", expected, actual)

    def _members(
        self, expected: dict[str, Json], actual: dict[str, Json], place: Place, cursor: Cursor, above: Demand
    ) -> Iterator[Mismatch]:
        for key in (*expected, *(key for key in actual if key not in expected)):
            yield from self.compare(
                expected.get(key, ABSENT),
                actual.get(key, ABSENT),
                (*place, key),
                self._step(cursor, key),
                above,
            )

    def _elements(
        self, expected: list[Json], actual: list[Json], place: Place, cursor: Cursor, above: Demand
    ) -> Iterator[Mismatch]:
        # Where lengths differ, what is alike at both ends is no difference, and the rest is compared in the middle.
        start, end = 0, 0
        if len(expected) != len(actual):
            shorter = min(len(expected), len(actual))
            while start < shorter and self._same(expected[start], actual[start], start, place, cursor, above):
                start += 1
            while end < shorter - start and self._same(
                expected[-1 - end], actual[-1 - end], len(expected) - 1 - end, place, cursor, above
            ):
                end += 1
        for index in range(start, max(len(expected), len(actual)) - end):
            yield from self.compare(
                expected[index] if index < len(expected) - end else ABSENT,
                actual[index] if index < len(actual) - end else ABSENT,
                (*place, index),
                self._step(cursor, index),
                above,
            )

    def _any_order(
        self, expected: list[Json], actual: list[Json], place: Place, cursor: Cursor, above: Demand
    ) -> Iterator[Mismatch]:
        def is_pair(one: int, other: int) -> bool:
            return self._alike(expected[one], actual[other], one, place, cursor, above)

        def cost(one: int, other: int) -> float | None:
            if type(expected[one]) is not type(actual[other]):
                return None
            found = self.compare(expected[one], actual[other], (), self._step(cursor, one), above)
            return min(1.0, sum(1 for _ in found) / max(_count(expected[one]), _count(actual[other])))

        rest, others = list(range(len(expected))), list(range(len(actual)))
        if len(rest) * len(others) > _MAX_PAIRS:
            rest, others = _unequal(expected, actual)
        if len(rest) * len(others) > _MAX_PAIRS:
            changed = dict(zip(rest, others, strict=False))
        else:
            found = most_pairs(len(rest), len(others), lambda one, other: is_pair(rest[one], others[other]))
            ones, twos = {one for one, _ in found}, {two for _, two in found}
            rest = [one for at, one in enumerate(rest) if at not in ones]
            others = [other for at, other in enumerate(others) if at not in twos]
            changed = dict(cheapest_pairs(rest, others, cost))
        for one in rest:
            partner = actual[changed[one]] if one in changed else ABSENT
            yield from self.compare(expected[one], partner, (*place, one), self._step(cursor, one), above)
        taken = set(changed.values())
        for other in others:
            if other not in taken:
                yield from self.compare(
                    ABSENT, actual[other], (*place, other), self._step(cursor, other), above
                )

    def _alike(
        self, expected: Json, actual: Json, index: int, place: Place, cursor: Cursor, above: Demand
    ) -> bool:
        walk = self.compare(expected, actual, (*place, index), self._step(cursor, index), above)
        return next(walk, None) is None

    def _same(
        self, expected: Json, actual: Json, index: int, place: Place, cursor: Cursor, above: Demand
    ) -> bool:
        # An element that is ignored is like everything: it must not decide which elements face each other.
        if self.rules.demand(self._step(cursor, index), above).is_ignored:
            return next(_EXACTLY.compare(expected, actual, (), EXACT.start(), _NOTHING), None) is None
        return self._alike(expected, actual, index, place, cursor, above)

    def _step(self, cursor: Cursor, key: str | int) -> Cursor:
        return cursor.step(self.rules.paths, key)

    def _numbers(self, expected: float, actual: float, place: Place, demand: Demand) -> Iterator[Mismatch]:
        if expected == actual:
            return
        off = abs(actual - expected)
        larger = max(abs(expected), abs(actual))
        allowed = max(demand.absolute or 0.0, (demand.relative or 0.0) * larger)
        if off <= allowed:
            return
        message = f"{shown(expected)} became {shown(actual)} ({actual - expected:+g}"
        message += f", {off / larger:.3g} of the larger" if larger else ""
        message += f"; {allowed:g} is allowed)" if demand.absolute or demand.relative else ")"
        yield self._found(place, "number", message, expected, actual, actual - expected)

    def _texts(self, expected: str, actual: str, place: Place, demand: Demand) -> Iterator[Mismatch]:
        if demand.pattern is not None:
            for text, whose in ((expected, "baseline"), (actual, "run")):
                if not self._matches(demand.pattern, text, place):
                    message = f"{shown(text)} of the {whose} does not match {demand.pattern.source[1:-1]!r}"
                    yield self._found(place, "pattern", message, expected, actual)
        elif expected == actual:
            return
        elif demand.similarity is not None and self.closeness is not None:
            near = self.closeness(expected, actual)
            if near < demand.similarity:
                message = f"{shown(expected)} became {shown(actual)} (similarity {near:.2f}, {demand.similarity:g} is asked)"
                yield self._found(place, "similarity", message, expected, actual, 1 - near)
        elif demand.by_meaning and self.closeness is not None:
            meaning = compare_meaning(expected, actual, self.closeness)
            if not meaning.is_same:
                message = f"{meaning.verdict}: {'; '.join(meaning.reasons)}"
                yield self._found(place, "meaning", message, expected, actual, 1 - meaning.closeness)
        else:
            message, share = _changed_text(expected, actual)
            yield self._found(place, "changed", message, expected, actual, share)

    def _matches(self, pattern: Pattern, text: str, place: Place) -> bool:
        try:
            return pattern.last_match(text) is not None
        except PatternError as error:
            where = Location(path=shown_path(place, self.root))
            raise FixtureError(f"the pattern {pattern.source[1:-1]!r} {error}", where) from None

    def _found(
        self,
        place: Place,
        kind: str,
        message: str,
        expected: Json | Absent,
        actual: Json | Absent,
        amount: float | None = None,
    ) -> Mismatch:
        return Mismatch(shown_path(place, self.root), kind, message, expected, actual, amount, place)


_EXACTLY = _Walk(EXACT, None, "$")


def _unequal(expected: list[Json], actual: list[Json]) -> tuple[list[int], list[int]]:
    """The places of what is left once equal elements of both sides are taken away, one for one."""
    waiting: dict[bytes, list[int]] = {}
    for other in reversed(range(len(actual))):
        waiting.setdefault(canonical(actual[other]), []).append(other)
    rest = []
    for one, value in enumerate(expected):
        same = waiting.get(canonical(value))
        if same:
            same.pop()
        else:
            rest.append(one)
    return rest, sorted(other for left in waiting.values() for other in left)


def _changed_text(expected: str, actual: str) -> tuple[str, float]:
    start = 0
    shorter = min(len(expected), len(actual))
    while start < shorter and expected[start] == actual[start]:
        start += 1
    end = 0
    while end < shorter - start and expected[-1 - end] == actual[-1 - end]:
        end += 1
    longer = max(len(expected), len(actual))
    if max(len(expected), len(actual)) <= _MAX_SHOWN:
        message = f"{shown(expected)} became {shown(actual)}"
    else:
        old, new = expected[start : len(expected) - end], actual[start : len(actual) - end]
        message = f"from character {start + 1} on {shown(old)} became {shown(new)}"
    return message, (longer - start - end) / longer


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "text", list: "list", dict: "object"}.get(type(value), type(value).__name__)
