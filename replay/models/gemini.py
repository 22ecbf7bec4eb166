"""The Gemini wire (`gemini`): Generative Language API v1beta, requests, streams, whole replies and errors.

Encoding makes the same bytes for the same chunks: one part a frame, `responseId` is an ordinal, `modelVersion`
echoes the request. The last part travels with finish and usage, as the provider sends it.
Decoding keeps what a chunk has no word for. Members beside a part's text or call (`thoughtSignature`) go to the
block's `extras`, and a part that has any ends its block; on the way back they go with its last piece. A part that is
neither text nor call (`executableCode`, `inlineData`, …) is an empty text block with the whole of it as `extras.part`.
The finish chunk's `extras` hold `finishReason`, the wire's word where several mean the same to us, and further members
of the `candidate`, of its `content` and of the whole `reply`. Dropped on purpose: the envelope (`responseId`,
`modelVersion`, `createTime`) and the counts of usage that later pieces of the stream replace.
The wire says STOP whether or not tools are called: "tool-calls" is a reply that holds a call. `outputTokens` does not
include `reasoningTokens`, as this wire counts. A call's arguments are an object and come whole; one without `args`
has "" for its arguments. Neighbouring texts of one type are one block, an empty text alone never opens one.
Source: Google AI reference, generateContent; what its own clients accept.
"""

from typing import TYPE_CHECKING

import orjson

from replay.errors import FixtureError
from replay.models.blocks import ending_of, fold
from replay.models.gemini_decode import PLAIN_WORD, StreamDecoder, decode_response, total_tokens
from replay.models.gemini_error import decode_error, encode_error, encode_failure
from replay.models.gemini_request import CALL_VERBS, decode_request, resource, route_of
from replay.models.merge import merge
from replay.models.sse import encode_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
UPSTREAM = "https://generativelanguage.googleapis.com"
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
REQUEST_ID = "x-request-id"
MALFORMED = b'data: {"candidates":[{"content":\r\n\r\n'
_ERROR = b'{"error":'
_LISTS = ("/v1beta/models", "/v1/models", "/v1alpha/models")


def is_call(path: str) -> bool:
    """Whether a POST to `path` is a model call."""
    route = route_of(path)
    return route is not None and route.verb in CALL_VERBS


def authorization(key: str) -> list[tuple[str, str]]:
    """The headers that carry the key."""
    return [("x-goog-api-key", key)]


def with_model(path: str, body: bytes, model: str) -> tuple[str, bytes]:
    """The same call for another model. body: what `decode_request` has read."""
    from urllib.parse import quote

    path, mark, query = path.partition("?")
    route = route_of(path)
    if route is None:
        return path + mark + query, body
    fields = orjson.loads(body)
    if "model" in fields:
        body = orjson.dumps({**fields, "model": resource(model)})
    return f"/{route.version}/{quote(resource(model))}:{route.verb}{mark}{query}", body


def probe(method: str, path: str, models: Sequence[str]) -> bytes | None:
    """The body that answers a question about the models, None where `path` asks nothing that this API knows.

    The number of tokens is always 1: it depends on the model's own vocabulary, which no recording holds.
    """
    names = [name.removeprefix("models/") for name in models]
    if method in ("GET", "HEAD") and path in _LISTS:
        return orjson.dumps({"models": [_model(name) for name in names]})
    route = route_of(path)
    # An empty list of models means that the recording does not say: then any name is served.
    if route is None or (names and route.model not in names):
        return None
    if method == "POST" and route.verb == "countTokens":
        return orjson.dumps({"totalTokens": 1})
    if method in ("GET", "HEAD") and not route.verb:
        return orjson.dumps(_model(route.model))
    return None


def _model(name: str) -> dict[str, Json]:
    return {
        "name": resource(name),
        "version": "1",
        "displayName": name,
        "description": "served by agent_replay",
        "inputTokenLimit": 1 << 20,
        "outputTokenLimit": 1 << 16,
        "supportedGenerationMethods": [*CALL_VERBS, "countTokens"],
    }


# Encoding


