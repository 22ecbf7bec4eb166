"""Replies of the Messages wire, read: event streams, whole bodies, errors. See anthropic_messages.py."""

from typing import TYPE_CHECKING, Any

from replay.errors import FixtureError
from replay.models.anthropic_messages_blocks import decode_block, is_opaque, take_string
from replay.models.blocks import Blocks
from replay.models.merge import merge
from replay.models.sse import EventDecoder
from replay.models.wire import fault_code, fault_status, parse, parse_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replay.models.wire import Block, Chunk, Json

FINISH_FROM_WIRE = {
    "end_turn": "stop",
    "max_tokens": "max-tokens",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
}
"""Stop reasons that have a word of ours to themselves."""

FINISH_TO_WIRE = {kind: wire for wire, kind in FINISH_FROM_WIRE.items()}

ERROR_TYPE: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""HTTP status -> the type of its error. Any other is of the type of 400 or of 500."""

FAULT_OF_TYPE = {
    "authentication_error": "AUTH",
    "rate_limit_error": "RATE_LIMIT",
    "overloaded_error": "OVERLOADED",
}
"""The code that an error inside a stream, which has no status, is known by."""

_LOOSE_FINISH = {
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "max-tokens",
    # No reason of the provider; our "error" is a reply that has no stop reason.
    "error": "stop",
}
_MESSAGE_ENVELOPE = ("id", "type", "role", "model", "content", "usage", "stop_reason", "stop_sequence")
_DELTA_MEMBERS = ("stop_reason", "stop_sequence", "stop_details", "container")
_EVENT_MEMBERS = ("usage", "context_management")
_TOO_LONG = "prompt is too long"

# Type of a delta -> the block that it belongs to and the member that holds its piece.
_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("reasoning", "thinking"),
    "input_json_delta": ("tool-call", "partial_json"),
}


class StreamDecoder:
    """Wire bytes of one streamed reply -> chunks; input may be cut anywhere.

    Usage and finish are given at `message_stop` or an error event, or by `close` where the provider ends without
    either. `complete` says whether the reply ended by itself: what a broken stream has given until then is the
    prefix of a throw.
    """

    __slots__ = ("_events", "_reply", "complete")

    def __init__(self) -> None:
        self._events = EventDecoder()
        self._reply = _Reply()
        self.complete = False

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that `data` completes. Raises FixtureError for an event that is not this wire's."""
        chunks: list[Chunk] = []
        for event in self._events.feed(data):
            if self.complete:
                break
            chunks += self._reply.event(parse_reply(event.data, "a server-sent event"))
            self.complete = self._reply.has_ended
        return chunks

    def close(self) -> list[Chunk]:
        """The chunks that the end of the connection completes: none unless a stop reason was seen."""
        if self.complete or self._reply.finish is None:
            return []
        self.complete = True
        return self._reply.end()


def decode_response(body: bytes) -> list[Chunk]:
    """The chunks of a reply that is not streamed. Raises FixtureError for a body that is not this wire's."""
    message = parse_reply(body, "the reply")
    reply = _Reply()
    if message.get("type") == "error":
        return reply.event(message)
    content = message.get("content")
    if not isinstance(content, list):
        raise FixtureError("the reply of the provider is not a message: it has no content")
    chunks: list[Chunk] = []
    for index, block in enumerate(content):
        chunks += reply.event({"type": "content_block_start", "index": index, "content_block": block})
        chunks += reply.event({"type": "content_block_stop", "index": index})
    # A whole message holds in one place what a stream tells at its start and at its end.
    late = {name: message.pop(name, None) for name in (*_DELTA_MEMBERS, *_EVENT_MEMBERS)}
    reply.event({"type": "message_start", "message": message})
    delta = {name: late.pop(name) for name in _DELTA_MEMBERS}
    reply.event({"type": "message_delta", "delta": delta, **late})
    return chunks + reply.end()


def decode_error(status: int, body: bytes) -> tuple[str, str]:
    """Message and code of the throw entry that stands for an error reply."""
    try:
        error = parse(body)["error"]
        message = str(error["message"])
    except ValueError, KeyError, TypeError, IndexError:
        return body.decode("utf-8", "replace"), fault_code(status)
    code = _error_code(error)
    if code and fault_status(code) == status:
        return message, code
    if status == 400 and _TOO_LONG in message:
        return message, "CONTEXT"
    return message, fault_code(status)


