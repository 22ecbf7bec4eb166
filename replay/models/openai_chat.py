"""The Chat Completions wire (`openai_chat`): request bodies, event streams, whole replies and errors.

Encoding makes the same bytes for the same chunks: ids are ordinals, `created` is 0, `model` echoes the request.
Decoding keeps what a chunk has no word for: members beside a block's text go to that block's `extras`, under the
wire's own names; those of a choice or of the whole reply go to `extras` of the finish chunk. The extras member
`field` names the wire member that carried a block where it was not the usual one (`reasoning` or `refusal` for
text, `custom` for a tool call). Dropped on purpose: the envelope (id, object, created, model) and `obfuscation`,
which is random padding.
The wire says neither where a block ends nor where one of two neighbours of the same type begins, so a decoded
reply closes all blocks at its end and neighbours are one block. An empty piece of text never opens a block.
Source: OpenAI API reference, chat completions; members that compatible servers add as seen from them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from replay.models.blocks import ending_of, fold
from replay.models.merge import merge
from replay.models.openai_chat_decode import (
    FINISH_FROM_WIRE,
    USUAL_FIELD,
    StreamDecoder,
    decode_error,
    decode_response,
)
from replay.models.openai_chat_request import decode_request
from replay.models.sse import encode_event
from replay.models.wire import asked_model, with_model

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

BASE_PATH = "/v1"
UPSTREAM = "https://api.openai.com"
KEY_VARIABLES = ("OPENAI_API_KEY",)
REQUEST_ID = "x-request-id"
MALFORMED = b'data: {"id":"chatcmpl-\n\n'
_CALL_PATH = "/v1/chat/completions"
_MODELS_PATH = "/v1/models"
_DONE = encode_event(b"[DONE]")

_FINISH_TO_WIRE = {kind: wire for wire, kind in FINISH_FROM_WIRE.items()}
_ERROR_TYPE = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"}
_ERROR_TYPE |= {404: "not_found_error", 413: "invalid_request_error", 429: "rate_limit_error"}
_ERROR_CODE = {"AUTH": "invalid_api_key", "RATE_LIMIT": "rate_limit_exceeded", "OVERLOADED": "overloaded"}
_ERROR_CODE |= {"CONTEXT": "context_length_exceeded"}


def is_call(path: str) -> bool:
    """Whether a POST to `path` is a model call."""
    return path == _CALL_PATH


def authorization(key: str) -> list[tuple[str, str]]:
    """The headers that carry the key."""
    return [("authorization", f"Bearer {key}")]


def probe(method: str, path: str, models: Sequence[str]) -> bytes | None:
    """The body that answers a question about the models, None where `path` asks nothing that this API knows."""
    if method not in ("GET", "HEAD"):
        return None
    if path == _MODELS_PATH:
        return orjson.dumps({"object": "list", "data": [_model(name) for name in models]})
    name = asked_model(path, _MODELS_PATH, models)
    return orjson.dumps(_model(name)) if name else None


def _model(name: str) -> dict[str, Json]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "agent_replay"}


# Encoding


def encode_stream(
    chunks: Iterable[Chunk], request: WireRequest, reply_id: str, complete: bool
) -> Iterator[bytes]:
    """The events of one reply, one frame an item.

    reply_id: the ordinal of the reply, made part of its id. complete: False for the prefix of a reply that breaks or
    hangs, which gets no finish, no usage and no `[DONE]` of its own.
    """
    head, tail = _envelope(request, reply_id)
    chunks = list(chunks)
    yield b"".join((head, b'{"role":"assistant","content":""}', tail))
    encoder = _DeltaEncoder(chunks)
    for chunk in chunks:
        delta = encoder.delta(chunk) if "index" in chunk else None
        if delta is not None:
            yield b"".join((head, orjson.dumps(delta), tail))
    if complete:
        usage, finish = ending_of(chunks)
        yield from _stream_end(finish, usage, request, reply_id)


def _stream_end(
    finish: Chunk | None, usage: dict[str, Json] | None, request: WireRequest, reply_id: str
) -> Iterator[bytes]:
    """Finish, usage and the end mark; each only as far as the recording has it."""
    if finish is not None and finish["reason"]["kind"] == "error":
        yield encode_event(orjson.dumps({"error": _failure(finish["reason"])}))
        finish = None
    with_finish = usage is not None and usage.get("extras", {}).get("with_finish", False)
    envelope = {
        "id": f"chatcmpl-{reply_id}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.model,
    }
    if finish is not None:
        extras = finish.get("extras", {})
        delta = extras.get("delta", {})
        choice = {
            "index": 0,
            "delta": delta,
            "finish_reason": _finish_reason(finish),
            **extras.get("choice", {}),
        }
        frame = {**envelope, "choices": [choice], **extras.get("reply", {})}
        if with_finish and usage is not None:
            frame["usage"] = _encode_usage(usage)
        yield encode_event(orjson.dumps(frame))
    if usage is not None and request.wants_usage and not with_finish:
        yield encode_event(orjson.dumps({**envelope, "choices": [], "usage": _encode_usage(usage)}))
    yield _DONE


def encode_response(chunks: Iterable[Chunk], request: WireRequest, reply_id: str) -> bytes:
    """The body of a reply that is not streamed."""
    reply = fold(chunks)
    finish = reply.finish
    if finish is not None and finish["reason"]["kind"] == "error":
        return orjson.dumps({"error": _failure(finish["reason"])})
    extras = finish.get("extras", {}) if finish is not None else {}
    message: dict[str, Json] = {"role": "assistant", "content": None}
    calls: list[Json] = []
    for block in reply.blocks:
        if block["type"] == "tool-call":
            calls.append(_tool_entry(block, block["name"], block["arguments"]))
            continue
        extra = dict(block.get("extras", {}))
        field = extra.pop("field", USUAL_FIELD[block["type"]])
        if block["text"] or not extra:
            message[field] = (message.get(field) or "") + block["text"]
        merge(message, extra)
    if calls:
        message["tool_calls"] = calls
    merge(message, extras.get("delta", {}))
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _finish_reason(finish),
        **extras.get("choice", {}),
    }
    body = {"id": f"chatcmpl-{reply_id}", "object": "chat.completion", "created": 0, "model": request.model}
    body |= {"choices": [choice], **extras.get("reply", {})}
    if reply.usage is not None:
        body["usage"] = _encode_usage(reply.usage)
    return orjson.dumps(body)


def _envelope(request: WireRequest, reply_id: str) -> tuple[bytes, bytes]:
    """What stands before and after the delta in each frame, encoded once for the whole reply."""
    head = b'data: {"id":"chatcmpl-%b","object":"chat.completion.chunk","created":0,"model":%b,' % (
        reply_id.encode(),
        orjson.dumps(request.model),
    )
    return head + b'"choices":[{"index":0,"delta":', b',"finish_reason":null}]}\n\n'


class _DeltaEncoder:
    """Chunks of one reply -> wire deltas. Extras travel with the first delta of their block."""

    __slots__ = ("_extras", "_names", "_silent", "_slots", "_spoken")

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        # Only `block-end` knows the extras, but the wire wants them first: which member carries the text.
        self._extras: dict[int, dict[str, Json]] = {}
        # Blocks without deltas, as people write them by hand or as encrypted reasoning is: sent whole.
        self._silent: dict[int, Block] = {}
        for chunk in chunks:
            if chunk["type"] == "block-end":
                self._silent[chunk["index"]] = chunk["block"]
                self._extras[chunk["index"]] = chunk["block"].get("extras", {})
        for chunk in chunks:
            if chunk["type"].endswith("-delta"):
                self._silent.pop(chunk["index"], None)
        self._spoken: set[int] = set()
        self._slots: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def delta(self, chunk: Chunk) -> dict[str, Json] | None:
        """The delta of one chunk, None where the wire has nothing to say."""
        kind = chunk["type"]
        index = chunk["index"]
        if kind == "text-delta":
            return self._text(index, "text", chunk["text"])
        if kind == "reasoning-delta":
            return self._text(index, "reasoning", chunk["text"])
        if kind == "tool-call-delta":
            return self._tool(index, chunk["id"], chunk.get("name", ""), chunk["argumentsDelta"])
        block = self._silent.pop(index, None)
        if block is None:
            return None
        if block["type"] == "tool-call":
            return self._tool(index, block["id"], block["name"], block["arguments"])
        if block["text"] or block.get("extras"):
            return self._text(index, block["type"], block["text"])
        return None

    def _text(self, index: int, kind: str, text: str) -> dict[str, Json]:
        extras = self._extras.get(index)
        if not extras:
            return {USUAL_FIELD[kind]: text}
        field = extras.get("field", USUAL_FIELD[kind])
        if index in self._spoken:
            return {field: text}
        self._spoken.add(index)
        members = {name: value for name, value in extras.items() if name != "field"}
        return ({field: text} if text or not members else {}) | members

    def _tool(self, index: int, call_id: str, name: str, arguments: str) -> dict[str, Json]:
        # Clients that accumulate deltas would join a name sent twice; chunks repeat it.
        sent = self._names.get(index, "")
        self._names[index] = name or sent
        name = name.removeprefix(sent) if name.startswith(sent) else ""
        extras = self._extras.get(index, {})
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = len(self._slots)
            entry = _tool_entry({"id": call_id, "extras": extras}, name, arguments)
        else:
            field, argument = _tool_fields(extras)
            entry = {field: ({"name": name} if name else {}) | {argument: arguments}}
        return {"tool_calls": [{"index": slot, **entry}]}


def _tool_fields(extras: dict[str, Json]) -> tuple[str, str]:
    """The members that hold a tool call's name and its arguments."""
    return ("custom", "input") if extras.get("field") == "custom" else ("function", "arguments")


