"""Lines of the Claude CLI in, provider events out."""

from typing import Any

import pytest

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.normalisers.claude import ClaudeNormaliser
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PlanStep,
    PlanUpdated,
    ProviderEvent,
    RequestOpened,
    RequestResolved,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)

Frame = dict[str, Any]


def prompt(text: str = "hi", **fields: Any) -> Frame:
    return {
        "type": "user",
        "message": {"role": "user", "content": text},
        "parent_tool_use_id": None,
        **fields,
    }


def control(number: str, subtype: str, **fields: Any) -> Frame:
    return {"type": "control_request", "request_id": number, "request": {"subtype": subtype, **fields}}


def answered(number: str, response: Frame | None = None) -> Frame:
    inner: Frame = {"subtype": "success", "request_id": number}
    return {
        "type": "control_response",
        "response": inner if response is None else inner | {"response": response},
    }


def assistant(*blocks: Frame, message: str = "m", parent: str | None = None, uuid: str = "u") -> Frame:
    content = {"id": message, "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "message": content, "parent_tool_use_id": parent, "uuid": uuid}


def text(said: str) -> Frame:
    return {"type": "text", "text": said}


def tool(call: str, name: str, **arguments: Any) -> Frame:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def tool_result(call: str, said: str, *, parent: str | None = None, **fields: Any) -> Frame:
    block = {"type": "tool_result", "tool_use_id": call, "content": said}
    message = {"role": "user", "content": [block | {"is_error": fields.pop("is_error", False)}]}
    return {"type": "user", "message": message, "parent_tool_use_id": parent, **fields}


def result(**fields: Any) -> Frame:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
    } | fields


ABORTED = result(subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")


def started(*, resumed: bool = False) -> ClaudeNormaliser:
    normaliser = ClaudeNormaliser()
    normaliser.started("s", resumed=resumed)
    normaliser.sent(control("1", "initialize"))
    normaliser.received(answered("1", {}))
    return normaliser


def running() -> ClaudeNormaliser:
    normaliser = started()
    normaliser.sent(prompt())
    return normaliser


def heard(normaliser: ClaudeNormaliser, *frames: Frame) -> list[ProviderEvent]:
    return [event for frame in frames for event in normaliser.received(frame)]


def of_kind[T](kind: type[T], events: list[ProviderEvent]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("resumed", [False, True])
def test_the_handshake_opens_the_thread(resumed: bool) -> None:
    normaliser = ClaudeNormaliser()
    normaliser.started("s", resumed=resumed)
    normaliser.sent(control("1", "initialize"))
    assert heard(normaliser, answered("1", {})) == [ThreadOpened("s", resumed)]


def test_a_session_that_calls_itself_otherwise_is_another_thread() -> None:
    same = {"type": "system", "subtype": "init", "session_id": "s"}
    assert heard(running(), same) == []
    assert heard(running(), same | {"session_id": "other"}) == [ThreadOpened("other", False)]


def test_a_message_begins_a_turn_and_a_result_ends_it() -> None:
    normaliser = started()
    said = Item("prompt-1", "user_message", text="hi")
    assert [*normaliser.sent(prompt())] == [TurnStarted("turn-1"), ItemStarted(said), ItemCompleted(said)]
    thought = {"type": "thinking", "thinking": "h"}
    frames = (
        assistant(thought, uuid="u-1"),
        assistant(text("a"), uuid="u-2"),
        result(usage={"output_tokens": 1}),
    )
    assert heard(normaliser, *frames) == [
        ItemStarted(Item("m/0", "reasoning", text="h")),
        ItemCompleted(Item("m/0", "reasoning", text="h")),
        ItemStarted(Item("m/1", "agent_message", text="a")),
        ItemCompleted(Item("m/1", "agent_message", text="a")),
        UsageUpdated({"output_tokens": 1}),
        TurnEnded("turn-1", "completed", None, "u-2"),
    ]


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (result(is_error=True, result="API Error: 401"), "API Error: 401"),
        (result(subtype="error_max_turns", is_error=True), "error_max_turns"),
        (result(subtype="error_during_execution", is_error=True, errors=["a", "b"]), "a; b"),
    ],
)
def test_a_result_that_is_an_error_fails_the_turn(frame: Frame, error: str) -> None:
    assert heard(running(), frame) == [TurnEnded("turn-1", "failed", error)]


def test_an_interrupt_ends_nothing_and_the_result_after_it_does() -> None:
    normaliser = running()
    normaliser.sent(control("2", "interrupt"))
    assert heard(normaliser, answered("2")) == []
    assert heard(normaliser, ABORTED) == [TurnEnded("turn-1", "interrupted")]


def test_an_interrupt_that_came_too_late_changes_nothing() -> None:
    normaliser = running()
    normaliser.sent(control("2", "interrupt"))
    assert heard(normaliser, result()) == [TurnEnded("turn-1", "completed")]


