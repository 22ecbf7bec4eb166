"""A baseline renewed by a run: what did not change keeps its bytes, and a change is told alone."""

from pathlib import Path
from typing import Any

import pytest

import replay
from replay.trace.codec import read_trace, write_trace
from replay.trace.model import ABSENT, AgentStep, AgentTrace
from replay.trace.protocol import MODEL, TOOL, Ask, Hello, Outcome
from replay.trace.renewal import renewed
from replay.trace.replayer import Replayer
from replay.trace.server import happening
from replay.trace.strategies import LIVE, STRATEGIES, Strategy

EXACT = STRATEGIES["exact"]
RECORDED = sorted((Path(replay.__file__).parent.parent / "scenarios/trace").glob("*/traces/*.json"))


def model(number: int, said: str, response: Any, **members: Any) -> AgentStep:
    return AgentStep(
        f"s{number}",
        "reasoning",
        number * 100.0,
        messages=[{"role": "user", "content": said}],
        response=response,
        model_duration_ms=50.0,
        prompt_tokens=10,
        completion_tokens=5,
        **members,
    )


def tool(number: int, name: str, output: Any, **members: Any) -> AgentStep:
    return AgentStep(
        f"s{number}", "tool_call", number * 100.0, tool_name=name, tool_input={"n": name}, tool_output=output,
        tool_duration_ms=40.0, **members,
    )  # fmt: skip


BASE = AgentTrace(
    "t",
    "a task",
    (
        model(1, "go", "look"),
        tool(2, "look", 1, env_state_before={"db": 0, "seen": 1}, env_state_after={"db": 1, "seen": 1}),
        model(3, "below the tool", "x", parent_id="s2"),
        model(4, "and now", "write"),
        tool(5, "write", 2, extra={"newer": [1]}),
        AgentStep("s6", "final_answer", 600.0, response="done"),
    ),
    success=True,
    final_answer="done",
    total_duration_ms=650.0,
    total_tokens=45,
)


def again(trace: AgentTrace, strategy: Strategy, *left_out: str) -> AgentTrace:
    """What a run comes to whose agent does the same again in no time, but for calls that it leaves out."""
    replayer = Replayer(trace, strategy, Hello(agent_version=trace.agent_version, many=False))
    for at, step in enumerate(happening(trace, strategy).steps):
        if step.step_id in left_out:
            continue
        if step.step_type == "reasoning":
            said = (step.model_name, step.temperature, step.messages, step.tools)
            replayer.ask(ask(MODEL, at, step, said), 0.001)
        elif step.step_type == "tool_call":
            replayer.ask(ask(TOOL, at, step), 0.001)
    replayer.receive(Outcome(trace.final_answer, trace.success), 0.002)
    run = replayer.end(0.003)
    assert run.error is None
    return run.actual


def ask(kind: str, at: int, step: AgentStep, model: tuple[Any, ...] = ("", None, None, None)) -> Ask:
    name, temperature, messages, tools = model
    return Ask(
        kind,
        at,
        name=step.tool_name,
        messages=messages,
        tools=tools,
        model_name=name,
        temperature=temperature,
        options=step.options or {},
        input=step.tool_input,
        tool_call_id=step.tool_call_id,
    )


def with_step(actual: AgentTrace, at: int, **members: Any) -> AgentTrace:
    steps = list(actual.steps)
    steps[at] = steps[at]._replace(**members)
    return actual._replace(steps=tuple(steps))


def changed_lines(before: AgentTrace, after: AgentTrace) -> set[str]:
    return {
        line.strip() for line in set(write_trace(after).decode().split("\n")) - set(write_trace(before).decode().split("\n"))
    }  # fmt: skip


@pytest.mark.parametrize("strategy", ["exact", "snapshot"])
def test_run_that_did_the_same_renews_nothing(strategy: str) -> None:
    assert renewed(BASE, again(BASE, STRATEGIES[strategy]), STRATEGIES[strategy]) == BASE


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_recorded_trace_that_is_played_again_keeps_its_bytes(path: Path) -> None:
    data = path.read_bytes()
    trace = read_trace(data, path.name)
    assert write_trace(renewed(trace, again(trace, EXACT), EXACT)) == data


