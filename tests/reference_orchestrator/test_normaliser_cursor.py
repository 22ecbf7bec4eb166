"""Frames of a Cursor agent in, provider events out."""

from typing import Any

import pytest

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.normalisers.cursor import CursorNormaliser
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    PlanStep,
    PlanUpdated,
    ProviderEvent,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)

Frame = dict[str, Any]


def opened(operation: str = "create") -> tuple[CursorNormaliser, list[ProviderEvent]]:
    normaliser = CursorNormaliser()
    normaliser.sent({"type": "agent.open", "operation": operation, "options": {}})
    return normaliser, [*normaliser.received({"type": "agent.opened", "agentId": "a"})]


def running() -> CursorNormaliser:
    normaliser, _ = opened()
    normaliser.sent({"type": "run.start", "agentId": "a", "message": "hi"})
    normaliser.received({"type": "run.started", "runId": "r", "agentId": "a"})
    return normaliser


def update(kind: str, /, **fields: Any) -> Frame:
    return {"type": "interaction.update", "runId": "r", "update": {"type": kind, **fields}}


def completed(status: str = "finished", **fields: Any) -> Frame:
    return {"type": "run.completed", "result": {"id": "r", "status": status, **fields}}


def heard(normaliser: CursorNormaliser, *frames: Frame) -> list[ProviderEvent]:
    return [event for frame in frames for event in normaliser.received(frame)]


@pytest.mark.parametrize(("operation", "resumed"), [("create", False), ("resume", True)])
def test_an_agent_is_a_thread(operation: str, resumed: bool) -> None:
    assert opened(operation)[1] == [ThreadOpened("a", resumed)]


@pytest.mark.parametrize(
    "first", [{"type": "run.started", "runId": "r", "agentId": "a"}, update("token-delta")]
)
def test_the_first_frame_of_a_run_begins_its_turn(first: Frame) -> None:
    normaliser, _ = opened()
    normaliser.sent({"type": "run.start", "agentId": "a", "message": {"text": "hi"}})
    prompt = Item("prompt-1", "user_message", text="hi")
    events = heard(normaliser, first, {"type": "run.started", "runId": "r", "agentId": "a"})
    assert events == [TurnStarted("r"), ItemStarted(prompt), ItemCompleted(prompt)]


def test_pieces_of_one_kind_are_one_message() -> None:
    events = heard(
        running(),
        update("thinking-delta", text="h"),
        update("thinking-completed", thinkingDurationMs=1),
        update("text-delta", text="a"),
        update("token-delta", tokens=1),
        update("text-delta", text="b"),
        update("turn-ended", usage={"outputTokens": 2}),
        completed(),
    )
    assert events == [
        ItemStarted(Item("thought-1", "reasoning")),
        ItemDelta("thought-1", "h"),
        ItemCompleted(Item("thought-1", "reasoning", text="h")),
        ItemStarted(Item("message-1", "agent_message")),
        ItemDelta("message-1", "a"),
        ItemDelta("message-1", "b"),
        UsageUpdated({"outputTokens": 2}),
        ItemCompleted(Item("message-1", "agent_message", text="ab")),
        TurnEnded("r", "completed"),
    ]


@pytest.mark.parametrize(
    ("frame", "ended"),
    [
        (completed("cancelled"), TurnEnded("r", "interrupted")),
        (completed("error", errorMessage="no credit"), TurnEnded("r", "failed", "no credit")),
        (completed("expired"), TurnEnded("r", "failed", "the run ended as 'expired'")),
    ],
)
def test_how_a_run_ended_is_its_status(frame: Frame, ended: TurnEnded) -> None:
    assert heard(running(), frame) == [ended]


def test_a_tool_call_is_an_item() -> None:
    call = {"type": "shell", "args": {"command": "ls"}}
    result = {"status": "success", "value": {"stdout": "a\n", "exitCode": 0}}
    events = heard(
        running(),
        update("tool-call-started", callId="t", toolCall=call),
        update("tool-call-started", callId="t", toolCall=call),
        update("tool-call-completed", callId="t", toolCall=call | {"result": result}),
    )
    detail: Frame = {"tool": "shell", "input": {"command": "ls"}}
    done = Item("t", "command", None, "ls", "a\n", "completed", detail | {"output": result["value"]})
    assert events == [
        ItemStarted(Item("t", "command", None, "ls", None, "in_progress", detail)),
        ItemUpdated(Item("t", "command", None, "ls", None, "in_progress", detail)),
        ItemCompleted(done),
    ]


def test_todos_are_a_plan() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "inProgress"}]
    call = {"type": "updateTodos", "args": {}, "result": {"status": "success", "value": {"todos": todos}}}
    events = heard(running(), update("tool-call-completed", callId="t", toolCall=call))
    assert events[-1] == PlanUpdated((PlanStep("a", "completed"), PlanStep("b", "in_progress")))


def test_a_task_is_a_child_whose_steps_come_with_its_end() -> None:
    steps = [
        {"assistantMessage": {"text": "I look."}},
        {
            "toolCall": {
                "readToolCall": {"args": {"path": "a"}, "result": {"success": {"content": "x"}}},
                "toolCallId": "n",
            }
        },
        {"assistantMessage": {"text": "It says x."}},
    ]
    call = {"type": "task", "args": {"description": "Read a", "agentId": "child"}}
    result = {"status": "success", "value": {"conversationSteps": steps}}
    events = heard(
        running(),
        update("tool-call-started", callId="t", toolCall=call),
        update("tool-call-completed", callId="t", toolCall=call | {"result": result}),
    )
    assert events[1] == SubagentStarted("t", "child")
    nested = [event.item for event in events if isinstance(event, ItemCompleted)]
    assert [(item.item_id, item.kind, item.parent_item_id) for item in nested] == [
        ("t/1", "agent_message", "t"),
        ("n", "tool_call", "t"),
        ("t/3", "agent_message", "t"),
        ("t", "subagent", None),
    ]
    assert nested[-1].text == "It says x."
    assert events[-1] == SubagentEnded("t", "completed")


def test_a_refused_message_is_a_turn_that_failed() -> None:
    normaliser, _ = opened()
    normaliser.sent({"type": "run.start", "agentId": "a", "message": "hi"})
    refused = {"type": "sdk.error", "operation": "run.start", "error": {"message": "no credit"}}
    assert heard(normaliser, refused) == [TurnEnded("", "failed", "no credit")]


def test_what_is_unknown_is_kept() -> None:
    events = heard(running(), update("hologram", light=1))
    assert [type(event) for event in events] == [ItemStarted, ItemCompleted]


@pytest.mark.parametrize(
    "frames",
    [
        [{}],
        [{"type": "agent.opened", "agentId": "b"}],
        [{"type": "run.started", "runId": "other"}],
        [{"type": "interaction.update", "update": {"type": "text-delta"}}],
        [{"type": "interaction.update", "runId": "r", "update": {}}],
        [update("tool-call-started", toolCall={})],
        [completed(), completed()],
    ],
)
def test_what_the_protocol_forbids_is_an_error(frames: list[Frame]) -> None:
    normaliser = running()
    with pytest.raises(ProviderError):
        heard(normaliser, *frames)
