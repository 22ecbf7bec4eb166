"""Why a line of JSON was refused, in words, and what a JSON parser lets pass although a log must not hold it.

orjson refuses lone surrogates, NaN, invalid UTF-8 and deep nesting, but it turns an integer beyond 64 bits into a
float and keeps the last of two equal keys. Nothing here runs for a sound line, but for check_numbers, which scans
the bytes once, and the strict check of keys.
"""

import json
import math
import re
from typing import Any

from replay.errors import FixtureError, Location
from replay.session.chunk import shown

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_LINE_BYTES",
    "MAX_NESTING",
    "check_numbers",
    "check_repeated_keys",
    "is_too_deep",
    "json_path",
    "refused_document",
    "refused_line",
    "refused_value",
    "repeated_key",
]

MAX_FILE_BYTES = 256 << 20
MAX_LINE_BYTES = 16 << 20
# orjson writes no deeper than this; a log that could be read but not written again would break the round trip.
MAX_NESTING = 254

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_LONG_INTEGER = re.compile(rb"-?[0-9]{19,}(?![0-9.eE])")
_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})", re.MULTILINE)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,59}")
_LONGEST_PATH = 150
# Digits are 0, what may stand before a number is a comma: 19 digits within an id do not look like a number then.
_DIGITS_TO_0 = bytes(
    0x30 if 0x30 <= byte <= 0x39 else 0x2C if byte in b":,[- \t\r\n" else 0x20 for byte in range(256)
)
_LONG_NUMBER = b"," + b"0" * 19
# A slice that fits the cache is scanned twice as fast as the whole.
_SLICE_BYTES = 1 << 18


class _Pairs(list[tuple[str, Any]]):
    """An object as the list of its pairs, so that equal keys can be told apart."""


def json_path(parts: tuple[str | int, ...]) -> str:
    """("data", "texts", 0) -> "$.data.texts[0]", cut where it is longer than a message can bear."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if _PLAIN_NAME.fullmatch(part) else f"[{shown(part)}]"
    return path if len(path) <= _LONGEST_PATH else path[: _LONGEST_PATH - 3] + "..."


def refused_line(
    raw: bytes, file: str, line: int, refusal: json.JSONDecodeError, is_cut: bool
) -> FixtureError:
    """The error for a line that orjson refused. is_cut: it is the last line and has no line end."""
    if not raw.strip():
        return FixtureError("the line is empty; every line of a log is one JSON object", Location(file, line))
    _, path, what = refused_document(raw, refusal)
    if is_cut and not path and what.startswith("is not JSON"):
        what = "is cut off: the file ends in the middle of this line"
    return FixtureError(what, Location(file, line, path))


def refused_document(document: bytes, refusal: json.JSONDecodeError) -> tuple[int, str, str]:
    """Line, JSON path and reason for a document that orjson refused."""
    marker = _CONFLICT.search(document)
    if marker is not None:
        return document.count(b"\n", 0, marker.start()) + 1, "", "is a merge conflict marker"
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        start = document.rfind(b"\n", 0, error.start) + 1
        what = f"byte 0x{document[error.start]:02x} at column {error.start - start + 1} is not UTF-8"
        return document.count(b"\n", 0, error.start) + 1, "", what
    if "limit" in refusal.msg or is_too_deep(document):
        return 1, "", f"nests deeper than {MAX_NESTING} levels"
    try:
        # orjson refuses what the standard library takes: that is where the reason lies.
        found = refused_value(json.loads(text, parse_int=lambda digits: 0 if len(digits) < 300 else 1 << 64))
    except ValueError, RecursionError:
        found = None
    if found is not None:
        return 1, *found
    return refusal.lineno, "", f"is not JSON: {refusal.msg} at column {refusal.colno}"


def refused_value(value: Any) -> tuple[str, str] | None:
    """JSON path and reason of the first value that a log cannot hold, or None.

    That is: a lone surrogate, a number that is not finite, an integer beyond 64 bits, a key that is no string, a
    type that JSON lacks, nesting beyond MAX_NESTING.
    """
    # A stack of our own: a value handed to a writer may nest deeper than Python's recursion goes.
    todo: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while todo:
        parts, item = todo.pop()
        reason = _leaf_reason(item)
        if len(parts) > MAX_NESTING:
            return json_path(parts), f"nests deeper than {MAX_NESTING} levels"
        if reason is not None:
            return json_path(parts), reason
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    return json_path(parts), f"the key {shown(key)} is no string"
                if _is_lone(key):
                    return json_path(parts), f"the key {shown(key)} holds a lone surrogate"
            todo.extend(((*parts, key), item[key]) for key in reversed(item))
        elif isinstance(item, list | tuple):
            todo.extend(((*parts, at), item[at]) for at in reversed(range(len(item))))
    return None


def _leaf_reason(item: Any) -> str | None:
    if isinstance(item, str):
        return (
            "holds a lone surrogate, which is no text and cannot be written as UTF-8"
            if _is_lone(item)
            else None
        )
    if isinstance(item, float):
        return None if math.isfinite(item) else "is not a finite number, which JSON cannot hold"
    if isinstance(item, int):
        return None if -(1 << 63) <= item < 1 << 64 else "is a whole number beyond 64 bits"
    if item is None or isinstance(item, dict | list | tuple):
        return None
    return f"is a {type(item).__name__}, which JSON cannot hold"


def _is_lone(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def is_too_deep(raw: bytes) -> bool:
    """Whether a line nests deeper than MAX_NESTING. Brackets inside strings do not count."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_NESTING:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", raw)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_NESTING:
            return True
    return False


