"""Changing files: `write` a whole one, `edit` one place in it."""

from typing import Annotated, ClassVar

from acp.helpers import tool_diff_content
from pydantic import Field

from scenarios.reference_agent.tools.files import inside
from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolError, ToolOutcome

__all__ = ["Edit", "Write"]


class WriteArguments(Arguments):
    path: Annotated[str, Field(description="File to write, relative to the working directory.")]
    content: Annotated[str, Field(description="The whole new content.")]


class Write(Tool):
    name = "write"
    description = "Create a file or replace all of its content."
    kind = "edit"
    arguments = WriteArguments
    gated: ClassVar[bool] = True

    def title(self, arguments: WriteArguments) -> str:
        return f"Write {arguments.path}"

    def path(self, arguments: WriteArguments) -> str:
        return arguments.path

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolOutcome:
        path = inside(arguments.path, context.cwd)
        old = await context.files.old_text(path)
        await context.files.write_text(path, arguments.content)
        size = len(arguments.content.encode("utf-8", "surrogatepass"))
        return ToolOutcome.text(
            f"Wrote {size} bytes to {arguments.path}.",
            display=[tool_diff_content(str(path), arguments.content, old)],
        )


class EditArguments(Arguments):
    path: Annotated[str, Field(description="File to change, relative to the working directory.")]
    old_text: Annotated[str, Field(min_length=1, description="Text that stands in the file exactly once.")]
    new_text: Annotated[str, Field(description="What to put there instead.")]


class Edit(Tool):
    name = "edit"
    description = "Replace one passage of a file. old_text must occur exactly once; take in enough around it."
    kind = "edit"
    arguments = EditArguments
    gated: ClassVar[bool] = True

    def title(self, arguments: EditArguments) -> str:
        return f"Edit {arguments.path}"

    def path(self, arguments: EditArguments) -> str:
        return arguments.path

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolOutcome:
        path = inside(arguments.path, context.cwd)
        old = await context.files.read_text(path)
        count = old.count(arguments.old_text)
        if count != 1:
            found = "does not occur" if count == 0 else f"occurs {count} times"
            raise ToolError(f"{arguments.path}: old_text {found}; it must occur exactly once")
        if arguments.old_text == arguments.new_text:
            raise ToolError("old_text and new_text are the same")
        new = old.replace(arguments.old_text, arguments.new_text)
        await context.files.write_text(path, new)
        line = old[: old.index(arguments.old_text)].count("\n") + 1
        return ToolOutcome.text(
            f"Changed {arguments.path} at line {line}.", display=[tool_diff_content(str(path), new, old)]
        )
