"""Comparing two normalised surfaces: the first difference, as a place and two values.

Key order is no difference, nor is 1 against 1.0: JSON has one kind of number. True against 1, null against absent,
and any change of order in a list are differences. Where a whole line is missing or was added, the difference is that
line and not the content of its neighbour.
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from replay.surface.values import ABSENT, Absent, Json, json_path_step

__all__ = ["Difference", "first_difference"]

_LOOK_AHEAD = 200


class Difference(NamedTuple):
    """The first place where `actual` is not `expected`. `line` counts from 1; `path` lies inside that line."""

    surface: str
    line: int
    path: str
    expected: Json | Absent
    actual: Json | Absent


def first_difference(
    expected: Sequence[Json], actual: Sequence[Json], surface: str = ""
) -> Difference | None:
    """The first difference between two lists of lines, None if there is none. Both are normalised already."""
    for index in range(max(len(expected), len(actual))):
        if index >= len(expected):
            return Difference(surface, index + 1, "$", ABSENT, actual[index])
        if index >= len(actual):
            return Difference(surface, index + 1, "$", expected[index], ABSENT)
        found = _inside(expected[index], actual[index], "$")
        if found is not None:
            whole = _whole_line(expected, actual, index)
            return Difference(surface, index + 1, *(whole or found))
    return None


type _Found = tuple[str, Json | Absent, Json | Absent]


def _inside(expected: Json, actual: Json, path: str) -> _Found | None:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            place = path + json_path_step(key)
            if key not in actual:
                return place, value, ABSENT
            found = _inside(value, actual[key], place)
            if found is not None:
                return found
        for key, value in actual.items():
            if key not in expected:
                return path + json_path_step(key), ABSENT, value
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
            found = _inside(left, right, path + json_path_step(index))
            if found is not None:
                return found
        if len(expected) == len(actual):
            return None
        index = min(len(expected), len(actual))
        return (
            path + json_path_step(index),
            expected[index] if index < len(expected) else ABSENT,
            actual[index] if index < len(actual) else ABSENT,
        )
    return None if _is_same_leaf(expected, actual) else (path, expected, actual)


def _is_same_leaf(expected: Json, actual: Json) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return expected == actual
    return type(expected) is type(actual) and expected == actual


def _whole_line(expected: Sequence[Json], actual: Sequence[Json], index: int) -> _Found | None:
    """The line at `index` as missing or added, if the sides go on alike once it is left out."""
    if _shape(expected[index]) == _shape(actual[index]):
        return None
    if _follows(actual, index, expected[index]):
        return "$", ABSENT, actual[index]
    if _follows(expected, index, actual[index]):
        return "$", expected[index], ABSENT
    return None


def _follows(lines: Sequence[Json], index: int, line: Json) -> bool:
    """Whether `line` comes soon after `index` in `lines`."""
    return any(_inside(line, other, "$") is None for other in lines[index + 1 : index + 1 + _LOOK_AHEAD])


def _shape(line: Json) -> object:
    """What kind of frame or event a line is, enough to tell an added line from a changed one."""
    if not isinstance(line, dict):
        return type(line)
    params = line.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return orjson.dumps([line.get("type"), line.get("method"), kind, sorted(line)], default=repr)
