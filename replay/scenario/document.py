"""JSON documents that people write by hand: what is wrong with one before anybody asks what it means.

The parsers of a run stop at the first thing that a run cannot do without; here every complaint has a line.
"""

import json

from replay.errors import FixtureError, Location
from replay.scenario.lines import at_line
from replay.session import MAX_NESTING, json_path, repeated_key
from replay.session.diagnosis import is_too_deep, refused_value

__all__ = ["document_problem"]


def document_problem(data: bytes, file: str) -> FixtureError | None:
    """Why `data` is no JSON document that a fixture may hold, None if it is one."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = f"byte 0x{data[error.start]:02x} at column {column} is not UTF-8"
        return FixtureError(what, Location(file, line))
    if is_too_deep(data):
        return FixtureError(f"nests deeper than {MAX_NESTING} levels", Location(file, 1))
    try:
        # Numbers as they stand: one that a parser would round is found as text.
        value = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" starting at")
        return FixtureError(
            f"is not JSON: {message[0].lower()}{message[1:]} at column {error.colno}",
            Location(file, error.lineno),
        )
    twice = repeated_key(data)
    if twice is not None:
        where = Location(file, path=json_path(twice))
        return at_line(FixtureError(f'the key "{twice[-1]}" stands twice in one object', where), data)
    refused = refused_value(value)
    if refused is not None:
        return at_line(FixtureError(refused[1], Location(file, path=refused[0])), data)
    return None


def _integer(digits: str) -> int:
    # Python refuses to convert thousands of digits; any number past 64 bits is refused by its size alone.
    return int(digits) if len(digits) <= 40 else 1 << 64
