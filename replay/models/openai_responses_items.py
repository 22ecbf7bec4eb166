"""Output items of the Responses wire, whole: an item <-> the blocks that stand for it. See openai_responses.py.

A message or a reasoning item is one block for each of its parts, a tool call one block. What a block has no word for
stands in its extras: `item`, members of the item (with its `type` where that is not the usual one of the block);
`part`, members of the part; `continues`, the block belongs to the item of the block before. Members that say the usual
thing are left out: null, `status` completed, empty annotations, an id that this codec made itself.
An item of a type that is unknown here is a tool call where it names a call (`…_call` with `call_id`: the agent runs it
and answers), its arguments being the JSON of its members; any other is a reasoning block without text, whose `item`
holds all of it.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from replay.errors import FixtureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replay.models.wire import Block, Json

ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Type of a tool call whose arguments are text -> the member that holds them."""

_USUAL_ITEM = {"text": "message", "reasoning": "reasoning", "tool-call": "function_call"}
_USUAL_PART = {"text": "output_text", "reasoning": "summary_text"}
_ID_PREFIX = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_PLAIN_TEXT = {"output_text", "summary_text", "reasoning_text"}
_EMPTY: tuple[Json, ...] = (None, [])

type PartKey = tuple[str, int]


class Part(NamedTuple):
    """One block's share of an item.

    key: the list of the item in which it stands and its place there; ("", 0) for an item that is no list of parts.
    extras: the block's `part`; None where the item has no part at all.
    """

    key: PartKey
    kind: str
    text: str
    extras: dict[str, Json] | None


class Item(NamedTuple):
    """One item. members: what the first block keeps as `item`. call_id, name: of a tool call, else ""."""

    type: str
    members: dict[str, Json]
    parts: list[Part]
    call_id: str = ""
    name: str = ""


def generated_id(kind: str, reply_id: str, number: int) -> str:
    """The id of an item for which the recording has none. number: its place in the reply."""
    return f"{_ID_PREFIX.get(kind, 'item')}_{reply_id}_{number}"


def read_item(item: dict[str, Json], own_id: str = "") -> Item:
    """The item as parts. own_id: the id that this codec would make for it. Raises ValueError: which member is wrong."""
    kind = item.get("type", "message")
    if not isinstance(kind, str):
        raise ValueError("type is not a string")
    if kind == "message":
        return _read_message(item, own_id)
    if kind == "reasoning":
        return _read_reasoning(item, own_id)
    if kind in ARGUMENTS or (kind.endswith("_call") and isinstance(item.get("call_id"), str)):
        return _read_call(kind, item, own_id)
    # All of it goes back as it came, null included.
    return Item(kind, {"type": kind, **item}, [Part(("", 0), "reasoning", "", {})])


def _rest(item: dict[str, Json], own_id: str, *known: str) -> dict[str, Json]:
    rest = {name: each for name, each in item.items() if name not in known and each is not None}
    if rest.get("id") == own_id:
        del rest["id"]
    if rest.get("status") == "completed":
        del rest["status"]
    return rest


def _read_message(item: dict[str, Json], own_id: str) -> Item:
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}] if content else []
    parts = [
        _read_part(part, ("content", place), "text") for place, part in enumerate(_list(content, "content"))
    ]
    members = _rest(item, own_id, "type", "content", "role")
    if item.get("role", "assistant") != "assistant":
        members["role"] = item["role"]
    return Item("message", members, parts or [Part(("", 0), "text", "", None)])


def _read_reasoning(item: dict[str, Json], own_id: str) -> Item:
    parts = [
        _read_part(part, (group, place), "reasoning")
        for group in ("summary", "content")
        for place, part in enumerate(_list(item.get(group), group))
    ]
    members = _rest(item, own_id, "type", "summary", "content")
    return Item("reasoning", members, parts or [Part(("", 0), "reasoning", "", None)])


def _list(value: Json, name: str) -> list[Json]:
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{name} is not a list of parts")
    return value or []


def _read_part(part: Json, key: PartKey, block_type: str) -> Part:
    where = f"{key[0]}[{key[1]}]"
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise ValueError(f"{where} is not a part with a type")
    kind = part["type"]
    member = text_member(kind)
    text = part.get(member)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{where}.{member} is not a string")
    if text is None and (kind in _PLAIN_TEXT or kind == "refusal"):
        raise ValueError(f"{where}.{member} is missing")
    extras = {
        name: value for name, value in part.items() if name not in ("type", member) and value not in _EMPTY
    }
    # Without a word about it, a reasoning block that has no text is an item without parts.
    if kind != _USUAL_PART[block_type] or (block_type == "reasoning" and not text):
        extras = {"type": kind, **extras}
    return Part(key, block_type, text or "", extras)


def text_member(kind: str) -> str:
    """The member of a part that holds its text."""
    return "refusal" if kind == "refusal" else "text"


