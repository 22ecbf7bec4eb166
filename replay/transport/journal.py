"""The frames journal of one transcript: what crossed, in order, for whoever asks why a run went wrong. Pure.

A frame that was matched or emitted is in the transcript, so its row names the entry and not the frame: a journal holds
no secret that the transcript does not. Only a frame that matches nothing is kept itself, and withheld if something in
it looks like a secret. Bounded: of a long run the last rows stay.
"""

from collections import deque
from typing import Any

import orjson

__all__ = ["MAX_ROWS", "Journal"]

MAX_ROWS = 20_000
_MAX_FRAME_BYTES = 64 << 10


class Journal:
    """Rows in the order of what happened."""

    __slots__ = ("_dropped", "_rows")

    def __init__(self) -> None:
        self._rows: deque[tuple[int, int, str, tuple[int, ...], str, bytes]] = deque(maxlen=MAX_ROWS)
        self._dropped = 0

    def add(
        self,
        at_ms: int,
        connection: int,
        what: str,
        ordinals: tuple[int, ...] = (),
        label: str = "",
        frame: bytes = b"",
    ) -> None:
        """at_ms: on the host's clock. what: open, outbound, inbound, exit, end, close, diverged. frame: of no entry."""
        self._dropped += len(self._rows) == MAX_ROWS
        self._rows.append((at_ms, connection, what, ordinals, label, frame))

    def to_ndjson(self) -> bytes:
        """The journal as a file."""
        lines = [{"dropped": self._dropped}] if self._dropped else []
        lines += map(_fields, self._rows)
        return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)


def _fields(row: tuple[int, int, str, tuple[int, ...], str, bytes]) -> dict[str, Any]:
    at_ms, connection, what, ordinals, label, frame = row
    fields: dict[str, Any] = {"atMs": at_ms, "connection": connection, "what": what}
    if ordinals:
        fields["entries"] = ordinals
    if label:
        fields["label"] = label
    if frame:
        fields |= _shown(frame)
    return fields


def _shown(frame: bytes) -> dict[str, Any]:
    if len(frame) > _MAX_FRAME_BYTES:
        return {"withheld": f"a frame of {len(frame)} bytes"}
    # Only a run that diverged pays for the search.
    from replay.surface.secrets import scan

    text = frame.decode("utf-8", "replace")
    found = scan(text)
    if found:
        return {"withheld": found[0].kind}
    return {"frame": orjson.loads(frame)}
