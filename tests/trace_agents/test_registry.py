"""The registry of strategies, and its twin in Starlark."""

import ast
from pathlib import Path

import pytest

import replay
from replay.errors import UsageError
from replay.trace.policy import POLICIES, likeness
from replay.trace.strategies import STRATEGIES, strategy

_LAYOUT = Path(replay.__file__).parent.parent / "rules/private/trace_layout.bzl"


def test_rules_and_runner_know_the_same_strategies() -> None:
    [table] = [
        ast.literal_eval(node.value)
        for node in ast.parse(_LAYOUT.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STRATEGIES"
    ]
    assert table == {name: (each.model, each.tools, each.unknown) for name, each in STRATEGIES.items()}


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(UsageError) as refusal:
        strategy("fuzzy")
    assert refusal.value.fix == f"write one of {', '.join(STRATEGIES)}"
    for changes in ({"model": "old"}, {"tools": "fake"}, {"unknown": "guess"}, {"runs": -1}):
        with pytest.raises(UsageError):
            strategy("full").with_changes(**changes)  # type: ignore[arg-type]


def test_changes_of_a_target_replace_what_the_strategy_says() -> None:
    changed = strategy("mock_tools").with_changes(model="served", unknown="nearest", runs=3)
    assert (changed.model, changed.tools, changed.unknown, changed.runs) == ("served", "served", "nearest", 3)
    assert not changed.is_live
    assert strategy("mock_tools").with_changes() == strategy("mock_tools")


@pytest.mark.parametrize(
    ("left", "right", "least", "most"),
    [
        ({"a": 1}, {"a": 1}, 1.0, 1.0),
        ({"a": 1}, {"a": 1.0}, 1.0, 1.0),
        ({"a": 1}, {"a": True}, 0.0, 0.0),
        ({"city": "Bern"}, {"city": "Berne"}, 0.8, 0.95),
        ({"q": "x", "n": 1}, {"q": "x", "n": 2}, 0.5, 0.5),
        ({}, [], 0.0, 1.0),
        ("a", None, 0.0, 0.0),
    ],
)
def test_likeness_is_a_share(left: object, right: object, least: float, most: float) -> None:
    assert least <= likeness(left, right) <= most
    assert likeness(left, right) == pytest.approx(likeness(right, left), abs=0.2)


def test_policies_are_three() -> None:
    assert sorted(POLICIES) == ["fail", "live", "nearest"]
