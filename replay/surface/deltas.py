"""Texts that arrive in pieces: the deltas of a block over rows of a session log, message chunks over frames.

Whoever looks for something in a text has to look at the whole of it, since a model streams a path or a key in
several pieces. A text ends where its block ends, or where an update of another kind follows.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.surface.eventlog import packed_of
from replay.surface.values import Json

__all__ = ["MARKERS", "Run", "streamed_texts"]

MARKERS: Final = ("-chunks", "-delta", "_chunk")
"""A text of rows without any of these holds no text in pieces."""

_PACKED: Final = {"text-chunks": "text", "reasoning-chunks": "reasoning", "tool-call-chunks": "tool-call"}
_DELTAS: Final = {
    "text-delta": ("text", "text"),
    "reasoning-delta": ("reasoning", "text"),
    "tool-call-delta": ("tool-call", "argumentsDelta"),
}
_UPDATES: Final = frozenset(("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"))

type _Key = tuple[Json, ...]


class Run(NamedTuple):
    """The pieces of a text that one row holds: the strings of the list at `path`, or the one string there."""

    row: int
    path: tuple[str | int, ...]
    texts: list[str]
    is_list: bool

    def path_of(self, piece: int) -> tuple[str | int, ...]:
        """Where a piece of the run stands in its row."""
        return (*self.path, piece) if self.is_list else self.path


def streamed_texts(rows: Sequence[Json]) -> list[list[Run]]:
    """The texts of `rows` that come in pieces, one alone included, in the order in which they begin."""
    texts: list[list[Run]] = []
    blocks: dict[_Key, list[Run]] = {}
    updates: dict[Json, tuple[_Key, list[Run]]] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        kind = row.get("type")
        if kind is None:
            _add_update(index, row, updates, texts)
        elif kind == "assistant/chunk":
            _add_chunk(index, row, blocks, texts)
        elif isinstance(kind, str) and kind in _PACKED:
            packed = packed_of(row)
            if packed is not None:
                data, field, pieces = packed
                key = (
                    _PACKED[kind],
                    *map(_hashable, (data.get("turn"), data.get("step"), data.get("index"))),
                )
                _add(blocks, key, Run(index, ("data", field), pieces, True), texts)
    return texts


def _add(blocks: dict[_Key, list[Run]], key: _Key, run: Run, texts: list[list[Run]]) -> None:
    runs = blocks.get(key)
    if runs is None:
        runs = blocks[key] = []
        texts.append(runs)
    runs.append(run)


def _add_chunk(
    index: int, row: dict[str, Json], blocks: dict[_Key, list[Run]], texts: list[list[Run]]
) -> None:
    """Add the delta of a chunk's row; forget the blocks that the row begins anew or ends."""
    data = row.get("data")
    chunk = data.get("chunk") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(chunk, dict):
        return
    call = (_hashable(data.get("turn")), _hashable(data.get("step")))
    block = (*call, _hashable(chunk.get("index")))
    kind = chunk.get("type")
    delta = _DELTAS.get(kind) if isinstance(kind, str) else None
    if delta is not None:
        family, field = delta
        piece = chunk.get(field)
        if isinstance(piece, str):
            _add(blocks, (family, *block), Run(index, ("data", "chunk", field), [piece], False), texts)
    elif kind in ("block-start", "block-end"):
        for family in _PACKED.values():
            blocks.pop((family, *block), None)
    elif kind == "finish":
        for key in [key for key in blocks if key[1:3] == call]:
            del blocks[key]


def _add_update(
    index: int, row: dict[str, Json], updates: dict[Json, tuple[_Key, list[Run]]], texts: list[list[Run]]
) -> None:
    """Add the piece of a session/update frame; an update of another kind ends the session's text."""
    params = row.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    if row.get("method") != "session/update" or not isinstance(params, dict) or not isinstance(update, dict):
        return
    session = _hashable(params.get("sessionId"))
    kind, content = update.get("sessionUpdate"), update.get("content")
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _UPDATES or not isinstance(text, str):
        updates.pop(session, None)
        return
    key = (kind, _hashable(update.get("messageId")))
    known = updates.get(session)
    if known is None or known[0] != key:
        known = updates[session] = (key, [])
        texts.append(known[1])
    known[1].append(Run(index, ("params", "update", "content", "text"), [text], False))


def _hashable(value: Json) -> Json:
    return None if isinstance(value, (dict, list)) else value
