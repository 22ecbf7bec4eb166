"""Why tests were no hits, as values: reasons, and groups of the tests that share theirs."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from replay.surface.secrets import credential_values, scan

__all__ = ["MAX_REASONS", "Explanation", "Group", "Kind", "Miss", "Reason", "grouped", "shown"]

MAX_REASONS: Final = 40
"""How many reasons of one test are told; the others are counted."""
_MAX_SHOWN: Final = 300


class Kind(Enum):
    """What differs. The order is that in which reasons are told: what changes everything else stands first."""

    DIRECTORY = "output directory"
    OPTION = "option"
    ENVIRONMENT = "environment variable"
    ARGUMENT = "argument"
    PLATFORM = "platform property"
    TIMEOUT = "timeout"
    INPUT = "input"
    NOT_DETERMINISTIC = "action that is not deterministic"
    OUTPUT = "declared output"
    CACHE = "cache"


class Reason(NamedTuple):
    """One difference. `before` and `after` are empty where a side lacks it; `fix` is what a person can do."""

    kind: Kind
    name: str
    before: str = ""
    after: str = ""
    fix: str = ""
    made: tuple[str, ...] = ()
    """Further inputs that differ because of this one, for instance what was compiled from it."""


class Miss(NamedTuple):
    """A test that was executed in B. `total` counts all reasons, up to inputs.MAX_COUNTED."""

    test: str
    reasons: tuple[Reason, ...]
    total: int = 0


class Group(NamedTuple):
    """Tests that missed for the same reasons; `total` counts all of those that each test has.

    Where each test has a file of its own that differs, reasons name it with {test} and {scenario} in the place of the
    test's name, and hold what the first test has.
    """

    tests: tuple[str, ...]
    reasons: tuple[Reason, ...]
    total: int


class Explanation(NamedTuple):
    """What became of every test of B, compared with A."""

    source: str
    """What kind of file was read: an execution log or build events, which can say less."""
    hits: Mapping[str, Sequence[str]]
    """Which cache answered -> tests."""
    groups: Sequence[Group]
    only_before: Sequence[str]
    """Tests of A of which B has no action: answered by B's own action cache, or not asked for."""
    notes: Sequence[str] = ()

    @property
    def missed(self) -> int:
        """How many tests were executed in B."""
        return sum(len(group.tests) for group in self.groups)


def shown(name: str, value: str) -> str:
    """A value of a variable or an option as it may be printed: cut where it is long, and no secret."""
    if credential_values({name: value}) or any(not found.is_personal for found in scan(f"{name}={value}")):
        return "(a secret, not shown)"
    return value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}… ({len(value)} characters)"


def grouped(misses: Iterable[Miss]) -> tuple[Group, ...]:
    """Tests with the same reasons together, the largest group first; then those alone whose reasons are alike."""
    same: dict[tuple[tuple[Reason, ...], int], list[str]] = {}
    for miss in misses:
        same.setdefault((miss.reasons, miss.total), []).append(miss.test)
    alike: dict[tuple[tuple[Reason, ...], int], list[Miss]] = {}
    found = []
    for (reasons, total), tests in same.items():
        if len(tests) > 1:
            found.append(Group(tuple(sorted(tests)), reasons, total))
        else:
            key = tuple(_alike(tests[0], reason) for reason in reasons)
            alike.setdefault((key, total), []).append(Miss(tests[0], reasons, total))
    for (_, total), group in alike.items():
        first = min(group, key=lambda miss: miss.test)
        own = first.reasons if len(group) == 1 else tuple(_named(first.test, one) for one in first.reasons)
        found.append(Group(tuple(sorted(miss.test for miss in group)), own, total))
    return tuple(sorted(found, key=lambda group: (-len(group.tests), group.tests)))


def _alike(test: str, reason: Reason) -> Reason:
    """What reasons of different tests have to share: a test's own file may have any content."""
    named = _named(test, reason)
    return (
        reason
        if named == reason
        else named._replace(before=str(bool(named.before)), after=str(bool(named.after)))
    )


def _named(test: str, reason: Reason) -> Reason:
    return reason._replace(
        name=_own(test, reason.name),
        fix=_own(test, reason.fix),
        made=tuple(_own(test, path) for path in reason.made),
    )


def _own(test: str, text: str) -> str:
    """A path or a sentence with the test's name, and that of its scenario, taken out."""
    target = test.partition(" ")[0].rpartition(":")[2]
    if len(target) < 3 or "/" not in text:
        return text
    scenario = target.removesuffix("_test")
    text = text.replace(target, "{test}")
    return text.replace(f"/{scenario}/", "/{scenario}/") if scenario != target else text
