"""The Agent Client Protocol's frames as provider events.

A turn is a prompt request and its response; nothing else begins or ends one. The protocol gives turns and messages no
ids, so they are numbered. A message is whatever chunks of one kind stand next to each other: it is complete when another
kind follows or the turn ends. Chunks may come after the prompt's response: they continue the message that they belong to.

Not said by the protocol, so never said here: children of an agent, a steering, a rollback.
"""

from collections.abc import Callable, Sequence

import orjson

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at
from scenarios.reference_orchestrator.normalisers.acp_form import questions_of
from scenarios.reference_orchestrator.providers import (
    Decision,
    Item,
    ItemCompleted,
    ItemDelta,
    ItemKind,
    ItemStarted,
    ItemUpdated,
    Option,
    PlanStatus,
    PlanStep,
    PlanUpdated,
    ProviderEvent,
    RequestOpened,
    RequestResolved,
    ThreadOpened,
    TurnEnded,
    TurnStarted,
    TurnStatus,
    UsageUpdated,
)

__all__ = ["FORM", "IGNORED", "PERMISSION", "AcpNormaliser", "is_answerable", "request_id_of"]

PERMISSION = "session/request_permission"
FORM = "elicitation/create"

# What gives no event, by method or by kind of update, and why.
IGNORED = {
    "user_message_chunk": "an echo: the prompt was taken down when it was sent",
    "available_commands_update": "a setting of the session, not a part of a turn",
    "current_mode_update": "a setting of the session, not a part of a turn",
    "config_option_update": "a setting of the session, not a part of a turn",
    "session_info_update": "a title for lists of sessions",
    "elicitation/complete": "ends a form that was filled in elsewhere; the request itself is answered",
    "history": "what a loaded session replays before the first prompt has happened before",
    "other session": "a session that this connection did not open",
}

_ITEM_KINDS: dict[str, ItemKind] = {
    "execute": "command",
    "edit": "file_change",
    "delete": "file_change",
    "move": "file_change",
}
_CHUNKS: dict[str, tuple[ItemKind, str]] = {
    "agent_message_chunk": ("agent_message", "message"),
    "agent_thought_chunk": ("reasoning", "thought"),
}
_STOPS: dict[str, tuple[TurnStatus, str | None]] = {
    "end_turn": ("completed", None),
    "cancelled": ("interrupted", None),
    "max_tokens": ("failed", "the model ran out of tokens"),
    "max_turn_requests": ("failed", "the agent made as many model calls as it may"),
    "refusal": ("failed", "the agent refused to go on"),
}
_PLAN_STATUSES: dict[str, PlanStatus] = {"in_progress": "in_progress", "completed": "completed"}
_DECISIONS: dict[str, Decision] = {
    "allow_once": "allow_once",
    "allow_always": "allow_always",
    "reject_once": "reject_once",
    "reject_always": "reject_always",
}
_DONE = ("completed", "failed")
_REQUEST_CANCELLED = -32800
_DETAILS = {"rawInput": "input", "rawOutput": "output", "locations": "locations"}


def request_id_of(frame: JsonObject) -> str:
    """A request's id as text. A number and the same digits as a text stay two ids."""
    return orjson.dumps(frame["id"]).decode()


def is_answerable(frame: JsonObject) -> bool:
    """Whether a request of the agent is one that waits for a person. A form elsewhere, by URL, is not."""
    method = frame.get("method")
    return method == PERMISSION or (method == FORM and text_at(frame, "params", "mode") == "form")


