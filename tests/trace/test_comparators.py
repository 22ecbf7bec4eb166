"""What two values have to be to count as alike, and what a mismatch says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError, UsageError
from replay.trace.comparators import MAX_MISMATCHES, are_alike, differences, distance
from replay.trace.json_paths import Cursor, parse_path, shown_path
from replay.trace.rules import KINDS, Rules, read_rules
from replay.trace.state_changes import changes, state_differences

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(-5, 5, allow_nan=False).map(lambda value: round(value, 1))
    | st.text("abc", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "odd key"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def rules(*listed: dict[str, Any]) -> Rules:
    return read_rules([{"reason": "test", **entry} for entry in listed])


def paths(*pair: Any, by: Rules | None = None, **kwargs: Any) -> list[str]:
    return [found.path for found in differences(*pair, by or Rules(), **kwargs)]


@given(VALUES)
def test_a_value_is_like_itself(value: Any) -> None:
    assert differences(value, value) == []
    assert distance(value, value) == 0


@given(VALUES, VALUES)
def test_likeness_is_symmetric(left: Any, right: Any) -> None:
    assert are_alike(left, right) == are_alike(right, left)
    assert {found.path for found in differences(left, right)} == {
        found.path for found in differences(right, left)
    }


@given(st.lists(st.integers(-3, 3), max_size=4), st.lists(st.integers(-3, 3), max_size=4), st.integers(0, 2))
def test_likeness_is_symmetric_under_tolerance_and_without_order(
    left: list[int], right: list[int], most: int
) -> None:
    by = rules({"path": "$", "unordered": True}, {"path": "$", "absolute": most})
    assert are_alike(left, right, by) == are_alike(right, left, by)
    assert len(differences(left, right, by)) == len(differences(right, left, by))


@given(VALUES, VALUES, VALUES)
def test_likeness_without_tolerance_is_transitive(one: Any, two: Any, three: Any) -> None:
    if are_alike(one, two) and are_alike(two, three):
        assert are_alike(one, three)


@given(VALUES, VALUES)
def test_ignored_place_hides_no_other(left: Any, right: Any) -> None:
    by = rules({"path": "$.a", "ignore": True})
    hidden = [found for found in differences(left, right) if found.place[:1] == ("a",)]
    seen = [found for found in differences(left, right) if found.place[:1] != ("a",)]
    assert differences(left, right, by) == seen
    assert len(differences(left, right)) == len(seen) + len(hidden)


@given(VALUES, VALUES)
def test_ignoring_each_mismatch_by_its_path_leaves_none(left: Any, right: Any) -> None:
    found = differences(left, right)
    by = rules(*({"path": one.path, "ignore": True} for one in found))
    assert differences(left, right, by) == []
    for number, one in enumerate(found):
        others = Rules([rule for at, rule in enumerate(by.listed) if at != number])
        assert differences(left, right, others), one.path


@given(VALUES, VALUES)
def test_every_mismatch_stands_where_it_says(left: Any, right: Any) -> None:
    for found in differences(left, right):
        path = parse_path(found.path)
        assert path is not None and shown_path(found.place) == found.path
        cursor = Cursor([path])
        for key in found.place:
            cursor = cursor.step([path], key)
        assert cursor.ended == [0]


@pytest.mark.parametrize(
    ("left", "right", "kind", "amount"),
    [
        (1, 2, "number", 1),
        (1, 0.5, "number", -0.5),
        (1, True, "type", None),
        (None, 0, "type", None),
        (True, False, "changed", None),
        ("abcd", "abxd", "changed", 0.25),
        ([], {}, "type", None),
        ("1", 1, "type", None),
    ],
)
def test_mismatch_says_kind_and_amount(left: Any, right: Any, kind: str, amount: float | None) -> None:
    [found] = differences({"v": left}, {"v": right})
    assert (found.path, found.kind, found.amount) == ("$.v", kind, amount)
    assert str(found).startswith("$.v: ") and "\n" not in str(found)


def test_one_and_one_point_zero_are_alike_and_key_order_is_none() -> None:
    assert are_alike({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0})


def test_null_and_absent_differ() -> None:
    [found] = differences({"a": None}, {})
    assert (found.kind, found.message) == ("missing", "null is missing")


def test_element_that_was_put_in_is_one_mismatch() -> None:
    assert paths([1, 2, 3, 4], [1, 9, 2, 3, 4]) == ["$[1]"]
    assert paths([1, 2, 3, 4], [1, 3, 4]) == ["$[1]"]


@pytest.mark.parametrize(("right", "alike"), [(1.04, True), (1.06, False), (0.96, True), (0.94, False)])
def test_absolute_tolerance(right: float, alike: bool) -> None:
    assert are_alike({"x": [1]}, {"x": [right]}, rules({"path": "$.x", "absolute": 0.05})) == alike


def test_relative_tolerance_is_of_the_larger() -> None:
    by = rules({"path": "$", "relative": 0.1})
    assert are_alike(90, 100, by) and are_alike(100, 90, by)
    assert not are_alike(89, 100, by)
    [found] = differences(50, 100, by)
    assert found.message == "50 became 100 (+50, 0.5 of the larger; 10 is allowed)"


def test_tolerance_lets_no_text_or_boolean_pass() -> None:
    by = rules({"path": "$", "absolute": 9})
    assert not are_alike("1", "2", by)
    assert not are_alike(True, False, by)
    assert not are_alike(1, True, by)


def test_later_rule_counts() -> None:
    by = rules({"path": "$", "absolute": 9}, {"path": "$.strict", "absolute": 0})
    assert paths({"strict": 1, "x": 1}, {"strict": 2, "x": 2}, by=by) == ["$.strict"]


def test_unordered_needs_the_best_assignment() -> None:
    by = rules({"path": "$", "unordered": True}, {"path": "$", "absolute": 1})
    # A greedy 0 takes the 1 and leaves 2 alone with -1.
    assert are_alike([0, 2], [1, -1], by)
    assert not are_alike([0, 2], [1, 1.5, -1], by)


def test_unordered_names_what_is_left() -> None:
    by = rules({"path": "$.tags", "unordered": True})
    found = differences({"tags": ["a", "b", "c"]}, {"tags": ["c", "a", "d"]}, by)
    assert [(one.path, one.message) for one in found] == [("$.tags[1]", '"b" became "d"')]
    assert paths({"tags": [["a", "b"]]}, {"tags": [["b", "a"]]}, by=by) == ["$.tags[0][0]", "$.tags[0][1]"]


def test_ignored_element_does_not_move_its_neighbours() -> None:
    assert paths([1, 2, 3], [1, 3]) == ["$[1]"]
    assert paths([1, 2, 3], [1, 3], by=rules({"path": "$[1]", "ignore": True})) == []


def test_long_lists_without_order_are_compared_in_time() -> None:
    by = rules({"path": "$", "unordered": True}, {"path": "$", "absolute": 0.1})
    numbers: list[Any] = list(range(3000))
    assert are_alike(numbers, numbers[::-1], by)
    assert paths(numbers, [*numbers[:0:-1], -7], by=by) == ["$[0]"]


def test_pattern_holds_for_both_sides() -> None:
    by = rules({"path": "$.id", "pattern": "^run-[0-9]+$"})
    assert are_alike({"id": "run-1"}, {"id": "run-22"}, by)
    [found] = differences({"id": "run-1"}, {"id": "walk"}, by)
    assert found.message == "\"walk\" of the run does not match '^run-[0-9]+$'"
    assert paths({"id": "x"}, {"id": "run-1"}, by=by) == ["$.id"]
    assert paths({"id": "run-1"}, {"id": 1}, by=by) == ["$.id"]
    assert are_alike({"id": "b"}, {"id": "a"}, rules({"path": "$.id", "pattern": "(a)|b"}))


def test_pattern_that_could_take_for_ever_is_refused() -> None:
    with pytest.raises(FixtureError, match="repeats the group"):
        rules({"path": "$", "pattern": "(a+)+b"})
    by = rules({"path": "$", "pattern": "a*a*b"})
    with pytest.raises(FixtureError, match="could take more than"):
        differences("a" * 20_000, "a" * 20_001, by)


def test_similarity_and_meaning_ask_the_model() -> None:
    asked = []

    def closeness(left: str, right: str) -> float:
        asked.append((left, right))
        return 0.7

    by = rules({"path": "$.a", "similarity": 0.8})
    [found] = differences({"a": {"b": "x"}}, {"a": {"b": "y"}}, by, closeness)
    assert (found.path, found.kind, round(found.amount or 0, 6)) == ("$.a.b", "similarity", 0.3)
    assert are_alike({"a": "x"}, {"a": "y"}, rules({"path": "$.a", "similarity": 0.7}), closeness)
    by = rules({"path": "$..text", "meaning": True})
    [found] = differences({"text": "It took 2 minutes."}, {"text": "It took 3 minutes."}, by, closeness)
    assert (found.kind, found.message) == ("meaning", 'number: "2 minutes" became "3 minutes"')
    assert are_alike({"text": "It took 2 minutes."}, {"text": "It took 120 seconds."}, by, closeness)
    assert asked


def test_rule_of_closeness_without_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match="no text model was loaded"):
        differences(1, 1, rules({"path": "$", "meaning": True}))


@pytest.mark.parametrize(
    ("path", "place", "fits"),
    [
        ("$", (), True),
        ("$.a[*].b", ("a", 3, "b"), True),
        ("$.a[*].b", ("a", "3", "b"), False),
        ("$.a.*", ("a", "x"), True),
        ("$.a.*", ("a", 0), False),
        ("$..b", ("a", 0, "b"), True),
        ("$..b", ("b",), True),
        ("$..b", ("a", "bb"), False),
        ("$..b.c", ("b", "b", "c"), True),
        ('$["a.b"]', ("a.b",), True),
        ("$.a[1]", ("a", 1), True),
        ("$.a[1]", ("a", 10), False),
    ],
)
def test_path_names_its_places_and_no_others(path: str, place: tuple[str | int, ...], fits: bool) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    cursor = Cursor([parsed])
    for key in place:
        cursor = cursor.step([parsed], key)
    assert bool(cursor.ended) == fits


@pytest.mark.parametrize(
    "path", ["", "a", "$a", "$.", "$[", "$[x]", "$..", "$.a[", "$[-1]", "$." + "a." * 70 + "a"]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    assert parse_path(path) is None


BAD = [
    ({"path": "$.a", "reason": "x"}, "is no rule of comparison"),
    ({"path": "$.a", "ignore": True}, "is no rule of comparison"),
    ({"path": "$.a", "ignore": True, "absolute": 1, "reason": "x"}, "is no rule of comparison"),
    ({"path": "$.a", "ignored": True, "reason": "x"}, "is no rule of comparison"),
    ({"path": "a", "ignore": True, "reason": "x"}, "is no JSON path"),
    ({"ignore": True, "reason": "x"}, "has no path"),
    ({"path": "$.a", "ignore": False, "reason": "x"}, "ignore is true or not there"),
    ({"path": "$.a", "absolute": -1, "reason": "x"}, "absolute is a number, 0 or more"),
    ({"path": "$.a", "absolute": True, "reason": "x"}, "absolute is a number"),
    ({"path": "$.a", "relative": 2, "reason": "x"}, "relative is a number between 0 and 1"),
    ({"path": "$.a", "similarity": 1.5, "reason": "x"}, "similarity is a number between 0 and 1"),
    ({"path": "$.a", "pattern": 1, "reason": "x"}, "pattern is a text"),
    ({"path": "$.a", "pattern": "(", "reason": "x"}, "the pattern '\\('"),
    ("rule", "is no rule of comparison"),
]


@pytest.mark.parametrize(("entry", "message"), BAD)
def test_bad_rule_is_refused_with_its_place(entry: Any, message: str) -> None:
    with pytest.raises(FixtureError, match=message) as caught:
        read_rules([{"path": "$", "unordered": True, "reason": "x"}, entry])
    assert caught.value.where.path.startswith("$.compare[1]")


def test_bad_rule_is_refused_as_a_whole() -> None:
    for wrong in ({}, None, "x", [{}] * 201):
        with pytest.raises(FixtureError):
            read_rules(wrong)
    assert len(KINDS) == 7


def test_rule_that_names_nothing_is_told() -> None:
    by = rules({"path": "$.a[*].id", "ignore": True}, {"path": "$.gone", "ignore": True})
    assert by.unmet([{"a": []}, {"a": [{"id": 1}]}]) == ["nothing stands at $.gone (test): drop the rule"]


def test_mismatches_are_bounded() -> None:
    assert len(differences([0] * 5000, [1] * 5000)) == MAX_MISMATCHES


STATE: dict[str, Any] = {"files": {"a.txt": "1", "b.txt": "2"}, "clock": 1}


def test_change_of_state_is_named_by_path() -> None:
    after = {"files": {"a.txt": "one", "c.txt": "3"}, "clock": 1}
    found = {one.path: one.kind for one in changes(STATE, after)}
    assert found == {
        '$.files["a.txt"]': "changed",
        '$.files["b.txt"]': "missing",
        '$.files["c.txt"]': "extra",
    }


def test_runs_that_did_the_same_to_other_states_are_alike() -> None:
    other = {"files": {"a.txt": "1", "b.txt": "2", "old": "x"}, "clock": 7}
    ours = (STATE, {**STATE, "done": True})
    assert state_differences(ours, (other, {**other, "done": True})) == []
    [found] = state_differences(ours, (other, other))
    assert (found.path, found.kind, found.message) == (
        "$.done",
        "missing",
        "only the baseline changed nothing to true",
    )
    [found] = state_differences((STATE, STATE), (other, {**other, "done": True}))
    assert (found.path, found.kind) == ("$.done", "extra")
    [found] = state_differences(ours, (other, {**other, "done": False}))
    assert (found.path, found.kind) == ("$.done", "changed")


def test_rules_hold_for_changes_of_state() -> None:
    other = {**STATE, "clock": 50}
    by = rules({"path": "$.clock", "ignore": True}, {"path": "$.cost", "absolute": 1})
    ours = (STATE, {**STATE, "clock": 2, "cost": 10})
    assert state_differences(ours, (other, {**other, "cost": 10.5}), by) == []
    [found] = state_differences(ours, (other, {**other, "cost": 12}), by)
    assert found.path == "$.cost" and found.amount == 2


@given(VALUES, VALUES)
def test_state_that_both_leave_alone_is_no_difference(one: Any, other: Any) -> None:
    assert state_differences((one, one), (other, other)) == []
