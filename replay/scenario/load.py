"""Loads a scenario for a run: the files that a manifest names become one value.

On the replay path, so only what a run needs is read and checked; completeness, canonical form and secrets are the
guard's work. A missing stdout.expected.jsonl or session.jsonl is no error here: the run says what makes them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from replay.acp import Script, parse_script
from replay.errors import FixtureError, Location
from replay.scenario.layout import INPUT, OVERRIDE, PINS, REQUESTS, STDOUT, child_gap, children_of, log_name
from replay.script import Lane, Override, apply_override, derive_lanes, parse_override
from replay.session import SessionLog, read_log
from replay.session.diagnosis import refused_line
from replay.surface import Json, said_ids, served_ids
from replay.surface.pins import Pins, decode_pins

__all__ = ["Scenario", "ScenarioFiles", "decode_lines", "load_scenario"]


class ScenarioFiles(NamedTuple):
    """Where a scenario's files lie. `files`: name in the fixture -> absolute path; `workspace`: (relative, absolute)."""

    name: str
    label: str
    files: Mapping[str, str]
    workspace: Sequence[tuple[str, str]] = ()
    directory: str = ""
    """What errors call the directory ("scenarios/acp/text-turn"); the name if it is empty."""


class Scenario(NamedTuple):
    """One loaded scenario."""

    name: str
    label: str
    script: Script
    logs: list[SessionLog]
    log_names: list[str]
    """The files of `logs`, parent first."""
    override: Override | None
    lanes: list[Lane]
    stdout: list[Json] | None
    """The committed lines, None where the file is missing."""
    session_values: list[list[Json]]
    """Header and rows of each log, as they stand in the file."""
    pins: Pins | None
    workspace: Sequence[tuple[str, str]]
    recording: dict[str, bytes]
    """What an agent that replays in process is given: the logs and the override, by name."""
    requests: list[Json] | None = None
    """The rows of requests.expected.jsonl, None where the file is missing."""

    def served_ids(self) -> list[str]:
        """Ids that the recording itself serves, so that no normaliser renames them."""
        found = dict.fromkeys([*served_ids(self.session_values), *said_ids(self.session_values)])
        if OVERRIDE in self.recording:
            found.update(dict.fromkeys(_chunk_ids(orjson.loads(self.recording[OVERRIDE]))))
        return list(found)


def load_scenario(files: ScenarioFiles) -> Scenario:
    """The scenario in `files`. Raises FixtureError for the first file that is wrong, naming file, line and path."""
    place = files.directory or files.name
    if INPUT not in files.files:
        raise FixtureError(
            "missing: a scenario says there what the driver plays", Location(f"{place}/{INPUT}")
        )
    script = _parse_input(_read(files.files[INPUT]), f"{place}/{INPUT}")
    gap = child_gap(files.files)
    if gap is not None:
        missing, orphan = map(log_name, gap)
        raise FixtureError(
            f"orphan: children have no gaps and {missing} is missing",
            Location(f"{place}/{orphan}"),
            f"rename it to {missing}, or delete it",
        )
    log_names = [
        log_name(number) for number in (0, *children_of(files.files)) if log_name(number) in files.files
    ]
    recording = {name: _read(files.files[name]) for name in (*log_names, OVERRIDE) if name in files.files}
    logs = [read_log(recording[name], f"{place}/{name}") for name in log_names]
    lanes = derive_lanes(logs)
    override = None
    if OVERRIDE in recording:
        override = parse_override(recording[OVERRIDE], f"{place}/{OVERRIDE}")
        lanes = apply_override(lanes, override)
    stdout = None
    if STDOUT in files.files:
        stdout = decode_lines(_read(files.files[STDOUT]), f"{place}/{STDOUT}")
    requests = None
    if REQUESTS in files.files:
        requests = decode_lines(_read(files.files[REQUESTS]), f"{place}/{REQUESTS}")
    pinned = {name: _read(files.files[name]) for name in PINS if name in files.files}
    return Scenario(
        name=files.name,
        label=files.label,
        script=script,
        logs=logs,
        log_names=log_names,
        override=override,
        lanes=lanes,
        stdout=stdout,
        session_values=[[log.header.fields, *(row.fields for row in log.rows)] for log in logs],
        pins=decode_pins(pinned, place) if pinned else None,
        workspace=files.workspace,
        recording=recording,
        requests=requests,
    )


def _parse_input(data: bytes, file: str) -> Script:
    try:
        return parse_script(data, file)
    except FixtureError as error:
        from replay.scenario.lines import at_line

        raise at_line(error, data) from None


def decode_lines(data: bytes, file: str) -> list[Json]:
    """The JSON objects of an expected file, one a line. Raises FixtureError with the line that is none."""
    values: list[Json] = []
    lines = data.split(b"\n")
    is_whole = lines[-1] == b""
    if is_whole:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as refusal:
            raise refused_line(line, file, number, refusal, number == len(lines) and not is_whole) from None
        if not isinstance(value, dict):
            raise FixtureError(f"must be a JSON object, not {_kind(value)}", Location(file, number, "$"))
        values.append(value)
    return values


def _kind(value: Json) -> str:
    if isinstance(value, list):
        return "a list"
    return {str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _chunk_ids(value: Json) -> list[str]:
    """The ids of tool-call chunks and blocks anywhere in an override."""
    if isinstance(value, list):
        return [found for item in value for found in _chunk_ids(item)]
    if not isinstance(value, dict):
        return []
    own = [value["id"]] if value.get("type") in ("tool-call", "tool-call-delta") else []
    return [name for name in own if isinstance(name, str)] + [
        found for item in value.values() for found in _chunk_ids(item)
    ]


def _read(path: str) -> bytes:
    # Not pathlib: its import is a good part of a run's own time.
    with open(path, "rb") as file:
        return file.read()