def test_a_message_in_a_turn_steers_it() -> None:
    normaliser = running()
    said = Item("prompt-2", "user_message", text="no, there")
    assert [*normaliser.sent(prompt("no, there", priority="now"))] == [ItemStarted(said), ItemCompleted(said)]
    usage = {"output_tokens": 1}
    events = heard(normaliser, ABORTED | {"usage": usage}, assistant(text("a")))
    assert events[0] == UsageUpdated(usage)
    assert events[-1] == ItemCompleted(Item("m/0", "agent_message", text="a"))
    assert heard(normaliser, result()) == [TurnEnded("turn-1", "completed", None, "u")]


def test_a_steered_turn_that_is_interrupted_is_over() -> None:
    normaliser = running()
    normaliser.sent(prompt("no, there", priority="now"))
    normaliser.sent(control("2", "interrupt"))
    assert heard(normaliser, ABORTED) == [TurnEnded("turn-1", "interrupted")]


def test_partial_messages_are_deltas_of_what_follows_whole() -> None:
    def event(kind: str, **fields: Any) -> Frame:
        return {"type": "stream_event", "event": {"type": kind, **fields}, "parent_tool_use_id": None}

    events = heard(
        running(),
        event("message_start", message={"id": "m"}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a"}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "b"}),
        assistant(text("ab")),
        event("content_block_stop", index=0),
        event("message_stop"),
    )
    assert events == [
        ItemStarted(Item("m/0", "agent_message")),
        ItemDelta("m/0", "a"),
        ItemDelta("m/0", "b"),
        ItemCompleted(Item("m/0", "agent_message", text="ab")),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "title"),
    [
        ("Bash", {"command": "ls"}, "command", "ls"),
        ("Edit", {"file_path": "a"}, "file_change", "a"),
        ("mcp__x__y", {}, "tool_call", "mcp__x__y"),
    ],
)
def test_a_tool_call_is_an_item(name: str, arguments: Frame, kind: str, title: str) -> None:
    events = heard(running(), assistant(tool("t", name, **arguments)), tool_result("t", "out", is_error=True))
    item = Item("t", kind, None, title, None, "in_progress", {"tool": name, "input": arguments})  # type: ignore[arg-type]
    done = item._replace(title=None, detail=None, text="out", status="failed")
    assert events == [ItemStarted(item), ItemCompleted(done)]


def test_todos_are_a_plan() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    events = heard(running(), assistant(tool("t", "TodoWrite", todos=todos)))
    assert events[-1] == PlanUpdated((PlanStep("a", "completed"), PlanStep("b", "pending")))


def test_a_child_speaks_inside_of_the_call_that_made_it() -> None:
    events = heard(
        running(),
        assistant(tool("t", "Agent", description="Read a", prompt="Read it")),
        {"type": "system", "subtype": "task_started", "task_id": "child", "tool_use_id": "t"},
        {"type": "user", "message": {"content": [text("Read it")]}, "parent_tool_use_id": "t"},
        assistant(tool("n", "Read", file_path="a"), message="c", parent="t"),
        tool_result("n", "x", parent="t"),
        {"type": "system", "subtype": "task_notification", "tool_use_id": "t", "status": "completed"},
        tool_result("t", "It says x."),
    )
    parents = [(event.item.item_id, event.item.parent_item_id) for event in of_kind(ItemStarted, events)]
    assert parents == [("t", None), ("child-prompt-1", "t"), ("n", "t")]
    assert of_kind(SubagentStarted, events) == [SubagentStarted("t", "child")]
    assert of_kind(SubagentEnded, events) == [SubagentEnded("t", "completed")]
    assert not of_kind(TurnEnded, events)


def test_a_turn_is_taken_up_behind_its_own_last_message_and_not_its_childs() -> None:
    call = assistant(tool("t", "Agent", description="Read a"), uuid="own")
    child = assistant(text("I read."), message="c", parent="t", uuid="childs")
    assert heard(running(), call, child, result())[-1] == TurnEnded("turn-1", "completed", None, "own")


def test_a_child_that_no_task_announced_is_known_by_its_first_frame() -> None:
    events = heard(
        running(),
        assistant(tool("t", "Task", description="Read a")),
        assistant(text("I read."), message="c", parent="t"),
        tool_result("t", "no", is_error=True),
    )
    assert of_kind(SubagentStarted, events) == [SubagentStarted("t", "t")]
    assert of_kind(SubagentEnded, events) == [SubagentEnded("t", "failed")]


def test_a_child_in_the_background_ends_with_its_notification() -> None:
    normaliser = running()
    launched = tool_result("t", "launched", tool_use_result={"status": "async_launched"})
    events = heard(
        normaliser,
        assistant(tool("t", "Agent", description="Watch")),
        {"type": "system", "subtype": "task_started", "task_id": "child", "tool_use_id": "t"},
        launched,
    )
    assert not of_kind(SubagentEnded, events) and not of_kind(ItemCompleted, events)
    ended = {"type": "system", "subtype": "task_notification", "tool_use_id": "t", "status": "stopped"}
    assert of_kind(SubagentEnded, heard(normaliser, ended)) == [SubagentEnded("t", "interrupted")]


