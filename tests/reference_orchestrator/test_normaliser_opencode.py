"""Requests, responses and events of an OpenCode server in, provider events out."""

from itertools import permutations
from typing import Any

import pytest

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.normalisers.opencode import OpencodeNormaliser
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    PlanStep,
    PlanUpdated,
    ProviderEvent,
    RequestOpened,
    RequestResolved,
    SteerRejected,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)

Frame = dict[str, Any]


def asked(operation: str, **parameters: Any) -> Frame:
    return {"type": operation, "input": parameters}


def response(operation: str, data: object = None, **fields: Any) -> Frame:
    return {"type": "sdk.response", "operation": operation, **(fields or {"data": data})}


def event(kind: str, /, session: str = "s", **properties: Any) -> Frame:
    return {"type": "sdk.event", "event": {"type": kind, "properties": {"sessionID": session, **properties}}}


def message(name: str, role: str, session: str = "s", **info: Any) -> Frame:
    return event("message.updated", session, info={"id": name, "role": role, "sessionID": session, **info})


def part(kind: str, name: str, session: str = "s", in_message: str = "m", **fields: Any) -> Frame:
    whole = {"id": name, "messageID": in_message, "sessionID": session, "type": kind, **fields}
    return event("message.part.updated", session, part=whole)


def tool(call: str, status: str, name: str = "bash", session: str = "s", **state: Any) -> Frame:
    return part(
        "tool", f"p-{call}", session, callID=call, tool=name, state={"status": status, "input": {}, **state}
    )


def status(kind: str, session: str = "s") -> Frame:
    return event("session.status", session, status={"type": kind})


def opened(operation: str = "session.create") -> tuple[OpencodeNormaliser, list[ProviderEvent]]:
    normaliser = OpencodeNormaliser()
    normaliser.sent(asked(operation))
    return normaliser, heard(normaliser, response(operation, {"id": "s"}))


def running() -> OpencodeNormaliser:
    normaliser, _ = opened()
    normaliser.sent(asked("session.promptAsync", parts=[{"type": "text", "text": "hi"}]))
    heard(
        normaliser,
        response("session.promptAsync"),
        message("u", "user"),
        status("busy"),
        message("m", "assistant"),
    )
    return normaliser


def heard(normaliser: OpencodeNormaliser, *frames: Frame) -> list[ProviderEvent]:
    return [event for frame in frames for event in normaliser.received(frame)]


