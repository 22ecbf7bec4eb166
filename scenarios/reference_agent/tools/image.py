"""Showing the model a picture."""

import asyncio
import base64
from typing import Annotated, ClassVar

from pydantic import Field

from scenarios.reference_agent.tools.files import inside, reason
from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolError, ToolOutcome

__all__ = ["ReadImage", "media_type_of"]

MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class ReadImageArguments(Arguments):
    path: Annotated[str, Field(description="PNG, JPEG, GIF or WebP file, relative to the working directory.")]


class ReadImage(Tool):
    name = "read_image"
    description = "Look at an image file."
    kind = "read"
    arguments = ReadImageArguments
    parallel: ClassVar[bool] = True

    def title(self, arguments: ReadImageArguments) -> str:
        return f"Look at {arguments.path}"

    def path(self, arguments: ReadImageArguments) -> str:
        return arguments.path

    async def run(self, arguments: ReadImageArguments, context: ToolContext) -> ToolOutcome:
        path = inside(arguments.path, context.cwd)
        try:
            size = path.stat().st_size
            if size > context.config.image_max_bytes:
                raise ToolError(f"{arguments.path}: {size} bytes, more than {context.config.image_max_bytes}")
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise ToolError(f"{arguments.path}: {reason(error)}") from error
        media_type = media_type_of(data)
        if media_type is None:
            raise ToolError(f"{arguments.path}: is not a PNG, JPEG, GIF or WebP image")
        image = {"type": "image", "mediaType": media_type, "data": base64.b64encode(data).decode("ascii")}
        return ToolOutcome([{"type": "text", "text": f"{arguments.path}: {media_type}, {size} bytes"}, image])


def media_type_of(data: bytes) -> str | None:
    """What the first bytes say; names lie."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in MAGIC.items() if data.startswith(magic)), None)
