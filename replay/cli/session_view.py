"""A session log as what happened in it: prompts, what the model said call by call, tools and their results.

The texts of a model call are put together from its chunks, so that a call which broke off shows what had come. A tool
call is shown where the model made it. Events without a meaning here are kept as notes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from replay.session import DELTA_FIELD, Row, SessionLog, unpack

__all__ = [
    "ChildStart",
    "Item",
    "ModelCall",
    "Note",
    "Said",
    "SessionView",
    "ToolCall",
    "ToolResult",
    "TurnEnd",
    "TurnStart",
    "read_session",
]

# What says nothing that another event does not say: marks of the agent's own loop, and the answer as one message.
_SILENT: Final = frozenset(
    ("step/start", "step/end", "assistant/message", "request/context", "permission/asked")
)


@dataclass(frozen=True, slots=True)
class TurnStart:
    turn: int


@dataclass(frozen=True, slots=True)
class TurnEnd:
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """A text. `who`: "user", "system", "thinks" or "says"."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Any
    """Decoded where it is JSON, else the text."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ChildStart:
    """The agent began the child session `session`."""

    session: str


@dataclass(frozen=True, slots=True)
class Note:
    """Any other event."""

    kind: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class ModelCall:
    """One model call: `number` in its log from 1, how it ended, what it cost. ms: 0 where the log holds no time."""

    number: int
    turn: int
    step: int
    items: list[Said | ToolCall] = field(default_factory=list)
    finish: str = ""
    outcome: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    ms: int = 0


type Item = TurnStart | TurnEnd | Said | ModelCall | ToolCall | ToolResult | ChildStart | Note


@dataclass(frozen=True, slots=True)
class SessionView:
    """One log. `answers`: tool call id -> what was decided about its permission, where the agent logs that."""

    name: str
    header: Mapping[str, Any]
    items: list[Item]
    answers: Mapping[str, str]


def read_session(log: SessionLog, name: str) -> SessionView:
    """The view of one log. name: "parent", "child 1", …"""
    reader = _Reader(is_marked=any(event[1] == "call/start" for event in log.stream))
    for row in unpack(log.rows):
        reader.read(row)
    reader.close()
    return SessionView(name, log.header.fields, reader.items, reader.answers)


class _Reader:
    """The items so far, with the calls that are still running by (turn, step)."""

    __slots__ = ("_begun", "_blocks", "_called", "_calls", "_is_marked", "_running", "answers", "items")

    def __init__(self, *, is_marked: bool) -> None:
        self._is_marked = is_marked
        self.items: list[Item] = []
        self.answers: dict[str, str] = {}
        self._calls = 0
        self._called: set[str] = set()
        self._running: dict[tuple[int, int], ModelCall] = {}
        self._blocks: dict[tuple[int, int, int], dict[str, Any]] = {}
        self._begun: dict[tuple[int, int], int] = {}

    def read(self, row: Row) -> None:
        data = row.data
        match row.type:
            case "assistant/chunk":
                self._read_chunk(row, data["chunk"])
            case "call/start":
                self._call(row)
            case "call/end":
                self._end((data["turn"], data["step"]), row, _outcome(data["outcome"]))
            case "turn/start":
                self.items.append(TurnStart(data.get("turn", 0)))
            case "turn/end":
                self.items.append(TurnEnd(_reason(data.get("reason"))))
            case "user/message":
                self.items.append(Said("user", _text(data.get("content"))))
            case "system/message":
                self.items.append(Said("system", _text(data.get("content"))))
            case "tool/call":
                self._tool_call(data)
            case "tool/result":
                self.items.extend(_results(data))
            case "subagent/start":
                self.items.append(ChildStart(str(data.get("sessionId"))))
            case "permission/decided":
                self.answers[str(data.get("callId"))] = str(data.get("outcome"))
            case kind if kind not in _SILENT:
                self.items.append(Note(kind, data))

    def close(self) -> None:
        """The end of the log: calls that never ended."""
        for key in list(self._running):
            self._end(key, None, "never ended")

    def _call(self, row: Row) -> ModelCall:
        key = (row.data["turn"], row.data["step"])
        self._calls += 1
        call = ModelCall(self._calls, *key)
        self._running[key] = call
        self.items.append(call)
        if "time" in row.fields:
            self._begun[key] = row.fields["time"]
        return call

    def _end(self, key: tuple[int, int], row: Row | None, outcome: str) -> None:
        call = self._running.pop(key, None)
        if call is None:
            return
        for place in [place for place in self._blocks if place[:2] == key]:
            self._finish_block(call, self._blocks.pop(place), None)
        call.outcome = outcome
        began = self._begun.pop(key, None)
        if row is not None and began is not None and "time" in row.fields:
            call.ms = row.fields["time"] - began

    def _read_chunk(self, row: Row, chunk: Mapping[str, Any]) -> None:
        key = (row.data["turn"], row.data["step"])
        # After a finish a log without marks begins the next call.
        call = self._running.get(key) or self._call(row)
        call.ms += row.gap or 0
        kind = chunk["type"]
        if kind == "block-start":
            self._blocks[(*key, chunk["index"])] = {"type": chunk["blockType"], "text": ""}
        elif kind in DELTA_FIELD:
            block = self._blocks.setdefault(
                (*key, chunk["index"]), {"type": kind.removesuffix("-delta"), "text": ""}
            )
            block["text"] += chunk[DELTA_FIELD[kind]]
            block |= {name: chunk[name] for name in ("id", "name") if name in chunk}
        elif kind == "block-end":
            self._finish_block(call, self._blocks.pop((*key, chunk["index"]), {}), chunk["block"])
        elif kind == "usage":
            call.usage = chunk["usage"]
        elif kind == "finish":
            call.finish = str(chunk["reason"].get("kind"))
            if not self._is_marked:
                self._end(key, row, "completed")

    def _finish_block(
        self, call: ModelCall, block: Mapping[str, Any], whole: Mapping[str, Any] | None
    ) -> None:
        """A block that ended; `whole` is None for one that was cut off."""
        kind = (whole or block).get("type")
        if kind == "tool-call":
            source = whole or {**block, "arguments": block.get("text", "")}
            name = str(source.get("id", ""))
            self._called.add(name)
            call.items.append(ToolCall(name, str(source.get("name", "")), _decoded(source.get("arguments"))))
            return
        text = str((whole or block).get("text", ""))
        if text:
            call.items.append(Said("thinks" if kind == "reasoning" else "says", text))

    def _tool_call(self, data: Mapping[str, Any]) -> None:
        name = str(data.get("callId"))
        if name not in self._called:
            self.items.append(ToolCall(name, str(data.get("name")), _decoded(data.get("arguments"))))


def _decoded(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return orjson.loads(arguments)
    except ValueError:
        return arguments


def _outcome(outcome: Mapping[str, Any]) -> str:
    words = [str(outcome.get("kind"))]
    words += [str(outcome[name]) for name in ("code", "message") if outcome.get(name)]
    return " ".join(words)


def _reason(reason: Any) -> str:
    if not isinstance(reason, dict):
        return str(reason or "")
    words = [str(reason.get("kind"))]
    for name in ("reason", "error"):
        inner = reason.get(name)
        if isinstance(inner, dict):
            words += [str(inner[key]) for key in ("kind", "code", "message") if inner.get(key)]
    return " ".join(words)


def _results(data: Mapping[str, Any]) -> Iterator[ToolResult]:
    message = data.get("message")
    message = message if isinstance(message, dict) else {}
    source = message.get("source")
    named = str(source.get("callId", "")) if isinstance(source, dict) else ""
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    results = [block for block in blocks if block.get("type") == "tool-result"]
    for block in results:
        is_error = bool(block.get("isError") or data.get("error"))
        yield ToolResult(str(block.get("toolCallId") or named), _text(block.get("content")), is_error)
    if not results:
        yield ToolResult(named, _text(message.get("content")), bool(data.get("error")))


def _text(content: Any) -> str:
    """The text of a message's content; other blocks by their kind."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content or () if isinstance(block, dict)]
    return "\n".join(
        str(block["text"]) if isinstance(block.get("text"), str) else f"[{block.get('type')}]"
        for block in blocks
    )
