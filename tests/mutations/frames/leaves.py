"""Other values for the leaves of a frame: what a provider, or an orchestrator, might have said instead. Pure.

A text that names one of a few things (a status, a decision, a kind) becomes another that the same place may hold; any
other text becomes one that nobody wrote. A number moves by one, a boolean turns round, null becomes a text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.surface.values import json_path_step
from replay.transport.transcript import Frame

__all__ = ["ABSENT", "Path", "changed_values", "leaves_of", "places_of", "spelled", "with_value"]

type Path = tuple[str | int, ...]

ABSENT = object()
"""In place of a value: the key goes, or the item of a list."""

_MARK = "~"
# Where a provider names an outcome, another outcome means most.
_OPPOSITES = {
    "accept": "decline",
    "allow": "deny",
    "allow_once": "reject_once",
    "allow-once": "reject-once",
    "approved": "denied",
    "cancelled": "end_turn",
    "completed": "failed",
    "end_turn": "refusal",
    "error": "success",
    "failed": "completed",
    "finished": "error",
    "idle": "busy",
    "inProgress": "completed",
    "in_progress": "completed",
    "interrupted": "completed",
    "once": "reject",
    "pending": "completed",
    "running": "completed",
    "success": "error",
}


def places_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything below `value` with its path, in reading order: members and items, not `value` itself."""
    items: Iterator[tuple[str | int, Any]]
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    else:
        return
    for key, item in items:
        yield (*path, key), item
        yield from places_of(item, (*path, key))


def leaves_of(frame: Frame) -> Iterator[tuple[Path, Any]]:
    """The values that hold no others."""
    return ((path, value) for path, value in places_of(frame) if not isinstance(value, (dict, list)))


def changed_values(path: Path, value: Any, seen: Mapping[Path, Sequence[Any]]) -> list[Any]:
    """What a leaf may become, the likeliest first. seen: what leaves of this path hold elsewhere in the transcript."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1]
    if value is None:
        return [_MARK]
    if value in _OPPOSITES:
        return [_OPPOSITES[value], f"{value}{_MARK}"]
    others = [other for other in seen.get(path, ()) if isinstance(other, str) and other != value]
    return [*others[:1], f"{value}{_MARK}"]


def with_value(value: Any, path: Path, item: Any) -> Any:
    """A copy of `value` with `item` at the path, or without what is there."""
    key, *rest = path
    if isinstance(value, list):
        copy: Any = list(value)
    else:
        copy = dict(value)
    if rest:
        copy[key] = with_value(copy[key], tuple(rest), item)
    elif item is ABSENT:
        del copy[key]
    else:
        copy[key] = item
    return copy


def spelled(path: Path) -> str:
    """The path as messages write it."""
    return "$" + "".join(map(json_path_step, path))
