"""Accepted deviations: breaches of the schema that a suite knows of, each with its reason.

A list of `{"method", "path", "reason"}`. `path` is the JSON path that a failure names, where `[*]` stands for any
index and a final `.*` for whatever lies below. A deviation that no longer occurs is said at the end, so that the
list only ever shrinks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from replay.errors import UsageError

__all__ = ["Deviations"]

_KEYS = ("method", "path", "reason")


class Deviations:
    """Which failures are accepted, and which of the list occurred. Raises UsageError for a malformed list."""

    __slots__ = ("_listed", "_met")

    def __init__(self, listed: Iterable[Mapping[str, Any]] = ()) -> None:
        self._listed: list[Mapping[str, Any]] = []
        self._met: set[int] = set()
        for index, item in enumerate(listed):
            if set(item) != set(_KEYS) or not all(isinstance(item[key], str) and item[key] for key in _KEYS):
                raise UsageError(
                    f'accepted deviation {index}: write {{"method", "path", "reason"}}, each a string with text'
                )
            self._listed.append(item)

    def accept(self, method: str, path: str) -> bool:
        """Whether this failure is accepted; remembers that it occurred."""
        accepted = False
        for index, item in enumerate(self._listed):
            if item["method"] == method and _matches(item["path"], path):
                self._met.add(index)
                accepted = True
        return accepted

    def unmet(self) -> list[str]:
        """A sentence for each deviation that did not occur."""
        return [
            f'the accepted deviation of "{item["method"]}" at {item["path"]} no longer occurs ({item["reason"]}): drop it'
            for index, item in enumerate(self._listed)
            if index not in self._met
        ]


def _matches(pattern: str, path: str) -> bool:
    if pattern.endswith(".*") and _starts(pattern[:-2], path):
        return True
    return _generic(pattern, path) == pattern


def _starts(prefix: str, path: str) -> bool:
    # Cut the path at every border in turn: "$.a.*" covers "$.a", "$.a.b" and "$.a[0]", never "$.ab".
    borders = [index for index, character in enumerate(path) if character in ".["] + [len(path)]
    return any(_generic(prefix, path[:border]) == prefix for border in borders)


def _generic(pattern: str, path: str) -> str:
    """`path` with `[*]` wherever `pattern` has it at that place."""
    done = ""
    while path:
        if path[0] == "[" and pattern[len(done) :].startswith("[*]") and "]" in path:
            done += "[*]"
            path = path[path.index("]") + 1 :]
        else:
            done += path[0]
            path = path[1:]
    return done