def error_type(status: int) -> str:
    """The wire's name for an error of this status."""
    return ERROR_TYPE.get(status) or ERROR_TYPE[500 if status >= 500 else 400]


def _error_code(error: dict[str, Json]) -> str:
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    return code if isinstance(code, str) else ""


class _Growing:
    """A block between its start and its stop. index: among our blocks. block: as it was when it started."""

    __slots__ = ("block", "index", "is_whole")

    def __init__(self, index: int, block: Block) -> None:
        self.index = index
        self.block = block
        # A tool call tells its input at its start or in deltas; a delta means that the start told nothing.
        self.is_whole = block["type"] == "tool-call"


class _Reply:
    """One reply as it grows. `finish` is the finish chunk's reason once known, `has_ended` whether no more comes."""

    __slots__ = ("_blocks", "_extras", "_growing", "_usage", "finish", "has_ended")

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._growing: dict[int, _Growing] = {}
        self._extras: dict[str, Any] = {}
        self._usage: dict[str, Json] = {}
        self.finish: dict[str, Json] | None = None
        self.has_ended = False

    def event(self, event: dict[str, Json]) -> list[Chunk]:
        """The chunks of one event."""
        kind = event.get("type")
        if not isinstance(kind, str):
            raise FixtureError("a server-sent event of the provider has no type")
        read = _READERS.get(kind)
        if read is None:
            # The provider announces that types may be added.
            self._extras.setdefault("events", []).append(event)
            return []
        try:
            return read(self, event)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FixtureError(f"the provider's {kind} event is not of the Messages API: {error!r}") from None

    def end(self) -> list[Chunk]:
        """What a reply's end completes: blocks, usage, finish."""
        chunks: list[Chunk] = []
        for index in list(self._growing):
            chunks += self._stop(index)
        usage = _decode_usage(self._usage) if self._usage else None
        return chunks + self._blocks.conclude(usage, self.finish, self._extras)

    def _message_start(self, event: dict[str, Json]) -> list[Chunk]:
        message = event["message"]
        usage = message.get("usage") or {}
        # Servers that count at the end only, and ours where nothing was recorded, begin with noughts.
        if any(usage.values()):
            self._count(usage)
        self._keep("message", message, _MESSAGE_ENVELOPE)
        return []

    def _block_start(self, event: dict[str, Json]) -> list[Chunk]:
        place = event["index"]
        block = decode_block(event["content_block"])
        chunks = self._stop(place) if place in self._growing else []
        chunks.append(self._blocks.start(block["type"]))
        index = self._blocks.current
        merge(self._blocks.extras(index), block.get("extras", {}))
        self._growing[place] = _Growing(index, block)
        if block.get("text"):
            chunks.append(self._blocks.text(index, block["text"]))
        return chunks

    def _block_delta(self, event: dict[str, Json]) -> list[Chunk]:
        growing = self._growing[event["index"]]
        delta = {name: value for name, value in event["delta"].items() if value is not None}
        kind = delta["type"]
        if not isinstance(kind, str):
            raise TypeError("delta.type is not a string")
        extras = self._blocks.extras(growing.index)
        of, member = _PIECES.get(kind, (None, ""))
        known = "" if is_opaque(growing.block) else growing.block["type"]
        if of == known:
            del delta["type"]
            piece = take_string(delta, member)
            if delta:
                merge(extras.setdefault("delta", {}), delta)
            return [self._piece(growing, piece)]
        if kind == "signature_delta" and known == "reasoning":
            extras["signature"] = take_string(delta, "signature")
        elif kind == "citations_delta" and known == "text":
            extras.setdefault("citations", []).append(delta["citation"])
        else:
            extras.setdefault("deltas", []).append(event["delta"])
        return []

    def _piece(self, growing: _Growing, piece: str) -> Chunk:
        block = growing.block
        if block["type"] != "tool-call":
            return self._blocks.text(growing.index, piece)
        growing.is_whole = False
        return self._blocks.tool(growing.index, block["id"], block["name"], piece)

    def _block_stop(self, event: dict[str, Json]) -> list[Chunk]:
        return self._stop(event["index"])

    def _stop(self, place: int) -> list[Chunk]:
        growing = self._growing.pop(place)
        chunks = []
        if growing.is_whole:
            chunks.append(self._piece(growing, growing.block["arguments"]))
        return [*chunks, self._blocks.end(growing.index)]

    def _message_delta(self, event: dict[str, Json]) -> list[Chunk]:
        delta = event.get("delta") or {}
        reason = delta.get("stop_reason")
        known: tuple[str, ...] = ()
        if reason is not None:
            if not isinstance(reason, str):
                raise TypeError("stop_reason is not a string")
            kind = FINISH_FROM_WIRE.get(reason) or _LOOSE_FINISH.get(reason, reason)
            self.finish = {"kind": kind}
            if FINISH_TO_WIRE.get(kind, kind) == reason:
                known = ("stop_reason",)
        self._keep("delta", delta, known)
        self._count(event.get("usage") or {})
        self._keep("event", event, ("type", "delta", "usage"))
        return []

    def _message_stop(self, _event: dict[str, Json]) -> list[Chunk]:
        self.has_ended = True
        return self.end()

    def _error(self, event: dict[str, Json]) -> list[Chunk]:
        self.finish = {"kind": "error", "failure": _decode_failure(event)}
        self.has_ended = True
        return self.end()

    def _ping(self, _event: dict[str, Json]) -> list[Chunk]:
        return []

    def _keep(self, where: str, members: dict[str, Json], known: tuple[str, ...]) -> None:
        """Puts members without a word of ours under the finish chunk's extras."""
        rest = {name: value for name, value in members.items() if name not in known and value is not None}
        if rest:
            self._extras.setdefault(where, {}).update(rest)

    def _count(self, usage: dict[str, Json]) -> None:
        """Takes counts; they are totals, so later ones replace earlier ones."""
        for name, value in usage.items():
            if name.endswith("_tokens") and not isinstance(value, int | None):
                raise TypeError(f"usage.{name} is not a number")
            if value is not None:
                self._usage[name] = value


