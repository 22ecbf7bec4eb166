"""Blocks of one reply, in both directions: pieces of text become chunks, chunks become whole blocks.

`Blocks` serves the decoders of all wires: it numbers blocks as they open and remembers their text, so that a
`block-end` holds what its deltas said. `fold` serves the encoders of whole replies. Neither knows any wire.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from replay.models.wire import Block, Chunk


class _Open:
    """A block that may still grow. `text` is text, reasoning or tool arguments by `kind`."""

    __slots__ = ("ended", "extras", "id", "kind", "name", "parts")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.id = ""
        self.name = ""
        self.extras: dict[str, Any] = {}
        self.ended = False

    def block(self) -> Block:
        text = "".join(self.parts)
        if self.kind == "tool-call":
            block: Block = {"type": self.kind, "id": self.id, "name": self.name, "arguments": text}
        else:
            block = {"type": self.kind, "text": text}
        if self.extras:
            block["extras"] = self.extras
        return block


class Blocks:
    """The blocks of one reply as they grow. `current` is the index of the block opened last, -1 before any."""

    __slots__ = ("_blocks", "current")

    def __init__(self) -> None:
        self._blocks: list[_Open] = []
        self.current = -1

    def kind(self) -> str:
        """The type of the block opened last, "" before any or once it has ended."""
        if self.current < 0 or self._blocks[self.current].ended:
            return ""
        return self._blocks[self.current].kind

    def start(self, kind: str) -> Chunk:
        """Opens a block of type `kind` and makes it current."""
        self._blocks.append(_Open(kind))
        self.current = len(self._blocks) - 1
        return {"type": "block-start", "index": self.current, "blockType": kind}

    def text(self, index: int, text: str) -> Chunk:
        """Adds to a text or reasoning block."""
        block = self._blocks[index]
        block.parts.append(text)
        return {"type": f"{block.kind}-delta", "index": index, "text": text}

    def tool(self, index: int, call_id: str, name: str, arguments: str) -> Chunk:
        """Adds to a tool-call block. A name sent again whole is a repetition, a piece of one is appended.

        The chunk repeats what is known of the name, so that a run of deltas packs into one row.
        """
        block = self._blocks[index]
        block.parts.append(arguments)
        block.id = block.id or call_id
        if name != block.name:
            block.name += name
        chunk: Chunk = {"type": "tool-call-delta", "index": index, "id": block.id}
        if block.name:
            chunk["name"] = block.name
        chunk["argumentsDelta"] = arguments
        return chunk

    def extras(self, index: int) -> dict[str, Any]:
        """What the provider wants back with this block; the caller writes into it."""
        return self._blocks[index].extras

    def call_id(self, index: int) -> str:
        """The id of a tool-call block, "" as long as none came."""
        return self._blocks[index].id

    def last(self, kind: str) -> int:
        """The index of the newest block of type `kind`, -1 if there is none."""
        for index in range(len(self._blocks) - 1, -1, -1):
            if self._blocks[index].kind == kind:
                return index
        return -1

    def end(self, index: int) -> Chunk:
        """Closes one block."""
        self._blocks[index].ended = True
        return {"type": "block-end", "index": index, "block": self._blocks[index].block()}

    def end_all(self) -> list[Chunk]:
        """Closes what is still open, in order."""
        return [self.end(index) for index, block in enumerate(self._blocks) if not block.ended]

    def conclude(
        self, usage: dict[str, Any] | None, reason: dict[str, Any] | None, extras: dict[str, Any]
    ) -> list[Chunk]:
        """What the end of a reply completes: blocks, usage, finish, each only as far as there is one.

        A log is split at its finish, so that comes last. extras: those of the finish chunk.
        """
        chunks = self.end_all()
        if usage is not None:
            chunks.append({"type": "usage", "usage": usage})
        if reason is not None:
            chunks.append({"type": "finish", "reason": reason} | ({"extras": extras} if extras else {}))
        return chunks


class Reply(NamedTuple):
    """A whole reply: blocks in order, usage and the finish chunk where they came."""

    blocks: list[Block]
    usage: dict[str, Any] | None
    finish: Chunk | None


def ending_of(chunks: Iterable[Chunk]) -> tuple[dict[str, Any] | None, Chunk | None]:
    """Usage and finish of a reply."""
    reply = fold(chunk for chunk in chunks if "index" not in chunk)
    return reply.usage, reply.finish


def fold(chunks: Iterable[Chunk]) -> Reply:
    """The reply that a stream of chunks amounts to.

    A block that ended is what its `block-end` says; one that did not is what its deltas said so far. Of several
    usage or finish chunks the last counts.
    """
    open_blocks: dict[int, _Open] = {}
    ended: dict[int, Block] = {}
    usage: dict[str, Any] | None = None
    finish: Chunk | None = None
    for chunk in chunks:
        kind = chunk["type"]
        if kind == "block-start":
            open_blocks.setdefault(chunk["index"], _Open(chunk["blockType"]))
        elif kind == "block-end":
            ended[chunk["index"]] = chunk["block"]
            open_blocks.setdefault(chunk["index"], _Open(chunk["block"]["type"]))
        elif kind == "usage":
            usage = chunk["usage"]
        elif kind == "finish":
            finish = chunk
        elif kind == "tool-call-delta":
            block = open_blocks.setdefault(chunk["index"], _Open("tool-call"))
            block.id = chunk["id"]
            block.name = chunk.get("name") or block.name
            block.parts.append(chunk["argumentsDelta"])
        elif kind in ("text-delta", "reasoning-delta"):
            block = open_blocks.setdefault(chunk["index"], _Open(kind.removesuffix("-delta")))
            block.parts.append(chunk["text"])
    blocks = [ended.get(index) or open_blocks[index].block() for index in sorted(open_blocks)]
    return Reply(blocks, usage, finish)
