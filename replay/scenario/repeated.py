"""Prompts and schemas that the logs of a scenario store more than once: each copy is read in every review. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from replay.scenario import layout
from replay.scenario.advice import refresh_command
from replay.scenario.finding import Finding, Rule, finding
from replay.session import Row, SessionLog, json_path

__all__ = ["LEAST_BYTES", "check_repeated"]

LEAST_BYTES: Final = 1 << 10
"""The smallest text whose second copy is worth a finding: a screen of a review."""

_ROLES: Final = ("system", "developer")
_SCHEMAS: Final = ("tools", "functions", "toolSchemas")


def check_repeated(logs: Sequence[SessionLog], scenario: str) -> Iterator[Finding]:
    """A finding for each copy, at the copy."""
    first: dict[bytes, tuple[str, int]] = {}
    for log in logs:
        for row in log.rows:
            for path, value in _texts(row):
                data = orjson.dumps(value)
                if len(data) < LEAST_BYTES:
                    continue
                file, line = first.setdefault(data, (log.file, row.line))
                if (file, line) != (log.file, row.line):
                    yield _finding(
                        log.file, row.line, path, len(data), f"{file.rpartition('/')[2]}:{line}", scenario
                    )


def _finding(file: str, line: int, path: str, size: int, first: str, scenario: str) -> Finding:
    return finding(
        Rule.DUPLICATE,
        f"stores {size} bytes of a prompt or a schema again that stand in {first} already",
        file,
        line,
        path,
        f"let the scenario pin it ({' and '.join(layout.PINS)} hold it once), then {refresh_command(scenario)}",
    )


def _texts(row: Row) -> Iterator[tuple[str, Any]]:
    """The prompts and the lists of schemas in a row that says what an agent asks with."""
    message = row.data.get("message")
    role = row.data.get("role", message.get("role") if isinstance(message, dict) else None)
    if row.type.startswith("request/") or role in _ROLES:
        yield from _leaves(row.data, ("data",))


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        # Six bytes of JSON a character at most.
        if len(value) * 6 >= LEAST_BYTES:
            yield json_path(path), value
    elif isinstance(value, list):
        if path[-1] in _SCHEMAS:
            yield json_path(path), value
            return
        for at, item in enumerate(value):
            yield from _leaves(item, (*path, at))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
