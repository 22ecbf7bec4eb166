"""Reading JSON of others: a field that is missing or of another type is None or empty, never an exception."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["JsonObject", "list_at", "object_at", "text_at", "value_at"]

JsonObject = dict[str, Any]


def value_at(value: object, *path: str) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text_at(value: object, *path: str) -> str | None:
    found = value_at(value, *path)
    return found if isinstance(found, str) else None


def object_at(value: object, *path: str) -> JsonObject:
    found = value_at(value, *path)
    return found if isinstance(found, dict) else {}


def list_at(value: object, *path: str) -> Sequence[Any]:
    found = value_at(value, *path)
    return found if isinstance(found, list) else []