def encode_stream(
    chunks: Iterable[Chunk], request: WireRequest, reply_id: str, complete: bool
) -> Iterator[bytes]:
    """The frames of one reply: events, or the pieces of one array where the request asked for that.

    reply_id: the ordinal of the reply, made part of its id. complete: False for the prefix of a reply that breaks or
    hangs, which gets no finish and no usage. Raises FixtureError for a tool call that this wire cannot say.
    """
    framed = _in_array if request.options.get("query", {}).get("alt") == "json" else _as_events
    yield from framed(_documents(list(chunks), request, reply_id, complete), complete)


def _as_events(frames: Iterable[list[bytes]], complete: bool) -> Iterator[bytes]:
    """One event a document. An error is bare: clients of this wire look for it so, and the provider sends it so."""
    for frame in frames:
        yield b"".join(each if each.startswith(_ERROR) else encode_event(each) for each in frame)


def _in_array(frames: Iterable[list[bytes]], complete: bool) -> Iterator[bytes]:
    opening = b"["
    for frame in frames:
        yield opening + b",\r\n".join(frame)
        opening = b",\r\n"
    if complete:
        yield b"]"


def _documents(
    chunks: Sequence[Chunk], request: WireRequest, reply_id: str, complete: bool
) -> Iterator[list[bytes]]:
    """The documents of each frame.

    An error shares the last frame: Google's client for JavaScript takes one that it reads alone for another failure
    than one that it reads together with a part, and which of these it does would depend on the moment.
    """
    usage, finish = ending_of(chunks)
    envelope = _envelope(request, reply_id)
    tail = orjson.dumps(envelope)[1:]
    held: list[Json] = []
    for part in _parts(chunks, complete):
        if held:
            yield [_piece(held[0], tail)]
        held = [part]
    if not complete:
        if held:
            yield [_piece(held[0], tail)]
        return
    failure = _failure(finish)
    last = []
    if not failure or held or usage is not None or (finish is not None and "extras" in finish):
        last.append(orjson.dumps(_body(held, usage, finish) | envelope))
    if failure:
        last.append(orjson.dumps({"error": failure}))
    yield last


def encode_response(chunks: Iterable[Chunk], request: WireRequest, reply_id: str) -> bytes:
    """The body of a reply that is not streamed. Raises FixtureError for a tool call that this wire cannot say."""
    reply = fold(chunks)
    failure = _failure(reply.finish)
    if failure:
        return orjson.dumps({"error": failure})
    parts = [part for block in reply.blocks if (part := _whole(block)) is not None]
    return orjson.dumps(_body(parts, reply.usage, reply.finish) | _envelope(request, reply_id))


def _envelope(request: WireRequest, reply_id: str) -> dict[str, Json]:
    return {"modelVersion": request.model, "responseId": f"response-{reply_id}"}


def _piece(part: Json, tail: bytes) -> bytes:
    """A document of one part. Its frame is written out, since it is the same for the whole reply."""
    head = b'{"candidates":[{"content":{"parts":['
    return b"".join((head, orjson.dumps(part), b'],"role":"model"},"index":0}],', tail))


def _body(parts: list[Json], usage: dict[str, Json] | None, finish: Chunk | None) -> dict[str, Json]:
    """The last document of a stream or a whole reply, each only as far as the recording has it."""
    extras = finish.get("extras", {}) if finish is not None else {}
    candidate: dict[str, Json] = {"content": ({"parts": parts} if parts else {}) | {"role": "model"}}
    candidate["content"] |= extras.get("content", {})
    if finish is not None and finish["reason"]["kind"] != "error" and not _is_blocked(finish):
        kind = finish["reason"]["kind"]
        candidate["finishReason"] = extras.get("finishReason", PLAIN_WORD.get(kind, kind))
    candidate |= {"index": 0} | extras.get("candidate", {})
    body: dict[str, Json] = {}
    if parts or not _is_blocked(finish) or extras.keys() & {"candidate", "content"}:
        body["candidates"] = [candidate]
    if usage is not None:
        body["usageMetadata"] = _encode_usage(usage)
    return {**body, **extras.get("reply", {})}


