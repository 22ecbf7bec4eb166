"""What crossed the gateway, as session logs: one a lane, for an agent that writes none of ours (design 4.1).

    turn/start                      at each new prompt of the user
    user/message, tool/result       what a request adds to the one before it; a system message in the middle of a
    system/message                  conversation likewise
    assistant/message               what an agent sent back in the place of the answer that was streamed to it; without
                                    content where nothing of a complete answer came back
    request/messages {from}         a conversation that was rewritten: from message `from` on (counted from 0, system
                                    messages apart) it says this
    request/fork {session, call, messages}   a lane that begins with the first messages of another's conversation
    request/header {header, hashes} model, options, system prompt and tools, at the first call and where one changed
    call/start {request}, chunks, call/end {outcome}

So no prompt is said twice, and each request can be put together again. Whether two things are the same is asked of
their keys, which a run's clock, paths and ids do not change; what stands in a log is the first of them. Ids of these
logs are literals. Grouping the calls of a recording into lanes is call_lanes.py.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import orjson

from replay.models.call_lanes import assign_lanes
from replay.models.wire import WireRequest
from replay.script.conversation import (
    Delta,
    answer_of,
    delta_of,
    holds_result,
    is_prompt,
    repeats,
    split_header,
    without_markers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from replay.models.wire import Chunk, Json

__all__ = ["Key", "ModelCall", "assign_lanes", "log_ids", "log_rows", "plain_key", "request_rows"]

type Key = Callable[[WireRequest], str]
"""The key of a request: two requests have the same one if they differ in nothing but what differs between two runs."""

_PARENT = "parent"
_CHILD = "child "
_COMPLETED = "completed"


class ModelCall:
    """One model call that crossed the gateway.

    lane and ordinal say where it stands in the recording, "" and 0 where it has no place there (yet). key: that of its
    request. chunks: what was streamed, complete when the call is over. outcome: `{"kind"}` with "message" and "code"
    of a failure, as call/end has it.
    """

    __slots__ = ("_hashes", "_key_of", "chunks", "key", "lane", "ordinal", "outcome", "request")

    def __init__(self, request: WireRequest, key: Key) -> None:
        """key: makes keys of this request, and later of its parts."""
        self.lane = ""
        self.ordinal = 0
        self.request = request
        self.chunks: Iterable[Chunk] = []
        self.outcome: dict[str, Json] = {"kind": _COMPLETED}
        self.key = key(request)
        self._key_of = key
        self._hashes: dict[str, str] = {}

    @property
    def conversation(self) -> list[Json]:
        """The messages of the request without its system prompt."""
        return split_header(self.request.messages)[1]

    @property
    def answer(self) -> Json:
        """The assistant message that was streamed, None unless the model said all that it had to say."""
        return answer_of(self.chunks) if self.outcome["kind"] == _COMPLETED else None

    @property
    def hashes(self) -> dict[str, str]:
        """The keys of what a request header holds: "config", and "system" and "tools" where there are any."""
        if not self._hashes:
            request = self.request
            system = split_header(request.messages)[0]
            parts = {"config": _config(request), "system": system, "tools": request.tools}
            self._hashes = {part: self._part_key(part, value) for part, value in parts.items() if value}
        return self._hashes

    def is_same(self, one: Json, other: Json) -> bool:
        """Whether two messages are the same but for what differs between two runs."""
        if one == other:
            return True
        return one["role"] == other["role"] and self._message_key(one) == self._message_key(other)

    def _message_key(self, message: Json) -> str:
        return self._part_key("message", without_markers(message))

    def _part_key(self, part: str, value: Json) -> str:
        return self._key_of(WireRequest("", [], [], {part: value}, False, False))


def plain_key(request: WireRequest) -> str:
    """The key of a request as it is, for a gateway whose runs differ in nothing; a runner's key is normalised."""
    return f"sha256:{sha256(orjson.dumps(list(request))).hexdigest()}"


