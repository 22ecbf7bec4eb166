"""Which calls of two runs belong together, and what each mode lets pass."""

from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import UsageError
from replay.trace.assignment import cheapest_pairs, most_pairs, out_of_order
from replay.trace.model import AgentStep, AgentTrace
from replay.trace.rules import EXACT, read_rules
from replay.trace.trajectory import MODES, ToolCall, Trajectory, compare_trajectory, tool_calls

CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=5)
NEAR = read_rules([{"path": "$.input", "absolute": 1, "reason": "test"}])


def calls(*listed: Any) -> list[ToolCall]:
    return [ToolCall(name, value) for name, value in listed]


def compare(expected: Any, actual: Any, mode: str = "strict", rules: Any = EXACT) -> Trajectory:
    return compare_trajectory(calls(*expected), calls(*actual), mode, rules)


READ: Any
WRITE: Any
TEST: Any
READ, WRITE, TEST = ("read", {"path": "a"}), ("write", {"path": "a"}), ("test", {})


@pytest.mark.parametrize(
    ("actual", "passes"),
    [
        ([READ, WRITE, TEST], "strict unordered subset superset"),
        ([WRITE, READ, TEST], "unordered subset superset"),
        ([READ, WRITE], "subset"),
        ([], "subset"),
        ([READ, WRITE, TEST, READ], "superset"),
        ([TEST, WRITE, READ, READ], "superset"),
        ([READ, ("write", {"path": "b"}), TEST], ""),
        ([READ, WRITE, ("check", {})], ""),
    ],
)
def test_each_mode_lets_pass_what_it_says(actual: list[Any], passes: str) -> None:
    for mode in MODES:
        found = compare([READ, WRITE, TEST], actual, mode)
        assert found.passed == (mode in passes.split()), mode
        assert bool(found.reasons()) != found.passed


def test_reasons_name_what_is_missing_extra_moved_and_changed() -> None:
    assert compare([READ, WRITE, TEST], [READ, WRITE]).reasons() == ["call 3 is missing: test({})"]
    assert compare([READ], [READ, READ]).reasons() == ['call 2 is extra: read({"path":"a"})']
    assert compare([READ, WRITE, TEST], [WRITE, TEST, READ]).reasons() == [
        'call 1 moved to place 3: read({"path":"a"})'
    ]
    assert compare([READ], [("read", {"path": "b"})]).reasons() == [
        'call 1 read: $.input.path: "a" became "b"'
    ]
    assert compare([("read", 1)], [("look", 1)]).reasons() == [
        "call 1 is missing: read(1)",
        "call 1 is extra: look(1)",
    ]


def test_changed_call_is_paired_with_the_nearest_of_its_tool() -> None:
    first, second = ("put", {"a": 1, "b": 1, "c": 1}), ("put", {"a": 2, "b": 2, "c": 2})
    found = compare([first, second], [("put", {"a": 2, "b": 2, "c": 9}), ("put", {"a": 1, "b": 9, "c": 1})])
    assert [(one.expected, one.actual) for one in found.changed] == [(0, 1), (1, 0)]
    assert [str(one) for change in found.changed for one in change.mismatches] == [
        "$.input.b: 1 became 9 (+8, 0.889 of the larger)",
        "$.input.c: 2 became 9 (+7, 0.778 of the larger)",
    ]


def test_loop_is_so_many_extra_calls_and_nothing_else() -> None:
    found = compare([READ, WRITE], [READ, READ, READ, WRITE], "superset")
    assert found.passed and found.extra == (1, 2) and not found.moved


def test_call_that_was_dropped_moves_no_other() -> None:
    found = compare([READ, WRITE, READ], [WRITE, READ])
    assert found.missing == (0,) and not found.moved


def test_tolerance_needs_the_best_assignment() -> None:
    # The first alone could take either; taking its nearest would leave the second without one.
    assert compare([("t", 1), ("t", 0)], [("t", 0), ("t", 2)], "unordered", NEAR).passed
    assert not compare([("t", 1), ("t", 0)], [("t", 2), ("t", 2)], "unordered", NEAR).passed


def test_tool_whose_name_a_rule_ignores_may_be_renamed() -> None:
    rules = read_rules([{"path": "$.name", "ignore": True, "reason": "test"}])
    assert compare([("read", 1)], [("fetch", 1)], "strict", rules).passed


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match='"sloppy" is no trajectory mode'):
        compare([], [], "sloppy")


def test_long_loops_are_compared_in_time() -> None:
    expected = [("poll", {"n": at}) for at in range(1500)]
    found = compare(expected, [*reversed(expected), ("poll", {"n": "x"})], "superset")
    assert found.passed and len(found.matched) == 1500 and len(found.extra) == 1
    assert not compare(expected, [*expected[:-1], ("poll", {"n": -1})], "unordered", NEAR).passed


