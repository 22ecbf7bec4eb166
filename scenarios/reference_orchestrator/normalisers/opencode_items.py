"""The parts of an OpenCode message as items."""

from collections.abc import Mapping

from scenarios.reference_orchestrator.fields import JsonObject, list_at, object_at, text_at, value_at
from scenarios.reference_orchestrator.providers import Item, ItemKind, PlanStatus, PlanStep

__all__ = ["IGNORED_PARTS", "TEXTS", "child_of_tool", "is_over", "plan_of", "tool_item"]

# Kinds of parts that are no item, and why.
IGNORED_PARTS: Mapping[str, str] = {
    "agent": "says which agent the prompt named",
    "compaction": "upkeep of the conversation",
    "file": "came with the prompt",
    "patch": "repeats what tool calls changed",
    "retry": "the session's status says it",
    "snapshot": "upkeep of the server's own checkpoints",
    "step-finish": "its usage stands in the message as well",
    "step-start": "no content",
    "subtask": "becomes a tool call",
}
TEXTS: Mapping[str, ItemKind] = {"text": "agent_message", "reasoning": "reasoning"}
_TOOLS: Mapping[str, ItemKind] = {
    "apply_patch": "file_change",
    "bash": "command",
    "edit": "file_change",
    "multiedit": "file_change",
    "patch": "file_change",
    "task": "subagent",
    "todowrite": "plan",
    "write": "file_change",
}
_STATUSES: Mapping[str, PlanStatus] = {"in_progress": "in_progress", "completed": "completed"}


def tool_item(part: JsonObject, parent: str | None) -> Item:
    """A tool part. Its call id is the item's, since requests know a call by that."""
    name, state = text_at(part, "tool") or "", object_at(part, "state")
    detail: JsonObject = {"tool": name, "input": object_at(state, "input")}
    return Item(
        text_at(part, "callID") or "",
        _TOOLS.get(name, "tool_call"),
        parent,
        title=text_at(state, "title") or name,
        text=text_at(state, "output") or text_at(state, "error"),
        status=text_at(state, "status"),
        detail=detail,
    )


def is_over(part: JsonObject) -> bool:
    """Whether a part will not change any more: a tool is done, a text has an end."""
    if text_at(part, "type") == "tool":
        return text_at(part, "state", "status") in ("completed", "error")
    return value_at(part, "time", "end") is not None


def child_of_tool(part: JsonObject) -> str | None:
    """The session that a task works in, once the server says it."""
    return text_at(part, "state", "metadata", "sessionId")


def plan_of(properties: JsonObject) -> tuple[PlanStep, ...]:
    return tuple(
        PlanStep(text_at(todo, "content") or "", _STATUSES.get(text_at(todo, "status") or "", "pending"))
        for todo in list_at(properties, "todos")
    )
