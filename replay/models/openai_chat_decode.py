"""Replies of the Chat Completions wire, read: event streams and whole bodies -> chunks. See openai_chat.py."""

from typing import TYPE_CHECKING

import orjson

from replay.errors import FixtureError
from replay.models.blocks import Blocks
from replay.models.merge import merge
from replay.models.sse import EventDecoder
from replay.models.wire import fault_code, parse_reply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replay.models.wire import Chunk, Json

FINISH_FROM_WIRE = {
    "stop": "stop",
    "length": "max-tokens",
    "tool_calls": "tool-calls",
    "content_filter": "content-filter",
}
USUAL_FIELD = {"text": "content", "reasoning": "reasoning_content"}
_TEXT_FIELDS = {
    "reasoning_content": "reasoning",
    "reasoning": "reasoning",
    "content": "text",
    "refusal": "text",
}
_BLOCK_MEMBERS = {"reasoning_details": "reasoning", "thinking_blocks": "reasoning", "annotations": "text"}
_ENVELOPE = {"id", "object", "created", "model", "choices", "usage", "error", "obfuscation"}
_EMPTY: tuple[Json, ...] = (None, "", [], {})


class StreamDecoder:
    """Wire bytes of one streamed reply -> chunks; input may be cut anywhere.

    Blocks, usage and finish are given at `[DONE]`, or by `close` where the provider ends without it. `complete`
    says whether the reply ended by itself: what a broken stream has given until then is the prefix of a throw.
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
            if event.data.strip() == b"[DONE]":
                self.complete = True
                chunks += self._reply.end()
            else:
                chunks += self._reply.body(parse_reply(event.data, "a server-sent event"), "delta")
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
    return reply.body(parse_reply(body, "the reply"), "message") + reply.end()


def decode_error(status: int, body: bytes) -> tuple[str, str]:
    """Message and code of the throw entry that stands for an error reply."""
    try:
        error = orjson.loads(body)["error"]
        message, code = str(error["message"]), error.get("code")
    except orjson.JSONDecodeError, KeyError, TypeError, AttributeError:
        return body.decode("utf-8", "replace"), fault_code(status)
    if status == 400 and code == "context_length_exceeded":
        return message, "CONTEXT"
    if status == 500 and isinstance(code, str) and code:
        return message, code
    return message, fault_code(status)


class _Reply:
    """One reply as it grows. `finish` is the finish chunk's reason once known."""

    __slots__ = ("_blocks", "_calls", "_extras", "_usage", "finish")

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._calls: dict[int, int] = {}
        self._extras: dict[str, dict[str, Json]] = {}
        self._usage: dict[str, Json] | None = None
        self.finish: dict[str, Json] | None = None

    def body(self, body: dict[str, Json], member: str) -> list[Chunk]:
        """Chunks of one event (`member` "delta") or of a whole reply ("message")."""
        chunks: list[Chunk] = []
        choices = body.get("choices") or []
        try:
            for choice in choices:
                chunks += self._choice(choice, member)
            if isinstance(body.get("usage"), dict):
                self._usage = _decode_usage(body["usage"], with_finish=member == "delta" and bool(choices))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FixtureError(f"the provider's reply is not a chat completion: {error!r}") from None
        if body.get("error"):
            self.finish = decode_failure(body["error"])
            extras = self.finish["failure"].get("extras", {})
            if extras.get("type") == "server_error":
                # What `encode_stream` says where the recording says nothing.
                del extras["type"]
                if not extras:
                    del self.finish["failure"]["extras"]
        for name, value in body.items():
            if name not in _ENVELOPE and value not in _EMPTY:
                self._extras.setdefault("reply", {})[name] = value
        return chunks

    def end(self) -> list[Chunk]:
        """What a reply's end completes: blocks, usage, finish."""
        return self._blocks.conclude(self._usage, self.finish, self._extras)

    def _choice(self, choice: dict[str, Json], member: str) -> list[Chunk]:
        delta = choice.get(member) or {}
        reason = choice.get("finish_reason")
        chunks = list(self._texts(delta, lone=len(delta) == 1 and reason is None))
        for position, entry in enumerate(delta.get("tool_calls") or []):
            chunks += self._tool(entry, position if member == "message" else entry.get("index"))
        for name, value in delta.items():
            if value in _EMPTY or name in _TEXT_FIELDS or name in ("role", "tool_calls"):
                continue
            if name in _BLOCK_MEMBERS:
                chunks += self._block_member(name, value)
            else:
                merge(self._extras.setdefault("delta", {}), {name: value}, concatenate=True)
        if reason is not None:
            self.finish = {"kind": FINISH_FROM_WIRE.get(reason, reason)}
        for name, value in choice.items():
            if name not in ("index", "delta", "message", "finish_reason") and value not in _EMPTY:
                merge(self._extras.setdefault("choice", {}), {name: value})
        return chunks

    def _texts(self, delta: dict[str, Json], lone: bool) -> Iterable[Chunk]:
        """Text and reasoning pieces. lone: the delta holds nothing else, so an empty piece is a piece."""
        reasoning = None
        for field, kind in _TEXT_FIELDS.items():
            text = delta.get(field)
            if text is None or (kind == "reasoning" and text == reasoning):
                continue
            if not isinstance(text, str):
                raise TypeError(f"{field} is not a string")
            if kind == "reasoning":
                # Some servers send the same piece under both spellings.
                reasoning = text
            blocks = self._blocks
            same = (
                blocks.kind() == kind
                and blocks.extras(blocks.current).get("field", USUAL_FIELD[kind]) == field
            )
            if text == "" and not (lone and same):
                continue
            if not same:
                yield blocks.start(kind)
                if field != USUAL_FIELD[kind]:
                    blocks.extras(blocks.current)["field"] = field
            yield blocks.text(blocks.current, text)

    def _block_member(self, name: str, value: Json) -> list[Chunk]:
        """A member that belongs to a block's extras; a reply with nothing but encrypted reasoning has no text."""
        kind = _BLOCK_MEMBERS[name]
        index = self._blocks.last(kind)
        chunks = []
        if index < 0:
            chunks.append(self._blocks.start(kind))
            index = self._blocks.current
        extras = self._blocks.extras(index)
        if isinstance(value, list):
            extras[name] = _join_details([*extras.get(name, []), *value])
        else:
            merge(extras, {name: value})
        return chunks

    def _tool(self, entry: dict[str, Json], slot: int | None) -> list[Chunk]:
        """A piece of a tool call. Some servers send no index, or index 0 for each of several calls."""
        blocks = self._blocks
        call_id = entry.get("id") or ""
        field = "custom" if entry.get("type") == "custom" or "custom" in entry else "function"
        inner = entry.get(field) or {}
        index = self._calls.get(slot, -1) if slot is not None else blocks.last("tool-call")
        known = blocks.call_id(index) if index >= 0 else ""
        chunks = []
        if index < 0 or (call_id and known and call_id != known):
            chunks.append(blocks.start("tool-call"))
            index = blocks.current
            if field == "custom":
                blocks.extras(index)["field"] = field
        if slot is not None:
            self._calls[slot] = index
        name = inner.get("name") or ""
        arguments = inner.get("input" if field == "custom" else "arguments")
        if arguments is None:
            arguments = ""
        if not isinstance(arguments, str):
            arguments = orjson.dumps(arguments).decode()
        chunks.append(blocks.tool(index, call_id, name, arguments))
        extras = {key: each for key, each in entry.items() if key not in ("index", "id", "type", field)}
        rest = {key: each for key, each in inner.items() if key not in ("name", "arguments", "input")}
        merge(blocks.extras(index), extras | ({field: rest} if rest else {}))
        return chunks