def of_kind[T](kind: type[T], events: list[ProviderEvent]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize(("operation", "resumed"), [("session.create", False), ("session.get", True)])
def test_a_session_is_a_thread(operation: str, resumed: bool) -> None:
    assert opened(operation)[1] == [ThreadOpened("s", resumed)]


def test_events_of_a_session_that_is_not_open_yet_wait_for_it() -> None:
    normaliser = OpencodeNormaliser()
    normaliser.sent(asked("session.create"))
    assert heard(normaliser, message("u", "user")) == []
    assert heard(normaliser, response("session.create", {"id": "s"})) == [
        ThreadOpened("s", False),
        TurnStarted("u"),
    ]


def test_a_turn_is_from_the_users_message_to_idleness() -> None:
    normaliser, _ = opened()
    normaliser.sent(asked("session.promptAsync"))
    prompt = Item("p", "user_message", text="hi")
    events = heard(
        normaliser,
        status("idle"),
        message("u", "user"),
        part("text", "p", in_message="u", text="hi"),
        message("u", "user", summary={"diffs": []}),
        status("busy"),
        status("idle"),
        event("session.idle"),
    )
    assert events == [
        TurnStarted("u"),
        ItemStarted(prompt),
        ItemCompleted(prompt),
        TurnEnded("u", "completed"),
    ]


def test_the_response_may_come_anywhere_among_the_events() -> None:
    frames = [message("u", "user"), status("busy"), status("idle"), response("session.promptAsync")]
    seen = set()
    for order in permutations(range(4)):
        if [number for number in order if number != 3] == [0, 1, 2]:
            normaliser, _ = opened()
            normaliser.sent(asked("session.promptAsync"))
            seen.add(tuple(heard(normaliser, *(frames[number] for number in order))))
    assert seen == {(TurnStarted("u"), TurnEnded("u", "completed"))}


def test_a_text_grows_by_deltas_and_is_complete_when_it_has_an_end() -> None:
    delta = event("message.part.delta", messageID="m", partID="p", field="text", delta="ab")
    events = heard(
        running(),
        part("text", "p", text="", time={"start": 1}),
        delta,
        part("text", "p", text="ab", time={"start": 1}),
        part("text", "p", text="abc", time={"start": 1}),
        part("text", "p", text="abc", time={"start": 1, "end": 2}),
        part("text", "p", text="abc", time={"start": 1, "end": 2}, metadata={}),
    )
    whole = Item("p", "agent_message", text="abc")
    assert events == [
        ItemStarted(Item("p", "agent_message")),
        ItemDelta("p", "ab"),
        ItemUpdated(whole),
        ItemCompleted(whole),
    ]


def test_what_the_server_adds_to_a_prompt_is_no_item() -> None:
    assert heard(running(), part("text", "p", in_message="u", text="file", synthetic=True)) == []


def test_a_tool_call_is_an_item_by_its_call() -> None:
    events = heard(
        running(), tool("t", "pending"), tool("t", "running", title="ls"), tool("t", "error", error="no")
    )
    detail = {"tool": "bash", "input": {}}
    assert events == [
        ItemStarted(Item("t", "command", None, "bash", None, "pending", detail)),
        ItemUpdated(Item("t", "command", None, "ls", None, "running", detail)),
        ItemCompleted(Item("t", "command", None, "bash", "no", "error", detail)),
    ]


def test_usage_is_told_once_a_message() -> None:
    done = message("m", "assistant", time={"completed": 2}, tokens={"output": 1}, cost=0.5)
    assert heard(running(), done, done) == [UsageUpdated({"tokens": {"output": 1}, "cost": 0.5})]


@pytest.mark.parametrize(
    ("frames", "ended"),
    [
        ([message("m", "assistant", error={"name": "MessageAbortedError"})], TurnEnded("u", "interrupted")),
        (
            [message("m", "assistant", error={"name": "APIError", "data": {"message": "401"}})],
            TurnEnded("u", "failed", "401"),
        ),
        ([event("session.error", error={"name": "UnknownError"})], TurnEnded("u", "failed", "UnknownError")),
    ],
)
def test_an_error_is_how_the_turn_ends_once_it_is_idle(frames: list[Frame], ended: TurnEnded) -> None:
    normaliser = running()
    assert heard(normaliser, *frames) == []
    assert heard(normaliser, status("idle")) == [ended]


@pytest.mark.parametrize("answer_first", [True, False])
def test_an_abort_ends_nothing_and_idleness_does(answer_first: bool) -> None:
    normaliser = running()
    normaliser.sent(asked("session.abort"))
    answer, idle = response("session.abort", data=True), status("idle")
    events = heard(normaliser, *([answer, idle] if answer_first else [idle, answer]))
    assert events == [TurnEnded("u", "interrupted")]


def test_an_abort_that_came_too_late_changes_nothing() -> None:
    normaliser = running()
    heard(normaliser, message("m", "assistant", finish="stop"))
    normaliser.sent(asked("session.abort"))
    assert heard(normaliser, status("idle")) == [TurnEnded("u", "completed")]


def test_a_message_in_a_turn_steers_it() -> None:
    normaliser = running()
    normaliser.sent(asked("session.promptAsync"))
    steered = heard(normaliser, message("u2", "user"), part("text", "p2", in_message="u2", text="no"))
    assert [type(event) for event in steered] == [ItemStarted, ItemCompleted]
    assert heard(normaliser, status("idle")) == [TurnEnded("u", "completed")]


def test_a_refused_message_is_a_turn_that_failed_or_a_steering_that_was_rejected() -> None:
    error = {"data": {"message": "bad model"}}
    normaliser, _ = opened()
    normaliser.sent(asked("session.promptAsync"))
    refused = response("session.promptAsync", error=error, status=400)
    assert heard(normaliser, refused) == [TurnEnded("", "failed", "bad model")]
    normaliser = running()
    normaliser.sent(asked("session.promptAsync", parts=[{"type": "text", "text": "no"}]))
    assert heard(normaliser, refused) == [SteerRejected("no", "bad model")]


def test_an_error_before_the_message_is_a_turn_that_failed() -> None:
    normaliser, _ = opened()
    normaliser.sent(asked("session.promptAsync"))
    failed = event("session.error", error={"name": "ProviderAuthError", "data": {"message": "no key"}})
    assert heard(normaliser, failed, status("idle")) == [TurnEnded("", "failed", "no key")]


def test_a_child_is_a_session_that_a_task_names() -> None:
    early = [message("cu", "user", "c"), part("text", "cp", "c", "cu", text="Read it")]
    events = heard(
        running(),
        tool("t", "pending", "task"),
        *early,
        tool("t", "running", "task", metadata={"sessionId": "c"}),
        tool("n", "completed", "read", "c", output="x"),
        status("idle", "c"),
        tool("t", "completed", "task", metadata={"sessionId": "c"}, output="It says x."),
    )
    assert of_kind(SubagentStarted, events) == [SubagentStarted("t", "c")]
    assert [(done.item.item_id, done.item.parent_item_id) for done in of_kind(ItemCompleted, events)] == [
        ("cp", "t"),
        ("n", "t"),
        ("t", None),
    ]
    assert of_kind(SubagentEnded, events) == [SubagentEnded("t", "completed")]
    assert not of_kind(TurnStarted, events) and not of_kind(TurnEnded, events)


def test_a_child_ends_once_however_often_its_task_is_told() -> None:
    done = tool("t", "completed", "task", metadata={"sessionId": "c"})
    events = heard(running(), tool("t", "running", "task", metadata={"sessionId": "c"}), done, done)
    assert of_kind(SubagentEnded, events) == [SubagentEnded("t", "completed")]


def test_sessions_of_others_are_forgotten() -> None:
    normaliser = running()
    for number in range(200):
        assert heard(normaliser, message("x", "user", f"other-{number}")) == []
    assert len(normaliser._waiting) == 64


def test_a_permission_is_open_until_the_server_says_otherwise() -> None:
    normaliser = running()
    request = event(
        "permission.asked", id="r", permission="bash", patterns=["ls"], metadata={}, tool={"callID": "t"}
    )
    (asking,) = heard(normaliser, request)
    assert isinstance(asking, RequestOpened)
    assert (asking.kind, asking.item_id, asking.detail["patterns"]) == ("approval", "t", ["ls"])
    replied = event("permission.replied", requestID="r", reply="always")
    assert heard(normaliser, replied) == [RequestResolved("r", "allow_always")]


def test_questions_are_known_by_their_place() -> None:
    normaliser = running()
    options = [{"label": "1.0", "description": "first"}, {"label": "2.0"}]
    questions = [
        {"question": "Which?", "header": "V", "options": options, "multiple": True},
        {"question": "Why?"},
    ]
    (asking,) = heard(normaliser, event("question.asked", id="q", questions=questions))
    assert isinstance(asking, RequestOpened)
    assert asking.detail["questions"] == [
        {"id": "question-1", "question": "Which?", "header": "V", "options": options, "multiple": True},
        {"id": "question-2", "question": "Why?", "options": []},
    ]
    assert normaliser.questions == {"q": ("question-1", "question-2")}
    replied = event("question.replied", requestID="q", answers=[["1.0"], []])
    assert heard(normaliser, replied) == [RequestResolved("q", "answered")]
    assert normaliser.questions == {}


def test_a_rejected_question_is_cancelled() -> None:
    normaliser = running()
    heard(normaliser, event("question.asked", id="q", questions=[]))
    assert heard(normaliser, event("question.rejected", requestID="q")) == [RequestResolved("q", "cancelled")]


@pytest.mark.parametrize(
    ("fields", "error"), [({"data": {}}, None), ({"error": {"message": "gone"}, "status": 404}, "gone")]
)
def test_a_revert_is_a_rollback(fields: Frame, error: str | None) -> None:
    normaliser = running()
    heard(normaliser, status("idle"))
    normaliser.sent(asked("session.revert", messageID="u"))
    assert heard(normaliser, response("session.revert", **fields)) == [ThreadRolledBack(None, error)]


def test_todos_are_the_plan_of_the_session_and_not_of_its_children() -> None:
    todos = [{"content": "a", "status": "in_progress"}]
    assert heard(running(), event("todo.updated", todos=todos)) == [
        PlanUpdated((PlanStep("a", "in_progress"),))
    ]
    normaliser = running()
    heard(normaliser, tool("t", "running", "task", metadata={"sessionId": "c"}))
    assert heard(normaliser, event("todo.updated", "c", todos=todos)) == []


@pytest.mark.parametrize("kind", ["session.updated", "session.diff", "message.removed", "session.created"])
def test_what_says_nothing_of_a_turn_is_ignored(kind: str) -> None:
    server = {"type": "sdk.event", "event": {"type": "server.heartbeat", "properties": {}}}
    assert heard(running(), event(kind), server) == []


def test_what_is_unknown_is_kept() -> None:
    events = heard(running(), event("session.hologram"), part("hologram", "p"))
    assert [done.item.title for done in of_kind(ItemCompleted, events)] == ["session.hologram", "hologram"]


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"type": "sdk.event", "event": {}},
        response("session.fork"),
        event("message.updated", info={}),
        event("permission.asked", permission="bash"),
        part("tool", "p"),
        event("message.part.updated", part={"type": "text", "sessionID": "s"}),
    ],
)
def test_what_the_protocol_forbids_is_an_error(frame: Frame) -> None:
    with pytest.raises(ProviderError):
        heard(running(), frame)