def _lane_id(lane: str) -> str:
    """The session id that a lane's log has."""
    return "gateway" if lane == _PARENT else f"gateway-{lane.removeprefix(_CHILD)}"


def log_ids(count: int) -> list[str]:
    """The session ids of the first `count` logs: literals, which no normaliser may rename."""
    return [_lane_id(_lane_name(index)) for index in range(count)]


def log_rows(calls: Sequence[ModelCall], cwd: str) -> list[list[Json]]:
    """The logs of all lanes that `calls` have, the parent's first: header fields, then events, not packed.

    What follows depends on the lanes and their order inside, never on the order of arrival. Calls without a lane are
    left out. The parent's log is there without any call; so is that of a child before the last one.
    """
    lanes = _lanes(calls)
    logs: list[list[Json]] = []
    for name, own in lanes.items():
        fork = _fork_of(name, lanes)
        logs.append([_header(name, fork, cwd), *_LaneLog(own, fork).rows()])
    return logs


def request_rows(calls: Sequence[ModelCall]) -> list[Json]:
    """The rows of requests.expected.jsonl, one a call: where it stands, its key, and what its request adds."""
    lanes = _lanes(calls)
    rows: list[Json] = []
    for name, own in lanes.items():
        fork = _fork_of(name, lanes)
        before: ModelCall | None = None
        for call in own:
            rows.append(_request_row(before, call, fork))
            before, fork = call, None
    return rows


def _request_row(before: ModelCall | None, call: ModelCall, fork: _Fork | None) -> Json:
    row: dict[str, Json] = {"lane": call.lane, "ordinal": call.ordinal}
    changed = _changed_header(before, call)
    if changed is not None:
        header = changed["header"]
        # Pinned elsewhere, as in a session log.
        texts = {part: f"{{{{{part}}}}}" for part in ("system", "tools") if part in header}
        row |= {**changed, "header": {**header, **texts}}
    added = _added(before, call)
    if added.is_rewritten:
        row["from"] = added.start
    if added.sent_back is not None:
        row["sentBack"] = added.sent_back
    messages = added.messages
    if fork is not None:
        row["fork"] = {"lane": fork.call.lane, "ordinal": fork.call.ordinal, "messages": fork.messages}
        messages = messages[fork.messages :]
    # The key last: where a text differs, that is what a person wants to see first.
    return row | {"messages": messages, "request": call.key}


def _lanes(calls: Sequence[ModelCall]) -> dict[str, list[ModelCall]]:
    """Lane -> its calls in order, in the order of the fixture's files and without a gap."""
    last = max(
        (int(call.lane.removeprefix(_CHILD)) for call in calls if call.lane.startswith(_CHILD)), default=0
    )
    lanes: dict[str, list[ModelCall]] = {_lane_name(index): [] for index in range(last + 1)}
    for call in sorted((call for call in calls if call.lane), key=lambda call: call.ordinal):
        lanes[call.lane].append(call)
    return lanes


def _lane_name(index: int) -> str:
    return f"{_CHILD}{index}" if index else _PARENT


class _Fork(NamedTuple):
    """A call of another lane with whose conversation, answer included, a lane begins."""

    call: ModelCall
    messages: int


def _added(before: ModelCall | None, call: ModelCall) -> Delta:
    if before is None:
        return Delta(0, None, call.conversation, False)
    return delta_of(before.conversation, before.answer, call.conversation, call.is_same)


def _fork_of(name: str, lanes: dict[str, list[ModelCall]]) -> _Fork | None:
    """The longest conversation of another lane, up to an answer, that the lane's first request repeats and goes on with."""
    if name == _PARENT or not lanes[name]:
        return None
    first = lanes[name][0]
    now = first.conversation
    best: _Fork | None = None
    for other in (call for lane, calls in lanes.items() if lane != name for call in calls):
        asked = other.conversation
        length = len(asked) + 1
        if length >= len(now) or (best is not None and length <= best.messages):
            continue
        answer = other.answer
        if (
            answer
            and answer["content"]
            and repeats(now[length - 1], answer)
            and all(map(first.is_same, asked, now, strict=False))
        ):
            best = _Fork(other, length)
    return best


