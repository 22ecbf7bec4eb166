"""suite.json's read_only, through the runner: an agent that reads once more than its baseline did."""

from typing import Any

import pytest

from replay.runner.trace_guard import TraceTree, check_trace_tree
from replay.scenario.tree import Tree
from replay.trace.codec import write_trace
from tests.trace_agents.stage import GOOD_STEPS, WEATHER, Outcome, Stage, model, tool

READ, WRITE = {"path": "a.txt"}, {"path": "a.txt", "text": "rain"}
NOTE = WEATHER._replace(
    trace_id="note",
    steps=(
        model(1, WEATHER.task, "read it"),
        tool(2, "read_file", READ, "sun"),
        tool(3, "write_file", WRITE, "done"),
    ),
    metadata={"category": "files"},
    final_answer="written",
)
ASK, DONE = GOOD_STEPS[0], {"final": "written", "success": True}
READS, WRITES = {"tool": "read_file", "input": READ}, {"tool": "write_file", "input": WRITE}


@pytest.fixture
def noted(stage: Stage) -> Stage:
    stage.traces = [NOTE]
    stage.script["answers"] = {"model": "read it", "read_file": "sun", "write_file": "done"}
    stage.suite = {"schema": 1, "read_only": ["read_file"], "categories": {"files": {}}}
    return stage


def played(stage: Stage, strategy: str, *steps: dict[str, Any]) -> Outcome:
    stage.manifest["strategy"] = strategy
    stage.steps(ASK, *steps, DONE)
    return stage.run()


EXTRA = ([READS, WRITES, READS], [READS, READS, WRITES])


@pytest.mark.parametrize("strategy", ["exact", "mock_tools", "full"])
@pytest.mark.parametrize("steps", EXTRA)
def test_extra_read_is_a_note(noted: Stage, strategy: str, steps: list[dict[str, Any]]) -> None:
    outcome = played(noted, strategy, *steps)
    assert outcome.code == 0, outcome.text
    assert "is extra, and only reads: read_file" in str(outcome.report)


@pytest.mark.parametrize("strategy", ["exact", "mock_tools", "full"])
def test_without_the_declaration_it_fails(noted: Stage, strategy: str) -> None:
    del noted.suite["read_only"]
    outcome = played(noted, strategy, READS, WRITES, READS)
    assert outcome.code == 1
    assert "trajectory: call 3 is extra: read_file" in outcome.text


def test_category_takes_the_declaration_back(noted: Stage) -> None:
    noted.suite["categories"]["files"]["read_only"] = []
    assert played(noted, "full", READS, WRITES, READS).code == 1


@pytest.mark.parametrize("strategy", ["exact", "mock_tools", "full"])
@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([WRITES], "call 1 is missing: read_file"),
        ([WRITES, READS], "call 2 moved to place 1: write_file"),
        ([READS, WRITES, WRITES], "call 3 is extra: write_file"),
    ],
)
def test_missing_moved_and_written_fail(noted: Stage, strategy: str, steps: list[Any], says: str) -> None:
    outcome = played(noted, strategy, *steps)
    assert outcome.code == 1
    assert says in str(outcome.report["traces"][0]["reasons"])


def test_read_of_something_else_instead_is_a_change(noted: Stage) -> None:
    outcome = played(noted, "full", {**READS, "input": {"path": "b.txt"}}, WRITES)
    assert outcome.code == 1
    assert 'call 1 read_file: $.input.path: "a.txt" became "b.txt"' in outcome.text


def test_served_tools_cannot_answer_a_read_that_was_not_recorded(noted: Stage) -> None:
    other = {**READS, "input": {"path": "notes/b.txt"}}
    assert played(noted, "full", READS, WRITES, other).code == 0
    for strategy in ("exact", "mock_tools"):
        outcome = played(noted, strategy, READS, WRITES, other)
        assert outcome.code == 1
        assert 'the trace holds no call of "read_file" with this input' in outcome.text


def test_extra_read_counts_for_the_budget(noted: Stage) -> None:
    noted.suite["budgets"] = {"steps": {"over_baseline": 0}}
    outcome = played(noted, "full", READS, WRITES, READS)
    assert outcome.code == 1
    assert "steps: " in outcome.text


def test_guard_says_of_a_read_only_tool_that_it_wrote() -> None:
    wrote = NOTE.steps[2]._replace(env_state_before={"disk": {}}, env_state_after={"disk": {"a.txt": "rain"}})
    trace = NOTE._replace(steps=(*NOTE.steps[:2], wrote))
    files = {
        "traces/note.json": write_trace(trace),
        "suite.json": b'{"schema": 1, "read_only": ["read_file", "write_file"]}\n',
    }
    tree = Tree("shop", "//shop:guard_test", (), (), (), [*files, "traces/"], (), files)
    assert [str(error) for error in check_trace_tree(TraceTree(tree))] == [
        'shop/suite.json $.read_only: calls "write_file" read-only, and its call s3 of "note" changed the state "disk"'
    ]
