"""The stream-JSON of the Claude CLI, with its control requests, as provider events.

A turn is a user message and the `result` that answers it. The protocol gives turns no ids, so they are numbered. A result
that says "aborted" ends no turn if a message that steers was the reason: the CLI goes on with that message. What an
agent's child does carries the id of the tool call that made it, and a child has no result of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at
from scenarios.reference_orchestrator.normalisers.claude_items import (
    block_text,
    kind_of_tool,
    plan_of_tool,
    result_text,
    title_of_tool,
)
from scenarios.reference_orchestrator.normalisers.claude_requests import (
    Asked,
    is_permission,
    opened,
    resolved,
)
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PlanUpdated,
    ProviderEvent,
    RequestResolved,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
    TurnStatus,
    UsageUpdated,
)

__all__ = ["IGNORED", "ClaudeNormaliser"]

# What gives no event, by type or by subtype of `system`, and why.
IGNORED = {
    "auth_status": "the account, not the turn",
    "conversation_reset": "a command of the CLI's own screen",
    "keep_alive": "no content",
    "prompt_suggestion": "an offer for the next prompt",
    "rate_limit_event": "the account, not the turn",
    "streamlined_text": "repeats what a message says",
    "streamlined_tool_use_summary": "repeats what tool calls say",
    "tool_progress": "a timer of a tool call that is known",
    "tool_use_summary": "repeats what tool calls say",
    "transcript_mirror": "a copy for another store",
    "result": "an error while no turn runs: why the CLI ends, which its end says as well",
    "system": "a notice of the CLI: hooks, states, compaction, progress",
}
_BLOCKS = {"text": "agent_message", "thinking": "reasoning", "redacted_thinking": "reasoning"}
_TASK_ENDS: dict[str, TurnStatus] = {
    "completed": "completed",
    "failed": "failed",
    "stopped": "interrupted",
    "killed": "interrupted",
}


class ClaudeNormaliser:
    """One conversation, whatever number of CLI processes speak it one after another.

    `session_id` is what the CLI was started with: it says its own only when the first turn runs. `requests` are those
    that wait for an answer, by id.
    """

    def __init__(self) -> None:
        self.session_id = ""
        self.requests: dict[str, Asked] = {}
        self._resumed = False
        self._dropped_turns: int | None = None
        self._controls: dict[str, str] = {}
        self._turns = 0
        self._turn = ""
        self._interrupted = False
        self._steering = False
        self._resume_point: str | None = None
        self._tools: dict[str, Item] = {}
        self._children: dict[str, bool] = {}
        self._blocks: dict[str, int] = {}
        self._streaming: dict[str | None, str] = {}
        self._numbers: dict[str, int] = {}

    def started(self, session_id: str, *, resumed: bool, dropped_turns: int | None = None) -> None:
        """A CLI process takes the conversation up; `dropped_turns` turns before its end, if it goes back."""
        self.session_id = session_id
        self._resumed = resumed
        self._dropped_turns = dropped_turns
        self._turn, self._interrupted, self._steering = "", False, False
        self._controls.clear()
        self._tools.clear()
        self.requests.clear()

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        kind = frame.get("type")
        if kind == "user":
            return self._prompt(frame)
        if kind == "control_request":
            self._controls[frame["request_id"]] = frame["request"]["subtype"]
            if frame["request"]["subtype"] == "interrupt":
                self._interrupted = bool(self._turn)
            return ()
        if kind == "control_response":
            return self._answered(object_at(frame, "response"))
        return ()

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        kind = frame.get("type")
        if not isinstance(kind, str):
            raise ProviderError("a frame without a type")
        if kind == "system" and text_at(frame, "subtype") in _SYSTEM:
            return _SYSTEM[frame["subtype"]](self, frame)
        handler = _FRAMES.get(kind)
        if handler is not None:
            return handler(self, frame)
        return () if kind in IGNORED else self._unknown(kind, frame)

    # Turns

    def _prompt(self, frame: JsonObject) -> list[ProviderEvent]:
        prompt = Item(self._next("prompt"), "user_message", text=block_text(frame.get("message")))
        events: list[ProviderEvent] = []
        if self._turn:
            self._steering = True
        else:
            events = self._begin()
        return [*events, ItemStarted(prompt), ItemCompleted(prompt)]

    def _begin(self) -> list[ProviderEvent]:
        self._turns += 1
        self._turn = f"turn-{self._turns}"
        self._resume_point = None
        return [TurnStarted(self._turn)]

    def _result(self, frame: JsonObject) -> list[ProviderEvent]:
        if not self._turn:
            if frame.get("is_error") is True:
                return []
            raise ProviderError("a result, and no turn is running")
        aborted = (text_at(frame, "terminal_reason") or "").startswith("aborted")
        usage = object_at(frame, "usage")
        if aborted and self._steering and not self._interrupted:
            self._steering = False
            return [UsageUpdated(usage)] if usage else []
        status, error = self._outcome(frame, aborted)
        ended = TurnEnded(self._turn, status, error, self._resume_point)
        self._turn, self._interrupted, self._steering = "", False, False
        return [UsageUpdated(usage), ended] if usage else [ended]

    def _outcome(self, frame: JsonObject, aborted: bool) -> tuple[TurnStatus, str | None]:
        subtype = text_at(frame, "subtype") or ""
        if subtype == "success" and not frame.get("is_error"):
            return "completed", None
        if aborted or (self._interrupted and subtype == "error_during_execution"):
            return "interrupted", None
        errors = [text for text in list_at(frame, "errors") if isinstance(text, str)]
        return "failed", "; ".join(errors) or text_at(frame, "result") or subtype or "an error without a word"

    # Control requests

    def _response(self, frame: JsonObject) -> list[ProviderEvent]:
        response = object_at(frame, "response")
        asked = self._controls.pop(text_at(response, "request_id") or "", None)
        if asked is None:
            raise ProviderError("an answer to a control request that was never sent")
        if asked != "initialize" or text_at(response, "subtype") == "error":
            return []
        is_open = ThreadOpened(self.session_id, self._resumed)
        if self._dropped_turns is None:
            return [is_open]
        rolled_back = ThreadRolledBack(self._dropped_turns)
        self._dropped_turns = None
        return [rolled_back] if self._resumed else [is_open, rolled_back]

    def _request(self, frame: JsonObject) -> list[ProviderEvent]:
        request_id = text_at(frame, "request_id")
        if request_id is None:
            raise ProviderError("a control request without a request_id")
        request = object_at(frame, "request")
        if not is_permission(frame):
            return self._unknown(text_at(request, "subtype") or "control_request", request)
        self.requests[request_id] = Asked(request)
        return [opened(request_id, self.requests[request_id])]

    def _answered(self, response: JsonObject) -> list[ProviderEvent]:
        request_id = text_at(response, "request_id") or ""
        asked = self.requests.pop(request_id, None)
        return [] if asked is None else [resolved(request_id, asked, object_at(response, "response"))]

    def _withdrawn(self, frame: JsonObject) -> list[ProviderEvent]:
        request_id = text_at(frame, "request_id") or ""
        if self.requests.pop(request_id, None) is None:
            return []
        return [RequestResolved(request_id, "cancelled")]

    # Messages

    def _assistant(self, frame: JsonObject) -> list[ProviderEvent]:
        parent = text_at(frame, "parent_tool_use_id")
        events = self._child(parent)
        if parent is None:
            if not self._turn:
                # Work in the background ended and the CLI goes on by itself.
                events = self._begin()
            self._resume_point = text_at(frame, "uuid") or self._resume_point
        message = text_at(frame, "message", "id") or ""
        for block in list_at(frame, "message", "content"):
            events += self._block(message, block, parent)
        return events

    def _block(self, message: str, block: JsonObject, parent: str | None) -> list[ProviderEvent]:
        index = self._blocks.get(message, 0)
        self._blocks[message] = index + 1
        kind = text_at(block, "type")
        if kind == "tool_use":
            return self._tool_use(block, parent)
        item_id = f"{message}/{index}"
        if kind not in _BLOCKS:
            return self._unknown(kind or "block", block, parent)
        text = text_at(block, "text") or text_at(block, "thinking") or ""
        item = Item(item_id, cast(Any, _BLOCKS[kind]), parent, text=text)
        if self._streaming.get(parent) == item_id:
            del self._streaming[parent]
            return [ItemCompleted(item)]
        return [ItemStarted(item), ItemCompleted(item)]

    def _tool_use(self, block: JsonObject, parent: str | None) -> list[ProviderEvent]:
        call, name = text_at(block, "id"), text_at(block, "name") or ""
        if call is None:
            raise ProviderError(f"a call of the tool {name!r} without an id")
        arguments = object_at(block, "input")
        item = Item(
            call,
            kind_of_tool(name),
            parent,
            title=title_of_tool(name, arguments),
            status="in_progress",
            detail={"tool": name, "input": arguments},
        )
        self._tools[call] = item
        plan = plan_of_tool(name, arguments)
        return [ItemStarted(item), PlanUpdated(plan)] if plan is not None else [ItemStarted(item)]

    def _user(self, frame: JsonObject) -> list[ProviderEvent]:
        parent = text_at(frame, "parent_tool_use_id")
        events = self._child(parent)
        content = (
            frame.get("message", {}).get("content") if isinstance(frame.get("message"), Mapping) else None
        )
        if parent is not None and block_text(frame.get("message")):
            prompt = Item(
                self._next("child-prompt"), "user_message", parent, text=block_text(frame.get("message"))
            )
            events += [ItemStarted(prompt), ItemCompleted(prompt)]
        for block in content if isinstance(content, list) else []:
            if text_at(block, "type") == "tool_result":
                events += self._tool_result(block, object_at(frame, "tool_use_result"), parent)
        return events

    def _tool_result(self, block: JsonObject, outcome: JsonObject, parent: str | None) -> list[ProviderEvent]:
        call = text_at(block, "tool_use_id") or ""
        item = self._tools.pop(call, None)
        if item is None or item.parent_item_id != parent:
            raise ProviderError(f"a result of the tool call {call!r}, which is not running")
        failed = block.get("is_error") is True
        status = "failed" if failed else "completed"
        if item.kind == "subagent" and text_at(outcome, "status") == "async_launched":
            # The child works on in the background; its task's notification is its end.
            self._tools[call] = item
            return []
        done = ItemCompleted(item._replace(title=None, detail=None, text=result_text(block), status=status))
        return [done, *self._end_child(call, "failed" if failed else "completed")]

    def _stream(self, frame: JsonObject) -> list[ProviderEvent]:
        """Partial messages: a block's start and its pieces; the whole block follows in an assistant frame."""
        parent = text_at(frame, "parent_tool_use_id")
        event = object_at(frame, "event")
        kind = text_at(event, "type")
        if kind == "message_start":
            self._streaming[parent] = f"{text_at(event, 'message', 'id') or ''}/"
            return self._begin() if parent is None and not self._turn else []
        started = self._streaming.get(parent)
        if started is None:
            return []
        if kind == "content_block_start":
            block = text_at(event, "content_block", "type")
            if block not in _BLOCKS:
                return []
            item_id = f"{started.rpartition('/')[0]}/{event.get('index')}"
            self._streaming[parent] = item_id
            return [ItemStarted(Item(item_id, cast(Any, _BLOCKS[block]), parent))]
        piece = text_at(event, "delta", "text") or text_at(event, "delta", "thinking")
        return [ItemDelta(started, piece)] if kind == "content_block_delta" and piece else []

    # Children

    def _child(self, parent: str | None) -> list[ProviderEvent]:
        """A frame of a child that no task announced: older CLIs do not."""
        if parent is None or parent in self._children:
            return []
        return self._start_child(parent, parent)

    def _start_child(self, call: str, child: str) -> list[ProviderEvent]:
        item = self._tools.get(call)
        if call in self._children or item is None or item.kind != "subagent":
            return []
        self._children[call] = True
        return [SubagentStarted(call, child, item.parent_item_id)]

    def _end_child(self, call: str, status: TurnStatus) -> list[ProviderEvent]:
        if not self._children.get(call):
            return []
        self._children[call] = False
        return [SubagentEnded(call, status)]

    def _task_started(self, frame: JsonObject) -> list[ProviderEvent]:
        call = text_at(frame, "tool_use_id") or ""
        return self._start_child(call, text_at(frame, "task_id") or call)

    def _task_ended(self, frame: JsonObject) -> list[ProviderEvent]:
        call = text_at(frame, "tool_use_id") or ""
        return self._end_child(call, _TASK_ENDS.get(text_at(frame, "status") or "", "failed"))

    def _init(self, frame: JsonObject) -> list[ProviderEvent]:
        session = text_at(frame, "session_id")
        if session is None or session == self.session_id:
            return []
        self.session_id = session
        return [ThreadOpened(session, self._resumed)]

    def _unknown(self, name: str, frame: JsonObject, parent: str | None = None) -> list[ProviderEvent]:
        """Kept for people: what a newer CLI says is not lost, and decides nothing."""
        item = Item(self._next("unknown"), "tool_call", parent, title=name, status="unknown", detail=frame)
        return [ItemStarted(item), ItemCompleted(item)]

    def _next(self, name: str) -> str:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return f"{name}-{self._numbers[name]}"


_Handler = Callable[[ClaudeNormaliser, JsonObject], list[ProviderEvent]]
_FRAMES: dict[str, _Handler] = {
    "assistant": ClaudeNormaliser._assistant,
    "control_cancel_request": ClaudeNormaliser._withdrawn,
    "control_request": ClaudeNormaliser._request,
    "control_response": ClaudeNormaliser._response,
    "result": ClaudeNormaliser._result,
    "stream_event": ClaudeNormaliser._stream,
    "user": ClaudeNormaliser._user,
}
_SYSTEM: dict[str, _Handler] = {
    "init": ClaudeNormaliser._init,
    "task_notification": ClaudeNormaliser._task_ended,
    "task_started": ClaudeNormaliser._task_started,
}
