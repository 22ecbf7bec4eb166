"""Lines for errors that know only a JSON path: what people write by hand they look up by line."""

import re
from typing import Final

from replay.errors import FixtureError, Location
from replay.session import line_of

__all__ = ["at_line", "path_parts"]

_STEP: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def path_parts(path: str) -> tuple[str | int, ...]:
    """ "$.steps[1].op" -> ("steps", 1, "op"); what is no path ends it."""
    parts: list[str | int] = []
    at = 1
    while found := _STEP.match(path, at):
        parts.append(
            int(found[2]) if found[2] is not None else found[1] if found[1] is not None else found[3]
        )
        at = found.end()
    return tuple(parts)


def at_line(error: FixtureError, data: bytes) -> FixtureError:
    """`error` with the line of its JSON path in the sound JSON document `data`, if it has no line yet."""
    where = error.where
    if where.line or not where.path.startswith("$") or not data:
        return error
    try:
        line = line_of(data, path_parts(where.path))
    except ValueError, IndexError:
        return error  # no sound JSON after all
    return FixtureError(error.what, Location(where.file, line, where.path), error.fix)
