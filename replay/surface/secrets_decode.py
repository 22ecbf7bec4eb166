"""Texts inside a text: what escapes, percent signs and base64 hide, and where in the text around it they stand.

Bounded: a text is decoded to a few levels, and base64 only as far as it begins like a text.
"""

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

__all__ = ["LEAST_BASE64", "MAX_BLOB", "Inner", "base64_text", "join_wrapped", "unescape"]

LEAST_BASE64: Final = 20
"""Characters of the shortest base64 that is decoded: fifteen bytes hold no credential worth the name."""
MAX_BLOB: Final = 1 << 20
"""Characters of one piece of base64 that are decoded."""

_HIDDEN: Final = re.compile(r"\\u00[2-7][0-9A-Fa-f]|%[2-7][0-9A-Fa-f]|\\/")
_ESCAPE: Final = re.compile(
    r"\\{1,16}(?:u00(0[9AaDd]|[2-7][0-9A-Fa-f])|([\"/nrt]))|%(0[9AaDd]|[2-7][0-9A-Fa-f])"
)
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_PROBE: Final = 64
_TO_STANDARD: Final = str.maketrans("-_", "+/")
_SEPARATORS: Final = re.compile(r"[/_-]")
_MOST_STARTS: Final = 6
_TEXT: Final = re.compile(rb"[\t\n\r\x20-\x7e]*")
_WRAPPED: Final = re.compile(
    r"[A-Za-z0-9+/]{60,76}(?:(?:\\{1,8}r)?\\{1,8}n|\r?\n)(?:[A-Za-z0-9+/]{60,76}(?:(?:\\{1,8}r)?\\{1,8}n|\r?\n)){0,20000}[A-Za-z0-9+/]{0,76}={0,2}"
)
_LINE_END: Final = re.compile(r"(?:\\{1,8}r)?\\{1,8}n|\r?\n")


class Inner(NamedTuple):
    """A text made of another one. `origin` gives the place there of a place here."""

    text: str
    origin: Callable[[int], int]


def unescape(text: str) -> Inner | None:
    """`text` without escapes and percent signs if they hide any ASCII; None if they do not."""
    if ("\\u00" not in text and "%" not in text and "\\/" not in text) or _HIDDEN.search(text) is None:
        return None
    parts: list[str] = []
    here: list[int] = [0]
    there: list[int] = [0]
    at = size = 0
    for found in _ESCAPE.finditer(text):
        code, letter = found[1] or found[3], found[2]
        parts.append(text[at : found.start()])
        parts.append(chr(int(code, 16)) if code else _LETTERS.get(letter, letter))
        size += found.start() - at + 1
        at = found.end()
        here.append(size)
        there.append(at)
    parts.append(text[at:])

    def origin(place: int) -> int:
        run = bisect_right(here, place) - 1
        return there[run] + place - here[run]

    return Inner("".join(parts), origin)


def base64_text(run: str) -> str:
    """The text that a run of base64's letters, either alphabet, stands for; "" if it is no text.

    A path or a URL may stand before it, so it is also tried behind each of the first separators.
    """
    starts = [
        0,
        *(found.end() for _, found in zip(range(_MOST_STARTS), _SEPARATORS.finditer(run), strict=False)),
    ]
    for start in starts:
        if len(run) - start >= LEAST_BASE64 and _is_text(_decoded(run[start : start + _PROBE])):
            data = _decoded(run[start : start + MAX_BLOB])
            end = _TEXT.match(data)
            # What follows a text may be another blob that ran into it.
            return data[: end.end()].decode("ascii") if end is not None else ""
    return ""


def _decoded(run: str) -> bytes:
    run = run.rstrip("=").translate(_TO_STANDARD)
    run = run[: len(run) - (len(run) % 4 == 1)]
    try:
        return a2b_base64(run + "=" * (-len(run) % 4))
    except Error:
        return b""


def _is_text(data: bytes) -> bool:
    found = _TEXT.match(data)
    return len(data) >= 12 and found is not None and found.end() >= len(data) - 1


def join_wrapped(text: str) -> Iterator[tuple[int, int, str]]:
    """Base64 that is broken into lines: where it stands, and without its line ends."""
    for found in _WRAPPED.finditer(text):
        yield found.start(), found.end(), _LINE_END.sub("", found.group())
