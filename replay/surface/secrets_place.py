"""Where in a file a finding stands: its line, its column, and its JSON path if the line is a row of JSON."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import orjson

__all__ = ["Place", "Places", "json_path"]

_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]')
_PLAIN_NAME: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_-]{0,14}|[A-Za-z_][A-Za-z_-]{0,31})")
_LONGEST_PATH: Final = 150
_IN_A_KEY: Final = " (key)"


class Place(NamedTuple):
    """`line` and `column` count from 1, the column in characters; `path` is "" where the line is no row of JSON."""

    line: int
    column: int
    path: str


class Places:
    """Places of a text, asked for in ascending order."""

    __slots__ = ("_at", "_line", "_row", "_row_line", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._at = 1, 0
        self._row, self._row_line = "", 0

    def of(self, start: int, end: int) -> Place:
        """The place of text[start:end], which does not begin before the last one.

        The path is that of its end: what begins in a name ends in the value that the name is given.
        """
        text = self._text
        self._line += text.count("\n", self._at, start)
        self._at = start
        line_start = text.rfind("\n", 0, start) + 1
        return Place(
            self._line, start - line_start + 1, self._path(line_start, max(start, end - 1) - line_start)
        )

    def _path(self, start: int, offset: int) -> str:
        if self._row_line != self._line:
            self._row_line = self._line
            end = self._text.find("\n", start)
            line = self._text[start : end if end >= 0 else len(self._text)]
            self._row = line if _is_row(line) else ""
        return _path_at(self._row, offset) if self._row else ""


def _is_row(line: str) -> bool:
    # A line of an indented document may be whole JSON as well; a row is an object.
    if not line.startswith("{"):
        return False
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


def _path_at(row: str, offset: int) -> str:
    """The path of the value or key of the object `row` that stands at `offset`."""
    parts: list[str | int] = []
    is_key = False
    for token in _TOKEN.finditer(row):
        if token.start() > offset:
            break
        sign = token.group()
        if sign == "{":
            parts.append("")
            is_key = True
        elif sign == "[":
            parts.append(0)
            is_key = False
        elif sign in "}]":
            parts.pop()
            is_key = False
        elif sign == ",":
            last = parts[-1] if parts else ""
            is_key = isinstance(last, str)
            if isinstance(last, int):
                parts[-1] = last + 1
        elif sign == ":":
            is_key = False
        elif is_key:
            if token.end() > offset:
                return json_path(parts[:-1]) + _IN_A_KEY  # the key itself may be the secret
            parts[-1] = orjson.loads(sign)
    return json_path(parts)


def json_path(parts: Sequence[str | int]) -> str:
    """("data", "texts", 0) -> "$.data.texts[0]", cut where it is longer than a message can bear.

    A key that is no short plain name is left out: it may hold what a finding must not tell.
    """
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if _PLAIN_NAME.fullmatch(part) else "[…]"
    return path if len(path) <= _LONGEST_PATH else path[: _LONGEST_PATH - 3] + "..."
