"""The surfaces of a transport test: files that the subject writes, in their one form, against the expected ones.

The subject writes `<surface>.json`, one value, or `<surface>.jsonl`, one a line, into the directory AGENT_REPLAY_ACTUAL.
In its fixture a surface has placeholders for the run's directories; a `.json` is indented, a `.jsonl` compact, and keys
keep the order in which they were written.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import AgentError, FixtureError, Location, counted
from replay.runner.result import FAILED, PASSED, UNKNOWN, Case
from replay.surface.paths import PathTable

__all__ = ["Actual", "collect_actual", "compare_surfaces", "encode_surface", "read_surface"]

_MAX_BYTES = 16 << 20
_MAX_SURFACES = 32
_MAX_VALUE_CHARACTERS = 2000
_LINES = ".jsonl"


class Actual(NamedTuple):
    """What the subject wrote: file name ("projection.json") -> its values, and why a file cannot be taken."""

    surfaces: Mapping[str, list[Any]]
    refused: AgentError | None = None


def collect_actual(directory: str, paths: Sequence[tuple[str, Sequence[str]]]) -> Actual:
    """Every surface below `directory`. paths: placeholder and spellings of each directory of the run."""
    table = PathTable(paths)
    surfaces: dict[str, list[Any]] = {}
    names = sorted(os.listdir(directory))
    for name in names[:_MAX_SURFACES]:
        try:
            data = _read(os.path.join(directory, name), name)
            values = read_surface(data, name)
        except (FixtureError, AgentError) as error:
            return Actual(surfaces, AgentError(f"the subject wrote {error}", fix=error.fix))
        surfaces[name] = [_placed(value, table) for value in values]
    if len(names) > _MAX_SURFACES:
        many = f"the subject wrote {counted(len(names), 'surface')}, and {_MAX_SURFACES} may be"
        return Actual(surfaces, AgentError(many, fix="write one file a surface"))
    return Actual(surfaces)


def read_surface(data: bytes, file: str) -> list[Any]:
    """The values of a surface: of a `.json` the one. Raises FixtureError with the line that is no JSON."""
    if not file.endswith(_LINES):
        return [_decode(data, file, 0)]
    lines = data.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    return [_decode(line, file, number) for number, line in enumerate(lines, 1)]


def encode_surface(values: Sequence[Any], file: str) -> bytes:
    """The one form of a surface in a fixture."""
    if file.endswith(_LINES):
        return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)
    [value] = values
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def compare_surfaces(
    actual: Actual,
    expected: Mapping[str, bytes],
    places: Mapping[str, str],
    write: Callable[[], str],
    *,
    ended_well: bool,
) -> list[Case]:
    """A case a surface of either side.

    expected: surface file -> content of its fixture file. places: surface file -> fixture file as messages name it,
    for those of `expected`. write() -> the command that writes expected files. ended_well: whether the subject came to its
    end, so that what it did not write is missing.
    """
    names = sorted({*actual.surfaces, *expected})
    return [
        _compare(name, actual, expected.get(name), places.get(name, ""), write, ended_well) for name in names
    ]


def _compare(
    file: str, actual: Actual, expected: bytes | None, place: str, write: Callable[[], str], ended_well: bool
) -> Case:
    name = file.removesuffix(_LINES).removesuffix(".json")
    values = actual.surfaces.get(file)
    if values is None:
        what = f"{name}: the subject wrote no {file} into AGENT_REPLAY_ACTUAL; {place} expects one"
        return Case(name, FAILED if ended_well else UNKNOWN, what, is_output=False)
    if expected is None:
        return Case(name, FAILED, f"{name}: it has no expected file; to write it: {write()}")
    if encode_surface(values, file) == expected:
        return Case(name, PASSED)
    try:
        return _differing(name, read_surface(expected, place), values, place, write)
    except FixtureError as error:
        return Case(name, FAILED, f"{name}: {error}")


def _differing(
    name: str, expected: list[Any], values: list[Any], place: str, write: Callable[[], str]
) -> Case:
    from replay.surface import first_difference, render_difference, unified

    difference = first_difference(expected, values, name)
    if difference is None:
        return Case(name, FAILED, f"{name}: {place} says the same in another form; to write it: {write()}")
    return Case(
        name,
        FAILED,
        render_difference(difference),
        difference.path,
        _shown(difference.expected),
        _shown(difference.actual),
        unified(expected, values).split("\n"),
    )


def _read(path: str, name: str) -> bytes:
    if os.path.islink(path) or not os.path.isfile(path) or not name.endswith((".json", _LINES)):
        raise AgentError(
            f"{name}, which is no surface",
            fix="write files <surface>.json or <surface>.jsonl into AGENT_REPLAY_ACTUAL",
        )
    with open(path, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise AgentError(f"{name}, which has more than {_MAX_BYTES} bytes", fix="make the surface smaller")
    return data


def _decode(data: bytes, file: str, line: int) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        where = Location(file, line or error.lineno)
        raise FixtureError(f"is no JSON: {error.msg} at column {error.colno}", where) from None


def _placed(value: Any, table: PathTable) -> Any:
    """`value` with placeholders for the run's directories, in keys as well."""
    if isinstance(value, str):
        return _placed_text(value, table)
    if isinstance(value, list):
        return [_placed(item, table) for item in value]
    if isinstance(value, dict):
        return {_placed_text(key, table): _placed(item, table) for key, item in value.items()}
    return value


def _placed_text(text: str, table: PathTable) -> str:
    if not any(needle in text for needle in table.needles):
        return text
    out: list[str] = []
    end = 0
    for match in sorted(table.find(text), key=lambda match: (match.start, -match.end)):
        if match.start >= end:
            out.append(text[end : match.start] + match.replacement)
            end = match.end
    return "".join(out) + text[end:]


def _shown(value: object) -> str:
    from replay.surface import ABSENT

    if value is ABSENT:
        return ""
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_VALUE_CHARACTERS else text[:_MAX_VALUE_CHARACTERS] + "…"