def _join_details(details: list[Json]) -> list[Json]:
    """Reasoning details come token by token; pieces of one detail become one, as its provider wants it back."""
    joined: list[Json] = []
    for detail in details:
        before = joined[-1] if joined else None
        if (
            isinstance(detail, dict)
            and isinstance(before, dict)
            and "index" in detail
            and (detail["index"], detail.get("type")) == (before.get("index"), before.get("type"))
        ):
            for key, value in detail.items():
                if key in ("text", "summary") and isinstance(value, str):
                    before[key] = (before.get(key) or "") + value
                elif value is not None:
                    before[key] = value
        else:
            joined.append(dict(detail) if isinstance(detail, dict) else detail)
    return joined


def decode_failure(error: Json) -> dict[str, Json]:
    """The finish reason that stands for an error inside a reply of status 200, on either wire of this provider."""
    if not isinstance(error, dict):
        return {"kind": "error", "failure": {"message": str(error)}}
    failure: dict[str, Json] = {"message": str(error.get("message") or "")}
    extras = {
        key: value for key, value in error.items() if key not in ("message", "code") and value is not None
    }
    code = error.get("code")
    if isinstance(code, str):
        failure["code"] = code
    elif code is not None:
        failure["code"] = str(code)
        extras["code"] = code
    if extras:
        failure["extras"] = extras
    return {"kind": "error", "failure": failure}


def _decode_usage(wire: dict[str, Json], with_finish: bool) -> dict[str, Json]:
    """Token counts; what has no word of ours stays under `extras`.

    with_finish: the counts stood in an event of the reply itself, not in one of their own that had to be asked for.
    """
    counts = dict(wire)
    usage: dict[str, Json] = {
        "inputTokens": counts.pop("prompt_tokens", None) or 0,
        "outputTokens": counts.pop("completion_tokens", None) or 0,
    }
    if counts.get("total_tokens") == usage["inputTokens"] + usage["outputTokens"]:
        del counts["total_tokens"]
    for group, count, ours in (
        ("prompt_tokens_details", "cached_tokens", "cacheReadTokens"),
        ("completion_tokens_details", "reasoning_tokens", "reasoningTokens"),
    ):
        details = counts.get(group)
        if isinstance(details, dict) and isinstance(details.get(count), int):
            usage[ours] = details[count]
            counts[group] = {key: value for key, value in details.items() if key != count}
    extras = {key: value for key, value in counts.items() if value not in _EMPTY}
    if with_finish:
        extras["with_finish"] = True
    return usage | ({"extras": extras} if extras else {})
