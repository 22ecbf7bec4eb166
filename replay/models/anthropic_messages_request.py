"""Requests of the Messages wire, read: a body -> WireRequest. See anthropic_messages.py.

`system` becomes the first message. A message keeps its blocks together, so tool results stand in the user's message
as they do on the wire. Blocks of an earlier reply are read as the reply was; of the other blocks those of an unknown
type stay untouched. What a block holds beside the members known here (`cache_control`, `is_error`) is its `extras`.
"""

from typing import TYPE_CHECKING

from replay.models.anthropic_messages_blocks import decode_block
from replay.models.wire import RequestRefused, WireRequest, parse_request, take_settings

if TYPE_CHECKING:
    from replay.models.wire import Block, Json

_ROLES = ("assistant", "system", "user")
_OURS = ("reasoning", "tool-call", "tool-result")


def decode_request(path: str, body: bytes) -> WireRequest:
    """The model call in `body`. Raises RequestRefused as the provider would refuse it, with status 400."""
    fields = parse_request(body)
    model, stream, tools = take_settings(fields)
    limit = fields.get("max_tokens")
    if type(limit) is not int or limit < 0:
        raise RequestRefused(400, "max_tokens is not a whole number")
    messages = fields.pop("messages", None)
    if not isinstance(messages, list) or not messages:
        raise RequestRefused(400, "messages is not a list of at least one message")
    decoded = []
    system = fields.pop("system", None)
    if system is not None:
        decoded.append({"role": "system", "content": _content(system, "system", "system")})
    decoded += [_message(message, f"messages[{place}]") for place, message in enumerate(messages)]
    return WireRequest(model, decoded, tools, options=fields, stream=stream, wants_usage=True)


def _message(message: Json, where: str) -> dict[str, Json]:
    if not isinstance(message, dict):
        raise RequestRefused(400, f"{where} is not an object")
    role = message.get("role")
    if role not in _ROLES:
        raise RequestRefused(400, f"{where}.role: {role!r} is none of {', '.join(_ROLES)}")
    content = _content(message.get("content"), f"{where}.content", role)
    extras = _rest(message, "role", "content")
    return {"role": role, "content": content} | ({"extras": extras} if extras else {})


def _content(content: Json, where: str, role: str) -> list[Block]:
    """Blocks of a message or, role being "tool", of a tool's result."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise RequestRefused(400, f"{where} is neither a string nor a list of blocks")
    return [_block(block, f"{where}[{place}]", role) for place, block in enumerate(content)]


def _block(block: Json, where: str, role: str) -> Block:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise RequestRefused(400, f"{where} is not a block with a type")
    kind = block["type"]
    if kind == "text" or role == "assistant":
        if kind == "text" and not isinstance(block.get("text"), str):
            raise RequestRefused(400, f"{where}.text is not a string")
        try:
            return decode_block(block)
        except ValueError as error:
            raise RequestRefused(400, f"{where}: {error}") from None
    if kind == "image":
        return _image(block, where)
    if kind == "tool_result" and role == "user":
        return _tool_result(block, where)
    return _untouched(block, where)


def _image(block: dict[str, Json], where: str) -> Block:
    """An image inline (`mediaType`, `data` in base64), by `url`, or by what its `source` in extras says."""
    source = block.get("source")
    if not isinstance(source, dict):
        raise RequestRefused(400, f"{where}.source is not an object")
    image: Block = {"type": "image"}
    extras = _rest(block, "type", "source")
    if source.get("type") == "base64":
        image |= {"mediaType": source.get("media_type"), "data": source.get("data")}
    elif source.get("type") == "url":
        image["url"] = source.get("url")
    else:
        extras["source"] = source
    if not all(isinstance(value, str) for value in image.values()):
        raise RequestRefused(400, f"{where}.source is not an image: media_type and data, or url, are strings")
    return image | ({"extras": extras} if extras else {})


def _tool_result(block: dict[str, Json], where: str) -> Block:
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str):
        raise RequestRefused(400, f"{where}.tool_use_id is not a string")
    content = block.get("content")
    blocks = [] if content is None else _content(content, f"{where}.content", "tool")
    extras = _rest(block, "type", "tool_use_id", "content")
    result = {"type": "tool-result", "toolCallId": call_id, "content": blocks}
    return result | ({"extras": extras} if extras else {})


def _untouched(block: dict[str, Json], where: str) -> Block:
    """A block of another type as it is; readers of our messages may rely on its `content` holding objects only."""
    if block["type"] in _OURS:
        raise RequestRefused(400, f"{where}.type: {block['type']} is no block type of this API")
    inside = [block]
    while inside:
        content = inside.pop().get("content")
        if isinstance(content, list):
            if not all(isinstance(each, dict) for each in content):
                raise RequestRefused(400, f"{where}.content is not a list of objects")
            inside += content
    return block


def _rest(members: dict[str, Json], *known: str) -> dict[str, Json]:
    return {name: value for name, value in members.items() if name not in known and value is not None}
