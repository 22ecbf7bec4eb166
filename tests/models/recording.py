"""Small recordings for the tests of this room: session logs and override entries as bytes and directories."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from replay.models.journal import read_journal
from replay.script import Lane, apply_override, derive_lanes, parse_override
from replay.session import read_log

type Json = Any
type Chunk = dict[str, Any]

__all__ = ["failure", "hang", "lanes_of", "read_journal", "said", "session_log", "tool_call", "write_fixture"]

_USAGE = {"inputTokens": 12, "outputTokens": 3, "cacheReadTokens": 4, "reasoningTokens": 1}


def said(*texts: str, reasoning: Sequence[str] = (), reason: str = "stop") -> list[Chunk]:
    """A whole reply of text, one delta a piece."""
    chunks: list[Chunk] = []
    index = 0
    for kind, pieces in (("reasoning", reasoning), ("text", texts)):
        if pieces:
            chunks.append({"type": "block-start", "index": index, "blockType": kind})
            chunks += [{"type": f"{kind}-delta", "index": index, "text": piece} for piece in pieces]
            block = {"type": kind, "text": "".join(pieces)}
            chunks.append({"type": "block-end", "index": index, "block": block})
            index += 1
    return [*chunks, *_end(reason)]


def tool_call(*calls: tuple[str, str, str]) -> list[Chunk]:
    """A whole reply of tool calls `(id, name, arguments)`, the arguments in two deltas each."""
    chunks: list[Chunk] = []
    for index, (call_id, name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        delta = {"type": "tool-call-delta", "index": index, "id": call_id}
        chunks.append({"type": "block-start", "index": index, "blockType": "tool-call"})
        chunks.append({**delta, "name": name, "argumentsDelta": arguments[:half]})
        chunks.append({**delta, "argumentsDelta": arguments[half:]})
        block = {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
        chunks.append({"type": "block-end", "index": index, "block": block})
    return [*chunks, *_end("tool-calls")]


def _end(reason: str) -> list[Chunk]:
    return [{"type": "usage", "usage": _USAGE}, {"type": "finish", "reason": {"kind": reason}}]


def failure(message: str, code: str, prefix: Iterable[Chunk] = ()) -> dict[str, Json]:
    """A throw entry. prefix: chunks that are streamed first."""
    return {"kind": "throw", "chunks": list(prefix), "message": message, "code": code}


def hang(ready_file: str = "", prefix: Iterable[Chunk] = ()) -> dict[str, Json]:
    """A hang entry."""
    entry: dict[str, Json] = {"kind": "hang", "chunks": list(prefix)}
    return entry | ({"readyFile": ready_file} if ready_file else {})


def session_log(opening: str, calls: Iterable[list[Chunk]], session: str = "s0", parent: str = "") -> bytes:
    """A log of one turn, opened by one user message, with a step for each call."""
    header: dict[str, Json] = {"type": "session", "version": 0, "id": session, "createdAt": 0}
    if parent:
        header |= {"parentSession": parent, "delegationDepth": 1}
    message = {"content": [{"type": "text", "text": opening}], "role": "user"}
    rows: list[Json] = [header, {"type": "turn/start", "data": {"turn": 1}}]
    for step, chunks in enumerate(calls, 1):
        place = {"turn": 1, "step": step}
        rows.append({"type": "step/start", "data": place})
        if step == 1:
            rows.append({"type": "user/message", "data": message})
        rows += [{"type": "assistant/chunk", "data": {**place, "chunk": chunk}} for chunk in chunks]
        rows.append({"type": "step/end", "data": place})
    rows.append({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def lanes_of(
    *entries: Json, opening: str = "hello", children: Iterable[tuple[str, list[list[Chunk]]]] = ()
) -> list[Lane]:
    """A parent lane of the given override entries, then a child lane for each `(opening, calls)`."""
    logs = [read_log(session_log(opening, []), "session.jsonl")]
    for number, (text, calls) in enumerate(children, 1):
        data = session_log(text, calls, session=f"s{number}", parent="s0")
        logs.append(read_log(data, f"session.{number}.jsonl"))
    patches = [
        {"at": at, "entry": {"kind": "chunks", "chunks": entry} if isinstance(entry, list) else entry}
        | ({"lane": "parent"} if len(logs) > 1 else {})
        for at, entry in enumerate(entries)
    ]
    if not patches:
        return derive_lanes(logs)
    override = parse_override(orjson.dumps({"patches": patches}), "replay.override.json")
    return apply_override(derive_lanes(logs), override)


def write_fixture(
    directory: Path, *calls: list[Chunk], override: Json = None, opening: str = "hello"
) -> Path:
    """A fixture directory with one session log and, if given, an override."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "session.jsonl").write_bytes(session_log(opening, calls))
    if override is not None:
        (directory / "replay.override.json").write_bytes(orjson.dumps(override))
    return directory
