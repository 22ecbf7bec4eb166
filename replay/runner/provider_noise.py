"""What a provider sends along that is another number at every call: timings, ids of its own, what its cache held.

None of it is what the model said, so a recording leaves it out, and the same words recorded twice are the same bytes.
Counts of tokens stay. Tool call ids stay too: the agent answers by them.
"""

from typing import Any, Final

__all__ = ["without_noise"]

_NAMES: Final = frozenset(
    (
        *("created", "created_at", "createdAt", "id", "request_id", "requestId", "response_id", "responseId"),
        *("system_fingerprint", "systemFingerprint", "timings", "obfuscation", "createTime"),
    )
)
_ENDINGS: Final = ("_time", "_ms", "_duration", "_per_second", "_latency")
_CACHED: Final = "cacheReadTokens"


def without_noise(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk of a reply without such members; the chunk itself where it has none."""
    kind = chunk.get("type")
    if kind == "usage" and isinstance(chunk.get("usage"), dict):
        usage = _quiet(chunk["usage"])
        if usage.get(_CACHED):
            # Whether the provider had seen the beginning before is no matter of this conversation.
            usage = {**usage, _CACHED: 0}
        return {**chunk, "usage": usage}
    if kind == "finish" and isinstance(chunk.get("extras"), dict):
        extras = _quiet(chunk["extras"])
        rest = {key: value for key, value in chunk.items() if key != "extras"}
        return {**rest, "extras": extras} if extras else rest
    return chunk


def _quiet(members: dict[str, Any]) -> dict[str, Any]:
    """`members` without noise at any depth, and without what was only noise."""
    kept: dict[str, Any] = {}
    for name, value in members.items():
        if name in _NAMES or name.endswith(_ENDINGS):
            continue
        if isinstance(value, dict) and value:
            value = _quiet(value)
            if not value:
                continue
        kept[name] = value
    return kept
