"""Chunks of a model stream and packed runs of them: which fields each kind has (design 4.1).

A complaint is `(path, expectation)`: the JSON path below the chunk (".index") and what must stand there. The
caller knows file and line. Fields that are not listed here pass: a provider's extras are never dropped.
"""

from typing import Any

import orjson

__all__ = [
    "BLOCK_TYPES",
    "CHUNK_TYPES",
    "DELTA_FIELD",
    "PACKED_DELTA",
    "Complaint",
    "block_complaint",
    "chunk_complaint",
    "packed_complaint",
    "shown",
]

type Complaint = tuple[str, str]

BLOCK_TYPES = {"text": "text", "reasoning": "text", "tool-call": "arguments"}
"""Block type -> the field of its block-end that repeats the deltas."""

DELTA_FIELD = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "argumentsDelta"}
"""Delta type -> the field that holds its piece of text."""

PACKED_DELTA = {
    "text-chunks": "text-delta",
    "reasoning-chunks": "reasoning-delta",
    "tool-call-chunks": "tool-call-delta",
}
"""Type of a packed row -> type of the deltas in it."""

CHUNK_TYPES = {*DELTA_FIELD, "block-start", "block-end", "usage", "finish"}

_PACKED_KEYS = {
    "text-chunks": {"turn", "step", "index", "dt", "texts"},
    "reasoning-chunks": {"turn", "step", "index", "dt", "texts"},
    "tool-call-chunks": {"turn", "step", "index", "dt", "id", "name", "args"},
}
_WHOLE = "must be a whole number from 0"
_ONLY_INT = {int}
_ONLY_STR = {str}


def chunk_complaint(chunk: Any) -> Complaint | None:
    """What is wrong with one chunk, or None."""
    if type(chunk) is not dict:
        return "", f"must be an object, not {shown(chunk)}"
    kind = chunk.get("type")
    if kind == "finish":
        reason = chunk.get("reason")
        if type(reason) is not dict or type(reason.get("kind")) is not str:
            return ".reason", f'must be an object with a "kind", not {shown(reason)}'
        return None
    if kind == "usage":
        usage = chunk.get("usage")
        return None if type(usage) is dict else (".usage", f"must be an object, not {shown(usage)}")
    if type(kind) is not str or kind not in CHUNK_TYPES:
        return ".type", f"{shown(kind)} is no chunk type (known: {', '.join(sorted(CHUNK_TYPES))})"
    index = chunk.get("index")
    if type(index) is not int or index < 0:
        return ".index", f"{_WHOLE}, not {shown(index)}"
    if kind == "block-start":
        block_type = chunk.get("blockType")
        if type(block_type) is not str or block_type not in BLOCK_TYPES:
            return ".blockType", f"{shown(block_type)} is no block type (known: {', '.join(BLOCK_TYPES)})"
        return None
    if kind == "block-end":
        return block_complaint(chunk.get("block"))
    return _delta_complaint(kind, chunk)


def _delta_complaint(kind: str, chunk: dict[str, Any]) -> Complaint | None:
    field = DELTA_FIELD[kind]
    if type(chunk.get(field)) is not str:
        return f".{field}", f"must be a string, not {shown(chunk.get(field))}"
    if kind == "tool-call-delta":
        if type(chunk.get("id")) is not str:
            return ".id", f"must be a string, not {shown(chunk.get('id'))}"
        if "name" in chunk and type(chunk["name"]) is not str:
            return ".name", f"must be a string, not {shown(chunk['name'])}"
    return None


def block_complaint(block: Any) -> Complaint | None:
    """What is wrong with the block of a block-end, or None."""
    if type(block) is not dict:
        return ".block", f"must be an object, not {shown(block)}"
    kind = block.get("type")
    if type(kind) is not str or kind not in BLOCK_TYPES:
        return ".block.type", f"{shown(kind)} is no block type (known: {', '.join(BLOCK_TYPES)})"
    for field in ("id", "name", "arguments") if kind == "tool-call" else ("text",):
        if type(block.get(field)) is not str:
            return f".block.{field}", f"must be a string, not {shown(block.get(field))}"
    return None


def packed_complaint(kind: str, data: dict[str, Any]) -> Complaint | None:
    """What is wrong with the data of a packed row (turn and step apart), or None.

    Unknown keys are refused here, because unpacking could not keep them.
    """
    # All keys but name are needed, so one too many is one that is unknown.
    if len(data) > (5 if kind != "tool-call-chunks" else 6 + ("name" in data)):
        extra = min(data.keys() - _PACKED_KEYS[kind])
        return "", f"a {kind} row has no field {shown(extra)}"
    index = data.get("index")
    if type(index) is not int or index < 0:
        return ".index", f"{_WHOLE}, not {shown(index)}"
    field = "args" if kind == "tool-call-chunks" else "texts"
    pieces, gaps = data.get(field), data.get("dt")
    if type(pieces) is not list or not pieces or not _ONLY_STR.issuperset(map(type, pieces)):
        return f".{field}", f"must be a list of one or more strings, not {shown(pieces)}"
    if type(gaps) is not list or not _ONLY_INT.issuperset(map(type, gaps)):
        return ".dt", f"must be a list of whole milliseconds, not {shown(gaps)}"
    if len(gaps) != len(pieces) - 1:
        return ".dt", f"has {len(gaps)} entries for {len(pieces)} {field}, must have {len(pieces) - 1}"
    if kind == "tool-call-chunks":
        if type(data.get("id")) is not str:
            return ".id", f"must be a string, not {shown(data.get('id'))}"
        if "name" in data and type(data["name"]) is not str:
            return ".name", f"must be a string, not {shown(data['name'])}"
    return None


def shown(value: Any) -> str:
    """A value as short JSON for a message: at most 60 characters, "nothing" when the field is absent or null."""
    if value is None:
        return "nothing"
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
