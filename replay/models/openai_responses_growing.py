"""Output items of a streamed Responses reply as they grow: their events -> chunks. See openai_responses_decode.py.

An event's item is found by `output_index`, else by its ids, else it is the newest of its type: compatible servers
leave out some of them. Deltas become chunks as they come; what a block keeps as extras is read off the whole item at
its end, at which its blocks end too. Text that was streamed stays as it was streamed: where the whole item says more,
the rest is one more delta, and where it says otherwise, its word is kept in the extras.
Methods may raise what a malformed event makes Python raise; the caller names the event.
"""

from typing import TYPE_CHECKING

from replay.models.blocks import Blocks
from replay.models.openai_responses_items import (
    ARGUMENTS,
    Item,
    Part,
    PartKey,
    block_extras,
    generated_id,
    read_item,
    text_member,
)

if TYPE_CHECKING:
    from replay.models.wire import Chunk, Json

_DELTAS: dict[str, tuple[str, str]] = {
    "response.output_text": ("message", "content"),
    "response.refusal": ("message", "content"),
    "response.reasoning_text": ("reasoning", "content"),
    "response.reasoning_summary_text": ("reasoning", "summary"),
    "response.function_call_arguments": ("function_call", ""),
    "response.custom_tool_call_input": ("custom_tool_call", ""),
}
"""Stem of an event -> the type of the item whose text it carries, and the list in it that holds the part."""

_PARTS = {"response.content_part": "content", "response.reasoning_summary_part": "summary"}
_WHOLE: PartKey = ("", 0)


class _Growing:
    """One item as it comes.

    number: its place in the reply. slots: its blocks by the part that they are. texts: the pieces of each block.
    noted: annotations and the like of a part that came in events of their own. events: those without a meaning here.
    """

    __slots__ = ("added", "events", "has_ended", "noted", "number", "slots", "texts", "type")

    def __init__(self, kind: str, number: int) -> None:
        self.type = kind
        self.number = number
        self.slots: dict[PartKey, int] = {}
        self.texts: dict[int, list[str]] = {}
        self.added: dict[str, Json] = {}
        self.events: list[Json] = []
        self.noted: dict[PartKey, dict[str, list[Json]]] = {}
        self.has_ended = False

    def note(self, key: PartKey, name: str, values: list[Json]) -> None:
        self.noted.setdefault(key, {}).setdefault(name, []).extend(values)

    def course(self, raw: dict[str, Json]) -> dict[str, Json]:
        """How it came about, as far as its end does not tell: events without a meaning here, and how it was announced.

        raw: the item at its end.
        """
        course: dict[str, Json] = {"events": self.events} if self.events else {}
        if self.type in ("message", "reasoning") or self.type in ARGUMENTS or not self.added:
            return course
        added = {name: each for name, each in self.added.items() if name != "id"}
        usual = {name: each for name, each in raw.items() if name != "id"}
        if "status" in usual:
            usual["status"] = "in_progress"
        return course | ({"added": added} if added != usual else {})


