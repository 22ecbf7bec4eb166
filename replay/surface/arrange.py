"""Two relaxations that a suite may ask for, each with its reason; neither is ever a default.

Floating: notifications whose place is not part of the agent's contract are compared, but not where they stand.
Merging: adjacent text chunks of one message are compared as one text. Both are idempotent and lose no content.
"""

from collections.abc import Collection, Sequence
from typing import Final

from replay.surface.values import Json

__all__ = ["float_updates", "merge_text"]

_TEXT_UPDATES: Final = frozenset(("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"))


def float_updates(frames: Sequence[Json], kinds: Collection[str]) -> list[Json]:
    """`frames` with the session/update notifications of `kinds` moved to the end, in the order of `kinds` by name.

    Two of one kind keep their order: that the second supersedes the first is part of the contract.
    """
    still: list[Json] = []
    floating: dict[str, list[Json]] = {kind: [] for kind in sorted(kinds)}
    for frame in frames:
        update = _update(frame)
        kind = str(update.get("sessionUpdate")) if update is not None else ""
        floating.get(kind, still).append(frame)
    return still + [frame for group in floating.values() for frame in group]


def merge_text(frames: Sequence[Json]) -> list[Json]:
    """`frames` with adjacent text chunks that differ in nothing but their text joined into the first."""
    out: list[Json] = []
    for frame in frames:
        if out:
            joined = _joined(out[-1], frame)
            if joined is not None:
                out[-1] = joined
                continue
        out.append(frame)
    return out


def _update(frame: Json) -> dict[str, Json] | None:
    if not isinstance(frame, dict) or frame.get("method") != "session/update":
        return None
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return update if isinstance(update, dict) else None


def _text(frame: Json) -> str | None:
    update = _update(frame)
    if update is None or update.get("sessionUpdate") not in _TEXT_UPDATES:
        return None
    content = update.get("content")
    text = content.get("text") if isinstance(content, dict) and content.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _with_text(frame: Json, text: str) -> Json:
    assert isinstance(frame, dict)
    params = frame["params"]
    assert isinstance(params, dict)
    update = params["update"]
    assert isinstance(update, dict)
    content = update["content"]
    assert isinstance(content, dict)
    update = {**update, "content": {**content, "text": text}}
    return {**frame, "params": {**params, "update": update}}


def _joined(first: Json, second: Json) -> Json | None:
    """One frame for two, None unless they are text chunks of the same message."""
    left, right = _text(first), _text(second)
    if left is None or right is None or _with_text(first, "") != _with_text(second, ""):
        return None
    return _with_text(first, left + right)
