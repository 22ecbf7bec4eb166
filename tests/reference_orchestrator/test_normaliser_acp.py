"""Frames of the Agent Client Protocol in, provider events out."""

from collections.abc import Iterable
from typing import Any

import pytest

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.normalisers.acp import AcpNormaliser
from scenarios.reference_orchestrator.normalisers.acp_form import content_of, questions_of
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
    ThreadOpened,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)

Frame = dict[str, Any]


def request(number: object, method: str, **params: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def update(kind: str, /, **fields: Any) -> Frame:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def chunk(text: str, kind: str = "agent_message_chunk") -> Frame:
    return update(kind, content={"type": "text", "text": text})


def done(number: int = 2, **result: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": number, "result": result or {"stopReason": "end_turn"}}


def prompting(method: str = "session/new") -> tuple[AcpNormaliser, list[ProviderEvent]]:
    """A session with a prompt on its way, and what was said until then."""
    normaliser = AcpNormaliser()
    normaliser.sent(request(1, method, sessionId="s", cwd="/w"))
    events = [*normaliser.received({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}})]
    events += normaliser.sent(
        request(2, "session/prompt", sessionId="s", prompt=[{"type": "text", "text": "hi"}])
    )
    return normaliser, events


def heard(normaliser: AcpNormaliser, frames: Iterable[Frame]) -> list[ProviderEvent]:
    return [event for frame in frames for event in normaliser.received(frame)]


def test_prompt_begins_a_turn_and_its_response_ends_it() -> None:
    normaliser, events = prompting()
    prompt = Item("prompt-1", "user_message", text="hi")
    assert events == [
        ThreadOpened("s", False),
        TurnStarted("turn-1"),
        ItemStarted(prompt),
        ItemCompleted(prompt),
    ]
    assert heard(normaliser, [done()]) == [TurnEnded("turn-1", "completed")]


def test_chunks_of_one_kind_are_one_message() -> None:
    normaliser, _ = prompting()
    frames = [chunk("he", "agent_thought_chunk"), chunk("a"), chunk("b"), done()]
    assert heard(normaliser, frames) == [
        ItemStarted(Item("thought-1", "reasoning")),
        ItemDelta("thought-1", "he"),
        ItemCompleted(Item("thought-1", "reasoning", text="he")),
        ItemStarted(Item("message-1", "agent_message")),
        ItemDelta("message-1", "a"),
        ItemDelta("message-1", "b"),
        ItemCompleted(Item("message-1", "agent_message", text="ab")),
        TurnEnded("turn-1", "completed"),
    ]


def test_chunks_behind_the_response_continue_their_message() -> None:
    normaliser, _ = prompting()
    events = heard(normaliser, [chunk("a"), done(), chunk("b"), chunk("c")])
    assert events[-4:] == [
        ItemDelta("message-1", "b"),
        ItemCompleted(Item("message-1", "agent_message", text="ab")),
        ItemDelta("message-1", "c"),
        ItemCompleted(Item("message-1", "agent_message", text="abc")),
    ]


def test_a_message_that_comes_whole_behind_the_response_is_started_and_completed() -> None:
    normaliser, _ = prompting()
    assert heard(normaliser, [done(), chunk("a")])[1:] == [
        ItemStarted(Item("message-1", "agent_message")),
        ItemDelta("message-1", "a"),
        ItemCompleted(Item("message-1", "agent_message", text="a")),
    ]


def test_a_tool_call_between_chunks_ends_the_message() -> None:
    normaliser, _ = prompting()
    call = update(
        "tool_call", toolCallId="t", title="List", kind="execute", status="pending", rawInput={"c": 1}
    )
    output = [{"type": "content", "content": {"type": "text", "text": "out"}}]
    finished = update("tool_call_update", toolCallId="t", status="completed", content=output)
    running = update("tool_call_update", toolCallId="t", status="in_progress")
    events = heard(normaliser, [chunk("a"), call, running, finished, chunk("b"), done()])
    item = Item("t", "command", title="List", status="pending", detail={"input": {"c": 1}})
    assert events[2:8] == [
        ItemCompleted(Item("message-1", "agent_message", text="a")),
        ItemStarted(item),
        ItemUpdated(Item("t", "command", status="in_progress")),
        ItemCompleted(Item("t", "command", text="out", status="completed")),
        ItemStarted(Item("message-2", "agent_message")),
        ItemDelta("message-2", "b"),
    ]


def test_a_tool_call_whose_start_was_never_told_is_started_by_its_end() -> None:
    normaliser, _ = prompting()
    events = heard(normaliser, [update("tool_call_update", toolCallId="t", status="failed", kind="edit")])
    assert [type(event) for event in events] == [ItemStarted, ItemCompleted]


def test_changes_of_files_are_kept_as_detail() -> None:
    normaliser, _ = prompting()
    diff = {"type": "diff", "path": "/w/a", "oldText": None, "newText": "x"}
    (started,) = heard(
        normaliser, [update("tool_call", toolCallId="t", title="", kind="edit", content=[diff])]
    )
    assert isinstance(started, ItemStarted)
    changes = [{"path": "/w/a", "oldText": None, "newText": "x"}]
    assert (started.item.kind, started.item.detail) == ("file_change", {"changes": changes})


@pytest.mark.parametrize(
    ("result", "status", "error"),
    [
        ({"stopReason": "cancelled"}, "interrupted", None),
        ({"stopReason": "refusal"}, "failed", "the agent refused to go on"),
        ({"stopReason": "max_tokens"}, "failed", "the model ran out of tokens"),
        ({"stopReason": "bored"}, "failed", "the turn stopped for an unknown reason, 'bored'"),
    ],
)
def test_why_a_turn_stopped_is_its_status(result: Frame, status: str, error: str | None) -> None:
    normaliser, _ = prompting()
    assert heard(normaliser, [done(**result)]) == [TurnEnded("turn-1", status, error)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "status", "error"), [(-32800, "interrupted", None), (-32603, "failed", "no model")]
)
def test_an_error_response_ends_the_turn(code: int, status: str, error: str | None) -> None:
    normaliser, _ = prompting()
    frame = {"jsonrpc": "2.0", "id": 2, "error": {"code": code, "message": "no model"}}
    assert heard(normaliser, [frame]) == [TurnEnded("turn-1", status, error)]  # type: ignore[arg-type]


