"""Whether two runs called the same tools with the same inputs, in one of four modes. Pure.

    strict     the same calls in the same order, and no others
    unordered  the same calls, no others, in any order
    subset     nothing that the baseline did not do; it may do less
    superset   all that the baseline did; it may do more

Every call of the baseline is assigned to at most one of the run: first as many alike as can be, then what is left of
the same tool by the least difference. What found nobody is *missing* or *extra*, a pair that is not alike is
*changed*, and *moved* is the smallest set of alike pairs without which the rest is in order. An extra call of a tool that
only reads is *tolerated*: it is told, and fails no mode.
"""

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from replay.errors import UsageError
from replay.surface.values import Absent, Json
from replay.trace.assignment import cheapest_pairs, most_pairs, out_of_order, pairs_in_order
from replay.trace.canonical import canonical
from replay.trace.comparators import Closeness, Mismatch, are_alike, differences, distance, shown
from replay.trace.model import AgentTrace
from replay.trace.rules import EXACT, Rules

__all__ = ["MODES", "STRICT", "Changed", "ToolCall", "Trajectory", "compare_trajectory", "tool_calls"]

STRICT = "strict"
MODES = (STRICT, "unordered", "subset", "superset")
# So many comparisons of one tool's calls; beyond it alike calls are found by their text.
_MAX_COMPARISONS = 250_000
_MAX_REASONS = 20


class ToolCall(NamedTuple):
    """One call. `place`: the JSON path of its step in the trace."""

    name: str
    input: Json
    place: str = ""

    def __str__(self) -> str:
        return f"{self.name}({shown(self.input)})"


class Changed(NamedTuple):
    """A call that the run made with another input."""

    expected: int
    actual: int
    mismatches: tuple[Mismatch, ...]


class Trajectory(NamedTuple):
    """The verdict and why. Numbers are those of the calls, from 0: `matched`, `moved` are pairs (baseline, run), and
    `moved` is part of `matched`. score: the share of the calls of both that are alike, 0..1.
    """

    mode: str
    passed: bool
    expected: tuple[ToolCall, ...]
    actual: tuple[ToolCall, ...]
    matched: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]
    changed: tuple[Changed, ...]
    score: float
    tolerated: tuple[int, ...] = ()

    def notes(self) -> list[str]:
        """A sentence for each call that is extra and fails nothing, since it only reads."""
        found = [
            f"call {other + 1} is extra, and only reads: {self.actual[other]}" for other in self.tolerated
        ]
        if len(found) > _MAX_REASONS:
            found[_MAX_REASONS:] = [f"and {len(found) - _MAX_REASONS} more such calls"]
        return found

    def reasons(self) -> list[str]:
        """A sentence for each difference that the mode does not allow, [] if passed."""
        if self.passed:
            return []
        found = [
            f"call {one.expected + 1} {self.expected[one.expected].name}: {mismatch}"
            for one in self.changed
            for mismatch in one.mismatches
        ]
        if self.mode != "subset":
            found += [f"call {one + 1} is missing: {self.expected[one]}" for one in self.missing]
        if self.mode != "superset":
            found += [f"call {other + 1} is extra: {self.actual[other]}" for other in self.extra]
        if self.mode == "strict":
            found += [
                f"call {one + 1} moved to place {other + 1}: {self.expected[one]}"
                for one, other in self.moved
            ]
        if len(found) > _MAX_REASONS:
            found[_MAX_REASONS:] = [f"and {len(found) - _MAX_REASONS} more differences"]
        return found


def tool_calls(trace: AgentTrace) -> tuple[ToolCall, ...]:
    """The tool calls of a trace in the order in which they began. An input that was not recorded is null."""
    return tuple(
        ToolCall(
            step.tool_name, None if isinstance(step.tool_input, Absent) else step.tool_input, f"$.steps[{at}]"
        )
        for at, step in enumerate(trace.steps)
        if step.step_type == "tool_call"
    )


def compare_trajectory(
    expected: Sequence[ToolCall],
    actual: Sequence[ToolCall],
    mode: str,
    rules: Rules = EXACT,
    closeness: Closeness | None = None,
    read_only: Container[str] = (),
) -> Trajectory:
    """Compares the calls of a run with those of its baseline. Rules are over {"name", "input"}: `$.input.timeout`.

    read_only: the tools of which an extra call is tolerated.

    Raises UsageError for a mode that is none.
    """
    if mode not in MODES:
        raise UsageError(f'"{mode}" is no trajectory mode', fix=f"write one of {', '.join(MODES)}")
    matched = _alike_pairs(expected, actual, rules, closeness)
    ones, others = {one for one, _ in matched}, {other for _, other in matched}
    rest = [one for one in range(len(expected)) if one not in ones]
    new = [other for other in range(len(actual)) if other not in others]
    pairs = _changed_pairs(expected, actual, rest, new, rules, closeness)
    changed = tuple(
        Changed(one, other, tuple(_differences(expected[one], actual[other], rules, closeness)))
        for one, other in pairs
    )
    in_pairs = {one for one, _ in pairs}, {other for _, other in pairs}
    missing = tuple(one for one in rest if one not in in_pairs[0])
    more = [other for other in new if other not in in_pairs[1]]
    extra = tuple(other for other in more if actual[other].name not in read_only)
    moved = tuple(out_of_order(matched))
    return Trajectory(
        mode,
        _passes(mode, missing, extra, moved, changed),
        tuple(expected),
        tuple(actual),
        tuple(matched),
        missing,
        extra,
        moved,
        changed,
        2 * len(matched) / (len(expected) + len(actual)) if expected or actual else 1.0,
        tuple(other for other in more if actual[other].name in read_only),
    )