def test_work_that_the_cli_takes_up_by_itself_is_a_turn() -> None:
    normaliser = running()
    events = heard(normaliser, result(), assistant(text("By the way,")), result())
    assert of_kind(TurnStarted, events) == [TurnStarted("turn-2")]
    assert [ended.provider_turn_id for ended in of_kind(TurnEnded, events)] == ["turn-1", "turn-2"]


def test_a_permission_is_open_until_it_is_answered() -> None:
    normaliser = running()
    asked = control("9", "can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="t")
    (opened,) = heard(normaliser, asked)
    assert isinstance(opened, RequestOpened)
    assert (opened.kind, opened.item_id, opened.detail["tool"]) == ("approval", "t", "Bash")
    assert [option.kind for option in opened.options] == ["allow_once", "reject_once"]
    deny = answered("9", {"behavior": "deny", "message": "no"})
    assert [*normaliser.sent(deny)] == [RequestResolved("9", "reject_once")]
    assert [*normaliser.sent(deny)] == []


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"behavior": "allow", "updatedInput": {}}, "allow_once"),
        ({"behavior": "allow", "updatedInput": {}, "updatedPermissions": [{}]}, "allow_always"),
        ({"behavior": "deny", "message": "", "interrupt": True}, "cancelled"),
    ],
)
def test_an_answer_says_what_was_decided(answer: Frame, decision: str) -> None:
    normaliser = running()
    heard(normaliser, control("9", "can_use_tool", tool_name="Bash", input={}, permission_suggestions=[{}]))
    assert [*normaliser.sent(answered("9", answer))] == [RequestResolved("9", decision)]  # type: ignore[arg-type]


def test_a_question_is_a_tool_that_asks() -> None:
    normaliser = running()
    option = {"label": "1.0", "description": "The first", "preview": "no"}
    question = {"question": "Which?", "header": "Version", "options": [option], "multiSelect": False}
    asked = control("9", "can_use_tool", tool_name="AskUserQuestion", input={"questions": [question]})
    (opened,) = heard(normaliser, asked)
    assert isinstance(opened, RequestOpened)
    options = [{"label": "1.0", "description": "The first"}]
    questions = [{"id": "Which?", "question": "Which?", "header": "Version", "options": options}]
    assert (opened.kind, opened.detail) == ("question", {"questions": questions})
    yes = answered("9", {"behavior": "allow", "updatedInput": {"answers": {"Which?": "1.0"}}})
    assert [*normaliser.sent(yes)] == [RequestResolved("9", "answered")]


def test_a_withdrawn_request_is_resolved() -> None:
    normaliser = running()
    heard(normaliser, control("9", "can_use_tool", tool_name="Bash", input={}))
    withdrawn = {"type": "control_cancel_request", "request_id": "9"}
    assert heard(normaliser, withdrawn, withdrawn) == [RequestResolved("9", "cancelled")]


@pytest.mark.parametrize(
    ("resumed", "kinds"), [(True, [ThreadRolledBack]), (False, [ThreadOpened, ThreadRolledBack])]
)
def test_a_process_that_takes_up_earlier_is_a_rollback(resumed: bool, kinds: list[type]) -> None:
    normaliser = running()
    heard(normaliser, result())
    normaliser.started("s" if resumed else "new", resumed=resumed, dropped_turns=1)
    normaliser.sent(control("2", "initialize"))
    events = heard(normaliser, answered("2", {}))
    assert [type(event) for event in events] == kinds
    assert next(iter(normaliser.sent(prompt()))) == TurnStarted("turn-2")


@pytest.mark.parametrize("kind", ["rate_limit_event", "keep_alive", "tool_progress"])
def test_what_says_nothing_of_a_turn_is_ignored(kind: str) -> None:
    assert heard(running(), {"type": kind}, {"type": "system", "subtype": "hook_started"}) == []


def test_an_error_before_any_turn_says_why_the_cli_ends() -> None:
    assert heard(started(), result(subtype="error_during_execution", is_error=True)) == []


def test_what_is_unknown_is_kept() -> None:
    frames = ({"type": "hologram"}, control("9", "hook_callback"), assistant({"type": "server_tool_use"}))
    items = [event.item.title for event in of_kind(ItemCompleted, heard(running(), *frames))]
    assert items == ["hologram", "hook_callback", "server_tool_use"]


@pytest.mark.parametrize(
    "frame",
    [
        {},
        answered("77"),
        {"type": "control_request", "request": {"subtype": "can_use_tool"}},
        assistant({"type": "tool_use", "name": "Bash"}),
        tool_result("never", "x"),
    ],
)
def test_what_the_protocol_forbids_is_an_error(frame: Frame) -> None:
    with pytest.raises(ProviderError):
        running().received(frame)


def test_a_result_comes_from_where_its_call_was_made() -> None:
    normaliser = running()
    normaliser.received(assistant(tool("c", "Bash", command="ls")))
    with pytest.raises(ProviderError, match="not running"):
        normaliser.received(tool_result("c", "x", parent="elsewhere"))


def test_a_second_result_is_an_error() -> None:
    normaliser = running()
    normaliser.received(result())
    with pytest.raises(ProviderError, match="no turn is running"):
        normaliser.received(result())
