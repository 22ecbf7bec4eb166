"""The inputs of all actions of two logs, held once: what is the same in both is the same number.

A log shares sets of inputs between its actions: 5,000 tests name the agent's files once. So sets are never flattened
here. A **leaf** is one input with what identifies its content; a **group** is leaves and other groups, and stands for a
set, a directory or a runfiles tree. Equal ones get one number, in whichever log they stand, so that two sets are compared
by comparing numbers, and only groups whose numbers differ are looked into, each pair of them once.

Two groups of different structure may hold the same leaves. `compare` is right all the same: what it finds in the parts
that differ is looked up in the whole.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = ["ABSENT", "MAX_COUNTED", "Change", "Difference", "Inputs"]

ABSENT: Final = ""
"""The identity of what one of the logs does not have."""
MAX_CHANGES: Final = 100
"""How many changes of one comparison are told; the rest is counted."""
MAX_COUNTED: Final = 4 * MAX_CHANGES
"""How many changes of a pair of groups are held, so that 5,000 tests over a new toolchain cost 5,000 times this at most."""
_MOST_FOUND: Final = 200_000


class Change(NamedTuple):
    """A path whose content differs; ABSENT on the side that lacks it."""

    path: str
    before: str
    after: str

    @property
    def order(self) -> tuple[int, str]:
        """Sources come first, then external repositories, then what the build made of them."""
        is_made = self.path.startswith("bazel-out/")
        return (2 if is_made else 1 if self.path.startswith("external/") else 0), self.path


class Difference(NamedTuple):
    """The first changes in their order, and how many there are in all, counted up to MAX_COUNTED."""

    changes: tuple[Change, ...]
    total: int


class _Group(NamedTuple):
    leaves: tuple[int, ...]
    groups: tuple[int, ...]


_NONE: Final = Difference((), 0)


class Inputs:
    """Leaves and groups by number. Numbers of groups count from 0, which is the empty one; a group names only older ones."""

    __slots__ = ("_differences", "_found", "_group_ids", "_groups", "_leaf_ids", "_leaves")

    def __init__(self) -> None:
        self._leaf_ids: dict[tuple[str, str], int] = {}
        self._leaves: list[tuple[str, str]] = []
        self._group_ids: dict[_Group, int] = {}
        self._groups: list[_Group] = []
        self._differences: dict[tuple[int, int], Difference] = {}
        self._found: dict[tuple[int, str], str] = {}
        self.group((), ())

    def leaf(self, path: str, identity: str) -> int:
        """The number of an input. identity: text that says what its content is, never ABSENT."""
        key = (path, identity)
        number = self._leaf_ids.setdefault(key, len(self._leaves))
        if number == len(self._leaves):
            self._leaves.append(key)
        return number

    def leaf_of(self, number: int) -> tuple[str, str]:
        """Path and identity of a leaf."""
        return self._leaves[number]

    def group(self, leaves: Iterable[int], groups: Iterable[int]) -> int:
        """The number of what holds these leaves and groups, whatever their order."""
        key = _Group(tuple(sorted(set(leaves))), tuple(sorted(set(groups))))
        number = self._group_ids.setdefault(key, len(self._groups))
        if number == len(self._groups):
            self._groups.append(key)
        return number

    def compare(self, before: int, after: int) -> Difference:
        """The paths whose content is not the same in two groups."""
        held = self._difference(before, after)
        if len(self._found) > _MOST_FOUND:
            self._found.clear()
        changes = []
        # A path that one side seems to lack can stand in a part that both have.
        for change in held.changes[:MAX_CHANGES]:
            one = change.before or self._find(before, change.path)
            other = change.after or self._find(after, change.path)
            if one != other:
                changes.append(Change(change.path, one, other))
        lost = min(len(held.changes), MAX_CHANGES) - len(changes)
        return Difference(tuple(changes), held.total - lost)

    def _difference(self, before: int, after: int) -> Difference:
        """What may differ. Each pair of groups is looked into once, the deepest first."""
        known = self._differences
        waiting = [(before, after)]
        while waiting:
            pair = waiting[-1]
            if pair in known:
                waiting.pop()
                continue
            pairs = [] if pair[0] == pair[1] else list(self._pairs_below(*pair))
            unknown = [below for below in pairs if below not in known]
            if unknown:
                waiting += unknown
                continue
            known[pair] = self._joined(pair, [known[below] for below in pairs])
        return known[before, after]

    def _pairs_below(self, before: int, after: int) -> Iterator[tuple[int, int]]:
        """Groups of two groups, without those that both have; 0 where one has more of them."""
        one, other = self._groups[before].groups, self._groups[after].groups
        shared = set(one) & set(other)
        left = [group for group in one if group not in shared]
        right = [group for group in other if group not in shared]
        for number in range(max(len(left), len(right))):
            yield (
                left[number] if number < len(left) else 0,
                right[number] if number < len(right) else 0,
            )

    def _joined(self, pair: tuple[int, int], below: list[Difference]) -> Difference:
        one, other = set(self._groups[pair[0]].leaves), set(self._groups[pair[1]].leaves)
        below = [found for found in below if found.total]
        if one == other and len(below) <= 1:
            # Shared and not copied: this is what a chain of sets above one change looks like.
            return below[0] if below else _NONE
        sides: dict[str, tuple[str, str]] = {}
        for path, before, after in self._changes(one - other, other - one, below):
            known = sides.get(path, (ABSENT, ABSENT))
            sides[path] = (known[0] or before, known[1] or after)
        changes = [Change(path, *both) for path, both in sides.items() if both[0] != both[1]]
        # Parts that share a change would count it twice, so there is no more to say than "so many, or more".
        total = MAX_COUNTED if any(found.total == MAX_COUNTED for found in below) else len(changes)
        first = tuple(sorted(changes, key=lambda change: change.order)[:MAX_COUNTED])
        return Difference(first, min(total, MAX_COUNTED))

    def _changes(self, before: set[int], after: set[int], below: list[Difference]) -> Iterator[Change]:
        for leaf in before:
            path, identity = self._leaves[leaf]
            yield Change(path, identity, ABSENT)
        for leaf in after:
            path, identity = self._leaves[leaf]
            yield Change(path, ABSENT, identity)
        for found in below:
            yield from found.changes

    def _find(self, group: int, path: str) -> str:
        """The identity of a path in a group, ABSENT where it has none."""
        known = self._found
        waiting = [group]
        while waiting:
            at = waiting[-1]
            if (at, path) in known:
                waiting.pop()
                continue
            below = self._groups[at].groups
            unknown = [part for part in below if (part, path) not in known]
            if unknown:
                waiting += unknown
                continue
            own = (self._leaves[leaf] for leaf in self._groups[at].leaves)
            mine = next((identity for held, identity in own if held == path), ABSENT)
            known[at, path] = mine or next(filter(None, (known[part, path] for part in below)), ABSENT)
        return known[group, path]
