"""The calls, answers and updates of a Cursor agent as provider events.

A turn is a run, from the first frame that names it to its completion. Messages have no ids: a message is whatever pieces
of one kind stand next to each other. A task tool is a child whose steps are told when it is done.

Not said by the SDK, so never said here: a request to a person, a steering, a rollback.
"""

from collections.abc import Callable, Iterator, Sequence

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, object_at, text_at
from scenarios.reference_orchestrator.normalisers.cursor_items import (
    child_of_task,
    plan_of,
    steps_of_task,
    tool_item,
)
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemKind,
    ItemStarted,
    ItemUpdated,
    PlanUpdated,
    ProviderEvent,
    SubagentEnded,
    SubagentStarted,
    ThreadOpened,
    TurnEnded,
    TurnStarted,
    TurnStatus,
    UsageUpdated,
)

__all__ = ["IGNORED", "CursorNormaliser"]

# What gives no event, by type of the frame or of the update, and why.
IGNORED = {
    "agent.messages": "an answer to a question that the adapter does not ask",
    "partial-tool-call": "the call's start says it whole",
    "shell-output-delta": "does not name its call; the completed call holds the output",
    "step-completed": "a timer",
    "step-started": "a timer",
    "summary": "upkeep of the conversation",
    "summary-completed": "upkeep of the conversation",
    "summary-started": "upkeep of the conversation",
    "thinking-completed": "what follows ends the thought as well",
    "token-delta": "the end of the turn says the sum",
    "user-message-appended": "an echo: the prompt was taken down when it was sent",
}
_STATUSES: dict[str, TurnStatus] = {"finished": "completed", "cancelled": "interrupted"}


