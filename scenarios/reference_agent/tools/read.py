"""Looking at files: `read` a text with numbered lines, `glob` names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from scenarios.reference_agent.tools.files import AgentFiles, inside
from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolError, ToolOutcome

__all__ = ["Glob", "Read"]

MAX_NAMES = 1000


class ReadArguments(Arguments):
    path: Annotated[str, Field(description="File to read, relative to the working directory.")]
    start_line: Annotated[int, Field(ge=1, description="First line to show, from 1.")] = 1
    line_count: Annotated[int | None, Field(ge=1, description="How many lines to show; all if left out.")] = (
        None
    )


class Read(Tool):
    name = "read"
    description = (
        "Read a text file. Lines come numbered; use start_line and line_count for a part of a long file."
    )
    kind = "read"
    arguments = ReadArguments
    parallel: ClassVar[bool] = True

    def title(self, arguments: ReadArguments) -> str:
        return f"Read {arguments.path}"

    def path(self, arguments: ReadArguments) -> str:
        return arguments.path

    async def run(self, arguments: ReadArguments, context: ToolContext) -> ToolOutcome:
        path = inside(arguments.path, context.cwd, context.spill)
        # The client knows nothing of our long outputs.
        files = AgentFiles() if path.is_relative_to(context.spill.resolve()) else context.files
        text = await files.read_text(path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        first = arguments.start_line
        last = (
            len(lines) if arguments.line_count is None else min(len(lines), first + arguments.line_count - 1)
        )
        if not lines:
            return ToolOutcome.text("(the file is empty)")
        if first > len(lines):
            raise ToolError(f"{arguments.path}: has {len(lines)} lines, start_line is {first}")
        shown = numbered(lines[first - 1 : last], first, context.config.read_max_line_chars)
        if len(shown.encode("utf-8", "surrogatepass")) > context.config.read_max_bytes:
            raise ToolError(
                f"{arguments.path}: lines {first} to {last} are more than {context.config.read_max_bytes} bytes;"
                " ask for fewer with start_line and line_count"
            )
        part = "" if (first, last) == (1, len(lines)) else f"\n(lines {first} to {last} of {len(lines)})"
        return ToolOutcome.text(shown + part)


def numbered(lines: list[str], first: int, max_chars: int) -> str:
    return "\n".join(
        f"{number}\t{line if len(line) <= max_chars else cut(line, max_chars)}"
        for number, line in enumerate((line.removesuffix("\r") for line in lines), first)
    )


def cut(line: str, max_chars: int) -> str:
    return f"{line[:max_chars]}… ({len(line) - max_chars} more characters)"


class GlobArguments(Arguments):
    pattern: Annotated[str, Field(description='For example "src/**/*.py"; ** crosses directories.')]


class Glob(Tool):
    name = "glob"
    description = "List the files below the working directory whose path fits a pattern, sorted by name."
    kind = "search"
    arguments = GlobArguments
    parallel: ClassVar[bool] = True

    def title(self, arguments: GlobArguments) -> str:
        return f"Find {arguments.pattern}"

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolOutcome:
        pattern = arguments.pattern
        if pattern.startswith("/") or ".." in Path(pattern).parts:
            raise ToolError("a pattern is relative to the working directory and has no ..")
        names = sorted(found(context.cwd, pattern))
        if not names:
            return ToolOutcome.text("(no file fits)")
        more = f"\n({len(names) - MAX_NAMES} more)" if len(names) > MAX_NAMES else ""
        return ToolOutcome.text("\n".join(names[:MAX_NAMES]) + more)


def found(cwd: Path, pattern: str) -> Iterator[str]:
    """Files that fit. Hidden ones only if the pattern names something hidden; links do not lead outside."""
    wants_hidden = any(part.startswith(".") for part in Path(pattern).parts)
    try:
        for path in cwd.glob(pattern):
            name = path.relative_to(cwd)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if (
                (wants_hidden or not is_hidden)
                and path.is_file()
                and path.resolve().is_relative_to(cwd.resolve())
            ):
                yield str(name)
    except ValueError as error:
        raise ToolError(f"{pattern}: {error}") from error
