"""The checksum of the model's half of a session log: what a recording got from a model, whoever packed it and how.

The agent's half is left out, so that a refresh that renews it keeps the checksum; whoever changes by hand what the
model is said to have answered does not.
"""

from typing import Any

import orjson

from replay.session.log import SessionLog
from replay.session.packing import unpack

__all__ = ["model_checksum"]

# What the agent asked is the agent's half.
_OF_THE_AGENT = frozenset(("request",))


def model_checksum(log: SessionLog) -> str:
    """`sha256:<64 hex digits>` over each chunk and each call's start and end, in order.

    Packing, delays, times and the order of keys do not count; placeholders count as they stand.
    """
    from hashlib import sha256  # not on the way of a replay

    digest = sha256()
    for row in unpack(log.rows):
        half = _model_half(row.type, row.data)
        if half is not None:
            digest.update(orjson.dumps(half, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))
    return f"sha256:{digest.hexdigest()}"


def _model_half(kind: str, data: dict[str, Any]) -> list[Any] | None:
    if kind == "assistant/chunk":
        return [kind, data["chunk"]]
    if kind in ("call/start", "call/end"):
        return [kind, {key: item for key, item in data.items() if key not in _OF_THE_AGENT}]
    return None
