"""Replies of the Responses wire, read: event streams and whole bodies -> chunks. See openai_responses.py.

The items are read in openai_responses_growing.py; here is what concerns the whole reply: its end, usage and failure.
"""

from typing import TYPE_CHECKING, Any

from replay.errors import FixtureError
from replay.models.openai_chat_decode import decode_failure
from replay.models.openai_responses_growing import GrowingItems
from replay.models.sse import EventDecoder
from replay.models.wire import parse_reply

if TYPE_CHECKING:
    from replay.models.wire import Chunk, Json

FINISH_FROM_WIRE = {"max_output_tokens": "max-tokens", "content_filter": "content-filter"}
"""Reason of an incomplete reply -> kind of finish; any other reason is its own kind."""

INCOMPLETE = "incomplete"
"""Kind of finish of an incomplete reply that gives no reason."""

UNFINISHED = ("cancelled", "queued", "in_progress")
"""Statuses of a reply that are kinds of finish of their own."""

# What a reply repeats of its request: name -> what the provider says where the request is silent.
ECHOED: dict[str, Json] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt": None,
    "prompt_cache_key": None,
    "prompt_cache_options": None,
    "prompt_cache_retention": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}

_ENVELOPE = {"id", "object", "created_at", "completed_at", "model", "status", "output", "usage", "error"}
_ENVELOPE |= {"incomplete_details", *ECHOED}
_BEGINNING = {"response.created", "response.in_progress", "response.queued"}
_END = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_VOLATILE = {"type", "sequence_number", "output_index", "item_id", "obfuscation"}
_MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class StreamDecoder:
    """Wire bytes of one streamed reply -> chunks; input may be cut anywhere.

    Usage and finish are given at the event that ends the reply, or by `close` after an `error` event without one.
    `complete` says whether the reply ended by itself: what a broken stream has given until then is the prefix of a
    throw.
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
            # Servers that speak several APIs end each of them so.
            if event.data.strip() == b"[DONE]":
                continue
            chunks += self._reply.event(parse_reply(event.data, "a server-sent event"), event.name)
            if self._reply.has_ended:
                self.complete = True
                chunks += self._reply.end()
        return chunks

    def close(self) -> list[Chunk]:
        """The chunks that the end of the connection completes: the names of calls whose arguments never began."""
        if self.complete:
            return []
        if self._reply.finish is None:
            return self._reply.items.unspoken_calls()
        self.complete = True
        return self._reply.end()


def decode_response(body: bytes) -> list[Chunk]:
    """The chunks of a reply that is not streamed. Raises FixtureError for a body that is not this wire's."""
    fields = parse_reply(body, "the reply")
    if not isinstance(fields.get("output"), list) and not fields.get("error"):
        raise FixtureError("the provider's reply is not of the Responses API: it has no output")
    reply = _Reply()
    return reply.whole(fields) + reply.end()


