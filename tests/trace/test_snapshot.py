"""What an agent holds at one moment: its hash, its file, its differences."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.trace.rules import read_rules
from replay.trace.snapshot import (
    Snapshot,
    read_snapshot,
    snapshot_differences,
    snapshot_hash,
    tool_registry,
    write_snapshot,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5, -0.0, 1e19, "a", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
SNAPSHOTS = st.builds(Snapshot, st.sampled_from(["start", "end"]), VALUES, VALUES, VALUES, VALUES)
SNAPSHOT = Snapshot("after step 2", {"notes": ["a", "b"]}, {"files": 2}, {"tokens": 100}, {"read": {}})


@given(SNAPSHOTS, SNAPSHOTS)
def test_one_hash_is_no_difference(left: Snapshot, right: Snapshot) -> None:
    assert (snapshot_hash(left) == snapshot_hash(right)) == (not snapshot_differences(left, right))


@given(SNAPSHOTS)
def test_accepted_snapshot_is_read_as_it_was(snapshot: Snapshot) -> None:
    data = write_snapshot(snapshot)
    again = read_snapshot(data, "s.json")
    assert snapshot_differences(snapshot, again) == [] and write_snapshot(again) == data


def test_hash_is_the_same_in_every_version() -> None:
    assert (
        snapshot_hash(SNAPSHOT) == "sha256:ab4d036152f42925ac9207fa4475850d686450b8d80b2586183ba44c60bb907b"
    )


def test_order_of_keys_and_spelling_of_numbers_are_no_difference() -> None:
    other = SNAPSHOT._replace(state={"files": 2.0}, memory={"notes": ["a", "b"]})
    assert write_snapshot(other) == write_snapshot(SNAPSHOT)
    one, two = Snapshot("x", {"a": 1, "b": 2}), Snapshot("x", {"b": 2, "a": 1})
    assert snapshot_hash(one) == snapshot_hash(two) and write_snapshot(one) == write_snapshot(two)


def test_difference_is_named_by_path() -> None:
    other = SNAPSHOT._replace(memory={"notes": ["a"]}, tools={"read": {}, "write": {}})
    found = snapshot_differences(SNAPSHOT, other)
    assert [str(one) for one in found] == ['$.memory.notes[1]: "b" is missing', "$.tools.write: {} was added"]
    assert str(snapshot_differences(SNAPSHOT, SNAPSHOT._replace(label="x"))[0]).startswith("$.label")
    by = read_rules(
        [
            {"path": "$.memory", "ignore": True, "reason": "x"},
            {"path": "$.tools.write", "ignore": True, "reason": "x"},
        ]
    )
    assert snapshot_differences(SNAPSHOT, other, by) == []


def test_registry_is_by_name() -> None:
    plain = [{"name": "read", "description": "reads"}, {"name": "write"}]
    openai = [{"type": "function", "function": {"name": "write"}}, {"type": "function", "function": plain[0]}]
    assert tool_registry(plain) == tool_registry(openai) == {"read": {"description": "reads"}, "write": {}}
    assert tool_registry(None) == {}


@pytest.mark.parametrize(
    "tools", [[{}], ["read"], [{"name": ""}], [{"name": "a"}, {"name": "a"}], [{"function": {}}]]
)
def test_registry_without_names_is_refused(tools: Any) -> None:
    with pytest.raises(FixtureError, match="tool"):
        tool_registry(tools)


def changed(**members: Any) -> bytes:
    return orjson.dumps({**orjson.loads(write_snapshot(SNAPSHOT)), **members})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{\n\n", "s.json:3: is not JSON"),
        (b"[]", "is no snapshot"),
        (changed(schema=2), "is no snapshot"),
        (changed(label=1), "is no snapshot"),
        (changed(memroy=1), 'has a member "memroy"'),
        (changed(memory=1), "was changed by hand"),
        (changed(hash="sha256:0"), "was changed by hand"),
        (b'{"schema":1,"label":"x","memory":' + b"[" * 250 + b"]" * 250 + b"}", "nests deeper"),
        (b" " * ((16 << 20) + 1), "are allowed"),
    ],
)
def test_bad_snapshot_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read_snapshot(data, "s.json")
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1 << 64])
def test_number_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(FixtureError, match="the value holds"):
        snapshot_hash(Snapshot("x", [value]))
