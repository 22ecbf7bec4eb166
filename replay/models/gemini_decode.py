"""Replies of the Gemini wire, read: streams and whole bodies -> chunks. See gemini.py."""

from typing import TYPE_CHECKING

import orjson

from replay.errors import FixtureError
from replay.models.blocks import Blocks, fold
from replay.models.gemini_documents import DocumentDecoder
from replay.models.gemini_error import decode_failure
from replay.models.merge import merge
from replay.models.wire import parse_reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from replay.models.wire import Block, Chunk, Json

__all__ = ["PLAIN_WORD", "StreamDecoder", "decode_response", "read_parts", "total_tokens"]

PLAIN_WORD = {"stop": "STOP", "tool-calls": "STOP", "max-tokens": "MAX_TOKENS", "content-filter": "SAFETY"}
"""Our kind of finish -> the wire's word for it, where `extras` names no other."""

_FINISH_FROM_WIRE = {"STOP": "stop", "MAX_TOKENS": "max-tokens"} | dict.fromkeys(
    (
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
        "ESCALATION",
    ),
    "content-filter",
)
_ENVELOPE = {"candidates", "createTime", "error", "modelVersion", "responseId", "usageMetadata"}
_CANDIDATE = {"content", "finishReason", "index"}
_SIGNED = {"thought", "thoughtSignature"}
_COUNTS = {
    "promptTokenCount": "inputTokens",
    "candidatesTokenCount": "outputTokens",
    "cachedContentTokenCount": "cacheReadTokens",
    "thoughtsTokenCount": "reasoningTokens",
}
_EMPTY: tuple[Json, ...] = (None, "", [], {})


class StreamDecoder:
    """Wire bytes of one streamed reply -> chunks; input may be cut anywhere.

    This wire has no end mark: what closes the reply (usage, finish) is given by `close`, if a finish was seen.
    `complete` then says that the reply ended by itself; otherwise what was given is the prefix of a throw.
    """

    __slots__ = ("_documents", "_reply", "complete")

    def __init__(self) -> None:
        self._documents = DocumentDecoder()
        self._reply = _Reply()
        self.complete = False

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that `data` completes. Raises FixtureError for a document that is not this wire's."""
        chunks: list[Chunk] = []
        if not self.complete:
            for document in self._documents.feed(data):
                chunks += self._reply.body(document)
        return chunks

    def close(self) -> list[Chunk]:
        """The chunks that the end of the connection completes: none unless a finish was seen."""
        if self.complete or self._reply.finish is None:
            return []
        self.complete = True
        return self._reply.end()


def decode_response(body: bytes) -> list[Chunk]:
    """The chunks of a reply that is not streamed. Raises FixtureError for a body that is not this wire's."""
    reply = _Reply()
    return reply.body(body) + reply.end()


def read_parts(parts: Iterable[dict[str, Json]]) -> list[Block]:
    """The blocks of a reply's parts as they come back in a request. Raises TypeError for parts of no reply."""
    reader = _Parts()
    chunks = [chunk for part in parts for chunk in reader.part(part)]
    return fold(chunks + reader.blocks.end_all()).blocks


def total_tokens(usage: dict[str, Json]) -> int:
    """The sum that the wire gives as `totalTokenCount`."""
    total: int = usage["inputTokens"] + usage["outputTokens"] + usage.get("reasoningTokens", 0)
    tool_use = usage.get("extras", {}).get("toolUsePromptTokenCount")
    return total + (tool_use if isinstance(tool_use, int) else 0)


class _Parts:
    """Content parts -> chunks. A part that holds more than its text ends its block, so that this stays its own."""

    __slots__ = ("blocks",)

    def __init__(self) -> None:
        self.blocks = Blocks()

    def part(self, part: dict[str, Json]) -> Iterator[Chunk]:
        """The chunks of one part. Raises TypeError where a member has another type than the wire gives it."""
        members = {name: value for name, value in part.items() if value is not None}
        if not members.get("thought", True):
            del members["thought"]
        if "functionCall" in members:
            yield from self._call(members)
        elif "text" in members or members.keys() <= _SIGNED:
            yield from self._text(members)
        else:
            # No block type stands for it: an empty text block holds it whole.
            yield self.blocks.start("text")
            self.blocks.extras(self.blocks.current)["part"] = members
            yield self.blocks.end(self.blocks.current)

    def _text(self, members: dict[str, Json]) -> Iterator[Chunk]:
        blocks = self.blocks
        text = members.pop("text", None)
        if text is not None and not isinstance(text, str):
            raise TypeError("text is not a string")
        kind = "reasoning" if members.get("thought") is True else "text"
        if kind == "reasoning":
            del members["thought"]
        if blocks.kind() != kind:
            if not text and not members:
                return
            yield blocks.start(kind)
        if text is not None:
            yield blocks.text(blocks.current, text)
        if members:
            blocks.extras(blocks.current).update(members)
            yield blocks.end(blocks.current)

    def _call(self, members: dict[str, Json]) -> Iterator[Chunk]:
        call = members.pop("functionCall")
        if not isinstance(call, dict):
            raise TypeError("functionCall is not an object")
        inner = {name: value for name, value in call.items() if value is not None}
        call_id, name, arguments = inner.pop("id", ""), inner.pop("name", ""), inner.pop("args", None)
        if not isinstance(call_id, str) or not isinstance(name, str):
            raise TypeError("functionCall has an id or a name that is not a string")
        if arguments is not None and not isinstance(arguments, dict):
            raise TypeError("functionCall.args is not an object")
        blocks = self.blocks
        yield blocks.start("tool-call")
        text = "" if arguments is None else orjson.dumps(arguments).decode()
        yield blocks.tool(blocks.current, call_id, name, text)
        blocks.extras(blocks.current).update(members | ({"functionCall": inner} if inner else {}))
        yield blocks.end(blocks.current)


