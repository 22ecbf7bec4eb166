"""Chunks of one reply -> events of its output items, for the encoder of openai_responses.py.

Which item a block belongs to and where its last chunk stands is planned before the first event: a log may close all
its blocks at the end, yet agents follow one open item at a time.
"""

from typing import TYPE_CHECKING

import orjson

from replay.models.blocks import fold
from replay.models.openai_responses_items import (
    ARGUMENTS,
    generated_id,
    group_of,
    grouped,
    item_type,
    members_of,
    part_type,
    text_member,
    write_item,
    write_part,
)
from replay.models.sse import encode_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replay.models.wire import Block, Chunk, Json

_STEM = {
    "output_text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}
_OTHER_STEM = {"text": "response.output_text", "reasoning": "response.reasoning_text"}


class _Planned:
    """A block on its way. part: the type of its part, "" for none. stem: of its text's events, "" where none are sent.

    where: what names it in events. last: the place of its last chunk. closes: whether it ends there.
    """

    __slots__ = ("block", "closes", "is_open", "item", "last", "part", "stem", "where")

    def __init__(self, block: Block, item: _Item, last: int, closes: bool) -> None:
        self.block = block
        self.item = item
        self.last = last
        self.closes = closes
        self.is_open = False
        self.part = part_type(block)
        self.stem = _STEM.get(self.part or item.type, _OTHER_STEM[block["type"]] if self.part else "")
        self.where: dict[str, Json] = {}


class _Item:
    """An item on its way. number: its place in the reply. open_blocks: how many of its blocks have not ended."""

    __slots__ = ("blocks", "id", "number", "open_blocks", "type")

    def __init__(self, kind: str) -> None:
        self.type = kind
        self.blocks: list[_Planned] = []
        self.open_blocks = 0
        self.number = -1
        self.id = ""

    def whole(self) -> dict[str, Json]:
        return write_item([planned.block for planned in self.blocks], self.id)

    def beginning(self) -> dict[str, Json]:
        """The item as it is announced, before any of its text."""
        first = self.blocks[0].block
        if self.type in ARGUMENTS:
            return {**self.whole(), "status": "in_progress", ARGUMENTS[self.type]: ""}
        if self.type == "message":
            return {**self.whole(), "status": "in_progress", "content": []}
        if self.type == "reasoning":
            # What is encrypted is complete at the end only.
            hidden = ("content", "encrypted_content")
            return {name: each for name, each in self.whole().items() if name not in hidden} | {"summary": []}
        added = first.get("extras", {}).get("added")
        if added is not None:
            return {"id": self.id, **added}
        whole = self.whole()
        return {**whole, "status": "in_progress"} if "status" in whole else whole

    def name(self, reply_id: str, number: int) -> None:
        """Gives it its place in the reply, and so its id and the names of its parts."""
        self.number = number
        own_id = generated_id(self.type, reply_id, number)
        self.id = members_of(self.blocks[0].block, "item").get("id", own_id)
        places = {"summary": 0, "content": 0}
        for planned in self.blocks:
            planned.where = {"item_id": self.id, "output_index": number}
            if planned.part:
                group = group_of(planned.part)
                planned.where[f"{group}_index"] = places[group]
                places[group] += 1


class ItemStream:
    """The events of one reply; numbers every event that goes out."""

    __slots__ = ("_items", "_number", "_plan")

    def __init__(self) -> None:
        self._number = 0
        self._plan: dict[int, _Planned] = {}
        self._items: list[_Item] = []

    def plan(self, chunks: Sequence[Chunk], reply_id: str, complete: bool) -> None:
        """Looks ahead over the whole reply; the events of no item may go out before.

        complete: False for a prefix, in which the newest block stays open unless the log says that it ended.
        """
        self._plan, self._items = _planned(chunks, complete)
        for number, item in enumerate(self._items):
            item.name(reply_id, number)

    def frame(self, kind: str, members: dict[str, Json]) -> bytes:
        """One event with the next number."""
        event = orjson.dumps({"type": kind, "sequence_number": self._number, **members})
        self._number += 1
        return encode_event(event, kind)

    def output(self) -> list[Json]:
        """The items of the whole reply."""
        return [item.whole() for item in self._items]

    def events(self, at: int, chunk: Chunk) -> Iterator[bytes]:
        """The events of the chunk at place `at` of the reply; it is neither usage nor finish."""
        planned = self._plan.get(chunk["index"])
        kind = chunk["type"]
        is_end = kind == "block-end"
        # The end of a block says something new only where it stands for the whole of it.
        if planned is None or kind == "block-start" or (is_end and at != planned.last):
            return
        is_call = planned.block["type"] == "tool-call"
        text = _text(planned.block) if is_end else chunk["argumentsDelta" if is_call else "text"]
        # The announcement of a call is its first, empty piece.
        says_nothing = not text and (is_end or (is_call and not planned.is_open))
        if not planned.is_open:
            yield from self._open(planned)
        if planned.stem and not says_nothing:
            delta = {**planned.where, "delta": text}
            if planned.part == "output_text":
                delta["logprobs"] = []
            yield self.frame(f"{planned.stem}.delta", delta)
        if at == planned.last and planned.closes:
            yield from self._close(planned)

    def _open(self, planned: _Planned) -> Iterator[bytes]:
        planned.is_open = True
        item = planned.item
        if planned is item.blocks[0]:
            yield self.frame(
                "response.output_item.added", {"output_index": item.number, "item": item.beginning()}
            )
        if planned.part:
            empty = {"type": planned.block["type"], "text": "", "extras": {"part": {"type": planned.part}}}
            yield self._part(planned, "added", write_part(empty))

    def _part(self, planned: _Planned, act: str, part: dict[str, Json]) -> bytes:
        kind = "reasoning_summary_part" if planned.part == "summary_text" else "content_part"
        return self.frame(f"response.{kind}.{act}", {**planned.where, "part": part})

    def _close(self, planned: _Planned) -> Iterator[bytes]:
        item = planned.item
        if planned.part:
            yield from self._close_part(planned)
        elif item.type in ARGUMENTS:
            said = {ARGUMENTS[item.type]: _text(planned.block)}
            yield self.frame(f"{planned.stem}.done", planned.where | said)
        item.open_blocks -= 1
        if not item.open_blocks:
            for event in item.blocks[0].block.get("extras", {}).get("events", ()):
                yield self.frame(event["type"], {**event, "item_id": item.id, "output_index": item.number})
            yield self.frame("response.output_item.done", {"output_index": item.number, "item": item.whole()})

    def _close_part(self, planned: _Planned) -> Iterator[bytes]:
        part = write_part(planned.block)
        if planned.part == "output_text":
            for place, note in enumerate(part["annotations"]):
                where = {**planned.where, "annotation_index": place}
                yield self.frame("response.output_text.annotation.added", {**where, "annotation": note})
        member = text_member(planned.part)
        if member in part:
            done = {**planned.where, member: part[member]}
            if planned.part == "output_text":
                done["logprobs"] = part["logprobs"]
            yield self.frame(f"{planned.stem}.done", done)
        yield self._part(planned, "done", part)


def _text(block: Block) -> str:
    text: str = block["arguments"] if block["type"] == "tool-call" else block["text"]
    return text


def _planned(chunks: Sequence[Chunk], complete: bool) -> tuple[dict[int, _Planned], list[_Item]]:
    """The blocks by their index, and the items in the order in which they begin."""
    last: dict[int, int] = {}
    silent: set[int] = set()
    ended: set[int] = set()
    for at, chunk in enumerate(chunks):
        if chunk["type"].endswith("-delta"):
            last[chunk["index"]] = at
            silent.discard(chunk["index"])
        elif chunk["type"] == "block-end":
            ended.add(chunk["index"])
            if chunk["index"] not in last:
                silent.add(chunk["index"])
            if chunk["index"] in silent:
                last[chunk["index"]] = at
    newest = max(last, key=last.__getitem__, default=-1)
    indices = sorted({chunk["index"] for chunk in chunks if "index" in chunk})
    known = [
        (index, block) for index, block in zip(indices, fold(chunks).blocks, strict=True) if index in last
    ]
    plan: dict[int, _Planned] = {}
    items: list[_Item] = []
    for places in grouped(block for _, block in known):
        item = _Item(item_type(known[places[0]][1]))
        items.append(item)
        for index, block in (known[place] for place in places):
            closes = complete or index in ended or index != newest
            plan[index] = _Planned(block, item, last[index], closes)
            item.blocks.append(plan[index])
            item.open_blocks += 1
    began = {index: place for place, index in enumerate(last)}
    items.sort(key=lambda item: min(began[index] for index, each in plan.items() if each.item is item))
    return plan, items