def _header(name: str, fork: _Fork | None, cwd: str) -> dict[str, Json]:
    header: dict[str, Json] = {
        "type": "session",
        "version": 0,
        "id": _lane_id(name),
        "createdAt": 0,
        "cwd": cwd,
    }
    if name == _PARENT:
        return header
    if fork is not None:
        return header | {"parentSession": _lane_id(fork.call.lane)}
    return header | {"parentSession": _lane_id(_PARENT), "origin": "side-call"}


def _config(request: WireRequest) -> dict[str, Json]:
    return {"model": request.model, "stream": request.stream, **request.options}


def _changed_header(before: ModelCall | None, call: ModelCall) -> dict[str, Json] | None:
    """The data of request/header, None where the header is that of the call before."""
    hashes = call.hashes
    if before is not None and before.hashes == hashes:
        return None
    request = call.request
    header: dict[str, Json] = {"config": _config(request)}
    system, _ = split_header(request.messages)
    if system:
        header["system"] = "\n\n".join(_text(message) for message in system)
    if request.tools:
        header["tools"] = request.tools
    shown = {part: hashes[part] for part in ("system", "tools") if part in hashes}
    return {"header": header, "reason": "initial" if before is None else "changed", "hashes": shown}


def _text(message: Json) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if isinstance(block.get("text"), str))


class _LaneLog:
    """The events of one lane."""

    def __init__(self, calls: Sequence[ModelCall], fork: _Fork | None) -> None:
        self._calls = calls
        self._fork = fork
        self._turn = 0
        self._step = 0

    def rows(self) -> Iterator[Json]:
        before: ModelCall | None = None
        for number, call in enumerate(self._calls, 1):
            yield from self._said(before, call)
            header = _changed_header(before, call)
            if header is not None:
                yield _row("request/header", header)
            self._step += 1
            place = {"turn": self._turn, "step": self._step}
            yield _row("call/start", {**place, "call": number, "request": call.key})
            for chunk in call.chunks:
                yield _row("assistant/chunk", {**place, "chunk": chunk})
            yield _row("call/end", {**place, "call": number, "outcome": call.outcome})
            before = call

    def _said(self, before: ModelCall | None, call: ModelCall) -> Iterator[Json]:
        added = _added(before, call)
        fork = self._fork
        if before is None and fork is not None:
            added = added._replace(messages=added.messages[fork.messages :])
            data = {"session": _lane_id(fork.call.lane), "call": fork.call.ordinal, "messages": fork.messages}
            yield _row("request/fork", data)
        # What is said beside the results of tools belongs to their turn.
        is_new_turn = any(map(is_prompt, added.messages)) and not any(map(holds_result, added.messages))
        if before is None:
            yield self._next_turn()
        if added.sent_back is not None:
            for message in added.sent_back or [{"role": "assistant", "content": []}]:
                yield self._event(message)
        if before is not None and is_new_turn:
            yield self._next_turn()
        if added.is_rewritten:
            yield _row("request/messages", {"from": added.start, "messages": added.messages})
            return
        for message in added.messages:
            yield self._event(message)

    def _next_turn(self) -> Json:
        self._turn += 1
        self._step = 0
        return _row("turn/start", {"turn": self._turn})

    def _event(self, message: Json) -> Json:
        """A message of the conversation, in the step of the call that it answers; 0 before a lane's first."""
        place = {"turn": self._turn, "step": self._step}
        if holds_result(message):
            found = [
                block.get("toolCallId") for block in message["content"] if block.get("type") == "tool-result"
            ]
            source = {"source": {"kind": "tool", "callId": found[0]}} if len(found) == 1 else {}
            return _row("tool/result", {**place, "message": {**source, **message}})
        if message["role"] == "assistant":
            return _row("assistant/message", {**place, "message": message})
        return _row("user/message" if message["role"] == "user" else "system/message", message)


def _row(kind: str, data: Json) -> Json:
    return {"type": kind, "data": data}
