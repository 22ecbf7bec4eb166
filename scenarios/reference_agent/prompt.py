"""What the model is told: the system prompt, and a person's message as blocks."""

from typing import Any

from acp import RequestError
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from scenarios.reference_agent.session import Session

__all__ = ["CONTINUE", "ContentBlock", "blocks_of", "system_prompt"]

type ContentBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

SYSTEM = """\
You are a coding agent. You work in one directory and answer the user who sent you there.

Use the tools to look before you change, and to check after. Paths are relative to the working directory. A tool
that fails says why; read it and try another way, or tell the user what stands in the way. When the work is done,
say in a few words what you did.

Working directory: {cwd}"""

DELEGATE = """
You work for another agent. Your last message is all that it gets to see; nobody can answer questions."""

CONTINUE = (
    "Your reply was cut off at the output limit. Continue exactly where it ended; do not repeat anything."
)


def system_prompt(session: Session) -> str:
    """Nothing in it changes from call to call, so that a provider's cache can hold it."""
    parts = [SYSTEM.format(cwd=session.cwd)]
    if session.header.depth:
        parts.append(DELEGATE)
    if session.config.instructions.strip():
        parts.append("\n" + session.config.instructions.strip())
    return "\n".join(parts)


def blocks_of(prompt: list[ContentBlock], image_max_bytes: int) -> list[dict[str, Any]]:
    """A prompt's content as log blocks. Raises RequestError for what initialize did not offer to take."""
    return [block_of(content, image_max_bytes) for content in prompt]


def block_of(content: ContentBlock, image_max_bytes: int) -> dict[str, Any]:
    match content:
        case TextContentBlock():
            return {"type": "text", "text": content.text}
        case ImageContentBlock():
            # Base64 has four characters for three bytes.
            if len(content.data) * 3 // 4 > image_max_bytes:
                raise RequestError.invalid_params(
                    {"details": f"an image has more than {image_max_bytes} bytes"}
                )
            return {"type": "image", "mediaType": content.mime_type, "data": content.data}
        case ResourceContentBlock():
            return {"type": "text", "text": f"[{content.name}]({content.uri})"}
        case EmbeddedResourceContentBlock():
            resource = content.resource
            if isinstance(resource, BlobResourceContents):
                raise RequestError.invalid_params(
                    {"details": f"{resource.uri}: binary resources are not supported"}
                )
            return {"type": "text", "text": f'<resource uri="{resource.uri}">\n{resource.text}\n</resource>'}
        case AudioContentBlock():
            raise RequestError.invalid_params({"details": "audio is not supported"})
