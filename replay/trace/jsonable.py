"""What an agent's functions take and return, as JSON: copied at once, since an agent may change it afterwards.

JSON stays what it is; a tuple becomes a list, NaN and infinities null. Objects that can say what they are (dataclasses,
pydantic models, anything with `model_dump` or `to_dict`) become that. Three spellings keep what JSON lacks:

    {"$bytes": base64}                    bytes
    {"$json": text}                       what UTF-8 or 64 bits cannot hold, as JSON in ASCII
    {"$object": type, "text": its repr}   anything else; it cannot be made again

thaw undoes the first two.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from replay.trace.limits import MAX_NESTING
from replay.trace.markers import is_deeper

__all__ = ["BYTES", "JSON", "OBJECT", "bounded", "freeze", "is_frozen_object", "thaw", "type_name"]

BYTES, JSON, OBJECT = "$bytes", "$json", "$object"

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MOST_TEXT = 1000
# Of a value that an agent hands over; what is deeper is a cycle, or nothing that anybody compares.
_MOST_NESTING = MAX_NESTING // 2


def freeze(value: Any) -> bytes:
    """The value as JSON. Never raises for a value, whatever it is."""
    try:
        return orjson.dumps(value, default=_say)
    except TypeError, ValueError, RecursionError:
        return orjson.dumps(_plain(value, 0))


def bounded(value: Any) -> Any:
    """A JSON value, cut where it nests deeper than a trace may."""
    return _plain(value, 0) if is_deeper([value], _MOST_NESTING + 1) else value


def thaw(value: Any) -> Any:
    """A JSON value with bytes, long numbers and odd text made again."""
    if isinstance(value, dict):
        if len(value) == 1:
            [(key, text)] = value.items()
            if key == BYTES and isinstance(text, str):
                return base64.b64decode(text)
            if key == JSON and isinstance(text, str):
                return json.loads(text)
        return {key: thaw(inner) for key, inner in value.items()}
    return [thaw(inner) for inner in value] if isinstance(value, list) else value


def is_frozen_object(value: Any) -> bool:
    """Whether JSON stands for an object that cannot be made again."""
    return isinstance(value, dict) and OBJECT in value


def type_name(kind: type) -> str:
    """ "module.QualName", without the module for Python's own."""
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _say(value: Any) -> Any:
    """One step nearer to JSON, for a value that orjson does not know."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=freeze)
    if isinstance(value, Mapping):
        return dict(value)
    for name in ("model_dump", "to_dict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return _said(method, value)
    return _object(value)


def _said(method: Callable[[], Any], value: Any) -> Any:
    try:
        return method()
    except Exception:
        # It is the agent's object, and its fault must not become the agent's failure.
        return _object(value)


def _object(value: Any) -> dict[str, str]:
    try:
        text = _ADDRESS.sub("", repr(value))[:_MOST_TEXT]
    except Exception:
        text = ""
    return {OBJECT: type_name(type(value)), "text": text.encode("utf-8", "backslashreplace").decode()}


def _plain(value: Any, depth: int) -> Any:
    """The value as orjson takes it for certain, by a slow walk."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return value if _is_text(value) else {JSON: json.dumps(str(value))}
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else _long(value)
    if depth > _MOST_NESTING:
        return {OBJECT: type_name(type(value)), "text": f"nests deeper than {_MOST_NESTING} levels"}
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1) for inner in value]
    try:
        # Dates, enumerations, dataclasses.
        return orjson.loads(orjson.dumps(value))
    except TypeError, ValueError:
        return _plain(_say(value), depth + 1)


def _long(value: int) -> dict[str, str]:
    # Not in decimal: Python refuses to write a number of thousands of digits.
    return (
        {JSON: str(value)}
        if value.bit_length() < 1 << 12
        else {OBJECT: "int", "text": hex(value)[:_MOST_TEXT]}
    )


def _key(key: Any) -> str:
    text = key if isinstance(key, str) else _plain_text(key)
    return text if _is_text(text) else json.dumps(text)


def _plain_text(key: Any) -> str:
    return (
        key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else freeze(key).decode().strip('"')
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