def test_usage_of_the_response_comes_before_the_end() -> None:
    normaliser, _ = prompting()
    frames = [update("usage_update", used=5, size=10), done(stopReason="end_turn", usage={"totalTokens": 7})]
    assert heard(normaliser, frames)[:2] == [
        UsageUpdated({"used": 5, "size": 10}),
        UsageUpdated({"totalTokens": 7}),
    ]


def test_a_plan_is_told_whole() -> None:
    normaliser, _ = prompting()
    entries = [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "cancelled"}]
    assert heard(normaliser, [update("plan", entries=entries)]) == [
        PlanUpdated((PlanStep("a", "in_progress"), PlanStep("b", "pending")))
    ]


def test_a_permission_is_open_until_it_is_answered() -> None:
    normaliser, _ = prompting()
    options = [
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
        {"optionId": "n", "kind": "reject_always"},
    ]
    asked = request(
        0, "session/request_permission", sessionId="s", toolCall={"toolCallId": "t"}, options=options
    )
    events = heard(normaliser, [asked])
    opened = events[-1]
    assert isinstance(opened, RequestOpened)
    assert (opened.request_id, opened.kind, opened.item_id) == ("0", "approval", "t")
    assert [option.kind for option in opened.options] == ["allow_once", "reject_always"]
    answer = {"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "n"}}}
    assert [*normaliser.sent(answer)] == [RequestResolved("0", "reject_always")]
    assert [*normaliser.sent(answer)] == []


def test_ids_that_look_alike_are_two_requests() -> None:
    normaliser, _ = prompting()
    for number in (1, "1"):
        heard(
            normaliser,
            [request(number, "session/request_permission", sessionId="s", toolCall={"toolCallId": "t"})],
        )
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert [*normaliser.sent({"jsonrpc": "2.0", "id": "1", "result": cancelled})] == [
        RequestResolved('"1"', "cancelled")
    ]
    assert [*normaliser.sent({"jsonrpc": "2.0", "id": 1, "result": cancelled})] == [
        RequestResolved("1", "cancelled")
    ]


def test_a_withdrawn_request_is_resolved() -> None:
    normaliser, _ = prompting()
    heard(
        normaliser, [request("r", "session/request_permission", sessionId="s", toolCall={"toolCallId": "t"})]
    )
    withdrawn = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "r"}}
    assert heard(normaliser, [withdrawn, withdrawn]) == [RequestResolved('"r"', "cancelled")]


