"""The provenance of a recorded log: what recorded it, from what and when, and the checksum of what the model said. Pure."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from replay import VERSION
from replay.errors import FixtureError
from replay.session import SessionLog, encode_log, model_checksum, read_log

__all__ = ["Origin", "agent_of", "stamp"]

_KEY = "provenance"
_SAME = ("kind", "model", "agent", "checksum")
"""What makes two stamps of one log the same recording; when and by which version it was made do not."""


class Origin(NamedTuple):
    """Where a recording comes from. captured: YYYY-MM-DD."""

    model: str
    agent: str
    version: str
    captured: str


def agent_of(frames: Iterable[Any]) -> tuple[str, str]:
    """Name and version by which an agent introduced itself, "" for what it did not say."""
    for frame in frames:
        result = frame.get("result") if isinstance(frame, dict) else None
        info = result.get("agentInfo") if isinstance(result, dict) else None
        if isinstance(info, dict):
            return str(info.get("name") or ""), str(info.get("version") or "")
    return "", ""


def stamp(log: SessionLog, origin: Origin, committed: bytes | None) -> bytes:
    """The log with its provenance; with the committed one where nothing else of the two differs."""
    provenance: dict[str, Any] = {
        "kind": "recorded",
        "model": origin.model,
        "agent": {"name": origin.agent, "version": origin.version},
        "tool": f"agent_replay {VERSION}",
        "capturedAt": origin.captured,
        "cwdPolicy": "fresh",
        "checksum": model_checksum(log),
    }
    header = {name: value for name, value in log.header.fields.items() if name != _KEY}
    rows = [row.fields for row in log.rows]
    before = _read(committed)
    if before is not None:
        old = dict(before.header.fields)
        told = old.pop(_KEY, None)
        is_same = isinstance(told, dict) and all(told.get(key) == provenance[key] for key in _SAME)
        if is_same and old == header and [row.fields for row in before.rows] == rows:
            provenance = told
    return encode_log({**header, _KEY: provenance}, rows)


def _read(data: bytes | None) -> SessionLog | None:
    """A committed log that can be read; what cannot is recorded anew."""
    try:
        return None if data is None else read_log(data, "")
    except FixtureError:
        return None
