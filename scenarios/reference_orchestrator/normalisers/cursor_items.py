"""The tool calls of a Cursor agent as items, and the steps of a child, which come with the call that made it."""

from collections.abc import Iterator, Mapping

from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at, value_at
from scenarios.reference_orchestrator.providers import Item, ItemKind, PlanStatus, PlanStep

__all__ = ["child_of_task", "plan_of", "steps_of_task", "tool_item"]

_KINDS: Mapping[str, ItemKind] = {
    "createPlan": "plan",
    "delete": "file_change",
    "edit": "file_change",
    "shell": "command",
    "task": "subagent",
    "updateTodos": "plan",
    "write": "file_change",
}
_TITLES = ("command", "description", "path", "pattern", "globPattern", "query")
_STATUSES: Mapping[str, PlanStatus] = {
    "completed": "completed",
    "inProgress": "in_progress",
    "in_progress": "in_progress",
}
_SPOKEN: Mapping[str, ItemKind] = {"assistantMessage": "agent_message", "thinkingMessage": "reasoning"}
_CALL = "ToolCall"


def tool_item(item_id: str, call: JsonObject, parent: str | None = None) -> Item:
    """A call `{"type", "args", "result"?}`; without a result it still runs."""
    name = text_at(call, "type") or "tool"
    arguments, result = object_at(call, "args"), object_at(call, "result")
    detail: JsonObject = {"tool": name, "input": arguments}
    status = "in_progress"
    if result:
        status = "completed" if text_at(result, "status") == "success" else "failed"
        if name != "task":
            detail["output"] = result.get("value", result.get("error"))
    kind = _KINDS.get(name, "tool_call")
    return Item(item_id, kind, parent, _title(name, arguments), _last_word(call), status, detail)


def child_of_task(call: JsonObject) -> str | None:
    return text_at(call, "args", "agentId")


def steps_of_task(item_id: str, call: JsonObject) -> Iterator[Item]:
    """What the child did, in order. A step that names no call of its own is numbered."""
    for ordinal, step in enumerate(list_at(call, "result", "value", "conversationSteps"), 1):
        for name, kind in _SPOKEN.items():
            text = text_at(step, name, "text")
            if text is not None:
                yield Item(f"{item_id}/{ordinal}", kind, item_id, text=text, status="completed")
        for name, nested in object_at(step, "toolCall").items():
            if name.endswith(_CALL):
                call_id = text_at(step, "toolCall", "toolCallId") or f"{item_id}/{ordinal}"
                yield tool_item(call_id, _nested(name.removesuffix(_CALL), nested), item_id)


def plan_of(call: JsonObject) -> tuple[PlanStep, ...] | None:
    if text_at(call, "type") != "updateTodos":
        return None
    todos = list_at(call, "result", "value", "todos") or list_at(call, "args", "todos")
    return tuple(
        PlanStep(text_at(todo, "content") or "", _STATUSES.get(text_at(todo, "status") or "", "pending"))
        for todo in todos
    )


def _nested(name: str, call: object) -> JsonObject:
    """A child's call has the form of the agent's own store: the result is keyed by how it ended."""
    success = value_at(call, "result", "success")
    result: JsonObject = {"status": "success", "value": success}
    if success is None:
        result = {"status": "error", "error": value_at(call, "result")}
    return {"type": name, "args": object_at(call, "args"), "result": result}


def _title(name: str, arguments: JsonObject) -> str:
    """The argument that tells two calls of one tool apart, or the tool's name."""
    for key in _TITLES:
        found = text_at(arguments, key)
        if found is not None:
            return found
    return name


def _last_word(call: JsonObject) -> str | None:
    """What a child said last is the call's text; of a command, what it wrote."""
    for step in reversed(list_at(call, "result", "value", "conversationSteps")):
        text = text_at(step, "assistantMessage", "text")
        if text is not None:
            return text
    return text_at(call, "result", "value", "stdout")