_READERS: Mapping[str, Callable[[_Reply, dict[str, Json]], list[Chunk]]] = {
    "message_start": _Reply._message_start,
    "content_block_start": _Reply._block_start,
    "content_block_delta": _Reply._block_delta,
    "content_block_stop": _Reply._block_stop,
    "message_delta": _Reply._message_delta,
    "message_stop": _Reply._message_stop,
    "error": _Reply._error,
    "ping": _Reply._ping,
}


def _decode_failure(event: dict[str, Json]) -> dict[str, Json]:
    """An error inside a reply of status 200."""
    error = event.get("error")
    if not isinstance(error, dict):
        return {"message": str(error)}
    extras = {name: value for name, value in event.items() if name not in ("type", "error", "request_id")}
    extras |= error
    extras = {name: value for name, value in extras.items() if value is not None}
    failure: dict[str, Json] = {"message": str(extras.pop("message", ""))}
    kind = extras.get("type")
    code = _error_code(error) or (FAULT_OF_TYPE.get(kind, "") if isinstance(kind, str) else "")
    if code:
        failure["code"] = code
    if kind == error_type(fault_status(code)):
        del extras["type"]
    if extras.get("details") == {"error_code": code}:
        del extras["details"]
    return failure | ({"extras": extras} if extras else {})


def _decode_usage(wire: dict[str, Json]) -> dict[str, Json]:
    """Token counts; what has no word of ours stays under `extras`."""
    counts = dict(wire)
    usage: dict[str, Json] = {
        "inputTokens": counts.pop("input_tokens", 0),
        "outputTokens": counts.pop("output_tokens", 0),
    }
    if "cache_read_input_tokens" in counts:
        usage["cacheReadTokens"] = counts.pop("cache_read_input_tokens")
    details = counts.get("output_tokens_details")
    if isinstance(details, dict) and isinstance(details.get("thinking_tokens"), int):
        usage["reasoningTokens"] = details["thinking_tokens"]
        rest = {name: value for name, value in details.items() if name != "thinking_tokens"}
        counts["output_tokens_details"] = rest
        if not rest:
            del counts["output_tokens_details"]
    return usage | ({"extras": counts} if counts else {})
