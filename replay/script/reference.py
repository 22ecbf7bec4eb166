"""`{{fromRequest:<regex>}}` in the strings of an entry: the live request's last match, first group (design 4.2).

A reference ends at the first "}}" that no further "}" follows, so that `[0-9]{4}}}` means what it seems to.
"""

import re
from typing import TYPE_CHECKING, Any

from replay.errors import DivergenceError, FixtureError, Location
from replay.pattern import Pattern, PatternError, parse_pattern
from replay.script.entry import Call, Entry, Lane, Span, Throw
from replay.session import json_path, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_references", "references", "resolve"]

_MARK = "{{fromRequest:"
_MARK_BYTES = _MARK.encode()
_REFERENCE = re.compile(r"\{\{fromRequest:(.*?)\}\}(?!\})", re.DOTALL)


def check_references(lane: Lane, call: Call) -> None:
    """Raises FixtureError for an expression of the call that is refused."""
    for path, source in references(call.entry):
        try:
            parse_pattern(source)
        except PatternError as error:
            raise _fixture_error(lane, call, source, error, path) from None


def references(entry: Entry) -> Iterator[tuple[str, str]]:
    """(JSON path inside the entry, expression) of every reference."""
    values: dict[str, Any] = {}
    if isinstance(entry, Throw):
        values["message"] = entry.message
    if not isinstance(entry.source, Span) or entry.source.has(_MARK_BYTES):
        values["chunks"] = entry.chunks
    for parts, text in _strings((), values):
        if _MARK in text:
            path = json_path(parts)
            found = _REFERENCE.findall(text)
            if not found:
                yield path, ""
            for source in found:
                yield path, source


def resolve(lane: Lane, call: Call, text: str) -> Entry:
    """The call's entry with its references replaced by what the request's text holds.

    Raises DivergenceError where the request holds no match, FixtureError where an expression is refused.
    """
    entry = call.entry
    if next(references(entry), None) is None:
        return entry

    def found(match: re.Match[str]) -> str:
        source = match[1]
        try:
            value = _parsed(source, patterns).last_match(text)
        except PatternError as error:
            raise _fixture_error(lane, call, source, error, "") from None
        if value is None:
            raise DivergenceError(
                f'lane "{lane.name}": the {call.describe()} takes a value from the request by {shown(source)}, '
                "and the request holds no match",
                call.where,
                "see what the agent sends instead, or correct the expression",
            )
        return value

    patterns: dict[str, Pattern] = {}
    chunks = [_replaced(chunk, found) for chunk in entry.expand()]
    resolved = entry.with_source(chunks)
    if isinstance(resolved, Throw):
        resolved.message = _REFERENCE.sub(found, resolved.message)
    return resolved


def _parsed(source: str, patterns: dict[str, Pattern]) -> Pattern:
    if source not in patterns:
        patterns[source] = parse_pattern(source)
    return patterns[source]


def _replaced(value: Any, found: Any) -> Any:
    if isinstance(value, str):
        return _REFERENCE.sub(found, value) if _MARK in value else value
    if isinstance(value, dict):
        return {key: _replaced(inner, found) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, found) for inner in value]
    return value


def _strings(parts: tuple[str | int, ...], value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield parts, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _strings((*parts, key), inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _strings((*parts, at), inner)


def _fixture_error(lane: Lane, call: Call, source: str, error: PatternError, path: str) -> FixtureError:
    what = f'lane "{lane.name}", {call.describe()}: the expression {shown(source)} of a fromRequest {error}'
    return FixtureError(what, Location(call.file, call.line, path))
