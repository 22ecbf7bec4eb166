"""The items of codex.app-server as items of ours."""

from collections.abc import Mapping

from scenarios.reference_orchestrator.fields import JsonObject, list_at, text_at
from scenarios.reference_orchestrator.providers import Item, ItemKind

__all__ = ["DELTAS", "item_of"]

KINDS: Mapping[str, ItemKind] = {
    "userMessage": "user_message",
    "agentMessage": "agent_message",
    "reasoning": "reasoning",
    "plan": "plan",
    "commandExecution": "command",
    "fileChange": "file_change",
    "subAgentActivity": "subagent",
}
# Notification of a piece of text -> the kind of its item, for one whose start was never told.
DELTAS: Mapping[str, ItemKind] = {
    "item/agentMessage/delta": "agent_message",
    "item/plan/delta": "plan",
    "item/reasoning/summaryTextDelta": "reasoning",
    "item/reasoning/textDelta": "reasoning",
    "item/commandExecution/outputDelta": "command",
    "item/fileChange/outputDelta": "file_change",
}
# Fields that the item has a place for, or that differ from run to run and say nothing of the work.
KNOWN = frozenset(
    (
        *("id", "type", "text", "status", "command", "aggregatedOutput", "content", "summary", "prompt"),
        *("durationMs", "startedAtMs", "completedAtMs", "processId"),
    )
)


def item_of(raw: JsonObject, parent_item_id: str | None) -> Item:
    """A type that is not known here is a call of a tool by that name."""
    kind = text_at(raw, "type") or ""
    is_spawn = kind == "collabAgentToolCall" and raw.get("tool") == "spawnAgent"
    detail = {key: value for key, value in raw.items() if key not in KNOWN and value is not None}
    return Item(
        item_id=text_at(raw, "id") or "",
        kind="subagent" if is_spawn else KINDS.get(kind, "tool_call"),
        parent_item_id=parent_item_id,
        title=title_of(kind, raw),
        text=text_of(kind, raw),
        status=text_at(raw, "status"),
        detail=detail or None,
    )


def title_of(kind: str, raw: JsonObject) -> str | None:
    match kind:
        case "commandExecution":
            return text_at(raw, "command")
        case "fileChange":
            return ", ".join(path for change in list_at(raw, "changes") if (path := text_at(change, "path")))
        case "mcpToolCall":
            return f"{text_at(raw, 'server')}.{text_at(raw, 'tool')}"
        case "collabAgentToolCall":
            return text_at(raw, "prompt") or text_at(raw, "tool")
        case "subAgentActivity":
            return text_at(raw, "agentPath")
        case "userMessage" | "agentMessage" | "reasoning" | "plan":
            return None
    return text_at(raw, "tool") or kind


def text_of(kind: str, raw: JsonObject) -> str | None:
    match kind:
        case "userMessage":
            return "\n".join(text for part in list_at(raw, "content") if (text := text_at(part, "text")))
        case "reasoning":
            lines = list_at(raw, "summary") or list_at(raw, "content")
            return "\n".join(line for line in lines if isinstance(line, str))
        case "commandExecution":
            return text_at(raw, "aggregatedOutput")
    return text_at(raw, "text")