def _tool_entry(block: Block, name: str, arguments: str) -> dict[str, Json]:
    """A tool call as its first delta or as a whole. A provider that sent no id gets none back."""
    extras = block.get("extras", {})
    field, argument = _tool_fields(extras)
    entry: dict[str, Json] = {"id": block["id"]} if block["id"] else {}
    entry |= {"type": field, field: ({"name": name} if name else {}) | {argument: arguments}}
    merge(entry, {key: value for key, value in extras.items() if key != "field"})
    return entry


def _finish_reason(finish: Chunk | None) -> str | None:
    if finish is None:
        return None
    kind: str = finish["reason"]["kind"]
    return _FINISH_TO_WIRE.get(kind, kind)


def _failure(reason: dict[str, Json]) -> dict[str, Json]:
    """An error inside a reply of status 200, as compatible servers send it."""
    failure = reason.get("failure", {})
    code = failure.get("code")
    return {
        "message": failure.get("message", ""),
        "type": "server_error",
        "code": code,
        **failure.get("extras", {}),
    }


def _encode_usage(usage: dict[str, Json]) -> dict[str, Json]:
    """Token counts; `inputTokens` includes the cached ones, as this wire counts."""
    wire: dict[str, Json] = {
        "prompt_tokens": usage["inputTokens"],
        "completion_tokens": usage["outputTokens"],
    }
    wire["total_tokens"] = usage["inputTokens"] + usage["outputTokens"]
    if "cacheReadTokens" in usage:
        wire["prompt_tokens_details"] = {"cached_tokens": usage["cacheReadTokens"]}
    if "reasoningTokens" in usage:
        wire["completion_tokens_details"] = {"reasoning_tokens": usage["reasoningTokens"]}
    merge(wire, {key: value for key, value in usage.get("extras", {}).items() if key != "with_finish"})
    return wire


def encode_error(status: int, message: str, code: str, retry_after_ms: int | None = None) -> bytes:
    """The body of an error. code: a throw entry's code, or the wire's own. retry_after_ms: this wire has headers for it."""
    kind = _ERROR_TYPE.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error = {"message": message, "type": kind, "param": None, "code": _ERROR_CODE.get(code, code or None)}
    return orjson.dumps({"error": error})
