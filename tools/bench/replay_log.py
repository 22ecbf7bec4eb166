"""A large session log in the shape of recorded ones, the same bytes every time.

Frequencies and sizes are those of 42 recorded logs (1288 rows): 242 bytes and 15 strings a row, 1.7 blocks a step, two
runs of deltas in three packed, 3 to 93 deltas a run, tool results of a kilobyte, one row in 25 not ASCII.
"""

import random
import string
from collections.abc import Iterator
from typing import Any

import orjson

__all__ = ["CWD", "make_log"]

CWD = "/tmp/agent_replay-0123456789ab/cwd"
_SEED = 20240613
_RUNS = (
    3,
    4,
    4,
    5,
    6,
    12,
    13,
    14,
    17,
    17,
    18,
    18,
    18,
    18,
    20,
    21,
    22,
    23,
    24,
    25,
    28,
    30,
    30,
    31,
    34,
    41,
    48,
    59,
    88,
)
_TEXT = (
    "the user wants me to read this file and then change one line in it so that tests pass again; first I look at "
    "what is there, run them once, compare output with what was expected, then edit. It's `src/main.py`: "
    'return {"ok": true} and exit code 0 or an error at line 42\n'
)
_WORDS = _TEXT.split(" ")
_ALPHANUMERIC = string.ascii_letters + string.digits
_FOREIGN = ("naïve", "größer", "終了", "—")
_FOREIGN_SHARE = 0.04
_KINDS = {
    "text": ("text-chunks", "text-delta", "text", "texts"),
    "reasoning": ("reasoning-chunks", "reasoning-delta", "text", "texts"),
    "tool-call": ("tool-call-chunks", "tool-call-delta", "argumentsDelta", "args"),
}


def make_log(size: int) -> bytes:
    """A sound log of at least `size` bytes, packed canonically, without marks around model calls."""
    source = random.Random(_SEED)
    header = {"type": "session", "version": 0, "id": _uuid(source), "createdAt": 1783352165190, "cwd": CWD}
    lines = [orjson.dumps(header)]
    written = len(lines[0])
    turn = 0
    while written < size:
        turn += 1
        for row in _turn(source, turn):
            lines.append(orjson.dumps(row))
            written += len(lines[-1]) + 1
    return b"\n".join(lines) + b"\n"


def _turn(source: random.Random, turn: int) -> Iterator[dict[str, Any]]:
    message = {
        "content": [{"type": "text", "text": _prose(source, 50)}],
        "source": {"kind": "user"},
        "role": "user",
        "id": _uuid(source),
    }
    inbox = {"target": "next-turn", "start": 0}
    yield {"type": "agent/inbox/spliced", "data": {**inbox, "inserted": [message]}}
    yield {"type": "turn/start", "data": {"turn": turn}}
    yield {"type": "agent/inbox/spliced", "data": {**inbox, "removedCount": 1, "inserted": []}}
    yield {"type": "user/message", "data": message, "surfaceOp": "append"}
    context = {
        "kind": "plugin",
        "plugin": "prompt",
        "form": "snapshot",
        "sections": [{"name": "sandbox:policy"}],
    }
    content = [{"type": "text", "text": _prose(source, 150)}]
    snapshot = {"content": content, "source": context, "role": "user", "id": _uuid(source)}
    yield {"type": "user/message", "data": snapshot, "surfaceOp": "append"}
    header = {"config": {"provider": "local", "model": "m"}, "system": "{{system}}", "tools": "{{tools}}"}
    yield {"type": "request/header", "data": {"header": header, "reason": "initial"}}
    yield {"type": "request/context", "data": {"provider": "local", "model": "m", "mode": "auto"}}
    steps = source.choice((1, 1, 2, 2, 3))
    for step in range(1, steps + 1):
        yield from _step(source, turn, step, step < steps)
    yield {"type": "session/title", "data": {"title": _prose(source, 8), "turn": turn}}
    yield {"type": "turn/end", "data": {"turn": turn, "reason": {"kind": "completed"}}}


