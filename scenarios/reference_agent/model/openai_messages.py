"""Our messages and tools in the shape of a chat completions request."""

from collections.abc import Iterable, Sequence
from typing import Any

from scenarios.reference_agent.model.seam import Message

__all__ = ["to_wire_messages", "to_wire_tools"]


def to_wire_messages(system: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation with the system prompt first.

    A tool's answer may hold text only on this wire, so its images follow in a user message, once all answers
    of the step are there: nothing may come between a call and its answers.
    """
    wire: list[dict[str, Any]] = [{"role": "system", "content": system}]
    images: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] != "tool" and images:
            wire.append({"role": "user", "content": images})
            images = []
        if message["role"] == "user":
            wire.append({"role": "user", "content": user_content(message["content"])})
        elif message["role"] == "assistant":
            wire.append(assistant_message(message["content"]))
        else:
            for block in message["content"]:
                wire.append(tool_message(block))
                images += [image_part(part) for part in block["content"] if part["type"] == "image"]
    if images:
        wire.append({"role": "user", "content": images})
    return wire


def user_content(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return [
        image_part(block) if block["type"] == "image" else {"type": "text", "text": block["text"]}
        for block in blocks
    ]


def assistant_message(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Reasoning stays behind: the wire has no place for it."""
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": block["arguments"] or "{}"},
        }
        for block in blocks
        if block["type"] == "tool-call"
    ]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = calls
    return message


def tool_message(block: dict[str, Any]) -> dict[str, Any]:
    text = "\n".join(part["text"] for part in block["content"] if part["type"] == "text")
    return {"role": "tool", "tool_call_id": block["toolCallId"], "content": text}


def image_part(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block['mediaType']};base64,{block['data']}"}}


def to_wire_tools(tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools]
