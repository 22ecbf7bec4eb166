"""Spellings of a trace file that are not the value itself: blobs, values that look like one, messages sent before. Pure.

    {"$blob": "sha256:…", "bytes": n}                  text that lies beside the trace
    {"$blob": "sha256:…", "bytes": n, "json": true}    a value whose JSON lies there, in which nothing is spelled
    {"$literal": {…}}                                  an object that has a key "$blob" or "$literal" of its own
    {"$after": "s1", "keep": n, "then": […]}           the first n messages (or tools) of step s1, and then these

A conversation is sent again with every call; the last spelling keeps its file as long as the conversation. The writer
always uses the longest beginning that any step before had, and names the first step that had it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from replay.trace.limits import BLOB_STRING_BYTES, BLOB_VALUE_BYTES, MAX_NESTING
from replay.trace.model import BlobRef

__all__ = [
    "AFTER",
    "AFTER_KEYS",
    "BLOB",
    "LITERAL",
    "Beginnings",
    "Fetch",
    "Put",
    "encode_value",
    "has_markers",
    "is_deeper",
    "literal",
    "resolve",
]

BLOB, LITERAL, AFTER = "$blob", "$literal", "$after"
AFTER_KEYS = frozenset((AFTER, "keep", "then"))
_SPELLED = (b'"$blob"', b'"$literal"', b"u0024")

type Put = Callable[[bytes], str]
type Fetch = Callable[[dict[str, Any], tuple[str | int, ...]], Any]


def has_markers(document: bytes) -> bool:
    """Whether a document can hold a blob or a literal; false for nearly all, which then need no walk."""
    return any(spelled in document for spelled in _SPELLED)


def resolve(value: Any, fetch: Fetch, parts: tuple[str | int, ...]) -> Any:
    """The value that is spelled. fetch gives the value of a blob's object. Its nesting was checked before."""
    if isinstance(value, dict):
        if BLOB in value:
            return fetch(value, parts)
        if len(value) == 1 and isinstance(value.get(LITERAL), dict):
            value, parts = value[LITERAL], (*parts, LITERAL)
        return {key: resolve(inner, fetch, (*parts, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolve(inner, fetch, (*parts, at)) for at, inner in enumerate(value)]
    return value


def encode_value(value: Any, put: Put | None) -> Any:
    """How a file spells the value of a member. Raises ValueError for what JSON cannot hold."""
    spelled = _spell(value, put, 0)
    if put is None or isinstance(spelled, str | int | float | None) or _is_reference(spelled):
        return spelled
    if len(orjson.dumps(spelled)) <= BLOB_VALUE_BYTES:
        return spelled
    try:
        data = orjson.dumps(value)
    except orjson.JSONEncodeError:
        # It holds references that nobody fetched.
        return spelled
    return {BLOB: put(data), "bytes": len(data), "json": True}


def _spell(value: Any, put: Put | None, depth: int) -> Any:
    if isinstance(value, str):
        # At most four bytes a character.
        if put is None or len(value) * 4 <= BLOB_STRING_BYTES:
            return value
        data = value.encode()
        return value if len(data) <= BLOB_STRING_BYTES else {BLOB: put(data), "bytes": len(data)}
    if depth > MAX_NESTING:
        raise ValueError(f"nests deeper than {MAX_NESTING} levels")
    if isinstance(value, Mapping):
        spelled = {key: _spell(inner, put, depth + 1) for key, inner in value.items()}
        return literal(spelled)
    if isinstance(value, BlobRef):
        reference = {BLOB: value.digest, "bytes": value.size_bytes}
        return reference | {"json": True} if value.is_json else reference
    if isinstance(value, list | tuple):
        return [_spell(inner, put, depth + 1) for inner in value]
    return value


def literal(spelled: dict[str, Any]) -> dict[str, Any]:
    """An object whose values are spelled, told apart from a spelling where it looks like one."""
    return {LITERAL: spelled} if BLOB in spelled or LITERAL in spelled else spelled


def _is_reference(spelled: Any) -> bool:
    return isinstance(spelled, dict) and BLOB in spelled


class Beginnings:
    """What the steps so far have sent, as a tree of beginnings: one node for each that is different."""

    __slots__ = ("_first_step", "_nodes", "_spelled")

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, bytes], int] = {}
        self._first_step: list[str] = [""]
        self._spelled: dict[int, tuple[Any, Any, bytes]] = {}

    def spell(self, step_id: str, values: Sequence[Any], put: Put | None) -> Any:
        """How a file spells the list of a step, and remembers it."""
        node = kept = 0
        first = ""
        spelled = []
        for at, value in enumerate(values):
            inner, key = self._spell(value, put)
            spelled.append(inner)
            found = self._nodes.get((node, key))
            if found is None:
                found = self._nodes[node, key] = len(self._first_step)
                self._first_step.append(step_id)
            else:
                kept, first = at + 1, self._first_step[found]
            node = found
        return {AFTER: first, "keep": kept, "then": spelled[kept:]} if kept else spelled

    def _spell(self, value: Any, put: Put | None) -> tuple[Any, bytes]:
        # By identity: a conversation that grows holds the same messages in every step. The value is held, so that
        # its identity is given to no other.
        known = self._spelled.get(id(value))
        if known is None:
            spelled = encode_value(value, put)
            known = self._spelled[id(value)] = (value, spelled, orjson.dumps(spelled))
        return known[1], known[2]


def is_deeper(value: Any, limit: int) -> bool:
    """Whether a JSON value nests deeper than `limit` levels."""
    level = [value]
    for _ in range(limit):
        inner: list[Any] = []
        for each in level:
            inner.extend(each.values() if isinstance(each, dict) else each)
        level = [each for each in inner if isinstance(each, dict | list)]
        if not level:
            return False
    return True