def check_numbers(data: bytes, lines: list[bytes], file: str) -> None:
    """Refuses integers beyond 64 bits, which orjson would round to a float. Raises FixtureError."""
    for start in range(0, len(data), _SLICE_BYTES):
        piece = data[start : start + _SLICE_BYTES + len(_LONG_NUMBER)].translate(_DIGITS_TO_0)
        if _LONG_NUMBER in piece:
            break
    else:
        return
    for line, raw in enumerate(lines, 1):
        if _LONG_NUMBER not in raw.translate(_DIGITS_TO_0):
            continue
        for number in _LONG_INTEGER.findall(_STRING.sub(b'""', raw)):
            if len(number) > 20 or not -(1 << 63) <= int(number) < 1 << 64:
                path = _path_of_integer(raw, number.decode())
                digits = number.decode() if len(number) <= 40 else f"a number of {len(number)} digits"
                what = f"{digits} is beyond 64 bits, and would be rounded"
                raise FixtureError(what, Location(file, line, path))


def _path_of_integer(raw: bytes, digits: str) -> str:
    marker = object()
    try:
        value = json.loads(raw, parse_int=lambda text: marker if text == digits else 0)
    except ValueError:
        # One line of a document that has several.
        return ""
    todo: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while todo:
        parts, item = todo.pop()
        if item is marker:
            return json_path(parts)
        if isinstance(item, dict):
            todo.extend(((*parts, key), item[key]) for key in item)
        elif isinstance(item, list):
            todo.extend(((*parts, at), inner) for at, inner in enumerate(item))
    return ""


def check_repeated_keys(lines: list[bytes], file: str) -> None:
    """Refuses a key that stands twice in one object. The lines were read before. Raises FixtureError."""
    for line, raw in enumerate(lines, 1):
        parts = repeated_key(raw)
        if parts is not None:
            what = f"the key {shown(parts[-1])} stands twice in one object"
            raise FixtureError(what, Location(file, line, json_path(parts)))


def repeated_key(document: bytes) -> tuple[str | int, ...] | None:
    """Where a key stands twice in one object of a sound JSON document, or None."""
    todo: list[tuple[tuple[str | int, ...], Any]] = [
        ((), json.loads(document, object_pairs_hook=_Pairs, parse_int=str))
    ]
    while todo:
        parts, item = todo.pop()
        if isinstance(item, _Pairs):
            seen: set[str] = set()
            for key, inner in item:
                if key in seen:
                    return (*parts, key)
                seen.add(key)
                todo.append(((*parts, key), inner))
        elif isinstance(item, list):
            todo.extend(((*parts, at), inner) for at, inner in enumerate(item))
    return None
