"""Four relaxations that a suite may ask for, each with its reason; none is ever a default.

Floating: notifications whose place is not part of the agent's contract are compared, but not where they stand.
Merging: adjacent text chunks of one message are compared as one text.
Parallel tools: updates of tool calls that run at once keep their order for each call, not among the calls.
Ignoring (ignore.py): at some paths a value has to be there and may be any.
All are idempotent, and the first three, which are for stdout alone, lose no content.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from replay.surface.ignore import Ignored
from replay.surface.values import Json

__all__ = ["arrange", "float_updates", "group_tools", "merge_text"]

_TOOL_UPDATES: Final = frozenset(("tool_call", "tool_call_update"))
_TEXT_UPDATES: Final = frozenset(("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"))


def arrange(surface: str, values: Sequence[Json], options: Mapping[str, Any]) -> list[Json]:
    """`values` of a surface as the suite's options have them compared.

    Raises UsageError for a malformed `ignored`.
    """
    ignored = Ignored(options.get("ignored") or ())
    if surface != "stdout":
        return ignored.masked(surface, values)
    # Floating first: what floats must not part two chunks, or two updates, that belong together.
    kinds = [entry["kind"] for entry in options.get("floating") or ()]
    arranged = float_updates(values, kinds) if kinds else list(values)
    if options.get("parallel_tools"):
        arranged = group_tools(arranged)
    # Kinds are read by now; chunks that differ by what is ignored are merged, and their texts may be ignored.
    arranged = ignored.masked(surface, arranged)
    return ignored.masked(surface, merge_text(arranged)) if options.get("merge_text") else arranged


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


def group_tools(frames: Sequence[Json]) -> list[Json]:
    """`frames` with each stretch of adjacent tool updates sorted by tool call; those of one call keep their order."""
    out: list[Json] = []
    stretch: list[tuple[str, Json]] = []
    for frame in [*frames, None]:
        update = _update(frame)
        if update is not None and update.get("sessionUpdate") in _TOOL_UPDATES:
            stretch.append((str(update.get("toolCallId")), frame))
            continue
        out.extend(item for _, item in sorted(stretch, key=_call_of))
        stretch.clear()
        out.append(frame)
    return out[:-1]


def _call_of(item: tuple[str, Json]) -> str:
    return item[0]


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
