"""The plan that the model keeps and the person sees."""

from typing import Annotated, Literal

from pydantic import Field

from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolOutcome

__all__ = ["TodoWrite"]


class Todo(Arguments):
    content: Annotated[str, Field(min_length=1)]
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"] = "medium"


class TodoWriteArguments(Arguments):
    todos: Annotated[list[Todo], Field(description="The whole plan; it replaces the one before.")]


class TodoWrite(Tool):
    name = "todo_write"
    description = "Keep a plan for work of several steps. Send the whole list whenever something changes."
    kind = "think"
    arguments = TodoWriteArguments

    def title(self, arguments: TodoWriteArguments) -> str:
        return "Update the plan"

    async def run(self, arguments: TodoWriteArguments, context: ToolContext) -> ToolOutcome:
        todos = [todo.model_dump() for todo in arguments.todos]
        context.record("todo/write", {"todos": todos})
        await context.editor.plan(todos)
        counts = [
            f"{sum(todo.status == status for todo in arguments.todos)} {status.replace('_', ' ')}"
            for status in ("pending", "in_progress", "completed")
        ]
        return ToolOutcome.text(f"The plan is updated: {', '.join(counts)}.")
