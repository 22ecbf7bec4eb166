"""Derives the replay script of each session from its log (design 4.2).

A log of ours marks where each model call begins and ends, and how; calls of different steps may overlap. A log
without marks is split at each finish. The reader has found the turning points of the log (SessionLog.stream), so
nothing is decoded here but marks and the messages that open a conversation.
"""

import re
from typing import TYPE_CHECKING, Any

from replay.errors import FixtureError, Location
from replay.script.entry import Call, Chunks, Entry, Hang, Lane, Span, Throw, Unfinished, nth
from replay.session import BLOCK_TYPES, DELTA_FIELD, PACKED_DELTA, SessionLog, count_events, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from replay.session.log import StreamEvent

__all__ = ["check_blocks", "derive_lanes"]

_CHILD_FILE = re.compile(r"session\.([0-9]+)\.jsonl")
_DELTA_BLOCK = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call"}


def derive_lanes(logs: Sequence[SessionLog], *, strict: bool = False) -> list[Lane]:
    """One lane a log, the parent's first; `logs` are in the order of their files.

    strict checks also that every block-end repeats what its deltas said (the doctor's check). Calls that never end
    are kept as Unfinished. Raises FixtureError.
    """
    names = [_lane_name(log, at) for at, log in enumerate(logs)]
    by_session: dict[str, str] = {}
    for name, log in zip(names, logs, strict=True):
        if log.header.id in by_session:
            what = f"the session id {shown(log.header.id)} is also that of lane {shown(by_session[log.header.id])}"
            raise FixtureError(what, Location(log.file, 1, "$.id"))
        by_session[log.header.id] = name
    lanes = []
    for name, log in zip(names, logs, strict=True):
        parent = log.header.parent_session
        # A parent that was not recorded here can only be above the first lane.
        parent_lane = None if parent is None or name == "parent" else by_session.get(parent, "parent")
        lanes.append(_derive_lane(log, name, parent_lane))
    if strict:
        for lane in lanes:
            for call in lane.calls:
                check_blocks(call)
    return lanes


def _lane_name(log: SessionLog, at: int) -> str:
    if at == 0:
        return "parent"
    named = _CHILD_FILE.search(log.file)
    return f"child {named[1] if named else at}"


def _derive_lane(log: SessionLog, name: str, parent_lane: str | None) -> Lane:
    first_own = _first_own_line(log)
    events = [event for event in log.stream if event[0] >= first_own] if first_own > 2 else log.stream
    is_marked = any(event[1] == "call/start" for event in events)
    calls = []
    split = _split_at_marks(log, events) if is_marked else _split_at_finish(log, events)
    for ordinal, (line, turn, step, entry) in enumerate(split, 1):
        key = _key(log.row(line).data) if is_marked else ""
        calls.append(Call(ordinal, entry, log.file, line, turn, step, key))
    first_call = calls[0].line if calls else len(log.lines) + 1
    opening = _opening(
        log, (line for line, kind, *_ in events if kind == "user/message" and line < first_call)
    )
    hashes = _hashes(log, first_own, first_call) if is_marked else {}
    return Lane(name, log.file, log.header.id, parent_lane, opening, calls, hashes, log)


def _key(data: dict[str, Any]) -> str:
    key = data.get("request")
    return key if isinstance(key, str) else ""


def _hashes(log: SessionLog, first: int, end: int) -> dict[str, str]:
    """The hashes of the request header on the lines from `first` to before `end`."""
    for line in range(first, end):
        # Not among the turning points of a log: only those of a gateway hold hashes.
        if b'"request/header"' in log.lines[line - 1]:
            hashes = log.row(line).data.get("hashes")
            return dict(hashes) if isinstance(hashes, dict) else {}
    return {}


def _first_own_line(log: SessionLog) -> int:
    """The line after the events that a fork inherited. seedLength counts unpacked events."""
    left = log.header.seed_length
    line = 2
    while left > 0:
        if line > len(log.lines):
            what = f"is {log.header.seed_length}, but the log has only {log.header.seed_length - left} events"
            raise FixtureError(what, Location(log.file, 1, "$.seedLength"))
        left -= count_events(log.row(line))
        line += 1
    if left < 0:
        what = f"is {log.header.seed_length}, which ends inside the packed row on line {line - 1}"
        raise FixtureError(what, Location(log.file, 1, "$.seedLength"))
    return line


type _Split = tuple[int, int, int, Entry]


def _split_at_finish(log: SessionLog, events: Iterable[StreamEvent]) -> Iterator[_Split]:
    """(line, turn, step, entry) of each call of a log without marks."""
    first = turn = step = 0
    line = 1
    for line, kind, at_turn, at_step, _ in events:
        if kind == "finish":
            yield first, turn, step, Chunks(Span(log, first, line, turn, step))
            first = 0
        elif kind == "call/end":
            raise FixtureError(
                "ends a model call that no call/start began", Location(log.file, line, "$.data.call")
            )
        elif kind != "user/message":
            # Chunks begin anew, or the agent has gone on: the call before was left without a finish.
            if first:
                yield first, turn, step, Unfinished(Span(log, first, line - 1, turn, step))
                first = 0
            if kind == "chunks":
                first, turn, step = line, at_turn, at_step
    if first:
        yield first, turn, step, Unfinished(Span(log, first, len(log.lines), turn, step))


