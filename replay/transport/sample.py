"""A text that a regular expression of a fixture matches: what the mechanical client sends for {{regex:…}}. Pure.

Takes the first alternative and the fewest repeats of the subset that pattern.py accepts, so it is short and always the same.
"""

import re
from typing import Final

from replay.errors import FixtureError
from replay.pattern import parse_pattern

__all__ = ["sample"]

_READABLE: Final = "a0A_-. /" + "".join(chr(code) for code in range(33, 127)) + "\t\n\r"
_SET: Final = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\.)*\]|\\x..|\\u....|\\.|.", re.DOTALL)
_REPEAT: Final = re.compile(r"(?:([*?])|(\+)|\{(\d*)(?:,\d*)?\})\??")
_ANCHORS: Final = ("^", "$", r"\b", r"\B", r"\A", r"\Z")


def sample(source: str) -> str:
    """A text that the expression matches as a whole. Raises FixtureError if the shortest one of its parts is none."""
    text, _ = _alternatives(source, 0)
    if parse_pattern(rf"\A(?:{source})\Z").last_match(text) is None:
        raise FixtureError(f"no text is known that {source!r} matches; give it a simpler expression")
    return text


def _alternatives(source: str, at: int) -> tuple[str, int]:
    """The first alternative's text, and where the group ends."""
    first, at = _sequence(source, at)
    while at < len(source) and source[at] == "|":
        _, at = _sequence(source, at + 1)
    return first, at


def _sequence(source: str, at: int) -> tuple[str, int]:
    out = []
    while at < len(source) and source[at] not in "|)":
        if source[at] == "(":
            start = at + 3 if source.startswith("(?:", at) else at + 1
            piece, at = _alternatives(source, start)
            at += 1
        else:
            token = _SET.match(source, at)
            assert token is not None
            piece = "" if token[0] in _ANCHORS else _member(token[0])
            at = token.end()
        repeat = _REPEAT.match(source, at)
        if repeat is not None:
            piece *= 0 if repeat[1] else 1 if repeat[2] else int(repeat[3] or 0)
            at = repeat.end()
        out.append(piece)
    return "".join(out), at


def _member(token: str) -> str:
    """A character of the set, a readable one if there is any."""
    one = re.compile(token, re.ASCII | re.DOTALL if token != "." else re.ASCII)
    found = next((char for char in _READABLE if one.fullmatch(char)), "")
    return found or next((chr(code) for code in range(0x110000) if one.fullmatch(chr(code))), "")