def test_there_are_recorded_traces() -> None:
    assert len(RECORDED) > 80


def test_changed_value_is_the_only_changed_line() -> None:
    actual = again(BASE, EXACT)
    other = with_step(actual, 2, messages=[{"role": "user", "content": "and then"}])
    assert changed_lines(BASE, renewed(BASE, other, EXACT)) == {'"content": "and then"'}
    answered = with_step(actual, 4, response="all done")._replace(final_answer="all done")
    assert changed_lines(BASE, renewed(BASE, answered, EXACT)) == {
        '"response": "all done"', '"final_answer": "all done",',
    }  # fmt: skip


def test_change_of_a_step_keeps_what_is_of_its_recording_alone() -> None:
    other = with_step(again(BASE, EXACT), 3, tool_input={"n": "w"}, step_id="x9", timestamp=7.0)
    found = renewed(BASE, other, EXACT).steps[4]
    assert found == BASE.steps[4]._replace(tool_input={"n": "w"})


def test_added_step_comes_between_the_times_of_its_neighbours_and_has_an_id_of_its_own() -> None:
    actual = again(BASE, EXACT)
    added = tool(9, "list", 3)._replace(timestamp=7000.0, tool_duration_ms=3.0)
    steps = renewed(BASE, actual._replace(steps=(*actual.steps[:2], added, *actual.steps[2:])), EXACT).steps
    assert [step for step in steps if step.step_id != "s7"] == list(BASE.steps)
    assert steps[3] == added._replace(step_id="s7", timestamp=350.0)
    # There is no room for one that took longer, and then it took nobody knows how long.
    slow = added._replace(tool_duration_ms=51.0)
    steps = renewed(BASE, actual._replace(steps=(*actual.steps[:2], slow, *actual.steps[2:])), EXACT).steps
    assert (steps[3].timestamp, steps[3].tool_duration_ms) == (350.0, None)
    times = [step.timestamp for step in steps]
    assert times == sorted(times)


def test_step_that_is_left_out_goes_with_what_lay_inside_it() -> None:
    found = renewed(BASE, again(BASE, EXACT, "s2"), EXACT)
    assert [step.step_id for step in found.steps] == ["s1", "s4", "s5", "s6"]
    assert (found.total_duration_ms, found.total_tokens) == (650.0, 30)


def test_states_of_a_served_tool_stay_and_what_the_agent_holds_is_taken() -> None:
    actual = again(BASE, EXACT)
    # The database is as nobody changed it; what the agent remembers is its own.
    said = with_step(actual, 1, env_state_after={"db": 0, "seen": 2})
    assert renewed(BASE, said, EXACT).steps[1].env_state_after == {"db": 1, "seen": 2}
    live = STRATEGIES["full"]
    assert renewed(BASE, said, live).steps[1].env_state_after == {"db": 0, "seen": 2}


def test_live_tool_renews_what_happened_inside_it() -> None:
    strategy = STRATEGIES["mock_tools"].with_changes(tools=LIVE)
    inside = with_step(BASE, 2, response="y")
    assert renewed(BASE, inside, strategy) == inside
    alone = BASE._replace(steps=tuple(step for step in BASE.steps if step.step_id != "s3"))
    assert [step.step_id for step in renewed(BASE, alone, strategy).steps] == ["s1", "s2", "s4", "s5", "s6"]


def test_parent_of_a_new_step_is_known_by_its_recorded_id() -> None:
    strategy = STRATEGIES["full"]
    outer = BASE.steps[1]._replace(step_id="s4")
    inner = model(5, "something else", "z", parent_id="s4")._replace(response=ABSENT, tool_name="other")
    found = renewed(BASE, BASE._replace(steps=(BASE.steps[0], outer, inner)), strategy)
    assert [(step.step_id, step.parent_id) for step in found.steps] == [("s1", ""), ("s2", ""), ("s7", "s2")]
