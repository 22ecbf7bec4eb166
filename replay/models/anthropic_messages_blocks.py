"""Content blocks of the Messages wire, whole ones, in both directions; shared by replies and requests.

A block is text, reasoning or a tool call; a wire type that has no word of ours is a text block without text. Members
beside the text go to `extras` under the wire's own names, `type` among them where it is not the usual one of the
block's type. Dropped on purpose: members that are null, an empty signature and empty citations, which say nothing.
"""

from typing import TYPE_CHECKING

import orjson

from replay.models.wire import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replay.models.wire import Block, Json

USUAL_TYPE = {"text": "text", "reasoning": "thinking", "tool-call": "tool_use"}
"""Type of a block -> type of the wire's block that usually carries it."""

INVALID_JSON = "INVALID_JSON"
"""The member that wraps tool arguments which are no JSON object; the provider's documentation uses the same name."""

_BROUGHT_BY_DELTAS = {
    "text": ("citations", "delta", "deltas", "type"),
    "reasoning": ("signature", "delta", "deltas", "type"),
    "tool-call": ("delta", "deltas"),
}
_SHAPES: Mapping[str, type] = {"citations": list, "delta": dict, "deltas": list, "signature": str}
# Calls of tools that others run are named `server_tool_use`, `mcp_tool_use` and the like.
_TOOL_USE = "tool_use"


def decode_block(wire: Json) -> Block:
    """One block of a reply or of an earlier reply. Raises ValueError where it is none."""
    if not isinstance(wire, dict) or not isinstance(wire.get("type"), str):
        raise ValueError("not a block with a type")
    members = {name: value for name, value in wire.items() if value is not None}
    kind = members["type"]
    if kind == "text":
        block: Block = {"type": "text", "text": take_string(members, "text")}
    elif kind == "thinking":
        block = {"type": "reasoning", "text": take_string(members, "thinking")}
    elif kind == "redacted_thinking":
        block = {"type": "reasoning", "text": ""}
    elif kind.endswith(_TOOL_USE):
        arguments = decode_input(members.pop("input", {}))
        call = {name: take_string(members, name) for name in ("id", "name")}
        block = {"type": "tool-call", **call, "arguments": arguments}
    else:
        block = {"type": "text", "text": ""}
    if kind == USUAL_TYPE[block["type"]]:
        del members["type"]
    _settle(members, is_opaque(block | {"extras": members}))
    return block | ({"extras": members} if members else {})


def _settle(members: dict[str, Json], opaque: bool) -> None:
    """Takes what says nothing from the extras of a block, and refuses what could not be sent again as deltas."""
    for name in ("deltas",) if opaque else tuple(_SHAPES):
        if not isinstance(members.get(name, _SHAPES[name]()), _SHAPES[name]):
            raise ValueError(f"{name} is of the wrong type")
        if name in members and not members[name]:
            del members[name]
    if not all(isinstance(delta, dict) for delta in members.get("deltas", [])):
        raise ValueError("deltas are not objects")


def take_string(members: dict[str, Json], name: str) -> str:
    """Takes a text from `members`; some servers leave out an empty one."""
    value = members.pop(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value


def encode_block(block: Block) -> dict[str, Json]:
    """The wire's form of a whole block. Extras of another wire, as a log may hold them, replace nothing."""
    extras = block.get("extras", {})
    if is_opaque(block):
        wire = {name: value for name, value in extras.items() if name != "deltas"}
        for delta in extras.get("deltas", []):
            # What clients do with such deltas: the last one counts.
            wire |= {name: value for name, value in delta.items() if name != "type"}
        return wire
    kind = USUAL_TYPE[block["type"]]
    if kind == "tool_use":
        if str(extras.get("type", "")).endswith(_TOOL_USE):
            kind = extras["type"]
        wire = {"id": block["id"], "name": block["name"], "input": encode_input(block["arguments"])}
    elif kind == "thinking":
        wire = {"thinking": block["text"], "signature": extras.get("signature", "")}
    else:
        wire = {"text": block["text"]}
    wire = {"type": kind, **wire}
    return wire | {name: value for name, value in extras.items() if name not in wire}


def encode_opening(block: Block) -> dict[str, Json]:
    """The wire's block before its first delta: without what deltas bring."""
    brought = ("deltas",) if is_opaque(block) else _BROUGHT_BY_DELTAS[block["type"]]
    extras = {name: value for name, value in block.get("extras", {}).items() if name not in brought}
    empty = {"arguments": ""} if block["type"] == "tool-call" else {"text": ""}
    return encode_block({**block, **empty, "extras": extras})


def is_opaque(block: Block) -> bool:
    """Whether the wire's block has no word of ours: its start and its deltas are kept as they came."""
    return block["type"] != "tool-call" and not block.get("text") and "type" in block.get("extras", {})


def encode_input(arguments: str) -> dict[str, Json]:
    """A tool call's arguments as the object that this wire wants; a client reads no other type."""
    if not arguments:
        return {}
    try:
        value = parse(arguments.encode())
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {INVALID_JSON: arguments}


def decode_input(value: Json) -> str:
    """Tool arguments as JSON text without spaces, or the text that `encode_input` had to wrap."""
    if not isinstance(value, dict):
        raise ValueError("input is not an object")
    wrapped = value.get(INVALID_JSON)
    if isinstance(wrapped, str) and encode_input(wrapped) == value:
        return wrapped
    return orjson.dumps(value).decode()
