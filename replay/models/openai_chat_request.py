"""Requests of the Chat Completions wire, read: a body -> WireRequest. See openai_chat.py.

What a message or a part holds beside the members known here stays under its `extras` (messages) or untouched
(parts of an unknown type), so that a comparison of requests sees it.
"""

from typing import TYPE_CHECKING

from replay.models.wire import RequestRefused, WireRequest, parse_request, take_settings

if TYPE_CHECKING:
    from replay.models.wire import Block, Json

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning")


def decode_request(path: str, body: bytes) -> WireRequest:
    """The model call in `body`. Raises RequestRefused as the provider would refuse it, with status 400."""
    fields = parse_request(body)
    model, stream, tools = take_settings(fields)
    if fields.get("n") not in (None, 1):
        raise RequestRefused(400, "n: one choice is recorded, so one is all that can be served")
    messages = fields.pop("messages", None)
    if not isinstance(messages, list) or not messages:
        raise RequestRefused(400, "messages is not a list of at least one message")
    stream_options = fields.get("stream_options") or {}
    if not isinstance(stream_options, dict):
        raise RequestRefused(400, "stream_options is not an object")
    return WireRequest(
        model=model,
        messages=[_message(message, f"messages[{place}]") for place, message in enumerate(messages)],
        tools=tools,
        options=fields,
        stream=stream,
        wants_usage=bool(stream_options.get("include_usage")),
    )


def _message(message: Json, where: str) -> dict[str, Json]:
    if not isinstance(message, dict):
        raise RequestRefused(400, f"{where} is not an object")
    fields = dict(message)
    wire_role = fields.pop("role", None)
    role = _ROLES.get(wire_role) if isinstance(wire_role, str) else None
    if role is None:
        raise RequestRefused(400, f"{where}.role: {wire_role!r} is none of {', '.join(sorted(_ROLES))}")
    content = _content(fields.pop("content", None), where)
    if role == "assistant":
        content = _assistant(fields, content, where)
    elif role == "tool":
        call_id = fields.pop("tool_call_id", fields.get("name", ""))
        if not isinstance(call_id, str):
            raise RequestRefused(400, f"{where}.tool_call_id is not a string")
        content = [{"type": "tool-result", "toolCallId": call_id, "content": content}]
    extras = {name: value for name, value in fields.items() if value is not None}
    if wire_role != role:
        extras["role"] = wire_role
    return {"role": role, "content": content} | ({"extras": extras} if extras else {})


def _content(content: Json, where: str) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise RequestRefused(400, f"{where}.content is neither a string nor a list of parts")
    return [_part(part, f"{where}.content[{place}]") for place, part in enumerate(content)]


def _part(part: Json, where: str) -> Block:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise RequestRefused(400, f"{where} is not a part with a type")
    kind = part["type"]
    if kind in ("text", "refusal"):
        text = part.get(kind)
        if not isinstance(text, str):
            raise RequestRefused(400, f"{where}.{kind} is not a string")
        extras = {name: value for name, value in part.items() if name not in ("type", kind)}
        if kind == "refusal":
            extras["field"] = kind
        return {"type": "text", "text": text} | ({"extras": extras} if extras else {})
    if kind == "image_url":
        return _image(part, where)
    return part


def _image(part: dict[str, Json], where: str) -> Block:
    """An image inline (`mediaType`, `data` in base64) or by `url`."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(image, dict) or not isinstance(url, str):
        raise RequestRefused(400, f"{where}.image_url.url is not a string")
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        block: Block = {"type": "image", "mediaType": head.removeprefix("data:"), "data": data}
    else:
        block = {"type": "image", "url": url}
    extras = {name: value for name, value in image.items() if name != "url"}
    extras |= {name: value for name, value in part.items() if name not in ("type", "image_url")}
    return block | ({"extras": extras} if extras else {})


def _assistant(fields: dict[str, Json], content: list[Block], where: str) -> list[Block]:
    """Blocks of an earlier reply as it comes back: reasoning, text, refusal, tool calls. Takes them from fields."""
    blocks: list[Block] = []
    reasoning = _reasoning(fields, where)
    if reasoning is not None:
        blocks.append(reasoning)
    blocks += content
    refusal = fields.pop("refusal", None)
    if isinstance(refusal, str) and refusal:
        blocks.append({"type": "text", "text": refusal, "extras": {"field": "refusal"}})
    annotations = fields.pop("annotations", None)
    if annotations and blocks and blocks[-1]["type"] == "text":
        blocks[-1].setdefault("extras", {})["annotations"] = annotations
    calls = fields.pop("tool_calls", None) or []
    if not isinstance(calls, list):
        raise RequestRefused(400, f"{where}.tool_calls is not a list")
    blocks += [_tool_call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(calls)]
    return blocks


def _reasoning(fields: dict[str, Json], where: str) -> Block | None:
    """The reasoning that came back, whatever its spelling; what belongs to it goes to its extras."""
    text = ""
    extras: dict[str, Json] = {}
    for field in _REASONING_FIELDS:
        value = fields.pop(field, None)
        if value is not None and not isinstance(value, str):
            raise RequestRefused(400, f"{where}.{field} is not a string")
        if value and not text:
            text = value
            if field != _REASONING_FIELDS[0]:
                extras["field"] = field
    for field in ("reasoning_details", "thinking_blocks"):
        if details := fields.pop(field, None):
            extras[field] = details
    if not text and not extras:
        return None
    return {"type": "reasoning", "text": text} | ({"extras": extras} if extras else {})


def _tool_call(call: Json, where: str) -> Block:
    if not isinstance(call, dict):
        raise RequestRefused(400, f"{where} is not an object")
    field, argument = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    inner = call.get(field)
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise RequestRefused(400, f"{where}.{field}.name is not a string")
    arguments = inner.get(argument) or ""
    if not isinstance(arguments, str):
        raise RequestRefused(400, f"{where}.{field}.{argument} is not a string")
    extras = {name: value for name, value in call.items() if name not in ("id", "type", field)}
    if field == "custom":
        extras["field"] = field
    block = {"type": "tool-call", "id": call.get("id") or "", "name": inner["name"], "arguments": arguments}
    return block | ({"extras": extras} if extras else {})
