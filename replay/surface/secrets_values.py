"""Credentials by value: the variables of the shell that records, searched for in whatever spelling they come.

A value is told by its variable's name and never shown. What is too short or too plain to be told from prose is not
searched for: it would be found everywhere.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from replay.surface.secrets_entropy import Weight, is_random, name_weight
from replay.surface.secrets_kinds import is_placeholder

__all__ = ["LEAST_VALUE", "Needles", "is_credential", "plain_spellings", "spellings"]

LEAST_VALUE: Final = 8
"""Characters of the shortest value that is searched for."""

_WHOLE: Final = re.compile(r"[A-Za-z0-9_+/=.~-]{20,400}")
_PLAIN: Final = re.compile(r"[a-z]+|[A-Z]+|[0-9]{1,9}|(?:\.{0,2}|~)/.*|[a-z]+(?:[-_ .][a-z]+)+", re.DOTALL)
_LEAST_BASE64: Final = 8
_JSON_LEVELS: Final = 4
_URI_SAFE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_credential(name: str, value: str, looks_like_one: Callable[[str], bool]) -> bool:
    """Whether a variable is a credential, by its name, by the look of its value, or because chance alone made it."""
    if len(value) < LEAST_VALUE or _PLAIN.fullmatch(value) or is_placeholder(value):
        return False
    if name_weight(name) is not Weight.NONE or looks_like_one(value):
        return True
    return _WHOLE.fullmatch(value) is not None and is_random(value, Weight.WEAK)


class Needles:
    """The spellings of some values, ready to be searched for."""

    __slots__ = ("_rows",)

    def __init__(self, values: Mapping[str, str]) -> None:
        rows: dict[str, str] = {}
        for name, value in values.items():
            if len(value) >= LEAST_VALUE:
                for spelling in spellings(value):
                    rows.setdefault(spelling, name)
        self._rows = list(rows.items())

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, variable) of each spelling in `text`."""
        for spelling, name in self._rows:
            at = text.find(spelling)
            while at >= 0:
                yield at, at + len(spelling), name
                at = text.find(spelling, at + len(spelling))


def plain_spellings(value: str) -> list[str]:
    """A value as it is, escaped for JSON in JSON, percent-encoded, and in hex: each wholly the value's."""
    data = value.encode("utf-8", "surrogatepass")
    escaped = accumulate(range(_JSON_LEVELS), lambda text, _: _json(text), initial=value)
    found = dict.fromkeys((*escaped, data.hex(), data.hex().upper()))
    percent = "".join(chr(byte) if byte in _URI_SAFE else f"%{byte:02X}" for byte in data)
    found[percent] = None
    found[re.sub("%[0-9A-F]{2}", lambda sign: sign.group().lower(), percent)] = None
    found[percent.replace("%20", "+")] = None
    return list(found)


def spellings(value: str) -> list[str]:
    """The plain spellings of a value, and the part of its base64 that never varies."""
    data = value.encode("utf-8", "surrogatepass")
    found = dict.fromkeys(plain_spellings(value))
    for before in range(3):
        # Three places in which it may begin within a longer text; the letters at the edges hold bits of its neighbours.
        whole = b64encode(bytes(before) + data).decode().rstrip("=")
        inner = whole[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        if len(inner) >= _LEAST_BASE64:
            found[inner] = None
            found[inner.replace("+", "-").replace("/", "_")] = None
    return list(found)


def _json(text: str) -> str:
    return "".join("\\" + char if char in '"\\' else _CONTROLS.get(char, char) for char in text)


_CONTROLS: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
