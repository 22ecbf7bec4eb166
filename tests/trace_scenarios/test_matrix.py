"""How the matrix is told; that two strategies complete each other."""

from replay.runner.trace_matrix import Row
from replay.trace.changes import AgentChange
from scenarios.trace.matrix import gate, render

_CHANGES = [
    AgentChange("regression/loop", "regression", {"X": "loop"}),
    AgentChange("regression/state", "regression", {"X": "state"}),
    AgentChange("harmless/clock", "harmless", {"X": "clock"}),
]


def row(name: str, loop: bool, state: bool, clock: bool) -> Row:
    return Row(
        name, True, 1.0, {"regression/loop": loop, "regression/state": state}, {"harmless/clock": clock}, 2.0
    )


def test_a_gate_is_against_what_one_of_its_strategies_is_against() -> None:
    made = gate([row("semantic", True, False, False), row("snapshot", False, True, True)])
    assert made is not None
    assert all(made.caught.values())
    assert made.failed == {"harmless/clock": True}
    assert made.seconds == 4.0


def test_without_one_of_its_strategies_there_is_no_gate() -> None:
    assert gate([row("semantic", True, True, False)]) is None


def test_the_matrix_counts_and_names_what_is_wrong() -> None:
    text = render([row("semantic", True, False, False), row("snapshot", False, True, True)], _CHANGES)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["semantic"][1:] in (
        ["passes", "1.00", "1", "1", "0", "1", "50%", "2.0"],
        ["+", "snapshot", "passes", "1.00", "2", "0", "1", "0", "100%", "4.0"],
    )
    assert lines["regression/state"] == ["regression/state", "MISSED", "caught", "caught"]
    assert lines["harmless/clock"] == ["harmless/clock", "passes", "ALARM", "ALARM"]


def test_a_strategy_that_could_not_be_measured_says_why() -> None:
    refused = Row("semantic", False, 0.0, {}, {}, 0.0, "no text model")
    assert "semantic" in render([refused], _CHANGES)
    assert "no text model" in render([refused], _CHANGES)
