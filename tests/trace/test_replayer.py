"""One run as messages: what each gets, what becomes of it in the run's trace, and which have no place."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from replay.errors import AgentError
from replay.trace import replayer as module
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError
from replay.trace.protocol import MODEL, TOOL, Ask, Done, Hello, Message, Observed, Outcome, State
from replay.trace.replayer import LEFT_TRACE, UNFINISHED, Places, Replayer
from replay.trace.strategies import STRATEGIES

MESSAGES = [{"role": "user", "content": "go"}]
BASE = AgentTrace(
    "t",
    "look at {{cwd}}/a",
    (
        AgentStep("s1", "reasoning", 1, messages=MESSAGES, response="look", prompt_tokens=7),
        AgentStep(
            "s2",
            "tool_call",
            2,
            tool_name="look",
            tool_input={"at": "{{cwd}}/a"},
            error=StepError("OSError", "no file {{cwd}}/a"),
        ),
        AgentStep("s3", "final_answer", 3, response="done"),
    ),
    metadata={"category": "c", "error": {"type": "Old", "message": "of an earlier run"}},
    success=True,
    final_answer="done",
)
PLACES = Places(
    fill=lambda value: _through(value, "{{cwd}}", "/run/1"),
    redact=lambda value: _through(value, "/run/1", "{{cwd}}"),
)
ASK = Ask(MODEL, 1, messages=MESSAGES)
LOOK = Ask(TOOL, 2, "look", {"at": "/run/1/a"})


def _through(value: Any, old: str, new: str) -> Any:
    return value if value is ABSENT else orjson.loads(orjson.dumps(value).replace(old.encode(), new.encode()))


def play(messages: Sequence[Message], strategy: str = "exact", **hello: Any) -> tuple[Replayer, list[Any]]:
    """A replayer after these messages, a millisecond apart, and what it answered."""
    replayer = Replayer(BASE, STRATEGIES[strategy], Hello(**hello), 2, PLACES)
    answers = [replayer.receive(message, number) for number, message in enumerate(messages, 1)]
    return replayer, [orjson.loads(answer) for answer in answers if answer]


def test_run_is_opened_in_its_own_directories() -> None:
    opening = orjson.loads(Replayer(BASE, STRATEGIES["exact"], Hello(), 2, PLACES).opening())
    assert (opening["op"], opening["run"], opening["seed"], opening["task"]) == (
        "run",
        2,
        2,
        "look at /run/1/a",
    )


def test_served_error_names_the_directories_of_the_run_and_its_trace_those_of_every_run() -> None:
    replayer, answers = play([ASK, LOOK, Outcome("done", True)])
    assert answers[1]["error"] == {"type": "OSError", "message": "no file /run/1/a"}
    run = replayer.end(9)
    assert not run.divergences and run.error is None
    assert run.actual.steps[1].error == BASE.steps[1].error
    assert run.actual.steps[1].tool_input == {"at": "{{cwd}}/a"}


def test_live_error_and_that_of_the_end_are_written_down_without_directories() -> None:
    error = StepError("OSError", "no file /run/1/b")
    replayer, answers = play([LOOK, Done(2, error=error), Outcome(error=error)], "full")
    assert answers == [{"op": "answer", "id": 2, "live": True}]
    run = replayer.end(9)
    assert run.error is None
    assert run.actual.steps[0].error == StepError("OSError", "no file {{cwd}}/b")
    assert run.actual.metadata == {
        "category": "c",
        "error": {"type": "OSError", "message": "no file {{cwd}}/b"},
    }
    assert run.actual.success is False and [step.step_type for step in run.actual.steps] == ["tool_call"]


def test_error_of_an_earlier_run_is_none_of_this_one() -> None:
    replayer, _ = play([ASK, LOOK, Outcome("done", True)])
    assert replayer.end(9).actual.metadata == {"category": "c"}


def test_served_call_has_the_tokens_of_its_recording_and_a_live_one_what_the_agent_says() -> None:
    served = play([ASK, LOOK, Outcome("done", True)])[0].end(9).actual
    assert (served.steps[0].prompt_tokens, served.total_tokens) == (7, 7)
    live = play([ASK, Done(1, "look", prompt_tokens=3, completion_tokens=2), Outcome("done")], "full")[0]
    assert live.end(9).actual.total_tokens == 5
    silent = play([ASK, Done(1, "look"), Outcome("done")], "full")[0]
    assert silent.end(9).actual.total_tokens is None


def test_state_belongs_to_what_was_done_last_else_to_what_is_done_first() -> None:
    states: list[Message] = [
        State("db", "a"),
        ASK,
        State("db", "/run/1"),
        State("memory", 1),
        LOOK,
        Outcome("done", True),
    ]
    run = play(states)[0].end(9)
    first, second, _ = run.actual.steps
    assert (first.env_state_before, first.env_state_after) == ({"db": "a"}, {"db": "{{cwd}}", "memory": 1})
    assert second.env_state_before is None
    assert run.states == (("db", "a"), ("db", "{{cwd}}"), ("memory", 1))


def test_call_that_the_trace_does_not_hold_ends_the_run_and_every_call_after_it() -> None:
    replayer, answers = play([ASK, Ask(TOOL, 2, "write", {}), Ask(TOOL, 3, "look", {})])
    assert replayer.has_left and replayer.is_over
    assert [(answer["over"], answer["error"]["type"]) for answer in answers[1:]] == [(True, LEFT_TRACE)] * 2
    run = replayer.end(9)
    # It left its trace, and is not to blame for the end that it could not reach.
    assert run.error is None and [one.kind for one in run.divergences] == ["unknown_tool"]
    assert run.actual.success is False and len(run.actual.steps) == 2


def test_run_that_stops_without_an_end_is_a_fault_of_the_agent_and_what_was_open_is_unfinished() -> None:
    replayer, _ = play([ASK], "full")
    run = replayer.end(5)
    assert isinstance(run.error, AgentError) and "ended without a final" in run.error.what
    step = run.actual.steps[0]
    assert step.error == UNFINISHED and step.model_duration_ms == 4


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([ASK, ASK], "used the id 1 for two calls"),
        ([Done(1, "x")], "is done with a call 1 that it never made"),
        ([ASK, Done(1, "x")], "is done with a call 1 that is no live call"),
        ([Hello()], "said hello twice"),
        ([Outcome("x"), Observed("mail", 1)], "said observed after its final"),
        ([Outcome("x"), Outcome("y")], "said outcome after its final"),
        ([Observed("mail", 1)] * 4, "made more than 3 steps"),
    ],
)
def test_message_without_a_place_is_a_fault_of_the_agent(
    messages: list[Message], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_STEPS", 3)
    with pytest.raises(AgentError, match=sentence):
        play(messages)
