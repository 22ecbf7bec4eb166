"""An extra call of a tool that only reads: told, and no failure; anything else about it is."""

from typing import Any

import orjson
import pytest

from replay.errors import FixtureError
from replay.trace.divergence import ORDER, REPEATED, Divergence
from replay.trace.edges import SuiteFile, explain_suite
from replay.trace.outcome import judge_run
from replay.trace.replayer import Run
from replay.trace.rules import EXACT
from replay.trace.strategies import STRATEGIES
from replay.trace.suite import MAX_TOOLS, TraceRules, read_suite
from replay.trace.suite_check import check_read_only
from replay.trace.trajectory import ToolCall, Trajectory, compare_trajectory
from tests.trace.suite_values import make_trace

READ: Any = ("read", {"path": "a"})
WRITE: Any = ("write", {"path": "a"})
MODES = ("strict", "unordered", "subset")


def compare(expected: Any, actual: Any, mode: str) -> Trajectory:
    ours, theirs = ([ToolCall(*call) for call in side] for side in (expected, actual))
    return compare_trajectory(ours, theirs, mode, EXACT, None, {"read"})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "actual",
    [
        [READ, WRITE, READ],
        [READ, READ, WRITE],
        [READ, WRITE, ("read", {"path": "b"})],
        [READ, READ, READ, WRITE],
    ],
)
def test_extra_read_is_a_note_in_every_mode(mode: str, actual: Any) -> None:
    found = compare([READ, WRITE], actual, mode)
    assert found.passed and found.reasons() == [] and found.extra == ()
    assert len(found.notes()) == len(actual) - 2
    assert found.notes()[0].endswith(f"is extra, and only reads: {found.actual[found.tolerated[0]]}")


@pytest.mark.parametrize(
    ("actual", "failing"),
    [
        # Missing, with another input, at another place, and an extra call of a tool that is not declared.
        ([WRITE], "strict unordered"),
        ([("read", {"path": "b"}), WRITE], "strict unordered subset"),
        ([WRITE, READ], "strict"),
        ([READ, WRITE, WRITE], "strict unordered subset"),
        ([READ, WRITE, READ, WRITE], "strict unordered subset"),
    ],
)
def test_everything_else_fails_as_before(actual: Any, failing: str) -> None:
    for mode in MODES:
        found = compare([READ, WRITE], actual, mode)
        assert found.passed == (mode not in failing.split()), (mode, found.reasons())
        assert bool(found.reasons()) != found.passed


def judge(divergence: Divergence, actual: Any, rules: TraceRules) -> tuple[list[str], list[str]]:
    """Reasons and notes under `exact`."""
    run = Run(make_trace(calls=actual), (divergence,))
    found = judge_run(make_trace(calls=[READ, WRITE]), run, rules, STRATEGIES["exact"])
    return [one.kind for one in found.reasons], [one.kind for one in found.notes]


def test_call_by_call_a_read_may_come_early_and_again_and_nothing_else() -> None:
    reads = TraceRules(read_only=("read",))
    # Steps 1 and 3 of the baseline are its calls.
    for kind in (ORDER, REPEATED):
        again = [READ, WRITE, READ]
        assert judge(Divergence(kind, 1, "a read"), again, reads) == ([], ["trace", "trajectory"])
        assert judge(Divergence(kind, 1, "a read"), again, TraceRules())[0] == ["trace", "trajectory"]
        assert judge(Divergence(kind, 3, "a write"), [READ, WRITE], reads) == (["trace"], [])
    for kind in ("prompt", "unconsumed", "nearest"):
        assert judge(Divergence(kind, 1, "else"), [READ, WRITE], reads)[0] == ["trace"]
    assert judge(Divergence("unknown_tool", -1, "else", is_fatal=True), [READ, WRITE], reads)[0] == ["trace"]


def test_nearest_list_counts() -> None:
    suite = read_suite(
        orjson.dumps(
            {
                "schema": 1,
                "read_only": ["read", "list"],
                "categories": {"careful": {"read_only": []}, "other": {}},
                "traces": {"t9": {"read_only": ["read"]}},
            }
        ),
        "suite.json",
    )
    assert suite.rules_for("t1", "other").read_only == ("read", "list")
    assert suite.rules_for("t1", "careful").read_only == ()
    assert suite.rules_for("t9", "careful").read_only == ("read",)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("read", f'$.read_only: must be a list of up to {MAX_TOOLS} names of tools, not "read"'),
        (["x"] * (MAX_TOOLS + 1), f"$.read_only: must be a list of up to {MAX_TOOLS} names of tools"),
        (["read", 7], "$.read_only[1]: must be the name of a tool, not 7"),
        ([""], '$.read_only[0]: must be the name of a tool, not ""'),
        (["a\u001bb"], "$.read_only[0]: must be the name of a tool"),
        (["read", "read"], "$.read_only[1]: names a tool twice"),
    ],
)
def test_list_that_is_none_is_refused_with_its_place(value: Any, sentence: str) -> None:
    data = orjson.dumps({"schema": 1, "read_only": value})
    with pytest.raises(FixtureError) as caught:
        read_suite(data, "suite.json")
    assert sentence in str(caught.value)


def test_edge_takes_and_refuses_what_the_reader_does() -> None:
    SuiteFile.model_validate({"schema": 1, "read_only": ["read"], "categories": {"a": {"read_only": []}}})
    data = b'{"schema": 1,\n"threshold": 95,\n"traces": {"t": {"read_only": ["a", 3]}}}'
    with pytest.raises(FixtureError) as caught:
        read_suite(data, "suite.json")
    assert [str(error) for error in explain_suite(data, "suite.json", caught.value)] == [
        "suite.json:3 $.traces.t.read_only[1]: input should be a valid string"
    ]


def test_recorded_call_that_changed_a_state_is_not_read_only() -> None:
    trace = make_trace("t1", "files", calls=[READ, WRITE])
    steps = [
        step._replace(
            env_state_before={"disk": {}}, env_state_after={"disk": {"a": step.tool_name == "write"}}
        )
        if step.step_type == "tool_call"
        else step
        for step in trace.steps
    ]
    steps[1] = steps[1]._replace(env_state_after={"disk": {}})
    trace = trace._replace(steps=tuple(steps))

    def check(document: dict[str, Any]) -> list[str]:
        suite = read_suite(orjson.dumps({"schema": 1, **document}), "suite.json")
        return [str(error) for error in check_read_only(suite, [trace, trace], "suite.json")]

    said = 'calls "write" read-only, and its call t2 of "t1" changed the state "disk"'
    assert check({"read_only": ["read"]}) == []
    assert check({"read_only": ["read", "write"]}) == [f"suite.json $.read_only: {said}"]
    assert check({"read_only": ["write"], "categories": {"files": {"read_only": ["read"]}}}) == []
    assert check({"categories": {"files": {"read_only": ["write"]}}}) == [
        f"suite.json $.categories.files.read_only: {said}"
    ]
    assert check({"traces": {"t1": {"read_only": ["write"]}}}) == [
        f"suite.json $.traces.t1.read_only: {said}"
    ]
