"""Files of a session: which paths it may touch, and who touches them, we or the client.

The client's editor may hold changes that are not saved yet, so a session can be set to read and write through
it. The boundary is ours either way.
"""

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.reference_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from scenarios.reference_agent.editor import Editor

__all__ = ["AgentFiles", "ClientFiles", "Files", "inside"]


def inside(path: str, cwd: Path, *others: Path) -> Path:
    """The absolute path meant by `path`, links resolved. Raises ToolError if it lies in none of the roots."""
    if "\0" in path or not path:
        raise ToolError("a path must not be empty or hold NUL")
    target = (cwd / path).resolve()
    if not any(target.is_relative_to(root.resolve()) for root in (cwd, *others)):
        raise ToolError(f"{path}: is outside the working directory")
    return target


class Files(ABC):
    @abstractmethod
    async def read_text(self, path: Path) -> str:
        """The whole file, line ends as they are. Raises ToolError."""

    @abstractmethod
    async def write_text(self, path: Path, text: str) -> None:
        """Replace the file; missing directories are made. Raises ToolError."""

    async def old_text(self, path: Path) -> str | None:
        """What a write would replace, None for a new file or one that is not text."""
        if not path.exists():
            return None
        try:
            return await self.read_text(path)
        except ToolError:
            return None


class AgentFiles(Files):
    async def read_text(self, path: Path) -> str:
        try:
            data = await asyncio.to_thread(path.read_bytes)
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ToolError(f"{path}: is not a UTF-8 text file") from error
        except OSError as error:
            raise ToolError(f"{path}: {reason(error)}") from error

    async def write_text(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(path.write_bytes, text.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise ToolError(f"{path}: the text holds half of a surrogate pair") from error
        except OSError as error:
            raise ToolError(f"{path}: {reason(error)}") from error


class ClientFiles(Files):
    def __init__(self, editor: Editor) -> None:
        self.editor = editor

    async def read_text(self, path: Path) -> str:
        return await self.editor.read_text_file(str(path))

    async def write_text(self, path: Path, text: str) -> None:
        await self.editor.write_text_file(str(path), text)


def reason(error: OSError) -> str:
    """The system's words without its error number and without the path, which the message names already."""
    return (error.strerror or type(error).__name__).lower()