def _is_blocked(finish: Chunk | None) -> bool:
    """Whether it was the prompt that was blocked, which is said without a candidate."""
    if finish is None or finish["reason"]["kind"] != "content-filter":
        return False
    extras = finish.get("extras", {})
    blocked = extras.get("reply", {}).get("promptFeedback", {}).get("blockReason")
    return bool(blocked) and "finishReason" not in extras


def _failure(finish: Chunk | None) -> dict[str, Json] | None:
    if finish is None or finish["reason"]["kind"] != "error":
        return None
    return encode_failure(finish["reason"])


def _parts(chunks: Sequence[Chunk], complete: bool) -> Iterator[Json]:
    """The parts of a stream, in the order of their last pieces: a call is sent when it is whole.

    complete: False where a call may have broken off in its arguments; it is not sent then.
    """
    blocks: dict[int, Block] = {}
    last: dict[int, int] = {}
    for place, chunk in enumerate(chunks):
        if chunk["type"] == "block-end":
            blocks[chunk["index"]] = chunk["block"]
        elif chunk["type"].endswith("-delta"):
            last[chunk["index"]] = place
    for place, chunk in enumerate(chunks):
        kind = chunk["type"]
        if kind == "block-end" and chunk["index"] not in last:
            part = _whole(chunk["block"])
            if part is not None:
                yield part
        elif kind == "tool-call-delta" and last[chunk["index"]] == place:
            index = chunk["index"]
            block = blocks.get(index) or fold(each for each in chunks if each.get("index") == index).blocks[0]
            if complete or index in blocks or _arguments(block) is not None:
                yield _whole(block)
        elif kind in ("text-delta", "reasoning-delta"):
            block = blocks.get(chunk["index"], {}) if last[chunk["index"]] == place else {}
            yield _text(kind.removesuffix("-delta"), chunk["text"], block.get("extras", {}))


def _text(kind: str, text: str, extras: dict[str, Json]) -> Json:
    part: dict[str, Json] = {} if not text and extras.get("part") else {"text": text}
    if kind == "reasoning":
        part["thought"] = True
    return part | {name: value for name, value in extras.items() if name != "part"} | extras.get("part", {})


def _whole(block: Block) -> Json | None:
    """A block as one part, None where it has nothing to say."""
    extras = block.get("extras", {})
    if block["type"] == "tool-call":
        return _call(block, extras)
    if not block["text"]:
        if not extras:
            return None
        part = _text(block["type"], "", extras)
        part.pop("text", None)
        return part
    return _text(block["type"], block["text"], extras)


def _call(block: Block, extras: dict[str, Json]) -> Json:
    call: dict[str, Json] = {name: block[name] for name in ("id", "name") if block[name]}
    if block["arguments"]:
        call["args"] = _arguments(block)
        if call["args"] is None:
            raise FixtureError(
                f"the arguments of tool call {block['id'] or block['name']!r} are no JSON object, "
                "and the gemini wire has no other",
                fix="correct them in the recording, or replay it with the model_api that it was recorded with",
            )
    part: dict[str, Json] = {"functionCall": call}
    merge(part, extras)
    return part


def _arguments(block: Block) -> dict[str, Json] | None:
    """The arguments of a call, None where they are no object."""
    if not block["arguments"]:
        return {}
    try:
        arguments = orjson.loads(block["arguments"])
    except orjson.JSONDecodeError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _encode_usage(usage: dict[str, Json]) -> dict[str, Json]:
    """Token counts; `inputTokens` includes the cached ones, as this wire counts."""
    wire: dict[str, Json] = {
        "promptTokenCount": usage["inputTokens"],
        "candidatesTokenCount": usage["outputTokens"],
        "totalTokenCount": total_tokens(usage),
    }
    if "cacheReadTokens" in usage:
        wire["cachedContentTokenCount"] = usage["cacheReadTokens"]
    if "reasoningTokens" in usage:
        wire["thoughtsTokenCount"] = usage["reasoningTokens"]
    return {**wire, **usage.get("extras", {})}
