"""Lines of values in a JSON document that people wrote over many lines, such as an override."""

import re

__all__ = ["line_of", "value_lines"]

type Path = tuple[str | int, ...]

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|\n|[^\s\[\]{},:"]+', re.DOTALL)


def value_lines(document: bytes, depth: int) -> dict[Path, int]:
    """1-based line on which each value begins, by path, down to `depth` steps. The document must be sound JSON."""
    lines: dict[Path, int] = {}
    line = 1
    parts: list[str | int] = []
    is_object: list[bool] = []
    at_key = False
    for match in _TOKEN.finditer(document.decode()):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in "]}":
            is_object.pop()
            if len(parts) > len(is_object):
                parts.pop()
            at_key = False
        elif token == ",":
            if is_object[-1]:
                parts.pop()
                at_key = True
            else:
                parts[-1] = int(parts[-1]) + 1
        elif token == ":":
            at_key = False
        elif at_key:
            # Escaped keys are rare, and a wrong name only makes the line less exact.
            parts.append(token[1:-1])
        else:
            if len(parts) <= depth:
                lines.setdefault(tuple(parts), line)
            if token in "[{":
                is_object.append(token == "{")
                at_key = token == "{"
                if token == "[":
                    parts.append(0)
    return lines


def line_of(document: bytes, path: Path) -> int:
    """1-based line of the value at `path`, or of the nearest value around it."""
    lines = value_lines(document, len(path))
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path, 1)