def test_calls_of_a_trace_are_its_tool_steps() -> None:
    steps = (
        AgentStep("1", "reasoning"),
        AgentStep("2", "tool_call", tool_name="read", tool_input={"path": "a"}),
        AgentStep("3", "tool_call", tool_name="list"),
    )
    assert tool_calls(AgentTrace("t", "task", steps)) == (
        ToolCall("read", {"path": "a"}, "$.steps[1]"),
        ToolCall("list", None, "$.steps[2]"),
    )


@given(CALLS)
def test_calls_are_like_themselves_in_every_mode(listed: list[Any]) -> None:
    for mode in MODES:
        found = compare(listed, listed, mode)
        assert found.passed and found.score == 1
        assert found.matched == tuple((at, at) for at in range(len(listed)))


@given(CALLS, CALLS, st.booleans())
def test_swapping_the_sides_swaps_the_verdict(one: list[Any], other: list[Any], near: bool) -> None:
    rules = NEAR if near else EXACT
    forth = {mode: compare(one, other, mode, rules) for mode in MODES}
    back = {mode: compare(other, one, mode, rules) for mode in MODES}
    assert forth["strict"].passed == back["strict"].passed
    assert forth["unordered"].passed == back["unordered"].passed
    assert forth["subset"].passed == back["superset"].passed
    assert len(forth["strict"].matched) == len(back["strict"].matched)
    if not near:
        assert len(forth["strict"].moved) == len(back["strict"].moved)


@given(CALLS, CALLS)
def test_modes_imply_each_other(one: list[Any], other: list[Any]) -> None:
    passed = {mode: compare(one, other, mode).passed for mode in MODES}
    assert passed["unordered"] or not passed["strict"]
    assert passed["unordered"] == (passed["subset"] and passed["superset"])


@given(CALLS, CALLS, st.booleans())
def test_every_call_is_accounted_for_once(one: list[Any], other: list[Any], near: bool) -> None:
    found = compare(one, other, "strict", NEAR if near else EXACT)
    ours = (
        [pair[0] for pair in found.matched] + [change.expected for change in found.changed] + [*found.missing]
    )
    theirs = (
        [pair[1] for pair in found.matched] + [change.actual for change in found.changed] + [*found.extra]
    )
    assert sorted(ours) == list(range(len(one))) and sorted(theirs) == list(range(len(other)))
    assert set(found.moved) <= set(found.matched)


@given(CALLS, CALLS)
def test_unordered_is_equality_of_bags(one: list[Any], other: list[Any]) -> None:
    assert compare(one, other, "unordered").passed == (sorted(one) == sorted(other))


RELATION = st.integers(0, 4).flatmap(
    lambda left: st.integers(0, 4).flatmap(
        lambda right: st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, None]), min_size=right, max_size=right),
            min_size=left,
            max_size=left,
        )
    )
)


def all_pairings(left: int, right: int) -> list[list[tuple[int, int]]]:
    found: list[list[tuple[int, int]]] = []
    for size in range(min(left, right) + 1):
        for ones in combinations(range(left), size):
            found += [list(zip(ones, others, strict=True)) for others in permutations(range(right), size)]
    return found


@given(RELATION)
def test_most_pairs_are_as_many_as_any_search_finds(table: list[list[float | None]]) -> None:
    left, right = len(table), len(table[0]) if table else 0

    def fits(one: int, other: int) -> bool:
        return table[one][other] is not None

    pairs = most_pairs(left, right, fits)
    assert all(fits(*pair) for pair in pairs)
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)
    best = max(
        (pairing for pairing in all_pairings(left, right) if all(fits(*pair) for pair in pairing)), key=len
    )
    assert len(pairs) == len(best)


@given(RELATION)
def test_cheapest_pairs_cost_no_more_than_any_search_finds(table: list[list[float | None]]) -> None:
    left, right = len(table), len(table[0]) if table else 0
    pairs = cheapest_pairs(range(left), range(right), lambda one, other: table[one][other])

    def cost(pairing: list[tuple[int, int]]) -> tuple[int, float]:
        return -len(pairing), sum(table[one][other] or 0.0 for one, other in pairing)

    possible = [
        pairing
        for pairing in all_pairings(left, right)
        if all(table[one][other] is not None for one, other in pairing)
    ]
    assert cost(pairs) == min(map(cost, possible))


@given(st.permutations(range(6)))
def test_out_of_order_is_the_smallest_set(order: list[int]) -> None:
    pairs = list(enumerate(order))
    moved = out_of_order(pairs)
    rest = [other for one, other in pairs if (one, other) not in moved]
    assert rest == sorted(rest)
    longest = max(
        size
        for size in range(len(order) + 1)
        for run in combinations(order, size)
        if list(run) == sorted(run)
    )
    assert len(rest) == longest