class GrowingItems:
    """The items of one reply. `reply_id` is what this codec makes ids of, "" for a reply that it did not encode."""

    __slots__ = ("_by_id", "_by_number", "blocks", "reply_id")

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.reply_id = ""
        self._by_number: dict[int, _Growing] = {}
        self._by_id: dict[str, _Growing] = {}

    def event(self, kind: str, event: dict[str, Json]) -> list[Chunk] | None:
        """The chunks of one event, None where it is of no item."""
        stem, _, act = kind.rpartition(".")
        if stem in _DELTAS and act in ("delta", "done"):
            return self._text(stem, act, event)
        if stem in _PARTS:
            # The end of a part says nothing that the end of its item does not say.
            return self._part_added(_PARTS[stem], event) if act == "added" else []
        if kind == "response.output_item.added":
            return self._added(event)
        if kind == "response.output_item.done":
            return self._done(self._of_done(event), event["item"])
        if kind == "response.output_text.annotation.added":
            self._find(event, "message").note(_key("content", event), "annotations", [event["annotation"]])
            return []
        return None

    def keep(self, event: dict[str, Json], kind: str, rest: dict[str, Json]) -> bool:
        """Keeps `rest` of an event without a meaning here with its item; False where it has none."""
        if "output_index" not in event and "item_id" not in event:
            return False
        item = self._known(event, "")
        if item is None or item.has_ended:
            return False
        item.events.append({"type": kind, **rest})
        return True

    def all_have_ended(self) -> bool:
        """Whether there was an item and each was told to its end."""
        return bool(self._by_number) and all(item.has_ended for item in self._by_number.values())

    def output(self, items: list[Json]) -> list[Chunk]:
        """The items of a whole reply, as far as no event has told of them."""
        chunks: list[Chunk] = []
        for number, raw in enumerate(items):
            item = self._by_number.get(number) or self._new(raw.get("type", "message"), number)
            if item.type == raw.get("type", "message"):
                chunks += self._done(item, raw)
        return chunks

    def unspoken_calls(self) -> list[Chunk]:
        """An empty piece for each call that was announced and said nothing yet; else its name would be lost."""
        return [
            self.blocks.tool(index, "", "", "")
            for item in self._by_number.values()
            if item.type in ARGUMENTS and not item.has_ended
            for index, text in item.texts.items()
            if not text
        ]

    # Which item

    def _known(self, event: dict[str, Json], kind: str) -> _Growing | None:
        number = event.get("output_index")
        if isinstance(number, int):
            return self._by_number.get(number)
        item = self._by_id.get(str(event.get("item_id")))
        return item or self._newest(kind)

    def _find(self, event: dict[str, Json], kind: str) -> _Growing:
        return self._known(event, kind) or self._new(kind, event.get("output_index"))

    def _newest(self, kind: str) -> _Growing | None:
        for item in reversed(self._by_number.values()):
            if not item.has_ended and kind in ("", item.type):
                return item
        return None

    def _new(self, kind: str, number: Json) -> _Growing:
        if not isinstance(kind, str):
            raise TypeError("the type of an item is not a string")
        if not isinstance(number, int):
            number = max(self._by_number, default=-1) + 1
        item = self._by_number[number] = _Growing(kind, number)
        return item

    def _of_done(self, event: dict[str, Json]) -> _Growing:
        raw = event["item"]
        number = event.get("output_index")
        if isinstance(number, int):
            return self._by_number.get(number) or self._new(raw["type"], number)
        for name in ("id", "call_id"):
            item = self._by_id.get(str(raw.get(name)))
            if item is not None:
                return item
        return self._newest(raw["type"]) or self._new(raw["type"], None)

    # Pieces

    def _added(self, event: dict[str, Json]) -> list[Chunk]:
        raw = event.get("item")
        number = event.get("output_index")
        # Some providers announce nothing, or the same item twice.
        if raw is None or (isinstance(number, int) and number in self._by_number):
            return []
        item = self._new(raw["type"], number)
        item.added = raw
        for name in ("id", "call_id"):
            if isinstance(raw.get(name), str):
                self._by_id[raw[name]] = item
        if item.type not in ARGUMENTS:
            return []
        whole = read_item(raw)
        return [
            *self._open_call(item, whole.call_id, whole.name),
            *self._grow(item, _WHOLE, whole.parts[0].text),
        ]

    def _part_added(self, group: str, event: dict[str, Json]) -> list[Chunk]:
        part = event.get("part") or {}
        kind = part.get("type", "")
        item = self._find(event, "reasoning" if kind in ("reasoning_text", "summary_text") else "message")
        key = _key(group, event)
        text = part.get(text_member(kind)) or ""
        return [*self._open(item, key), *self._grow(item, key, text)]

    def _text(self, stem: str, act: str, event: dict[str, Json]) -> list[Chunk]:
        """A delta, or the whole of a text, of which some servers send no deltas."""
        kind, group = _DELTAS[stem]
        item = self._find(event, kind)
        if item.has_ended:
            return []
        key = _key(group, event)
        if group:
            chunks = self._open(item, key)
        elif item.slots:
            chunks = []
        else:
            chunks = self._open_call(item, str(event.get("item_id", "")), str(event.get("name") or ""))
        if act == "done":
            whole = event.get(ARGUMENTS.get(kind) or text_member(stem.removeprefix("response."))) or ""
            return chunks + self._grow(item, key, whole)
        item.note(key, "logprobs", event.get("logprobs") or [])
        return [*chunks, self._piece(item, key, event["delta"])]

    def _open(self, item: _Growing, key: PartKey) -> list[Chunk]:
        if key in item.slots:
            return []
        start = self.blocks.start("reasoning" if item.type == "reasoning" else "text")
        return [self._started(item, key, start)]

    def _open_call(self, item: _Growing, call_id: str, name: str) -> list[Chunk]:
        start = self.blocks.start("tool-call")
        # The wire gives id and name before any argument; chunks give them with the first piece.
        self.blocks.tool(self.blocks.current, call_id, name, "")
        return [self._started(item, _WHOLE, start)]

    def _started(self, item: _Growing, key: PartKey, start: Chunk) -> Chunk:
        item.slots[key] = self.blocks.current
        item.texts[self.blocks.current] = []
        return start

    def _piece(self, item: _Growing, key: PartKey, text: str) -> Chunk:
        if not isinstance(text, str):
            raise TypeError("a piece of text is not a string")
        index = item.slots[key]
        item.texts[index].append(text)
        return self.blocks.text(index, text) if key[0] else self.blocks.tool(index, "", "", text)

    def _grow(self, item: _Growing, key: PartKey, whole: str) -> list[Chunk]:
        """What `whole` says beyond the pieces so far; nothing where it contradicts them."""
        said = "".join(item.texts[item.slots[key]])
        rest = whole[len(said) :] if whole.startswith(said) else ""
        return [self._piece(item, key, rest)] if rest else []

    # The end of an item

    def _done(self, item: _Growing, raw: dict[str, Json]) -> list[Chunk]:
        if item.has_ended:
            return []
        item.has_ended = True
        item.type = raw.get("type", item.type)
        whole = read_item(raw, generated_id(item.type, self.reply_id, item.number))
        chunks: list[Chunk] = []
        for part in whole.parts:
            # What was streamed counts, even if the item does not hold it in the end.
            if part.extras is not None or not item.slots:
                chunks += self._part_done(item, whole, part)
        for place, index in enumerate(item.slots.values()):
            extras = self.blocks.extras(index)
            if place:
                extras["continues"] = True
                continue
            members = whole.members | extras.get("item", {})
            extras.update(({"item": members} if members else {}) | item.course(raw))
        return chunks + [self.blocks.end(index) for index in item.slots.values()]

    def _part_done(self, item: _Growing, whole: Item, part: Part) -> list[Chunk]:
        key = part.key
        chunks: list[Chunk] = []
        if key not in item.slots:
            if part.kind == "tool-call":
                chunks = self._open_call(item, whole.call_id, whole.name)
            else:
                chunks = [self._started(item, key, self.blocks.start(part.kind))]
        if part.text:
            chunks += self._grow(item, key, part.text)
        index = item.slots[key]
        extras = self.blocks.extras(index)
        extras.update(
            {name: each for name, each in block_extras(whole, part, True).items() if name == "part"}
        )
        noted = {name: values for name, values in item.noted.get(key, {}).items() if values}
        if noted:
            extras["part"] = noted | extras.get("part", {})
        if "".join(item.texts[index]) != part.text:
            if part.kind == "tool-call":
                extras["item"] = {ARGUMENTS[whole.type]: part.text}
            else:
                said = extras.get("part", {})
                extras["part"] = said | {text_member(said.get("type", "")): part.text}
        return chunks


def _key(group: str, event: dict[str, Json]) -> PartKey:
    place = event.get(f"{group}_index", 0) if group else 0
    if not isinstance(place, int):
        raise TypeError("the index of a part is not a number")
    return group, place