def _passes(
    mode: str,
    missing: Sequence[int],
    extra: Sequence[int],
    moved: Sequence[object],
    changed: Sequence[object],
) -> bool:
    match mode:
        case "strict":
            return not (missing or extra or moved or changed)
        case "unordered":
            return not (missing or extra or changed)
        case "subset":
            return not (extra or changed)
        case _:
            return not (missing or changed)


def _value(call: ToolCall) -> Json:
    return {"name": call.name, "input": call.input}


def _differences(one: ToolCall, other: ToolCall, rules: Rules, closeness: Closeness | None) -> list[Mismatch]:
    return differences(_value(one), _value(other), rules, closeness)


def _alike_pairs(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], rules: Rules, closeness: Closeness | None
) -> list[tuple[int, int]]:
    def alike(one: int, other: int) -> bool:
        return are_alike(_value(expected[one]), _value(actual[other]), rules, closeness)

    if len(expected) == len(actual) and all(alike(at, at) for at in range(len(expected))):
        return [(at, at) for at in range(len(expected))]
    keys = _keys(expected, rules), _keys(actual, rules)
    by_key = not rules
    known: dict[tuple[int, int], bool] = {}

    def fits(one: int, other: int) -> bool:
        if keys[0][one] != keys[1][other]:
            return False
        if by_key:
            return True
        if (one, other) not in known:
            known[one, other] = alike(one, other)
        return known[one, other]

    is_small = len(expected) * len(actual) <= _MAX_COMPARISONS
    start = pairs_in_order(len(expected), len(actual), fits) if is_small else []
    pairs = []
    for ones, others in _groups(*keys):
        if len(ones) * len(others) > _MAX_COMPARISONS:
            pairs += _pairs_by_text(expected, actual, ones, others)
            continue
        at = (
            {one: place for place, one in enumerate(ones)},
            {other: place for place, other in enumerate(others)},
        )
        begun = [(at[0][one], at[1][other]) for one, other in start if one in at[0]]
        found = most_pairs(len(ones), len(others), _within(fits, ones, others), begun)
        pairs += [(ones[one], others[other]) for one, other in found]
    return sorted(pairs)


def _within(
    fits: Callable[[int, int], bool], ones: list[int], others: list[int]
) -> Callable[[int, int], bool]:
    return lambda one, other: fits(ones[one], others[other])


def _keys(calls: Sequence[ToolCall], rules: Rules) -> list[object]:
    """What two calls must share to be alike: the whole where no rule softens it, else the tool, else nothing."""
    if not rules:
        return [canonical(_value(call)) for call in calls]
    about_names = any(
        path.text == "$" or path.text.startswith(("$.name", "$..name", "$.*")) for path in rules.paths
    )
    return ["" if about_names else call.name for call in calls]


def _groups(expected: Sequence[object], actual: Sequence[object]) -> list[tuple[list[int], list[int]]]:
    groups: dict[object, tuple[list[int], list[int]]] = {}
    for side, keys in enumerate((expected, actual)):
        for at, key in enumerate(keys):
            groups.setdefault(key, ([], []))[side].append(at)
    return list(groups.values())


def _pairs_by_text(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], ones: list[int], others: list[int]
) -> list[tuple[int, int]]:
    waiting: dict[bytes, list[int]] = {}
    for other in reversed(others):
        waiting.setdefault(canonical(_value(actual[other])), []).append(other)
    return [
        (one, waiting[text].pop()) for one in ones if waiting.get(text := canonical(_value(expected[one])))
    ]


def _changed_pairs(
    expected: Sequence[ToolCall],
    actual: Sequence[ToolCall],
    rest: list[int],
    new: list[int],
    rules: Rules,
    closeness: Closeness | None,
) -> list[tuple[int, int]]:
    """Of the calls that are left, those of one tool that belong together by the least difference."""
    pairs = []
    for name in dict.fromkeys(expected[one].name for one in rest):
        ones = [one for one in rest if expected[one].name == name]
        others = [other for other in new if actual[other].name == name]
        if len(ones) * len(others) > _MAX_COMPARISONS:
            pairs += list(zip(ones, others, strict=False))
        else:
            pairs += cheapest_pairs(ones, others, _cost(expected, actual, rules, closeness))
    return sorted(pairs)


def _cost(
    expected: Sequence[ToolCall], actual: Sequence[ToolCall], rules: Rules, closeness: Closeness | None
) -> Callable[[int, int], float | None]:
    return lambda one, other: distance(_value(expected[one]), _value(actual[other]), rules, closeness)
