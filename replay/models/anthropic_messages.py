"""The Messages wire (`anthropic_messages`): request bodies, event streams, whole replies and errors.

Encoding makes the same bytes for the same chunks: ids are ordinals, `model` echoes the request. On the wire one block
follows another, so a block is stopped where the next one starts unless it still has deltas of its own to come.
Decoding keeps what a chunk has no word for. Members of a block go to that block's `extras` (see
anthropic_messages_blocks.py), a signature and citations among them; `delta` there holds what stood in a delta beside
its piece, `deltas` what came in deltas of another type. Members of the reply go to `extras` of the finish chunk:
`message` from its start, `delta` and `event` from its `message_delta`, `events` for events of unknown types. A stop
reason that shares its word with another is kept in `delta.stop_reason`. `inputTokens` counts as this wire does,
without what was read from or written to the cache.
Dropped on purpose: ids of message and request, members that are null, and counts that later ones replace.
Source: Anthropic API reference, messages, streaming, errors.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from replay.models.anthropic_messages_blocks import encode_block, encode_opening, is_opaque
from replay.models.anthropic_messages_decode import (
    FAULT_OF_TYPE,
    FINISH_TO_WIRE,
    StreamDecoder,
    decode_error,
    decode_response,
    error_type,
)
from replay.models.anthropic_messages_request import decode_request
from replay.models.blocks import ending_of, fold
from replay.models.merge import merge
from replay.models.sse import encode_event
from replay.models.wire import asked_model, fault_code, fault_status, with_model

if TYPE_CHECKING:
    from replay.models.wire import Block, Chunk, Json, WireRequest

__all__ = [
    "BASE_PATH",
    "KEY_VARIABLES",
    "MALFORMED",
    "REQUEST_ID",
    "UPSTREAM",
    "StreamDecoder",
    "authorization",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_response",
    "encode_stream",
    "is_call",
    "probe",
    "with_model",
]

BASE_PATH = ""
UPSTREAM = "https://api.anthropic.com"
KEY_VARIABLES = ("ANTHROPIC_API_KEY",)
REQUEST_ID = "request-id"
MALFORMED = b'event: content_block_delta\ndata: {"type":"content_block_delta\n\n'
_CALL_PATH = "/v1/messages"
_COUNT_PATH = "/v1/messages/count_tokens"
_MODELS_PATH = "/v1/models"

_DELTA = {
    "text-delta": ("text_delta", "text", "text"),
    "reasoning-delta": ("thinking_delta", "thinking", "text"),
    "tool-call-delta": ("input_json_delta", "partial_json", "argumentsDelta"),
}
# What message_delta may count; the rest stands in message_start only.
_FINAL_COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)


def is_call(path: str) -> bool:
    """Whether a POST to `path` is a model call."""
    return path == _CALL_PATH


def authorization(key: str) -> list[tuple[str, str]]:
    """The headers that carry the key."""
    return [("x-api-key", key)]


def probe(method: str, path: str, models: Sequence[str]) -> bytes | None:
    """The body that answers a question beside the model calls, None where `path` asks nothing that this API knows."""
    if method == "POST" and path == _COUNT_PATH:
        # One number for all: a real count would need the model's tokenizer, and a low one makes no agent compact.
        return orjson.dumps({"input_tokens": 1})
    if method not in ("GET", "HEAD"):
        return None
    if path == _MODELS_PATH:
        ends = {"first_id": models[0] if models else None, "last_id": models[-1] if models else None}
        return orjson.dumps({"data": [_model(name) for name in models], "has_more": False, **ends})
    name = asked_model(path, _MODELS_PATH, models)
    return orjson.dumps(_model(name)) if name else None


def _model(name: str) -> dict[str, Json]:
    fields = {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return fields | {"lifecycle": "active"}


# Encoding


def encode_stream(
    chunks: Iterable[Chunk], request: WireRequest, reply_id: str, complete: bool
) -> Iterator[bytes]:
    """The events of one reply, one frame an item.

    reply_id: the ordinal of the reply, made part of its id. complete: False for the prefix of a reply that breaks or
    hangs, which gets no stop reason and no counts of its own.
    """
    chunks = list(chunks)
    usage, finish = ending_of(chunks) if complete else (None, None)
    message = _message(request, reply_id, finish)
    message["usage"] = _encode_usage(usage)
    if not _is_failed(finish):
        for name in ("output_tokens_details", "server_tool_use"):
            message["usage"].pop(name, None)
        message["usage"]["output_tokens"] = 0
    yield _frame("message_start", {"message": message})
    encoder = _BlockEncoder(chunks)
    for place, chunk in enumerate(chunks):
        yield from encoder.frames(place, chunk)
    if complete:
        yield from encoder.end()
        yield from _stream_end(usage, finish)


def _stream_end(usage: dict[str, Json] | None, finish: Chunk | None) -> Iterator[bytes]:
    extras = finish.get("extras", {}) if finish is not None else {}
    for event in extras.get("events", []):
        yield encode_event(orjson.dumps(event), event["type"])
    is_failed = _is_failed(finish)
    if not is_failed or "delta" in extras or "event" in extras:
        delta = {"stop_reason": _stop_reason(finish), "stop_sequence": None, **extras.get("delta", {})}
        counts = {name: value for name, value in _encode_usage(usage).items() if name in _FINAL_COUNTS}
        yield _frame("message_delta", {**extras.get("event", {}), "delta": delta, "usage": counts})
    if finish is not None and is_failed:
        yield _frame("error", {"error": _failure(finish["reason"])})
    else:
        yield _frame("message_stop", {})


def encode_response(chunks: Iterable[Chunk], request: WireRequest, reply_id: str) -> bytes:
    """The body of a reply that is not streamed."""
    reply = fold(chunks)
    finish = reply.finish
    if finish is not None and _is_failed(finish):
        return orjson.dumps({"type": "error", "error": _failure(finish["reason"])})
    extras = finish.get("extras", {}) if finish is not None else {}
    message = _message(request, reply_id, finish)
    message |= {"content": [encode_block(block) for block in reply.blocks]}
    message |= {"stop_reason": _stop_reason(finish), "usage": _encode_usage(reply.usage)}
    for name, value in (extras.get("delta", {}) | extras.get("event", {})).items():
        if name in ("stop_reason", "stop_sequence") or name not in message:
            message[name] = value
    return orjson.dumps(message)


def _message(request: WireRequest, reply_id: str, finish: Chunk | None) -> dict[str, Json]:
    """What stream and whole reply have in common at their head."""
    message = {"id": f"msg_{reply_id}", "type": "message", "role": "assistant", "model": request.model}
    extras = finish.get("extras", {}).get("message", {}) if finish is not None else {}
    return {**message, "content": [], "stop_reason": None, "stop_sequence": None, **extras}


def _frame(kind: str, members: dict[str, Json]) -> bytes:
    return encode_event(orjson.dumps({"type": kind, **members}), kind)


class _BlockEncoder:
    """Chunks of one reply -> frames of its blocks, numbered on the wire in the order in which they start."""

    __slots__ = ("_blocks", "_first", "_heads", "_last_delta", "_open", "_places")

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        # Only `block-end` knows all of a block, but the wire wants names and extras when it starts.
        self._blocks: dict[int, Block] = {}
        self._last_delta: dict[int, int] = {}
        for place, chunk in enumerate(chunks):
            kind = chunk["type"]
            if kind == "block-end":
                self._blocks[chunk["index"]] = chunk["block"]
            elif kind == "block-start":
                self._blocks.setdefault(chunk["index"], {"type": chunk["blockType"], "extras": {}})
            elif kind in _DELTA:
                block = self._blocks.setdefault(chunk["index"], {"type": kind.removesuffix("-delta")})
                if kind == "tool-call-delta":
                    name = chunk.get("name") or block.get("name", "")
                    block |= {"id": chunk["id"], "name": name}
                self._last_delta[chunk["index"]] = place
        self._places: dict[int, int] = {}
        self._open: list[int] = []
        # Extras that travel with a block's first delta; what all later ones begin with.
        self._first: dict[int, dict[str, Json]] = {}
        self._heads: dict[int, bytes] = {}

    def frames(self, place: int, chunk: Chunk) -> Sequence[bytes]:
        """The frames of the chunk that stands at `place`."""
        kind = chunk["type"]
        if kind in ("usage", "finish"):
            return ()
        index = chunk["index"]
        frames = list(self._start(index, place)) if index not in self._places else []
        if kind == "block-end":
            frames += self._stop(index)
        elif kind in _DELTA:
            frames.append(self._delta(index, kind, chunk[_DELTA[kind][2]]))
        return frames

    def end(self) -> Iterator[bytes]:
        """The frames that close what is still open."""
        for index in list(self._open):
            yield from self._stop(index)

    def _start(self, index: int, place: int) -> Iterator[bytes]:
        block = self._blocks[index]
        if block["type"] == "tool-call" and "id" not in block:
            # A reply that broke off before it said which tool it calls.
            return
        for other in list(self._open):
            if self._last_delta.get(other, -1) < place:
                yield from self._stop(other)
        self._places[index] = len(self._places)
        self._open.append(index)
        self._first[index] = block.get("extras", {}).get("delta", {}) if not is_opaque(block) else {}
        yield _frame(
            "content_block_start", {"index": self._places[index], "content_block": encode_opening(block)}
        )

    def _delta(self, index: int, kind: str, piece: str) -> bytes:
        head = self._heads.get(index)
        if head is not None:
            return b"%b%b}}\n\n" % (head, orjson.dumps(piece))
        wire, member, _ = _DELTA[kind]
        self._heads[index] = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
            % (self._places[index], wire.encode(), member.encode())
        )
        own = {"type": wire, member: piece}
        delta = own | self._first[index] | own
        return _frame("content_block_delta", {"index": self._places[index], "delta": delta})

    def _stop(self, index: int) -> Iterator[bytes]:
        if index not in self._open:
            return
        self._open.remove(index)
        block = self._blocks[index]
        text = "" if is_opaque(block) else block.get("arguments" if block["type"] == "tool-call" else "text")
        if text and index not in self._last_delta:
            # A block without deltas, as people write it by hand: sent whole.
            yield self._delta(index, f"{block['type']}-delta", text)
        for delta in _late_deltas(block):
            yield _frame("content_block_delta", {"index": self._places[index], "delta": delta})
        yield _frame("content_block_stop", {"index": self._places[index]})


def _late_deltas(block: Block) -> Iterator[dict[str, Json]]:
    """Deltas that follow the text of a block."""
    extras = block.get("extras", {})
    yield from extras.get("deltas", [])
    if is_opaque(block):
        return
    if block["type"] == "text":
        for citation in extras.get("citations", []):
            yield {"type": "citations_delta", "citation": citation}
    if block["type"] == "reasoning" and "signature" in extras:
        yield {"type": "signature_delta", "signature": extras["signature"]}


def _stop_reason(finish: Chunk | None) -> str | None:
    if finish is None or _is_failed(finish):
        return None
    kind: str = finish["reason"]["kind"]
    return FINISH_TO_WIRE.get(kind, kind)


def _is_failed(finish: Chunk | None) -> bool:
    return finish is not None and finish["reason"]["kind"] == "error"


def _encode_usage(usage: dict[str, Json] | None) -> dict[str, Json]:
    """Token counts; this wire has them in every reply, so noughts where nothing was recorded."""
    usage = usage or {}
    wire: dict[str, Json] = {
        "input_tokens": usage.get("inputTokens", 0),
        # Null and not left out: clients in JavaScript add these up.
        "cache_creation_input_tokens": None,
        "cache_read_input_tokens": usage.get("cacheReadTokens"),
        "output_tokens": usage.get("outputTokens", 0),
    }
    if "reasoningTokens" in usage:
        wire["output_tokens_details"] = {"thinking_tokens": usage["reasoningTokens"]}
    merge(wire, usage.get("extras", {}))
    return wire


# Errors


def encode_error(status: int, message: str, code: str, retry_after_ms: int | None = None) -> bytes:
    """The body of an error. code: a throw entry's code, or the wire's own. retry_after_ms: this wire has headers for it."""
    is_told = code in ("", fault_code(status))
    return orjson.dumps(
        {"type": "error", "error": _error(error_type(status), message, "" if is_told else code)}
    )


def _failure(reason: dict[str, Json]) -> dict[str, Json]:
    """The error of a reply that fails after its status was sent."""
    failure = reason.get("failure", {})
    code = failure.get("code") or ""
    kind = error_type(fault_status(code))
    is_told = code == FAULT_OF_TYPE.get(kind, "")
    error = _error(kind, failure.get("message", ""), "" if is_told else code)
    return {**error, **failure.get("extras", {})}


def _error(kind: str, message: str, code: str) -> dict[str, Json]:
    """code: "" where the type says it all."""
    error: dict[str, Json] = {"type": kind, "message": message}
    return error | ({"details": {"error_code": code}} if code else {})