class CursorNormaliser:
    """One agent. `agent_id` is "" until it is open."""

    def __init__(self) -> None:
        self.agent_id = ""
        self._operations: list[str] = []
        self._prompts: list[str] = []
        self._run = ""
        self._ended: set[str] = set()
        self._message: Item | None = None
        self._tools: dict[str, Item] = {}
        self._numbers: dict[str, int] = {}

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        if frame["type"] == "agent.open":
            self._operations.append(frame["operation"])
        elif frame["type"] == "run.start":
            message = frame["message"]
            self._prompts.append(message if isinstance(message, str) else text_at(message, "text") or "")
        return ()

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        kind = text_at(frame, "type")
        if kind is None:
            raise ProviderError("a frame without a type")
        if kind in IGNORED:
            return ()
        handler = _FRAMES.get(kind)
        return tuple(self._unknown(kind, frame) if handler is None else handler(self, frame))

    def _opened(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        if not self._operations:
            raise ProviderError("an agent was opened that nobody asked for")
        self.agent_id = text_at(frame, "agentId") or ""
        yield ThreadOpened(self.agent_id, self._operations.pop(0) == "resume")

    def _refused(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        operation = text_at(frame, "operation")
        if operation == "agent.open" and self._operations:
            self._operations.pop(0)
        elif operation == "run.start" and self._prompts:
            self._prompts.pop(0)
            yield TurnEnded(
                "", "failed", text_at(frame, "error", "message") or "the agent refused the message"
            )

    def _started(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        return self._named(text_at(frame, "runId"))

    def _named(self, run: str | None) -> Iterator[ProviderEvent]:
        """A frame names a run; the first to name it begins the turn."""
        if run is None:
            raise ProviderError("a frame that names no run")
        if run == self._run or run in self._ended:
            return
        if self._run:
            raise ProviderError(f"run {run} began while {self._run} was not over")
        if not self._prompts:
            raise ProviderError(f"run {run} began, and no message was sent")
        self._run = run
        yield TurnStarted(run)
        prompt = Item(self._next("prompt"), "user_message", text=self._prompts.pop(0))
        yield from (ItemStarted(prompt), ItemCompleted(prompt))

    def _updated(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        yield from self._named(text_at(frame, "runId"))
        update = object_at(frame, "update")
        kind = text_at(update, "type")
        if kind is None:
            raise ProviderError("an update without a type")
        if kind in IGNORED:
            return
        handler = _UPDATES.get(kind)
        yield from self._unknown(kind, update) if handler is None else handler(self, update)

    def _completed(self, frame: JsonObject) -> Iterator[ProviderEvent]:
        result = object_at(frame, "result")
        run = text_at(result, "id")
        yield from self._named(run)
        if run in self._ended:
            raise ProviderError(f"run {run} was completed twice")
        yield from self._close_message()
        said = text_at(result, "status") or ""
        status = _STATUSES.get(said, "failed")
        error = (
            text_at(result, "errorMessage")
            or text_at(result, "error", "message")
            or f"the run ended as {said!r}"
        )
        yield TurnEnded(self._run, status, error if status == "failed" else None)
        self._ended.add(self._run)
        self._run = ""

    # Updates

    def _text(self, update: JsonObject) -> Iterator[ProviderEvent]:
        return self._piece("agent_message", "message", update)

    def _thinking(self, update: JsonObject) -> Iterator[ProviderEvent]:
        return self._piece("reasoning", "thought", update)

    def _piece(self, kind: ItemKind, name: str, update: JsonObject) -> Iterator[ProviderEvent]:
        text = text_at(update, "text") or ""
        if self._message is None or self._message.kind != kind:
            yield from self._close_message()
            self._message = Item(self._next(name), kind, text="")
            yield ItemStarted(self._message._replace(text=None))
        self._message = self._message._replace(text=f"{self._message.text}{text}")
        yield ItemDelta(self._message.item_id, text)

    def _close_message(self) -> Iterator[ProviderEvent]:
        if self._message is not None:
            yield ItemCompleted(self._message)
            self._message = None

    def _tool_started(self, update: JsonObject) -> Iterator[ProviderEvent]:
        yield from self._close_message()
        item = tool_item(_call_of(update), object_at(update, "toolCall"))
        if item.item_id in self._tools:
            yield ItemUpdated(item)
            return
        self._tools[item.item_id] = item
        yield ItemStarted(item)
        if item.kind == "subagent":
            child = child_of_task(object_at(update, "toolCall")) or item.item_id
            yield SubagentStarted(item.item_id, child)

    def _tool_completed(self, update: JsonObject) -> Iterator[ProviderEvent]:
        if _call_of(update) not in self._tools:
            yield from self._tool_started(update)
        yield from self._close_message()
        call = object_at(update, "toolCall")
        item = tool_item(_call_of(update), call)
        if item.kind == "subagent":
            for step in steps_of_task(item.item_id, call):
                yield from (ItemStarted(step), ItemCompleted(step))
        yield ItemCompleted(item)
        if item.kind == "subagent":
            yield SubagentEnded(item.item_id, "failed" if item.status == "failed" else "completed")
        plan = plan_of(call)
        if plan is not None:
            yield PlanUpdated(plan)

    def _usage(self, update: JsonObject) -> Iterator[ProviderEvent]:
        if object_at(update, "usage"):
            yield UsageUpdated(object_at(update, "usage"))

    def _unknown(self, name: str, frame: JsonObject) -> Iterator[ProviderEvent]:
        """Kept for people: what a newer SDK says is not lost, and decides nothing."""
        item = Item(self._next("unknown"), "tool_call", title=name, status="unknown", detail=frame)
        yield from (ItemStarted(item), ItemCompleted(item))

    def _next(self, name: str) -> str:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return f"{name}-{self._numbers[name]}"


_Handler = Callable[[CursorNormaliser, JsonObject], Iterator[ProviderEvent]]
_FRAMES: dict[str, _Handler] = {
    "agent.opened": CursorNormaliser._opened,
    "interaction.update": CursorNormaliser._updated,
    "run.completed": CursorNormaliser._completed,
    "run.started": CursorNormaliser._started,
    "sdk.error": CursorNormaliser._refused,
}
_UPDATES: dict[str, _Handler] = {
    "text-delta": CursorNormaliser._text,
    "thinking-delta": CursorNormaliser._thinking,
    "tool-call-completed": CursorNormaliser._tool_completed,
    "tool-call-started": CursorNormaliser._tool_started,
    "turn-ended": CursorNormaliser._usage,
}


def _call_of(update: JsonObject) -> str:
    call = text_at(update, "callId")
    if call is None:
        raise ProviderError("a tool call without a callId")
    return call
