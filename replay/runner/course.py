"""What an agent did, step by step, without its words: what two runs of the same thing have in common. Pure."""

from collections.abc import Sequence
from typing import Any

__all__ = ["course_of"]


def course_of(frames: Sequence[Any]) -> list[str]:
    """A step for each frame of stdout; neighbours that are alike are one, for a text may be cut otherwise."""
    steps: list[str] = []
    for frame in frames:
        step = _step(frame)
        if not steps or steps[-1] != step:
            steps.append(step)
    return steps


def _step(frame: Any) -> str:
    if not isinstance(frame, dict):
        return "no message"
    if "method" not in frame:
        return "an error" if "error" in frame else "a reply"
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return f"{frame['method']} {kind}" if isinstance(kind, str) else str(frame["method"])
