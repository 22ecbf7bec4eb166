"""The requests, responses and events of an OpenCode server as provider events.

Frames are `{"type": OPERATION, "input"?}` out; `{"type": "sdk.response", "operation", "data" | "error"}` and
`{"type": "sdk.event", "event"}` in. Responses and events race, so what an event says, only the event is believed.

A turn begins with a user's message while none runs and ends when the session is idle; its id is that message's. A user's
message in a running turn steers it. Children are sessions of their own on the same stream: what one says before it is
known whose child it is waits for that, and its idleness ends nothing of its parent.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at, value_at
from scenarios.reference_orchestrator.normalisers.opencode_items import (
    IGNORED_PARTS,
    TEXTS,
    child_of_tool,
    is_over,
    plan_of,
    tool_item,
)
from scenarios.reference_orchestrator.providers import (
    Decision,
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    Option,
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
    TurnStatus,
    UsageUpdated,
)

__all__ = ["IGNORED", "OpencodeNormaliser"]

# What gives no event, by the event's type, and why. What names no session of ours is not ours.
IGNORED = {
    "command.executed": "a command is a prompt as well",
    "file.edited": "the tool call says it",
    "message.removed": "part of a rollback, which its response reports",
    "message.part.removed": "part of a rollback, which its response reports",
    "permission.updated": "the form of old servers; permission.asked is believed",
    "permission.v2.asked": "the same request in another form",
    "permission.v2.replied": "the same request in another form",
    "question.v2.asked": "the same request in another form",
    "question.v2.rejected": "the same request in another form",
    "question.v2.replied": "the same request in another form",
    "session.compacted": "upkeep of the conversation",
    "session.created": "its response says it, and of a child the tool call",
    "session.deleted": "nobody deletes here",
    "session.diff": "the checkpoints know what changed",
    "session.updated": "a title, a summary, the time",
}
_REPLIES: dict[str, Decision] = {"once": "allow_once", "always": "allow_always", "reject": "reject_once"}
_OPTIONS = (
    Option("once", "allow_once", "Allow once"),
    Option("always", "allow_always", "Allow from now on"),
    Option("reject", "reject_once", "Reject"),
)
_ABORTED = "MessageAbortedError"
_MAX_WAITING_SESSIONS = 64
_MAX_WAITING_EVENTS = 4096


class OpencodeNormaliser:
    """One server with one session. `session_id` is "" until it is open; `questions` are the ids asked, by request."""

    def __init__(self) -> None:
        self.session_id = ""
        self.questions: dict[str, tuple[str, ...]] = {}
        self._asked: dict[str, deque[JsonObject]] = {}
        self._children: dict[str, str] = {}
        self._ended_children: set[str] = set()
        self._waiting: dict[str, list[JsonObject]] = {}
        self._roles: dict[str, str] = {}
        self._texts: dict[str, Item] = {}
        self._started: set[str] = set()
        self._completed: set[str] = set()
        self._turn = ""
        self._is_prompted = False
        self._is_aborting = False
        self._outcome: tuple[TurnStatus, str | None] | None = None
        self._finish = ""
        self._unknown = 0

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        operation = frame["type"]
        self._asked.setdefault(operation, deque()).append(frame)
        if operation == "session.promptAsync":
            self._is_prompted = self._is_prompted or not self._turn
        elif operation == "session.abort":
            self._is_aborting = self._is_prompted or self._turn != ""
        return ()

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if frame.get("type") == "sdk.response":
            return tuple(self._response(frame))
        if frame.get("type") != "sdk.event":
            raise ProviderError(f"a frame of type {frame.get('type')!r}")
        event = object_at(frame, "event")
        if text_at(event, "type") is None:
            raise ProviderError("an event without a type")
        return tuple(self._event(event))

    # Responses

    def _response(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        operation = text_at(frame, "operation") or ""
        waiting = self._asked.get(operation)
        if not waiting:
            raise ProviderError(f"an answer to {operation!r}, which was never asked")
        request = waiting.popleft()
        error = _error_text(frame["error"]) if frame.get("error") is not None else None
        match operation:
            case "session.create" | "session.get" if error is None and not self.session_id:
                self.session_id = text_at(frame, "data", "id") or ""
                yield ThreadOpened(self.session_id, operation == "session.get")
                yield from self._released(self.session_id)
            case "session.promptAsync" if error is not None:
                yield from self._refused(request, error)
            case "session.revert":
                yield ThreadRolledBack(None, error)

    def _refused(self, request: JsonObject, error: str) -> Iterator[ProviderEvent]:
        if self._turn:
            texts = [text_at(part, "text") or "" for part in list_at(request, "input", "parts")]
            yield SteerRejected("\n".join(texts), error)
        elif self._is_prompted:
            self._is_prompted = False
            yield TurnEnded("", "failed", error)

    # Events

    def _event(self, event: JsonObject) -> Iterator[ProviderEvent]:
        kind, properties = event["type"], object_at(event, "properties")
        if kind in IGNORED:
            return
        session = _session_of(properties)
        if session is None and kind != "session.error":
            return
        if session not in (None, self.session_id) and session not in self._children:
            self._wait(session or "", event)
            return
        parent = self._children.get(session or "")
        handler = _EVENTS.get(kind)
        if handler is not None:
            yield from handler(self, properties, parent)
        else:
            self._unknown += 1
            item = Item(f"unknown-{self._unknown}", "tool_call", parent, kind, None, "unknown", properties)
            yield from (ItemStarted(item), ItemCompleted(item))

    def _message(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        info = object_at(properties, "info")
        message, role = text_at(info, "id"), text_at(info, "role")
        if message is None or role is None:
            raise ProviderError("a message without an id or a role")
        is_new = message not in self._roles
        self._roles[message] = role
        if parent is not None:
            return
        if role == "user":
            if is_new and not self._turn:
                self._turn, self._is_prompted = message, False
                self._outcome, self._finish = None, ""
                yield TurnStarted(message)
            return
        self._finish = text_at(info, "finish") or ""
        if info.get("error") is not None:
            self._failed(object_at(info, "error"))
        if value_at(info, "time", "completed") is not None and message not in self._completed:
            self._completed.add(message)
            yield UsageUpdated({"tokens": object_at(info, "tokens"), "cost": info.get("cost", 0)})

    def _part(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        part = object_at(properties, "part")
        kind = text_at(part, "type") or ""
        if kind == "tool":
            yield from self._tool(part, parent)
        elif kind in TEXTS:
            yield from self._text(part, parent)
        elif kind not in IGNORED_PARTS:
            self._unknown += 1
            item = Item(f"unknown-{self._unknown}", "tool_call", parent, kind, None, "unknown", part)
            yield from (ItemStarted(item), ItemCompleted(item))

    def _text(self, part: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        if part.get("synthetic") is True or part.get("ignored") is True:
            # What the server adds to a prompt for the model to read, such as the text of a file.
            return
        is_prompt = self._roles.get(text_at(part, "messageID") or "") == "user"
        item = Item(
            _part_id(part),
            "user_message" if is_prompt else TEXTS[part["type"]],
            parent,
            text=text_at(part, "text") or "",
        )
        before = self._texts.get(item.item_id)
        self._texts[item.item_id] = item
        if before is None:
            yield ItemStarted(item if item.text else item._replace(text=None))
        if item.item_id in self._completed:
            if before is not None and before.text == item.text:
                return
        elif not is_prompt and not is_over(part):
            if before is not None and before.text != item.text:
                yield ItemUpdated(item)
            return
        self._completed.add(item.item_id)
        yield ItemCompleted(item)

    def _delta(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        item = self._texts.get(text_at(properties, "partID") or "")
        if item is None or text_at(properties, "field") != "text":
            return
        delta = text_at(properties, "delta") or ""
        self._texts[item.item_id] = item._replace(text=f"{item.text}{delta}")
        yield ItemDelta(item.item_id, delta)

    def _tool(self, part: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        item = tool_item(part, parent)
        if not item.item_id:
            raise ProviderError("a tool call without a callID")
        is_new = item.item_id not in self._started
        self._started.add(item.item_id)
        if is_new:
            yield ItemStarted(item)
        child = child_of_tool(part) if item.kind == "subagent" else None
        if child is not None and child not in self._children:
            self._children[child] = item.item_id
            yield SubagentStarted(item.item_id, child, parent)
            yield from self._released(child)
        if is_over(part):
            yield ItemCompleted(item)
            yield from self._child_ended(item)
        elif not is_new:
            yield ItemUpdated(item)

    def _child_ended(self, item: Item) -> Iterator[ProviderEvent]:
        if item.item_id in self._children.values() and item.item_id not in self._ended_children:
            self._ended_children.add(item.item_id)
            yield SubagentEnded(item.item_id, "completed" if item.status == "completed" else "failed")

    def _status(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        if text_at(properties, "status", "type") == "idle":
            yield from self._idle(properties, parent)

    def _idle(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        if parent is not None or not self._turn:
            return
        status, error = self._outcome or ("completed", None)
        if self._outcome is None and self._is_aborting and self._finish != "stop":
            status = "interrupted"
        yield TurnEnded(self._turn, status, error)
        self._turn, self._is_aborting = "", False

    def _error(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        if parent is not None:
            return
        error = object_at(properties, "error")
        if self._turn:
            self._failed(error)
        elif self._is_prompted:
            self._is_prompted = False
            yield TurnEnded("", "failed", _error_text(error))

    def _failed(self, error: JsonObject) -> None:
        if text_at(error, "name") == _ABORTED:
            self._outcome = ("interrupted", None)
        elif self._outcome is None:
            self._outcome = ("failed", _error_text(error))

    def _todos(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        if parent is None:
            yield PlanUpdated(plan_of(properties))

    # Requests of the server

    def _permission(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        names = ("permission", "patterns", "metadata")
        detail: JsonObject = {name: properties[name] for name in names if name in properties}
        yield RequestOpened(
            _id_of(properties), "approval", _OPTIONS, detail, text_at(properties, "tool", "callID")
        )

    def _question(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        questions = [
            _question_of(f"question-{ordinal}", question)
            for ordinal, question in enumerate(list_at(properties, "questions"), 1)
        ]
        request_id = _id_of(properties)
        self.questions[request_id] = tuple(question["id"] for question in questions)
        call = text_at(properties, "tool", "callID")
        yield RequestOpened(request_id, "question", (), {"questions": questions}, call)

    def _replied(self, properties: JsonObject, parent: str | None) -> Iterator[ProviderEvent]:
        reply = text_at(properties, "reply")
        self.questions.pop(text_at(properties, "requestID") or "", None)
        decision: Decision = "answered" if "answers" in properties else _REPLIES.get(reply or "", "cancelled")
        yield RequestResolved(text_at(properties, "requestID") or "", decision)

    # Sessions whose parent is not known yet

    def _wait(self, session: str, event: JsonObject) -> None:
        """Sessions that are nobody's child here, of another client of the server, are forgotten oldest first."""
        waiting = self._waiting.setdefault(session, [])
        if len(waiting) < _MAX_WAITING_EVENTS:
            waiting.append(event)
        for oldest in tuple(islice(self._waiting, max(0, len(self._waiting) - _MAX_WAITING_SESSIONS))):
            del self._waiting[oldest]

    def _released(self, session: str) -> Iterator[ProviderEvent]:
        for event in self._waiting.pop(session, ()):
            yield from self._event(event)


