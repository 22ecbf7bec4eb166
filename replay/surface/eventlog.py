"""What only session logs have: fields that a fixture omits, and runs of deltas packed into one row.

Knows the names of design 4.1 and nothing else of the session room: rows come and go as JSON values.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from replay.surface.fields import field_kinds
from replay.surface.names import NESTED_ID, UUID
from replay.surface.values import Json

__all__ = ["HEADER", "Packed", "packed_of", "said_ids", "served_ids", "without_clock"]

HEADER: Final = "session"
_PIECES: Final = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}
_OMITTED: Final = frozenset(("seq", "time"))


def without_clock(row: Json) -> Json:
    """`row` without sequence number and time, its delays zero, its prompt and tool texts pinned elsewhere.

    Returns `row` itself where there is nothing to take away.
    """
    if not isinstance(row, dict):
        return row
    if "seq" in row or "time" in row:
        row = {key: item for key, item in row.items() if key not in _OMITTED}
    kind = str(row.get("type"))
    if kind == HEADER:
        if isinstance(row.get("createdAt"), (int, float)):
            row = {**row, "createdAt": 0}
    elif kind in _PIECES:
        data = row.get("data")
        delays = data.get("dt") if isinstance(data, dict) else None
        if isinstance(data, dict) and isinstance(delays, list) and any(delays):
            row = {**row, "data": {**data, "dt": [0] * len(delays)}}
    elif kind == "request/header":
        return _pinned(row)
    return row


def _pinned(row: dict[str, Json]) -> Json:
    data = row.get("data")
    header = data.get("header") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(header, dict):
        return row
    pinned = {
        **header,
        **{name: f"{{{{{name}}}}}" for name in ("system", "tools") if header.get(name) is not None},
    }
    return {**row, "data": {**data, "header": pinned}}


type Packed = tuple[dict[str, Json], str, list[str]]
"""The data of a packed row, the field with its pieces, the pieces."""


def packed_of(row: Json) -> Packed | None:
    """What a packed row holds; None for any other row and for one of a wrong shape."""
    if not isinstance(row, dict):
        return None
    kind = row.get("type")
    field = _PIECES.get(kind) if isinstance(kind, str) else None
    if field is None:
        return None
    data = row.get("data")
    pieces = data.get(field) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(pieces, list):
        return None
    try:
        "".join(pieces)  # type: ignore[arg-type]
    except TypeError:
        return None
    return data, field, pieces  # type: ignore[return-value]


def served_ids(logs: Iterable[Iterable[Json]]) -> list[str]:
    """The ids that recorded model streams carry: the tool call ids of their chunks, each once, in order."""
    found: dict[str, None] = {}
    for rows in logs:
        for row in rows:
            if not isinstance(row, dict) or not isinstance(row.get("data"), dict):
                continue
            data = row["data"]
            if not isinstance(data, dict):
                continue
            kind = row.get("type")
            source = (
                data
                if kind == "tool-call-chunks"
                else data.get("chunk")
                if kind == "assistant/chunk"
                else None
            )
            if not isinstance(source, dict):
                continue
            for holder in (source, source.get("block")):
                if isinstance(holder, dict) and isinstance(holder.get("id"), str):
                    found[str(holder["id"])] = None
    return list(found)


def said_ids(logs: Iterable[Iterable[Json]]) -> list[str]:
    """The ids in what recorded models say: UUIDs and id fields of JSON in their texts, each once, in order.

    A model says them in each replay alike, so they are no run's. One that a run minted is a reference there.
    """
    kinds = field_kinds()
    found: dict[str, None] = {}
    for rows in logs:
        for text in _said(rows):
            if "-" in text:
                found.update(dict.fromkeys(UUID.findall(text)))
            if '":' in text or '" :' in text:
                nested = (match for match in NESTED_ID.finditer(text) if match[1] in kinds)
                found.update((match[3], None) for match in nested if "{{" not in match[3])
    return list(found)


def _said(rows: Iterable[Json]) -> Iterator[str]:
    """The texts of model streams, packed runs as one."""
    for row in rows:
        packed = packed_of(row)
        if packed is not None:
            yield "".join(packed[2])
            continue
        data = row.get("data") if isinstance(row, dict) and row.get("type") == "assistant/chunk" else None
        chunk = data.get("chunk") if isinstance(data, dict) else None
        if not isinstance(chunk, dict):
            continue
        for holder in (chunk, chunk.get("block")):
            if isinstance(holder, dict):
                yield from (
                    text
                    for name in ("text", "arguments", "argumentsDelta")
                    if isinstance(text := holder.get(name), str)
                )
