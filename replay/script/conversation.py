"""What one model request adds to the one before it: conversations as provider-neutral messages. Pure.

A message is `{"role", "content": [block] | str}` (models/wire.py). The leading system messages are the request's
header; what follows is its conversation, in which neighbouring assistant messages count as one, because wires differ in
how they cut up a reply. A lane goes on if its next request says the same again, then the answer that was streamed, then
something new; a `Delta` is that new part, and whatever is not as this says.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "Delta",
    "Message",
    "answer_of",
    "delta_of",
    "holds_result",
    "is_prompt",
    "repeats",
    "split_header",
    "without_markers",
]

type Message = dict[str, Any]
type IsSame = Callable[[Message, Message], bool]

# Marks for a provider's cache: agents move them along with the end of the conversation.
_MARKERS = frozenset(("cache_control", "cachePoint"))
_DELTA_FIELDS = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "argumentsDelta"}


class Delta(NamedTuple):
    """What a request says beyond `start` messages that were known: those of the request before and its answer.

    sent_back: the assistant messages that stand in the place of a complete answer, [] where nothing of it came back;
    None where the answer came back as it was streamed, or there was none. is_rewritten: the conversation does not go
    on from the request before; from message `start` on it says `messages`.
    """

    start: int
    sent_back: list[Message] | None
    messages: list[Message]
    is_rewritten: bool


def split_header(messages: Iterable[Message]) -> tuple[list[Message], list[Message]]:
    """(leading system messages, conversation)."""
    system: list[Message] = []
    conversation: list[Message] = []
    for message in messages:
        if message["role"] == "system" and not conversation:
            system.append(message)
        elif message["role"] == "assistant" and conversation and conversation[-1]["role"] == "assistant":
            last = conversation[-1]
            conversation[-1] = {**last, **message, "content": [*_blocks(last), *_blocks(message)]}
        else:
            conversation.append(message)
    return system, conversation


def delta_of(
    before: Sequence[Message], answer: Message | None, now: Sequence[Message], is_same: IsSame
) -> Delta:
    """What the conversation `now` adds to `before`. answer: what a complete reply said, None for any other."""
    known = _common(before, now, is_same)
    if known < len(before):
        return Delta(known, None, list(now[known:]), True)
    rest = list(now[known:])
    returned = rest[:1] if rest and rest[0]["role"] == "assistant" else []
    if answer is None or not answer["content"]:
        return Delta(known, returned or None, rest[len(returned) :], False)
    if returned and repeats(returned[0], answer):
        return Delta(known + 1, None, rest[1:], False)
    return Delta(known, returned, rest[len(returned) :], False)


def _common(one: Sequence[Message], other: Sequence[Message], is_same: IsSame) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if not is_same(left, right):
            return at
    return min(len(one), len(other))


def is_prompt(message: Message) -> bool:
    """Whether a message is the user's own word and no result of a tool."""
    return message["role"] == "user" and not holds_result(message)


def holds_result(message: Message) -> bool:
    """Whether a message holds the result of a tool."""
    return message["role"] == "tool" or any(block.get("type") == "tool-result" for block in _blocks(message))


def without_markers(value: Any) -> Any:
    """A message without what marks a place for the provider's cache; extras that held nothing else go too."""
    if isinstance(value, list):
        return [without_markers(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: without_markers(item) for name, item in value.items() if name not in _MARKERS}
    if kept.get("extras") == {} and value["extras"]:
        del kept["extras"]
    return kept


def answer_of(chunks: Iterable[dict[str, Any]]) -> Message:
    """The assistant message that a stream amounts to, as far as it went. Not for encoding: usage and finish are left out."""
    blocks: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        kind = chunk["type"]
        if kind in ("usage", "finish"):
            continue
        index = chunk["index"]
        if kind == "block-end":
            blocks[index] = chunk["block"]
            continue
        if kind == "block-start":
            blocks[index] = _empty(chunk["blockType"])
            continue
        block = blocks.setdefault(index, _empty(kind.removesuffix("-delta")))
        piece = chunk[_DELTA_FIELDS[kind]]
        if kind == "tool-call-delta":
            name = chunk.get("name") or block["name"]
            blocks[index] = {
                **block,
                "id": chunk["id"],
                "name": name,
                "arguments": block["arguments"] + piece,
            }
        else:
            blocks[index] = {**block, "text": block["text"] + piece}
    return {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}


def _empty(kind: str) -> dict[str, Any]:
    if kind == "tool-call":
        return {"type": kind, "id": "", "name": "", "arguments": ""}
    return {"type": kind, "text": ""}


def repeats(message: Message, answer: Message) -> bool:
    """Whether an assistant message says what was streamed.

    An agent may leave out reasoning, write tool arguments with other spaces, and join or drop pieces of text; it may not
    change a word, a name, an id, or an extra that the provider wants back.
    """
    blocks = _blocks(message)
    with_reasoning = any(block.get("type") == "reasoning" for block in blocks)
    return _said(blocks, with_reasoning) == _said(_blocks(answer), with_reasoning)


def _said(blocks: Iterable[dict[str, Any]], with_reasoning: bool) -> list[Any]:
    said: list[Any] = []
    for block in blocks:
        kind = block.get("type")
        extras = without_markers(block).get("extras")
        if kind == "reasoning" and not with_reasoning:
            continue
        if kind == "tool-call":
            said.append([kind, block.get("id"), block.get("name"), _parsed(block.get("arguments")), extras])
        elif kind not in ("text", "reasoning"):
            said.append(["", block, None])
        elif said and said[-1][0] == kind and said[-1][2] == extras:
            said[-1][1] += block["text"]
        elif block["text"] or extras:
            said.append([kind, block["text"], extras])
    return said


def _parsed(arguments: Any) -> Any:
    try:
        return orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return arguments


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = message["content"]
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
