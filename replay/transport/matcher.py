"""Whether an outbound frame is the one that an entry expects, and where it is not. Pure.

Key order is no difference, nor is 1 against 1.0: JSON has one kind of number. True against 1, null against absent and
any change of order in a list are differences. Mode "subset" forgives further keys of objects, at any depth; lists stay
as long as they are. Every difference is found, not the first only: their number says which entry is the closest.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import FixtureError
from replay.surface.values import ABSENT, Absent, json_path_step
from replay.transport.placeholder import Hole, Template, fill, has_template, match_text
from replay.transport.profile import Ignore

__all__ = ["Difference", "IgnoreRules", "Matched", "match_frame"]

_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\[(?P<index>\d{1,9})\]|(?P<each>\.\*|\[\*\])|"
    r"\[\"(?P<key>[^\"\\]+)\"\]"
)

type _Steps = tuple[str | int | None, ...]
"""None is any key or index."""


class Difference(NamedTuple):
    """One place where the frame is not what was expected. A value of the expected side may be a placeholder's text."""

    path: str
    expected: Any | Absent
    actual: Any | Absent


class Matched(NamedTuple):
    """differences: empty if the frame matches; captured: what its placeholders remember then."""

    differences: list[Difference]
    captured: dict[str, Any]


class IgnoreRules:
    """The ignore rules of a profile, ready for use. Raises FixtureError for a path that is none."""

    __slots__ = ("_of_all", "_of_kind")

    def __init__(self, rules: Sequence[Ignore]) -> None:
        self._of_all: list[_Steps] = []
        self._of_kind: dict[str, list[_Steps]] = {}
        for rule in rules:
            steps = _steps(rule)
            if not rule.kinds:
                self._of_all.append(steps)
            for kind in rule.kinds:
                self._of_kind.setdefault(kind, []).append(steps)

    def of(self, kind: str) -> list[_Steps]:
        """The paths that are ignored in frames of a kind."""
        return self._of_all + self._of_kind.get(kind, [])


def match_frame(
    expected: Any, actual: Any, ignored: Sequence[_Steps], captured: Mapping[str, Any], *, is_subset: bool
) -> Matched:
    """Compares a compiled frame with a live one. captured: what earlier frames have given.

    Raises PatternError where a placeholder could take too long on what came.
    """
    matching = _Matching(captured, is_subset)
    matching.compare(expected, actual, "$", ignored)
    return Matched(matching.differences, matching.new)


class _Matching:
    """One comparison."""

    __slots__ = ("_captured", "_is_subset", "differences", "new")

    def __init__(self, captured: Mapping[str, Any], is_subset: bool) -> None:
        self._captured = captured
        self._is_subset = is_subset
        self.differences: list[Difference] = []
        self.new: dict[str, Any] = {}

    def compare(self, expected: Any, actual: Any, path: str, ignored: Sequence[_Steps]) -> None:
        if isinstance(expected, dict) and isinstance(actual, dict):
            self._compare_objects(expected, actual, path, ignored)
        elif isinstance(expected, list) and isinstance(actual, list):
            self._compare_lists(expected, actual, path, ignored)
        elif isinstance(expected, Template):
            if not self._matches(expected, actual):
                self.differences.append(Difference(path, _shown_template(expected, self._known()), actual))
        elif not _is_same_leaf(expected, actual):
            self.differences.append(Difference(path, _shown(expected), actual))

    def _compare_objects(
        self, expected: dict[str, Any], actual: dict[str, Any], path: str, ignored: Sequence[_Steps]
    ) -> None:
        for key, value in expected.items():
            below, is_ignored = _below(ignored, key)
            if is_ignored and not has_template(value):
                continue
            place = path + json_path_step(key)
            if key in actual:
                self.compare(value, actual[key], place, below)
            else:
                self.differences.append(Difference(place, _shown(value), ABSENT))
        if self._is_subset:
            return
        for key, value in actual.items():
            if key not in expected and not _below(ignored, key)[1]:
                self.differences.append(Difference(path + json_path_step(key), ABSENT, value))

    def _compare_lists(
        self, expected: list[Any], actual: list[Any], path: str, ignored: Sequence[_Steps]
    ) -> None:
        for index in range(max(len(expected), len(actual))):
            below, is_ignored = _below(ignored, index)
            place = f"{path}[{index}]"
            if index >= len(actual):
                self.differences.append(Difference(place, _shown(expected[index]), ABSENT))
            elif index >= len(expected):
                self.differences.append(Difference(place, ABSENT, actual[index]))
            elif not is_ignored or has_template(expected[index]):
                self.compare(expected[index], actual[index], place, below)

    def _known(self) -> dict[str, Any]:
        return {**self._captured, **self.new}

    def _matches(self, template: Template, actual: Any) -> bool:
        whole = template.whole
        if whole is not None and whole.pattern is None:
            return self._takes(whole, actual)
        if not isinstance(actual, str):
            return False
        found = match_text(template, actual, self._known() if self.new else self._captured)
        if found is None or any(name in self.new and self.new[name] != found[name] for name in found):
            return False
        self.new |= found
        return True

    def _takes(self, whole: Hole, actual: Any) -> bool:
        if whole.kind == "capture":
            is_same = whole.name not in self.new or _is_same(self.new[whole.name], actual)
            self.new[whole.name] = actual
            return is_same
        if whole.kind == "ref":
            known = self._known()
            return whole.name in known and _is_same(known[whole.name], actual)
        return True


def _shown_template(template: Template, captured: Mapping[str, Any]) -> Any:
    """A template as a message shows it: references that are known are filled in, the rest stands as it is written."""
    whole = template.whole
    if whole is not None and whole.kind == "ref":
        return captured.get(whole.name, template.text)
    return template.text


def _shown(expected: Any) -> Any:
    """A compiled value without its templates, for a message."""
    if isinstance(expected, Template):
        return expected.text
    return fill(expected, _spelled) if has_template(expected) else expected


def _spelled(hole: Hole) -> str:
    return "{{" + ":".join(part for part in (hole.kind, hole.name, hole.source) if part) + "}}"


def _is_same(expected: Any, actual: Any) -> bool:
    """Whether two JSON values without placeholders are equal."""
    matching = _Matching({}, False)
    matching.compare(expected, actual, "$", ())
    return not matching.differences


def _is_same_leaf(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return expected == actual
    return type(expected) is type(actual) and bool(expected == actual)


def _below(ignored: Sequence[_Steps], key: str | int) -> tuple[Sequence[_Steps], bool]:
    """The rules that go on below a key, and whether one ends there."""
    if not ignored:
        return (), False
    rest = [steps[1:] for steps in ignored if steps[0] is None or steps[0] == key]
    return [steps for steps in rest if steps], () in rest


def _steps(rule: Ignore) -> _Steps:
    steps: list[str | int | None] = []
    at = 1
    while at < len(rule.where) and rule.where.startswith("$"):
        found = _STEP.match(rule.where, at)
        if found is None:
            break
        steps.append(int(found["index"]) if found["index"] else found["name"] or found["key"])
        at = found.end()
    if not steps or at < len(rule.where):
        raise FixtureError(f'the ignore rule "{rule.name}" has no JSON path but {rule.where!r}')
    return tuple(steps)