class AcpNormaliser:
    """One connection with one session. `session_id` is "" until it is open."""

    def __init__(self) -> None:
        self.session_id = ""
        self._turns = 0
        self._turn = ""
        self._asked: dict[str, JsonObject] = {}
        self._opened: dict[str, dict[str, Decision]] = {}
        self._tools: dict[str, ItemKind] = {}
        self._message: Item | None = None
        self._message_open = False
        self._numbers: dict[str, int] = {}

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if "method" not in frame:
            return self._answered(frame)
        if "id" not in frame:
            return ()
        self._asked[request_id_of(frame)] = frame
        if frame["method"] != "session/prompt":
            return ()
        return self._begin(frame)

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if frame.get("jsonrpc") != "2.0":
            raise ProviderError(f"a frame of JSON-RPC {frame.get('jsonrpc')!r}, not '2.0'")
        if "method" not in frame:
            return self._response(frame)
        method = frame["method"]
        if not isinstance(method, str):
            raise ProviderError("a frame's method is no text")
        if "id" in frame:
            return self._request(method, frame)
        if method == "session/update":
            return self._update(object_at(frame, "params"))
        if method == "$/cancel_request":
            return self._withdrawn(object_at(frame, "params"))
        if method in IGNORED or method.startswith("_"):
            return ()
        return self._unknown(method, object_at(frame, "params"))

    # Turns

    def _begin(self, frame: JsonObject) -> list[ProviderEvent]:
        events = self._close_message()
        self._turns += 1
        self._turn = f"turn-{self._turns}"
        texts = [text_at(block, "text") or "" for block in list_at(frame, "params", "prompt")]
        prompt = Item(self._next("prompt"), "user_message", text="".join(texts))
        return [*events, TurnStarted(self._turn), ItemStarted(prompt), ItemCompleted(prompt)]

    def _response(self, frame: JsonObject) -> list[ProviderEvent]:
        request = self._asked.pop(request_id_of(frame), None) if "id" in frame else None
        if request is None:
            raise ProviderError(f"an answer to request {frame.get('id')!r}, which was never sent")
        method = request["method"]
        if method == "session/prompt":
            return self._end(frame)
        if "error" in frame:
            return []
        if method == "session/new":
            self.session_id = text_at(frame, "result", "sessionId") or ""
            return [ThreadOpened(self.session_id, False)]
        if method in ("session/load", "session/resume"):
            self.session_id = text_at(request, "params", "sessionId") or ""
            return [ThreadOpened(self.session_id, True)]
        return []

    def _end(self, frame: JsonObject) -> list[ProviderEvent]:
        events = self._complete_message()
        usage = object_at(frame, "result", "usage")
        if usage:
            events.append(UsageUpdated(usage))
        status, error = _outcome(frame)
        events.append(TurnEnded(self._turn, status, error))
        self._turn = ""
        return events

    # Requests of the agent

    def _request(self, method: str, frame: JsonObject) -> list[ProviderEvent]:
        params = object_at(frame, "params")
        if method == PERMISSION:
            return self._permission(frame, params)
        if is_answerable(frame):
            return self._form(frame, params)
        return self._unknown(method, params)

    def _permission(self, frame: JsonObject, params: JsonObject) -> list[ProviderEvent]:
        if text_at(params, "sessionId") != self.session_id:
            raise ProviderError("a permission was asked for in a session that is not open here")
        call = object_at(params, "toolCall")
        options = tuple(
            Option(
                text_at(option, "optionId") or "",
                _DECISIONS.get(text_at(option, "kind") or "", "reject_once"),
                text_at(option, "name") or "",
            )
            for option in list_at(params, "options")
        )
        request_id = request_id_of(frame)
        self._opened[request_id] = {option.option_id: option.kind for option in options}
        events = self._tool(call)
        detail = {"title": text_at(call, "title") or "", **_detail(call)}
        return [*events, RequestOpened(request_id, "approval", options, detail, text_at(call, "toolCallId"))]

    def _form(self, frame: JsonObject, params: JsonObject) -> list[ProviderEvent]:
        request_id = request_id_of(frame)
        self._opened[request_id] = {}
        questions = questions_of(object_at(params, "requestedSchema"), text_at(params, "message") or "")
        detail = {"questions": questions}
        return [RequestOpened(request_id, "question", (), detail, text_at(params, "toolCallId"))]

    def _answered(self, frame: JsonObject) -> list[ProviderEvent]:
        request_id = request_id_of(frame)
        decisions = self._opened.pop(request_id, None)
        if decisions is None:
            return []
        action = text_at(frame, "result", "action")
        if action is not None:
            return [RequestResolved(request_id, "answered" if action == "accept" else "cancelled")]
        chosen = text_at(frame, "result", "outcome", "optionId")
        return [RequestResolved(request_id, decisions.get(chosen or "", "cancelled"))]

    def _withdrawn(self, params: JsonObject) -> list[ProviderEvent]:
        request_id = orjson.dumps(params.get("requestId")).decode()
        if self._opened.pop(request_id, None) is None:
            return []
        return [RequestResolved(request_id, "cancelled")]

    # Updates of the session

    def _update(self, params: JsonObject) -> list[ProviderEvent]:
        update = object_at(params, "update")
        kind = text_at(update, "sessionUpdate")
        if kind is None:
            raise ProviderError("a session/update without a kind")
        if kind in IGNORED or not self._turns or text_at(params, "sessionId") != self.session_id:
            return []
        if kind in _CHUNKS:
            return self._chunk(*_CHUNKS[kind], update)
        handler = _UPDATES.get(kind)
        if handler is None:
            return self._unknown(kind, update)
        return handler(self, update)

    def _chunk(self, kind: ItemKind, name: str, update: JsonObject) -> list[ProviderEvent]:
        text = text_at(update, "content", "text") or ""
        events: list[ProviderEvent] = []
        if self._message is None or self._message.kind != kind:
            events = self._close_message()
            self._message = Item(self._next(name), kind, text="")
            self._message_open = True
            events.append(ItemStarted(self._message._replace(text=None)))
        self._message = self._message._replace(text=f"{self._message.text}{text}")
        events.append(ItemDelta(self._message.item_id, text))
        if not self._turn:
            events.append(ItemCompleted(self._message))
            self._message_open = False
        return events

    def _complete_message(self) -> list[ProviderEvent]:
        """What was said so far stays in mind: the rest of it may come after the turn's end."""
        if self._message is None or not self._message_open:
            return []
        self._message_open = False
        return [ItemCompleted(self._message)]

    def _close_message(self) -> list[ProviderEvent]:
        events = self._complete_message()
        self._message = None
        return events

    def _tool(self, update: JsonObject) -> list[ProviderEvent]:
        call = text_at(update, "toolCallId")
        if call is None:
            raise ProviderError("a tool call without a toolCallId")
        said = text_at(update, "kind")
        known = self._tools.get(call)
        kind = _ITEM_KINDS.get(said, "tool_call") if said is not None else known or "tool_call"
        self._tools[call] = kind
        status = text_at(update, "status")
        detail = _detail(update)
        item = Item(
            call,
            kind,
            title=text_at(update, "title"),
            text=_text(update),
            status=status,
            detail=detail or None,
        )
        events = self._close_message()
        if known is None:
            events.append(ItemStarted(item))
        if status in _DONE:
            return [*events, ItemCompleted(item)]
        if known is not None:
            events.append(ItemUpdated(item))
        return events

    def _plan(self, update: JsonObject) -> list[ProviderEvent]:
        steps = tuple(
            PlanStep(
                text_at(entry, "content") or "", _PLAN_STATUSES.get(text_at(entry, "status") or "", "pending")
            )
            for entry in list_at(update, "entries")
        )
        return [*self._close_message(), PlanUpdated(steps)]

    def _usage(self, update: JsonObject) -> list[ProviderEvent]:
        return [UsageUpdated({key: update[key] for key in ("used", "size", "cost") if key in update})]

    def _unknown(self, name: str, detail: JsonObject) -> list[ProviderEvent]:
        """Kept for people: what a newer agent says is not lost, and decides nothing."""
        item = Item(self._next("unknown"), "tool_call", title=name, status="unknown", detail=detail)
        return [*self._close_message(), ItemStarted(item), ItemCompleted(item)]

    def _next(self, name: str) -> str:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return f"{name}-{self._numbers[name]}"


