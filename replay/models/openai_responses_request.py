"""Requests of the Responses wire, read: a body -> WireRequest. See openai_responses.py.

`instructions` and the items of `input` become one conversation. What an assistant said comes as items of its own
(reasoning, message, calls); neighbours fold into one assistant message, whose blocks are those that the reply had.
What a message, an item or a part holds beside the members known here stays under its `extras` or untouched.
"""

from typing import TYPE_CHECKING

import orjson

from replay.models.openai_responses_items import blocks_of, read_item
from replay.models.wire import RequestRefused, WireRequest, parse_request, take_settings

if TYPE_CHECKING:
    from replay.models.wire import Block, Json

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXT_PARTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
_INSTEAD_OF_INPUT = ("previous_response_id", "conversation", "prompt")


def decode_request(path: str, body: bytes) -> WireRequest:
    """The model call in `body`. Raises RequestRefused as the provider would refuse it, with status 400."""
    fields = parse_request(body)
    model, stream, tools = take_settings(fields)
    if fields.get("background"):
        raise RequestRefused(
            400, "background: a reply that is fetched later cannot be served from a recording"
        )
    messages = _instructions(fields.pop("instructions", None))
    given = fields.pop("input", None)
    if not given and not any(fields.get(name) for name in _INSTEAD_OF_INPUT):
        raise RequestRefused(400, "input is neither a text nor a list of at least one item")
    messages += _conversation(given)
    return WireRequest(model, messages, tools, options=fields, stream=stream, wants_usage=True)


def _instructions(text: Json) -> list[Json]:
    if text is None or text == "":
        return []
    if not isinstance(text, str):
        raise RequestRefused(400, "instructions is not a string")
    content = [{"type": "text", "text": text}]
    return [{"role": "system", "content": content, "extras": {"role": "instructions"}}]


def _conversation(given: Json) -> list[Json]:
    if given is None:
        return []
    if isinstance(given, str):
        return [{"role": "user", "content": [{"type": "text", "text": given}]}] if given else []
    if not isinstance(given, list):
        raise RequestRefused(400, "input is neither a text nor a list of items")
    messages: list[Json] = []
    for place, item in enumerate(given):
        where = f"input[{place}]"
        if not isinstance(item, dict):
            raise RequestRefused(400, f"{where} is not an object")
        message = _said_to_model(item, where)
        if message is not None:
            messages.append(message)
        elif messages and messages[-1]["role"] == "assistant":
            messages[-1]["content"] += _said_by_model(item, where)
        else:
            messages.append({"role": "assistant", "content": _said_by_model(item, where)})
    return messages


def _said_to_model(item: dict[str, Json], where: str) -> dict[str, Json] | None:
    """The message that an item is by itself, None for a piece of an assistant's."""
    kind = item.get("type", "message" if "role" in item else "item_reference")
    if not isinstance(kind, str):
        raise RequestRefused(400, f"{where}.type is not a string")
    if kind == "message":
        return _message(item, where)
    if kind.endswith("_output") and "output" in item:
        return _tool_result(kind, item, where)
    return None


def _message(item: dict[str, Json], where: str) -> dict[str, Json] | None:
    wire_role = item.get("role")
    role = _ROLES.get(wire_role) if isinstance(wire_role, str) else None
    if role is None:
        raise RequestRefused(400, f"{where}.role: {wire_role!r} is none of {', '.join(sorted(_ROLES))}")
    if role == "assistant":
        return None
    extras = {
        name: each
        for name, each in item.items()
        if name not in ("type", "role", "content") and each is not None
    }
    if wire_role != role:
        extras["role"] = wire_role
    message: dict[str, Json] = {"role": role, "content": _content(item.get("content"), f"{where}.content")}
    return message | ({"extras": extras} if extras else {})


def _content(content: Json, where: str) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise RequestRefused(400, f"{where} is neither a string nor a list of parts")
    return [_part(part, f"{where}[{place}]") for place, part in enumerate(content)]


def _part(part: Json, where: str) -> Block:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise RequestRefused(400, f"{where} is not a part with a type")
    kind = part["type"]
    if kind in _TEXT_PARTS:
        member = _TEXT_PARTS[kind]
        text = part.get(member)
        if not isinstance(text, str):
            raise RequestRefused(400, f"{where}.{member} is not a string")
        extras = {name: each for name, each in part.items() if name not in ("type", member)}
        if kind != "input_text":
            extras["type"] = kind
        return {"type": "text", "text": text} | ({"extras": extras} if extras else {})
    if kind == "input_image" and part.get("image_url") is not None:
        return _image(part, where)
    return part


def _image(part: dict[str, Json], where: str) -> Block:
    """An image inline (`mediaType`, `data` in base64) or by `url`; one by file id stays as it is."""
    url = part["image_url"]
    if not isinstance(url, str):
        raise RequestRefused(400, f"{where}.image_url is not a string")
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        block: Block = {"type": "image", "mediaType": head.removeprefix("data:"), "data": data}
    else:
        block = {"type": "image", "url": url}
    extras = {name: each for name, each in part.items() if name not in ("type", "image_url")}
    return block | ({"extras": extras} if extras else {})


def _tool_result(kind: str, item: dict[str, Json], where: str) -> dict[str, Json]:
    call_id = item.get("call_id", item.get("id", ""))
    if not isinstance(call_id, str):
        raise RequestRefused(400, f"{where}.call_id is not a string")
    output = item["output"]
    is_parts = isinstance(output, list) and all(isinstance(part, dict) and "type" in part for part in output)
    extras = {
        name: each
        for name, each in item.items()
        if name not in ("type", "call_id", "output") and each is not None
    }
    if kind != "function_call_output":
        extras["type"] = kind
    if isinstance(output, str) or is_parts:
        content = _content(output, f"{where}.output")
    else:
        # Screenshots, shell outcomes and the like are no parts; their text must be found all the same.
        content = [{"type": "text", "text": orjson.dumps(output).decode(), "extras": {"type": "json"}}]
    result = {"type": "tool-result", "toolCallId": call_id, "content": content}
    return {"role": "tool", "content": [result]} | ({"extras": extras} if extras else {})


def _said_by_model(item: dict[str, Json], where: str) -> list[Block]:
    """The blocks of an item of an earlier reply."""
    try:
        read = read_item(item if "role" in item or "type" in item else {"type": "item_reference", **item})
    except ValueError as error:
        raise RequestRefused(400, f"{where}.{error}") from None
    # Nothing said is nothing to compare.
    return [
        block
        for block in blocks_of(read)
        if block.get("extras", {}).get("part", 0) is not None or read.members
    ]
