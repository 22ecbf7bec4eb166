"""What the tools of the Claude CLI are called, and what of their calls and results people want to see."""

from scenarios.reference_orchestrator.fields import JsonObject, list_at, text_at, value_at
from scenarios.reference_orchestrator.providers import ItemKind, PlanStatus, PlanStep

__all__ = [
    "PLAN_TOOL",
    "QUESTION_TOOL",
    "block_text",
    "kind_of_tool",
    "plan_of_tool",
    "result_text",
    "title_of_tool",
]

QUESTION_TOOL = "AskUserQuestion"
PLAN_TOOL = "ExitPlanMode"
_KINDS: dict[str, ItemKind] = {
    "Agent": "subagent",
    "Task": "subagent",
    "Bash": "command",
    "Edit": "file_change",
    "MultiEdit": "file_change",
    "NotebookEdit": "file_change",
    "Write": "file_change",
    PLAN_TOOL: "plan",
    "TodoWrite": "plan",
}
_STATUSES: dict[str, PlanStatus] = {"in_progress": "in_progress", "completed": "completed"}
_TITLES = ("command", "file_path", "notebook_path", "description", "pattern", "query", "url")


def kind_of_tool(name: str) -> ItemKind:
    return _KINDS.get(name, "tool_call")


def title_of_tool(name: str, arguments: JsonObject) -> str:
    """The argument that tells two calls of one tool apart, or the tool's name."""
    for key in _TITLES:
        found = text_at(arguments, key)
        if found is not None:
            return found
    return name


def plan_of_tool(name: str, arguments: JsonObject) -> tuple[PlanStep, ...] | None:
    if name != "TodoWrite":
        return None
    return tuple(
        PlanStep(text_at(todo, "content") or "", _STATUSES.get(text_at(todo, "status") or "", "pending"))
        for todo in list_at(arguments, "todos")
    )


def result_text(block: JsonObject) -> str:
    """What a tool gave back: a text, or the texts of its blocks."""
    return _text(block.get("content"))


def block_text(message: object) -> str:
    """The text of a message, tool results left out."""
    return _text(value_at(message, "content"))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(text_at(block, "text") or "" for block in blocks if text_at(block, "type") == "text")