def _read_call(kind: str, item: dict[str, Json], own_id: str) -> Item:
    if kind not in ARGUMENTS:
        members = {name: each for name, each in item.items() if name in ("id", "status", "type")}
        if members.get("id") == own_id:
            del members["id"]
        said = {name: each for name, each in item.items() if name not in ("id", "status", "type", "call_id")}
        part = Part(("", 0), "tool-call", orjson.dumps(said).decode(), {})
        return Item(kind, members, [part], item["call_id"], kind.removesuffix("_call"))
    member = ARGUMENTS[kind]
    text, name, call_id = item.get(member), item.get("name"), item.get("call_id") or item.get("id") or ""
    if text is None:
        text = ""
    elif not isinstance(text, str):
        text = orjson.dumps(text).decode()
    if not isinstance(name, str):
        raise ValueError("name is not a string")
    if not isinstance(call_id, str):
        raise ValueError("call_id is not a string")
    members = _rest(item, own_id, "type", "call_id", "name", member)
    if kind != "function_call":
        members = {"type": kind, **members}
    return Item(kind, members, [Part(("", 0), "tool-call", text, {})], call_id, name)


def blocks_of(item: Item) -> list[Block]:
    """The blocks of a whole item."""
    blocks: list[Block] = []
    for place, part in enumerate(item.parts):
        block: Block = {"type": part.kind}
        if part.kind == "tool-call":
            block |= {"id": item.call_id, "name": item.name, "arguments": part.text}
        else:
            block["text"] = part.text
        if extras := block_extras(item, part, place == 0):
            block["extras"] = extras
        blocks.append(block)
    return blocks


def block_extras(item: Item, part: Part, is_first: bool) -> dict[str, Json]:
    """The extras of the block that stands for `part`."""
    extras: dict[str, Json] = {}
    if not is_first:
        extras["continues"] = True
    elif item.members:
        extras["item"] = dict(item.members)
    if part.extras:
        extras["part"] = part.extras
    elif part.extras is None and part.kind == "text":
        extras["part"] = None
    return extras


# Blocks -> item


def grouped(blocks: Iterable[Block]) -> list[list[int]]:
    """The places of the blocks that make one item each, in order."""
    groups: list[list[int]] = []
    before = ""
    for place, block in enumerate(blocks):
        if groups and block.get("extras", {}).get("continues") and block["type"] == before:
            groups[-1].append(place)
        else:
            groups.append([place])
        before = block["type"]
    return groups


def item_type(block: Block) -> str:
    """The type of the item that begins with `block`."""
    kind: str = members_of(block, "item").get("type", _USUAL_ITEM[block["type"]])
    return kind


def part_type(block: Block) -> str:
    """The type of the part that `block` is, "" where its item has no part for it."""
    extras = block.get("extras", {})
    if block["type"] == "tool-call":
        return ""
    if extras.get("part", 0) is None or (
        block["type"] == "reasoning" and not block["text"] and "part" not in extras
    ):
        return ""
    kind: str = members_of(block, "part").get("type", _USUAL_PART[block["type"]])
    return kind


def members_of(block: Block, name: str) -> dict[str, Json]:
    """`item` or `part` of a block's extras. Raises FixtureError where it is no object."""
    members = block.get("extras", {}).get(name)
    if members is None:
        return {}
    if not isinstance(members, dict):
        raise FixtureError(f'"{name}" in the extras of a recorded {block["type"]} block is not an object')
    return members


def write_part(block: Block) -> dict[str, Json]:
    """A part, whole. Call only where `part_type` names one."""
    kind = part_type(block)
    part: dict[str, Any] = {"type": kind}
    if kind == "output_text":
        part |= {"annotations": [], "logprobs": []}
    if block["text"] or kind in _PLAIN_TEXT or kind == "refusal":
        part[text_member(kind)] = block["text"]
    return part | members_of(block, "part")


def write_item(blocks: Sequence[Block], own_id: str) -> dict[str, Json]:
    """The item that `blocks` stand for. own_id: its id where the recording has none. Raises FixtureError."""
    first = blocks[0]
    kind, members = item_type(first), members_of(first, "item")
    if first["type"] == "tool-call":
        return _write_call(first, kind, own_id)
    if kind == "message":
        content = [write_part(block) for block in blocks if part_type(block)]
        head = {"id": own_id, "type": kind, "status": "completed", "role": "assistant", "content": content}
        return head | members
    if kind == "reasoning":
        groups: dict[str, list[Json]] = {"summary": [], "content": []}
        for block in blocks:
            if part := part_type(block):
                groups[group_of(part)].append(write_part(block))
        if not groups["content"]:
            del groups["content"]
        return {"id": own_id, "type": kind, **groups, **members}
    return dict(members)


def group_of(part: str) -> str:
    """The list of an item in which a part of this type stands."""
    return "summary" if part == "summary_text" else "content"


def _write_call(block: Block, kind: str, own_id: str) -> dict[str, Json]:
    members = members_of(block, "item")
    if kind in ARGUMENTS:
        head = {"id": own_id, "type": kind, "status": "completed", ARGUMENTS[kind]: block["arguments"]}
        return head | {"call_id": block["id"], "name": block["name"]} | members
    try:
        said = orjson.loads(block["arguments"])
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        raise FixtureError(f"the arguments of a recorded {kind} are not a JSON object")
    return {"id": own_id, "type": kind, "call_id": block["id"], **said, **members}