_UPDATES: dict[str, Callable[[AcpNormaliser, JsonObject], list[ProviderEvent]]] = {
    "tool_call": AcpNormaliser._tool,
    "tool_call_update": AcpNormaliser._tool,
    "plan": AcpNormaliser._plan,
    "usage_update": AcpNormaliser._usage,
}


def _outcome(frame: JsonObject) -> tuple[TurnStatus, str | None]:
    if "error" in frame:
        if object_at(frame, "error").get("code") == _REQUEST_CANCELLED:
            return "interrupted", None
        return "failed", text_at(frame, "error", "message") or "the agent gave an error without a message"
    stop = text_at(frame, "result", "stopReason") or ""
    return _STOPS.get(stop, ("failed", f"the turn stopped for an unknown reason, {stop!r}"))


def _detail(update: JsonObject) -> JsonObject:
    detail = {name: update[key] for key, name in _DETAILS.items() if update.get(key) is not None}
    changes = [block for block in list_at(update, "content") if text_at(block, "type") == "diff"]
    if changes:
        detail["changes"] = [
            {key: change.get(key) for key in ("path", "oldText", "newText")} for change in changes
        ]
    return detail


def _text(update: JsonObject) -> str | None:
    texts = [text_at(block, "content", "text") for block in list_at(update, "content")]
    said = [text for text in texts if text is not None]
    return "\n".join(said) if said else None
