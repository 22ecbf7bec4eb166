"""The Responses wire (`openai_responses`): request bodies, event streams, whole replies and errors.

Encoding makes the same bytes for the same chunks: ids are made of the reply's ordinal and the item's place, times are
0, `model` and the small settings repeat the request; its prompt and its tools are not repeated. Blocks become items as
openai_responses_items.py says; an item begins with its first chunk and ends with its last, so that only one is open at
a time, as agents expect. Events are those of the provider, `sequence_number` included, without `obfuscation`, which is
random padding.
Decoding keeps what a chunk has no word for: of a part or an item in the extras of its block, ids of items included,
because they come back in the next request; of the reply in the extras of the finish chunk. Dropped on purpose: the
envelope (id, times, model), what repeats the request, what the beginning of an item says and its end says better.
The wire does not tell `tool-calls` from `stop`: a completed reply that holds a call is the former.
Source: OpenAI API reference, responses and their streaming events.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import orjson

from replay.models.blocks import ending_of, fold
from replay.models.merge import merge
from replay.models.openai_chat import authorization, encode_error
from replay.models.openai_chat import probe as _probe
from replay.models.openai_chat_decode import decode_error
from replay.models.openai_responses_decode import (
    ECHOED,
    FINISH_FROM_WIRE,
    INCOMPLETE,
    UNFINISHED,
    StreamDecoder,
    decode_response,
)
from replay.models.openai_responses_items import generated_id, grouped, item_type, write_item
from replay.models.openai_responses_request import decode_request
from replay.models.openai_responses_stream import ItemStream
from replay.models.wire import with_model as _with_model

if TYPE_CHECKING:
    from replay.models.wire import Chunk, Json, WireRequest

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
MALFORMED = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta\n\n'
# Agents differ in whether their base URL ends in /v1.
_CALL_PATHS = ("/v1/responses", "/responses")

_FINISH_TO_WIRE = {kind: wire for wire, kind in FINISH_FROM_WIRE.items()}


def is_call(path: str) -> bool:
    """Whether a POST to `path` is a model call."""
    return path in _CALL_PATHS


def probe(method: str, path: str, models: Sequence[str]) -> bytes | None:
    """The body that answers a question about the models, None where `path` asks nothing that this API knows."""
    return _probe(method, _full(path), models)


def with_model(path: str, body: bytes, model: str) -> tuple[str, bytes]:
    """The same call for another model, at the provider's own path. body: what `decode_request` has read."""
    return _with_model(_full(path), body, model)


def _full(path: str) -> str:
    return path if path.startswith(BASE_PATH + "/") else BASE_PATH + path


# Encoding


def encode_stream(
    chunks: Iterable[Chunk], request: WireRequest, reply_id: str, complete: bool
) -> Iterator[bytes]:
    """The events of one reply, one frame an item.

    reply_id: the ordinal of the reply, made part of its ids. complete: False for the prefix of a reply that breaks or
    hangs, which gets no event that ends it, and whose last item stays open.
    """
    chunks = list(chunks)
    stream = ItemStream()
    beginning = _reply(request, reply_id, "in_progress", [])
    yield stream.frame("response.created", {"response": beginning})
    yield stream.frame("response.in_progress", {"response": beginning})
    stream.plan(chunks, reply_id, complete)
    for at, chunk in enumerate(chunks):
        if "index" in chunk:
            yield from stream.events(at, chunk)
    if complete:
        usage, finish = ending_of(chunks)
        yield from _stream_end(stream, finish, usage, request, reply_id)


def _stream_end(
    stream: ItemStream,
    finish: Chunk | None,
    usage: dict[str, Json] | None,
    request: WireRequest,
    reply_id: str,
) -> Iterator[bytes]:
    extras = finish.get("extras", {}) if finish is not None else {}
    for event in extras.get("events", ()):
        yield stream.frame(event["type"], event)
    failure = _failure(finish)
    if failure is not None:
        told = failure.get("extras", {})
        if "event" in told:
            yield stream.frame("error", told["event"])
        if told.get("alone"):
            return
    response = _end(finish, usage, request, reply_id, stream.output())
    status = response["status"]
    act = "completed" if status in UNFINISHED and status != "cancelled" else status
    yield stream.frame(f"response.{act}", {"response": response, **extras.get("event", {})})


def encode_response(chunks: Iterable[Chunk], request: WireRequest, reply_id: str) -> bytes:
    """The body of a reply that is not streamed."""
    reply = fold(chunks)
    output = []
    for number, places in enumerate(grouped(reply.blocks)):
        blocks = [reply.blocks[place] for place in places]
        output.append(write_item(blocks, generated_id(item_type(blocks[0]), reply_id, number)))
    return orjson.dumps(_end(reply.finish, reply.usage, request, reply_id, output))


def _reply(request: WireRequest, reply_id: str, status: str, output: list[Json]) -> dict[str, Json]:
    """The reply object. Its settings are the request's, or what the provider says where the request is silent."""
    reply: dict[str, Json] = {
        "id": f"resp_{reply_id}",
        "object": "response",
        "created_at": 0,
        "status": status,
    }
    reply |= {
        "error": None,
        "incomplete_details": None,
        "model": request.model,
        "output": output,
        "usage": None,
    }
    for name, default in ECHOED.items():
        value = request.options.get(name)
        reply[name] = default if value is None else value
    return reply


def _end(
    finish: Chunk | None,
    usage: dict[str, Json] | None,
    request: WireRequest,
    reply_id: str,
    output: list[Json],
) -> dict[str, Json]:
    """The reply object as it is in the end."""
    kind: str = finish["reason"]["kind"] if finish is not None else "stop"
    status = "completed" if kind in ("stop", "tool-calls") else kind if kind in UNFINISHED else "incomplete"
    failure = _failure(finish)
    reply = _reply(request, reply_id, status if failure is None else "failed", output)
    if failure is not None:
        extras = {
            name: each for name, each in failure.get("extras", {}).items() if name not in ("event", "alone")
        }
        reply["error"] = {"code": failure.get("code"), "message": failure.get("message", ""), **extras}
    elif status == "incomplete" and kind != INCOMPLETE:
        reply["incomplete_details"] = {"reason": _FINISH_TO_WIRE.get(kind, kind)}
    if usage is not None:
        reply["usage"] = _encode_usage(usage)
    return reply | (finish.get("extras", {}).get("reply", {}) if finish is not None else {})


def _failure(finish: Chunk | None) -> dict[str, Json] | None:
    if finish is None or finish["reason"]["kind"] != "error":
        return None
    failure: dict[str, Json] = finish["reason"].get("failure", {})
    return failure


def _encode_usage(usage: dict[str, Json]) -> dict[str, Json]:
    """Token counts; `inputTokens` includes the cached ones, as this wire counts. It has no way to leave one out."""
    wire: dict[str, Json] = {
        "input_tokens": usage["inputTokens"],
        "input_tokens_details": {"cached_tokens": usage.get("cacheReadTokens", 0)},
        "output_tokens": usage["outputTokens"],
        "output_tokens_details": {"reasoning_tokens": usage.get("reasoningTokens", 0)},
        "total_tokens": usage["inputTokens"] + usage["outputTokens"],
    }
    merge(wire, usage.get("extras", {}))
    return wire