def _split_at_marks(log: SessionLog, events: Iterable[StreamEvent]) -> Iterator[_Split]:
    """The same for a log whose calls are marked, in the order in which they began."""
    calls: list[_Split] = []
    open_calls: dict[
        tuple[int, int], tuple[int, int]
    ] = {}  # (turn, step) -> place in calls, number of the call
    newest = 0
    for line, kind, turn, step, number in events:
        key = (turn, step)
        if kind == "call/start":
            if key in open_calls:
                what = f"begins while the call of line {calls[open_calls[key][0]][0]} (same turn and step) is open"
                raise FixtureError(what, Location(log.file, line, "$.data"))
            if number <= newest:
                what = f"must be more than {newest}, the call before it, not {number}"
                raise FixtureError(what, Location(log.file, line, "$.data.call"))
            newest = number
            open_calls[key] = (len(calls), number)
            calls.append((line, turn, step, Unfinished(Span(log, line, len(log.lines), turn, step))))
        elif kind == "call/end":
            at, begun = open_calls.pop(key, (-1, -1))
            if begun != number:
                what = f"ends call {number}, which is not open in turn {turn}, step {step}"
                raise FixtureError(what, Location(log.file, line, "$.data.call"))
            span = Span(log, calls[at][0], line, turn, step)
            calls[at] = (*calls[at][:3], _ended(span, log.row(line).data["outcome"]))
        elif kind == "chunks" and key not in open_calls:
            what = f"chunks of turn {turn}, step {step} stand outside every marked model call"
            raise FixtureError(what, Location(log.file, line))
    yield from calls


def _ended(span: Span, outcome: dict[str, Any]) -> Entry:
    match outcome["kind"]:
        case "failed":
            retry = outcome.get("retryAfterMs")
            retry_after_ms = retry if type(retry) is int and retry >= 0 else None
            return Throw(span, outcome.get("message", ""), outcome.get("code", ""), retry_after_ms)
        case "cancelled":
            return Hang(span)
        case _:
            return Chunks(span)


def _opening(log: SessionLog, lines: Iterable[int]) -> list[str]:
    """The texts of what the user said; what plugins of the agent put beside it counts only if there is nothing else."""
    said: list[str] = []
    injected: list[str] = []
    for line in lines:
        data = log.row(line).data
        source = data.get("source")
        is_injected = isinstance(source, dict) and source.get("kind") == "plugin"
        text = _text(data.get("content"))
        if text:
            (injected if is_injected else said).append(text)
    return said or injected


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (
        block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
    )
    return "".join(text for text in texts if isinstance(text, str))


def check_blocks(call: Call) -> None:
    """Raises FixtureError where a block-end of the call contradicts its deltas, or a delta its block."""
    source = call.entry.source
    if isinstance(source, list):
        rows: Iterator[tuple[int, str, dict[str, Any]]] = (
            (call.line, "assistant/chunk", {"chunk": chunk}) for chunk in source
        )
    else:
        rows = source.rows()
    kinds: dict[int, str] = {}
    texts: dict[int, list[str]] = {}
    for line, kind, data in rows:
        chunk = data if kind in PACKED_DELTA else data["chunk"]
        kind = PACKED_DELTA.get(kind) or chunk["type"]
        index = chunk.get("index", -1)
        where = Location(call.file, line, "$.data.chunk" if chunk is not data else "$.data")
        if kind == "block-start":
            kinds[index], texts[index] = chunk["blockType"], []
        elif kind in _DELTA_BLOCK:
            if kinds.get(index) != _DELTA_BLOCK[kind]:
                state = f"a {kinds[index]} block" if index in kinds else "not open"
                raise FixtureError(f"is a {kind} for block {index}, which is {state}", where)
            texts[index] += (
                data["args" if "args" in data else "texts"] if chunk is data else [chunk[DELTA_FIELD[kind]]]
            )
        elif kind == "block-end":
            _check_block_end(
                chunk["block"], kinds.pop(index, None), "".join(texts.get(index, [])), index, where
            )


def _check_block_end(block: dict[str, Any], kind: str | None, said: str, index: int, where: Location) -> None:
    if kind is None:
        raise FixtureError(f"ends block {index}, which is not open", where)
    if block["type"] != kind:
        what = f"is {shown(block['type'])}, but block {index} began as {shown(kind)}"
        raise FixtureError(what, where._replace(path=where.path + ".block.type"))
    field = BLOCK_TYPES[kind]
    # A provider may give a block whole, with no delta before it.
    if said and block[field] != said:
        at = next((i for i, (a, b) in enumerate(zip(block[field], said, strict=False)) if a != b), -1)
        at = at if at >= 0 else min(len(block[field]), len(said))
        what = (
            f"contradicts the deltas of block {index} from the {nth(at + 1)} character: "
            f"{shown(block[field][at : at + 40])}, the deltas say {shown(said[at : at + 40])}"
        )
        fix = "record the scenario again, or make the block and its deltas say the same"
        raise FixtureError(what, where._replace(path=f"{where.path}.block.{field}"), fix)