class _Reply:
    """One reply as it grows. `finish` is the finish chunk's reason once known."""

    __slots__ = ("_extras", "_parts", "_usage", "finish")

    def __init__(self) -> None:
        self._parts = _Parts()
        self._extras: dict[str, Json] = {}
        self._usage: dict[str, Json] = {}
        self.finish: dict[str, Json] | None = None

    def body(self, document: bytes) -> list[Chunk]:
        """Chunks of one document: a piece of a stream or a whole reply."""
        body = parse_reply(document, "the reply")
        chunks: list[Chunk] = []
        try:
            for candidate in body.get("candidates") or []:
                chunks += self._candidate(candidate)
            # Each piece of a stream counts up to where it stands.
            self._usage |= body.get("usageMetadata") or {}
            self._members(body)
        except (AttributeError, TypeError, ValueError) as error:
            raise FixtureError(f"the provider's reply is not a GenerateContentResponse: {error}") from None
        if body.get("error"):
            self.finish = decode_failure(body["error"])
        return chunks

    def end(self) -> list[Chunk]:
        """What ends the reply: open blocks, usage, finish."""
        blocks = self._parts.blocks
        if self.finish == {"kind": "stop"} and blocks.last("tool-call") >= 0:
            self.finish = {"kind": "tool-calls"}
        usage = _decode_usage(self._usage) if self._usage else None
        return blocks.conclude(usage, self.finish, self._extras)

    def _candidate(self, candidate: dict[str, Json]) -> list[Chunk]:
        if candidate.get("index"):
            raise ValueError("it has a second candidate, and one is all that a recording holds")
        content = candidate.get("content") or {}
        chunks = [chunk for part in content.get("parts") or [] for chunk in self._parts.part(part)]
        rest = {name: value for name, value in content.items() if name not in ("parts", "role")}
        if rest:
            _gather(self._extras.setdefault("content", {}), rest)
        word = candidate.get("finishReason")
        if word is not None:
            if not isinstance(word, str):
                raise TypeError("finishReason is not a string")
            self._finish(word)
        rest = {
            name: value for name, value in candidate.items() if name not in _CANDIDATE and value not in _EMPTY
        }
        if rest:
            _gather(self._extras.setdefault("candidate", {}), rest)
        return chunks

    def _finish(self, word: str) -> None:
        kind = _FINISH_FROM_WIRE.get(word, word)
        self.finish = {"kind": kind}
        self._extras.pop("finishReason", None)
        if PLAIN_WORD.get(kind, kind) != word:
            self._extras["finishReason"] = word

    def _members(self, body: dict[str, Json]) -> None:
        """What belongs to the reply as a whole. A prompt that was blocked has no candidate that could say so."""
        for name, value in body.items():
            if name not in _ENVELOPE and value not in _EMPTY:
                self._extras.setdefault("reply", {})[name] = value
        feedback = self._extras.get("reply", {}).get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            if self.finish is None:
                self.finish = {"kind": "content-filter"}
            elif body.get("candidates") and self.finish["kind"] == "content-filter":
                self._extras.setdefault("finishReason", PLAIN_WORD["content-filter"])


def _gather(into: dict[str, Json], piece: dict[str, Json]) -> None:
    """Adds members that come with several pieces of a reply.

    Some are repeated whole, some grow, some come bit by bit: lists get what they do not hold yet. Log
    probabilities are a list of tokens, in which repetition means something.
    """
    for name, value in piece.items():
        before = into.get(name)
        if name == "logprobsResult":
            merge(into, {name: value})
        elif isinstance(before, dict) and isinstance(value, dict):
            _gather(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            before += [each for each in value if each not in before]
        else:
            merge(into, {name: value})


def _decode_usage(wire: dict[str, Json]) -> dict[str, Json]:
    """Token counts; what has no word of ours stays under `extras`."""
    usage: dict[str, Json] = {"inputTokens": 0, "outputTokens": 0}
    extras: dict[str, Json] = {}
    for name, value in wire.items():
        if name in _COUNTS and isinstance(value, int):
            usage[_COUNTS[name]] = value
        elif value not in _EMPTY:
            extras[name] = value
    if extras:
        usage["extras"] = extras
    if extras.get("totalTokenCount") == total_tokens(usage):
        del extras["totalTokenCount"]
        if not extras:
            del usage["extras"]
    return usage