def test_a_form_is_questions_and_its_answer_is_the_content() -> None:
    schema = {
        "type": "object",
        "properties": {
            "version": {
                "type": "string",
                "title": "Version",
                "oneOf": [{"const": "1", "title": "One"}, {"const": "2", "title": "Two"}],
            },
            "count": {"type": "integer"},
            "loud": {"type": "boolean", "description": "Aloud?"},
            "parts": {"type": "array", "items": {"enum": ["a", "b"]}},
        },
    }
    questions = questions_of(schema, "Say more.")
    assert [(question["id"], question["question"]) for question in questions] == [
        ("version", "Version"),
        ("count", "Say more."),
        ("loud", "Aloud?"),
        ("parts", "Say more."),
    ]
    assert [len(question["options"]) for question in questions] == [2, 0, 2, 2]
    answers = {"version": ["Two"], "count": ["7"], "loud": ["no"], "parts": ["a", "b"], "other": ["x"]}
    assert content_of(schema, answers) == {"version": "2", "count": 7, "loud": False, "parts": ["a", "b"]}


def test_an_elicitation_is_a_question() -> None:
    normaliser, _ = prompting()
    schema = {"type": "object", "properties": {"v": {"type": "string", "enum": ["1", "2"]}}}
    asked = request(
        4, "elicitation/create", sessionId="s", mode="form", message="Which?", requestedSchema=schema
    )
    (opened,) = heard(normaliser, [asked])
    assert isinstance(opened, RequestOpened)
    questions = [{"id": "v", "question": "Which?", "options": [{"label": "1"}, {"label": "2"}]}]
    assert (opened.kind, opened.detail) == ("question", {"questions": questions})
    answer = {"jsonrpc": "2.0", "id": 4, "result": {"action": "accept", "content": {"v": "1"}}}
    assert [*normaliser.sent(answer)] == [RequestResolved("4", "answered")]


def test_history_of_a_loaded_session_is_no_news() -> None:
    normaliser = AcpNormaliser()
    normaliser.sent(request(1, "session/load", sessionId="s", cwd="/w"))
    old = [chunk("old", "user_message_chunk"), chunk("older"), update("tool_call", toolCallId="t", title="x")]
    assert heard(normaliser, old) == []
    assert heard(normaliser, [done(1), chunk("late")]) == [ThreadOpened("s", True)]


@pytest.mark.parametrize("kind", ["available_commands_update", "current_mode_update", "user_message_chunk"])
def test_what_says_nothing_of_a_turn_is_ignored(kind: str) -> None:
    normaliser, _ = prompting()
    assert heard(normaliser, [update(kind)]) == []


def test_another_session_is_ignored() -> None:
    normaliser, _ = prompting()
    other = chunk("a")
    other["params"]["sessionId"] = "other"
    assert heard(normaliser, [other]) == []


def test_what_is_unknown_is_kept() -> None:
    normaliser, _ = prompting()
    events = heard(normaliser, [update("hologram", light=1), request(9, "fs/read_text_file", path="/w/a")])
    items = [event.item for event in events if isinstance(event, ItemCompleted)]
    assert [(item.title, item.status) for item in items] == [
        ("hologram", "unknown"),
        ("fs/read_text_file", "unknown"),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        {"jsonrpc": "2.0", "id": 77, "result": {}},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "method": 5},
        {"method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {}}},
        update("tool_call", title="x"),
        request(0, "session/request_permission", sessionId="another", toolCall={"toolCallId": "t"}),
    ],
)
def test_what_the_protocol_forbids_is_an_error(frame: Frame) -> None:
    normaliser, _ = prompting()
    with pytest.raises(ProviderError):
        normaliser.received(frame)


def test_a_second_answer_to_a_prompt_is_an_error() -> None:
    normaliser, _ = prompting()
    normaliser.received(done())
    with pytest.raises(ProviderError, match="never sent"):
        normaliser.received(done())