class _Reply:
    """One reply as it grows. `finish` is the finish chunk's reason once known."""

    __slots__ = ("_error", "_extras", "_usage", "finish", "has_ended", "items")

    def __init__(self) -> None:
        self.items = GrowingItems()
        self.finish: dict[str, Json] | None = None
        self.has_ended = False
        self._error: dict[str, Json] | None = None
        self._extras: dict[str, Any] = {}
        self._usage: dict[str, Json] | None = None

    def event(self, event: dict[str, Json], name: str) -> list[Chunk]:
        """The chunks of one event. name: that of its frame, for servers that give its type only there."""
        kind = event.get("type") or name or ("error" if event.get("error") else "")
        if not isinstance(kind, str) or not kind:
            raise FixtureError("an event of the provider is not of the Responses API: it has no type")
        try:
            if kind in _END:
                return self._conclude_stream(kind, event)
            chunks = self.items.event(kind, event)
            if chunks is None:
                chunks = []
                self._of_reply(kind, event)
        except _MALFORMED as error:
            what = f"an event {kind} of the provider is not of the Responses API: {error!r}"
            raise FixtureError(what) from None
        return chunks

    def whole(self, body: dict[str, Json]) -> list[Chunk]:
        """The chunks of a whole reply."""
        try:
            self._begin(body)
            chunks = self.items.output(body.get("output") or [])
            self._conclude(body, "completed")
        except _MALFORMED as error:
            raise FixtureError(f"the provider's reply is not of the Responses API: {error!r}") from None
        return chunks

    def end(self) -> list[Chunk]:
        """The end of the reply, in the order in which a log is split."""
        if self._error is not None and self.finish is not None and "failure" in self.finish:
            extras = self.finish["failure"].setdefault("extras", {})
            extras["event"] = self._error
            if not self.has_ended:
                extras["alone"] = True
        return self.items.blocks.conclude(self._usage, self.finish, self._extras)

    def _of_reply(self, kind: str, event: dict[str, Json]) -> None:
        """An event of no item. One without a meaning here is kept if it says anything."""
        rest = {name: each for name, each in event.items() if name not in _VOLATILE}
        if kind in _BEGINNING:
            self._begin(event.get("response") or {})
        elif kind == "error":
            self._error = rest
            error = event.get("error")
            self.finish = decode_failure(error if isinstance(error, dict) else rest)
        elif not self.items.keep(event, kind, rest) and rest:
            self._extras.setdefault("events", []).append({"type": kind, **rest})

    def _begin(self, response: dict[str, Json]) -> None:
        reply_id = response.get("id")
        if not self.items.reply_id and isinstance(reply_id, str) and reply_id.startswith("resp_"):
            self.items.reply_id = reply_id.removeprefix("resp_")

    def _conclude_stream(self, kind: str, event: dict[str, Json]) -> list[Chunk]:
        response = event.get("response") or {}
        # A stream that told each of its items to its end has said it all, and may leave items out here.
        chunks = [] if self.items.all_have_ended() else self.items.output(response.get("output") or [])
        self._conclude(response, kind.removeprefix("response."))
        rest = {name: each for name, each in event.items() if name not in _VOLATILE and name != "response"}
        if rest:
            self._extras["event"] = rest
        self.has_ended = True
        return chunks

    def _conclude(self, response: dict[str, Json], status: str) -> None:
        if isinstance(response.get("usage"), dict):
            self._usage = _decode_usage(response["usage"])
        reply = {name: each for name, each in response.items() if name not in _ENVELOPE and each is not None}
        if reply:
            self._extras["reply"] = reply
        status = response.get("status") or status
        if status == "failed" or response.get("error"):
            if response.get("error") or self.finish is None:
                self.finish = decode_failure(response.get("error") or {})
        elif status == "incomplete":
            reason = (response.get("incomplete_details") or {}).get("reason") or INCOMPLETE
            self.finish = {"kind": FINISH_FROM_WIRE.get(reason, str(reason))}
        elif status in UNFINISHED:
            self.finish = {"kind": status}
        else:
            has_call = self.items.blocks.last("tool-call") >= 0
            self.finish = {"kind": "tool-calls" if has_call else "stop"}


def _decode_usage(wire: dict[str, Json]) -> dict[str, Json]:
    """Token counts; this wire always counts the cached and the reasoning ones. The rest stays under `extras`."""
    counts = dict(wire)
    usage: dict[str, Json] = {
        "inputTokens": counts.pop("input_tokens", None) or 0,
        "outputTokens": counts.pop("output_tokens", None) or 0,
    }
    if counts.get("total_tokens") == usage["inputTokens"] + usage["outputTokens"]:
        del counts["total_tokens"]
    for group, count, ours in (
        ("input_tokens_details", "cached_tokens", "cacheReadTokens"),
        ("output_tokens_details", "reasoning_tokens", "reasoningTokens"),
    ):
        details = counts.get(group) or {}
        usage[ours] = details.get(count) or 0
        counts[group] = {name: each for name, each in details.items() if name != count}
    extras = {name: each for name, each in counts.items() if each not in (None, {}, [])}
    return usage | ({"extras": extras} if extras else {})
