"""What a tool is: a name, a schema for its arguments, and `run`.

A tool knows neither hooks nor permissions nor the log of its call: dispatch.py does all that around it.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from acp.schema import ContentToolCallContent, FileEditToolCallContent, TerminalToolCallContent, ToolKind

    from scenarios.reference_agent.config import ToolsConfig
    from scenarios.reference_agent.editor import Editor
    from scenarios.reference_agent.tools.files import Files

    type Display = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

__all__ = ["Arguments", "Tool", "ToolContext", "ToolError", "ToolOutcome", "shorten"]


class ToolError(Exception):
    """The call failed in a way that the model should read and react to."""


class Arguments(BaseModel):
    """The base of every tool's arguments; its JSON schema is what the model sees."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may use. `spill` is where a session's long outputs go, `ordinal` counts its calls from 1."""

    call_id: str
    ordinal: int
    cwd: Path
    spill: Path
    config: ToolsConfig
    editor: Editor
    files: Files
    client_shell: bool
    environment: Mapping[str, str]
    record: Callable[[str, dict[str, Any]], None]
    delegate: Callable[[str, str, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """`blocks` go to the model; `display` goes to the person, who sees the blocks where it is None."""

    blocks: list[dict[str, Any]]
    is_error: bool = False
    display: Sequence[Display] | None = field(default=None)

    @classmethod
    def text(
        cls, text: str, *, is_error: bool = False, display: Sequence[Display] | None = None
    ) -> ToolOutcome:
        return cls([{"type": "text", "text": text}], is_error, display)


class Tool(ABC):
    """`parallel`: may run beside others of its kind. `gated`: changes something, so the mode decides about it."""

    name: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[ToolKind]
    arguments: ClassVar[type[Arguments]]
    parallel: ClassVar[bool] = False
    gated: ClassVar[bool] = False

    @abstractmethod
    def title(self, arguments: Any) -> str:
        """One line that tells a person what the call does."""

    def path(self, arguments: Any) -> str | None:
        """The file that the call is about, for the client to follow along."""
        return None

    @abstractmethod
    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        """Do it. Raises ToolError; ends what it started when cancelled."""

    def schema(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": without_titles(self.arguments.model_json_schema()),
        }


def without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic derives from names. A property called `title` stays."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_titles(item) for name, item in value.items()}
        if key in ("properties", "$defs")
        else without_titles(value)
        for key, value in schema.items()
        if key != "title"
    }


def shorten(text: str, max_chars: int = 80) -> str:
    """The first line of `text`, cut to fit."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