def _step(source: random.Random, turn: int, step: int, calls_tool: bool) -> Iterator[dict[str, Any]]:
    place = {"turn": turn, "step": step}
    yield {"type": "step/start", "data": place}
    blocks = ["reasoning"] if source.random() < 0.7 else []
    blocks.append("tool-call" if calls_tool else "text")
    content: list[dict[str, Any]] = []
    for index, kind in enumerate(blocks):
        yield from _block(source, place, index, kind, content)
    usage = {"inputTokens": 900 + step, "outputTokens": source.randrange(500), "cacheReadTokens": 640}
    yield _chunk(place, {"type": "usage", "usage": usage})
    yield _chunk(place, {"type": "finish", "reason": {"kind": "tool-calls" if calls_tool else "stop"}})
    message = {
        "role": "assistant",
        "content": content,
        "source": {"kind": "model", "provider": "local", "model": "m"},
        "id": _uuid(source),
    }
    yield {"type": "assistant/message", "data": {**place, "message": message, "usage": usage}}
    if calls_tool:
        yield from _tool(source, place, content[-1])
    yield {"type": "step/end", "data": place}


def _block(
    source: random.Random, place: dict[str, int], index: int, kind: str, content: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    packed, delta, field, fields = _KINDS[kind]
    yield _chunk(place, {"type": "block-start", "index": index, "blockType": kind})
    count = source.choice(_RUNS) if source.random() < 0.7 else source.choice((1, 2))
    pieces = _pieces(source, kind, count)
    named: dict[str, Any] = {"id": "call_00_" + "".join(source.choices(_ALPHANUMERIC, k=20)), "name": "bash"}
    own = named if kind == "tool-call" else {}
    if len(pieces) < 3:
        for piece in pieces:
            yield _chunk(place, {"type": delta, "index": index, **own, field: piece})
    else:
        gaps = [source.choice((0, 0, 1, 2, 17, 40)) for _ in pieces[1:]]
        yield {"type": packed, "data": {**place, "index": index, "dt": gaps, **own, fields: pieces}}
    block: dict[str, Any] = {"type": kind, **own}
    block["arguments" if own else "text"] = "".join(pieces)
    content.append(block)
    yield _chunk(place, {"type": "block-end", "index": index, "block": block})


def _pieces(source: random.Random, kind: str, count: int) -> list[str]:
    if kind != "tool-call":
        vocabulary = _FOREIGN if source.random() < _FOREIGN_SHARE else _WORDS
        return [source.choice(vocabulary) + " " for _ in range(count)]
    words = ['{"command":"', *(source.choice(("ls ", "cat ", "-l ", "a.txt ")) for _ in range(count))]
    if source.random() < 0.1:
        words.append(f"{CWD}/notes.txt")
    return [*words, '"}']


def _tool(source: random.Random, place: dict[str, int], block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    call = {"callId": block["id"], "name": block["name"], "arguments": block["arguments"]}
    yield {"type": "tool/call", "data": {**place, **call}}
    where = f"{CWD}/src/main.py: " if source.random() < 0.2 else ""
    result = {
        "type": "tool-result",
        "id": block["id"],
        "content": [{"type": "text", "text": where + _prose(source, 150)}],
    }
    message = {"role": "tool", "content": [result], "id": _uuid(source)}
    yield {"type": "tool/result", "data": {**place, "message": message}}


def _chunk(place: dict[str, int], chunk: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant/chunk", "data": {**place, "chunk": chunk}}


def _prose(source: random.Random, words: int) -> str:
    chosen = source.choices(_WORDS, k=source.randrange(words // 2, words * 3 // 2))
    if source.random() < _FOREIGN_SHARE * 2:
        chosen.append(source.choice(_FOREIGN))
    return " ".join(chosen)


def _uuid(source: random.Random) -> str:
    digits = source.randbytes(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
