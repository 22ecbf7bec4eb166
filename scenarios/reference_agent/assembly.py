"""One model reply being put together from its chunks. No I/O."""

from typing import Any, NamedTuple

from scenarios.reference_agent.model import Chunk, ModelError

__all__ = ["Assembly", "Said"]

TEXT_KINDS = ("text", "reasoning")


class Said(NamedTuple):
    """A piece to show at once. `kind` is `text` or `reasoning`."""

    kind: str
    text: str


class Assembly:
    """Blocks by index. A `block-end` has the last word on its block; deltas alone make one too."""

    def __init__(self) -> None:
        self.open: dict[int, dict[str, Any]] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self.usage: dict[str, Any] | None = None
        self.finish: dict[str, Any] | None = None

    def add(self, chunk: Chunk) -> Said | None:
        """Take in a chunk; what of it a person should see now."""
        match chunk["type"]:
            case "block-start":
                self.block(chunk["index"], chunk["blockType"])
            case "text-delta" | "reasoning-delta":
                kind = chunk["type"].removesuffix("-delta")
                self.block(chunk["index"], kind)["text"] += chunk["text"]
                return Said(kind, chunk["text"]) if chunk["text"] else None
            case "tool-call-delta":
                block = self.block(chunk["index"], "tool-call")
                block["id"] = chunk["id"] or block["id"]
                block["name"] = chunk.get("name") or block["name"]
                block["arguments"] += chunk["argumentsDelta"]
            case "block-end":
                return self.end(chunk["index"], chunk["block"])
            case "usage":
                self.usage = chunk["usage"]
            case "finish":
                self.finish = chunk["reason"]
        return None

    def block(self, index: int, kind: str) -> dict[str, Any]:
        empty = (
            {"type": kind, "text": ""}
            if kind in TEXT_KINDS
            else {"type": kind, "id": "", "name": "", "arguments": ""}
        )
        return self.open.setdefault(index, empty)

    def end(self, index: int, block: dict[str, Any]) -> Said | None:
        """Some providers send a block whole, without deltas: then it is shown when it ends."""
        shown = self.open.get(index, {}).get("text", "")
        self.ended[index] = block
        if block["type"] in TEXT_KINDS and block["text"] and not shown:
            return Said(block["type"], block["text"])
        return None

    def content(self) -> list[dict[str, Any]]:
        """The blocks of the reply in order. A tool call counts only once it has ended: half of one is none."""
        blocks = {
            index: block
            for index, block in self.open.items()
            if block["type"] in TEXT_KINDS and block["text"]
        } | self.ended
        return [blocks[index] for index in sorted(blocks)]

    def spoken(self) -> list[dict[str, Any]]:
        """What an interrupted reply leaves behind: nobody will answer its tool calls."""
        return [block for block in self.content() if block["type"] in TEXT_KINDS]

    def tool_calls(self) -> list[dict[str, Any]]:
        return [block for block in self.content() if block["type"] == "tool-call"]

    @property
    def hit_limit(self) -> bool:
        return self.finish is not None and self.finish["kind"] in ("max-tokens", "length")

    @property
    def refused(self) -> bool:
        return self.finish is not None and self.finish["kind"] in ("content-filter", "refusal")

    def failure(self) -> ModelError | None:
        """Why a stream that came to its finish is no reply all the same."""
        if self.finish is not None and self.finish["kind"] == "error":
            failure = self.finish.get("failure") or {}
            return ModelError(
                failure.get("message", "the provider reported an error"), failure.get("code", "SERVER")
            )
        if not self.content() and not self.hit_limit and not self.refused:
            return ModelError("the model replied with nothing", "EMPTY_RESPONSE")
        return None
