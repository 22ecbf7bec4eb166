"""Which texts of a provider's frames come in pieces: a path that a model streams stands whole in no frame.

Each protocol has a function that says of an inbound frame which text it goes on with and where the piece stands, or
that it ends the texts of a name. Source: what the protocols' own documents and the recordings call a delta.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.transport.transcript import Frame

__all__ = ["Path", "Piece", "streamed_texts"]

type Path = tuple[str | int, ...]


class Piece(NamedTuple):
    """A piece of the text `key`, at `path` of its frame; without a path the text of that key ends here."""

    key: tuple[Any, ...]
    path: Path = ()


def streamed_texts(frames: Sequence[Frame], protocol: str) -> list[list[tuple[int, Path]]]:
    """For each text of several pieces: where they stand, (index of the frame, path), in order."""
    piece_of = _PIECES.get(protocol)
    if piece_of is None:
        return []
    texts: list[list[tuple[int, Path]]] = []
    open_texts: dict[tuple[Any, ...], list[tuple[int, Path]]] = {}
    for index, frame in enumerate(frames):
        piece = piece_of(frame)
        if piece is None:
            continue
        if not piece.path:
            open_texts.pop(piece.key, None)
        elif isinstance(_at(frame, piece.path), str):
            text = open_texts.get(piece.key)
            if text is None:
                text = open_texts[piece.key] = []
                texts.append(text)
            text.append((index, piece.path))
    return [text for text in texts if len(text) > 1]


def _codex(frame: Frame) -> Piece | None:
    """`item/agentMessage/delta`, `item/reasoning/summaryTextDelta`, `item/commandExecution/outputDelta`…"""
    method, params = frame.get("method"), frame.get("params")
    if not isinstance(method, str) or not method.lower().endswith("delta") or not isinstance(params, dict):
        return None
    parts = (params.get("itemId"), params.get("summaryIndex"), params.get("contentIndex"))
    return Piece((method, *map(_hashable, parts)), ("params", "delta"))


_CLAUDE_DELTAS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}


def _claude(frame: Frame) -> Piece | None:
    """`stream_event` with the provider's own events in it."""
    event = frame.get("event")
    if frame.get("type") != "stream_event" or not isinstance(event, dict):
        return None
    key = (_hashable(frame.get("parent_tool_use_id")), _hashable(event.get("index")))
    if event.get("type") == "content_block_start":
        return Piece(key)
    delta = event.get("delta")
    field = _CLAUDE_DELTAS.get(str(delta.get("type"))) if isinstance(delta, dict) else None
    if event.get("type") != "content_block_delta" or field is None:
        return None
    return Piece(key, ("event", "delta", field))


def _acp(frame: Frame) -> Piece | None:
    """Chunks of messages and thoughts; an update of another kind ends a session's text."""
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    if (
        frame.get("method") != "session/update"
        or not isinstance(params, dict)
        or not isinstance(update, dict)
    ):
        return None
    kind = str(update.get("sessionUpdate"))
    key = (_hashable(params.get("sessionId")),)
    if not kind.endswith("_chunk"):
        return Piece(key)
    return Piece(key, ("params", "update", "content", "text"))


def _opencode(frame: Frame) -> Piece | None:
    """`message.part.delta`, and the delta beside the whole part in `message.part.updated`."""
    event = frame.get("event")
    properties = event.get("properties") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(properties, dict) or "delta" not in properties:
        return None
    part = properties.get("part")
    identity = part.get("id") if isinstance(part, dict) else properties.get("partID")
    return Piece((_hashable(identity), _hashable(properties.get("field"))), ("event", "properties", "delta"))


def _cursor(frame: Frame) -> Piece | None:
    """`interaction.update` with a piece of text; another update ends it."""
    update = frame.get("update")
    if frame.get("type") != "interaction.update" or not isinstance(update, dict):
        return None
    key = (_hashable(frame.get("runId")),)
    if not str(update.get("type")).endswith("-delta"):
        return Piece(key)
    return Piece((*key, update.get("type")), ("update", "text"))


_PIECES: Final[Mapping[str, Callable[[Frame], Piece | None]]] = {
    "acp.ndjson-jsonrpc": _acp,
    "claude-agent-sdk.query": _claude,
    "codex.app-server": _codex,
    "cursor-agent-sdk.local": _cursor,
    "opencode-sdk.sse": _opencode,
}


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, type(None))) else None