_Handler = Callable[[OpencodeNormaliser, JsonObject, str | None], Iterator[ProviderEvent]]
_EVENTS: dict[str, _Handler] = {
    "message.part.delta": OpencodeNormaliser._delta,
    "message.part.updated": OpencodeNormaliser._part,
    "message.updated": OpencodeNormaliser._message,
    "permission.asked": OpencodeNormaliser._permission,
    "permission.replied": OpencodeNormaliser._replied,
    "question.asked": OpencodeNormaliser._question,
    "question.rejected": OpencodeNormaliser._replied,
    "question.replied": OpencodeNormaliser._replied,
    "session.error": OpencodeNormaliser._error,
    "session.idle": OpencodeNormaliser._idle,
    "session.status": OpencodeNormaliser._status,
    "todo.updated": OpencodeNormaliser._todos,
}


def _session_of(properties: JsonObject) -> str | None:
    return (
        text_at(properties, "sessionID")
        or text_at(properties, "part", "sessionID")
        or text_at(properties, "info", "sessionID")
    )


def _id_of(properties: JsonObject) -> str:
    request_id = text_at(properties, "id")
    if request_id is None:
        raise ProviderError("a request without an id")
    return request_id


def _part_id(part: JsonObject) -> str:
    part_id = text_at(part, "id")
    if part_id is None:
        raise ProviderError("a part without an id")
    return part_id


def _error_text(error: object) -> str:
    return (
        text_at(error, "data", "message") or text_at(error, "message") or text_at(error, "name") or "an error"
    )


def _question_of(question_id: str, raw: object) -> JsonObject:
    """Answers come by position, so the position is the id."""
    found: JsonObject = {"id": question_id, "question": text_at(raw, "question") or ""}
    header = text_at(raw, "header")
    if header is not None:
        found["header"] = header
    found["options"] = [
        {key: text for key in ("label", "description") if (text := text_at(option, key)) is not None}
        for option in list_at(raw, "options")
    ]
    if value_at(raw, "multiple") is True:
        found["multiple"] = True
    return found
