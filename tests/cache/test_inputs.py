"""Inputs held by number: comparing shared sets finds what comparing all files would."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from replay.cache.inputs import MAX_CHANGES, MAX_COUNTED, Inputs

PATHS = [f"file{number}" for number in range(6)]
# A forest: each group has leaves and groups before it. Content is a function of the path, or the other one's.
GROUPS = st.lists(
    st.tuples(st.sets(st.sampled_from(PATHS), max_size=3), st.sets(st.integers(0, 8), max_size=3)),
    min_size=1,
    max_size=8,
)


def build(
    inputs: Inputs, groups: Sequence[tuple[set[str], set[int]]], changed: set[str]
) -> tuple[int, dict[str, str]]:
    """The number of the last group, and what it holds when flattened."""
    numbers: list[int] = []
    flat: list[dict[str, str]] = []
    for leaves, below in groups:
        parts = [part for part in below if part < len(numbers)]
        content = {path: "other" if path in changed else "same" for path in leaves}
        numbers.append(
            inputs.group((inputs.leaf(*leaf) for leaf in content.items()), [numbers[part] for part in parts])
        )
        for part in parts:
            content = flat[part] | content
        flat.append(content)
    return numbers[-1], flat[-1]


@given(GROUPS, GROUPS, st.sets(st.sampled_from(PATHS)))
def test_comparison_of_sets_is_that_of_their_files(
    before: Sequence[tuple[set[str], set[int]]], after: Sequence[tuple[set[str], set[int]]], changed: set[str]
) -> None:
    inputs = Inputs()
    one, had = build(inputs, before, set())
    other, has = build(inputs, after, changed)
    expected = {
        path: (had.get(path, ""), has.get(path, ""))
        for path in had.keys() | has.keys()
        if had.get(path) != has.get(path)
    }
    difference = inputs.compare(one, other)
    assert {change.path: (change.before, change.after) for change in difference.changes} == expected
    assert difference.total == len(expected)


def test_equal_sets_of_two_logs_are_one_number() -> None:
    inputs = Inputs()
    first = inputs.group([inputs.leaf("a", "1"), inputs.leaf("b", "2")], [])
    assert first == inputs.group([inputs.leaf("b", "2"), inputs.leaf("a", "1")], [])
    assert first != inputs.group([inputs.leaf("a", "1")], [])


def test_sources_come_before_what_is_made_of_them() -> None:
    inputs = Inputs()
    paths = ["bazel-out/k8/bin/a", "external/repo/b", "src/c"]
    one = inputs.group([inputs.leaf(path, "1") for path in paths], [])
    other = inputs.group([inputs.leaf(path, "2") for path in paths], [])
    assert [change.path for change in inputs.compare(one, other).changes] == paths[::-1]


def test_of_very_many_changes_the_first_are_told_and_a_bound_is_counted() -> None:
    inputs = Inputs()
    count = 10 * MAX_CHANGES
    one = inputs.group([inputs.leaf(f"{number:05}", "1") for number in range(count)], [])
    other = inputs.group([inputs.leaf(f"{number:05}", "2") for number in range(count)], [])
    deep_one, deep_other = one, other
    for depth in range(3000):
        # As deep as Bazel allows a depset to be.
        mark = inputs.leaf(f"level{depth}", "same")
        deep_one, deep_other = inputs.group([mark], [deep_one]), inputs.group([mark], [deep_other])
    difference = inputs.compare(deep_one, deep_other)
    assert difference.total == MAX_COUNTED
    assert [change.path for change in difference.changes] == [f"{number:05}" for number in range(MAX_CHANGES)]


def test_input_that_a_shared_set_holds_as_well_is_no_change() -> None:
    inputs = Inputs()
    leaf = inputs.leaf("a", "1")
    shared = inputs.group([leaf, inputs.leaf("b", "1")], [])
    plain, twice = inputs.group([], [shared]), inputs.group([leaf], [shared])
    assert inputs.compare(plain, twice) == inputs.compare(twice, plain) == ((), 0)
