"""One run as values to be shown and compared: read from a scenario's directory, or from what a test left of it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from replay.cli.client_view import ClientTurn, read_client
from replay.cli.session_view import SessionView, read_session
from replay.errors import FixtureError, Location, UsageError
from replay.runner.bundle import actual_files
from replay.scenario.layout import EXPECTED_WORKSPACE, INPUT, STDOUT, WORKSPACE, log_name, log_number
from replay.scenario.load import decode_lines
from replay.session import read_log

__all__ = ["Story", "read_files", "read_story"]

_OF_A_RUN = "name a scenario's directory, or test.outputs/ or test.outputs/actual/ of its test"


@dataclass(frozen=True, slots=True)
class Story:
    """One run. `script` is input.json, None where it is not there; `frames` the lines of stdout.expected.jsonl."""

    place: str
    script: Mapping[str, Any] | None
    frames: list[Any]
    client: list[ClientTurn]
    sessions: list[SessionView]
    workspace: Mapping[str, bytes]
    """Files of workspace.expected/, by their path below it."""
    files: Mapping[str, bytes]


def read_files(directory: str) -> dict[str, bytes]:
    """The files of a run in fixture layout, without the seed of the workspace.

    Raises UsageError for a directory that is not there or holds no run.
    """
    if not os.path.isdir(directory):
        raise UsageError(f"{directory}: no such directory", fix=_OF_A_RUN)
    files = dict(_files_of(directory))
    if not _is_run(files):
        files = actual_files(directory)
    if not _is_run(files):
        raise UsageError(f"{directory}: holds no run of a scenario", fix=_OF_A_RUN)
    return files


def read_story(directory: str, script: Mapping[str, Any] | None = None) -> Story:
    """The run in a directory; `script` stands in for an input.json that is not there.

    Raises UsageError for a directory that holds no run, FixtureError for a malformed file.
    """
    place = directory.rstrip("/") or directory
    files = read_files(directory)
    if INPUT in files:
        script = _object(files[INPUT], f"{place}/{INPUT}")
    frames = decode_lines(files[STDOUT], f"{place}/{STDOUT}") if STDOUT in files else []
    return Story(
        place,
        script,
        frames,
        read_client(frames, script),
        list(_sessions(files, place)),
        {
            name.removeprefix(EXPECTED_WORKSPACE): data
            for name, data in files.items()
            if name.startswith(EXPECTED_WORKSPACE)
        },
        files,
    )


def _is_run(files: Mapping[str, bytes]) -> bool:
    return any(name in (INPUT, STDOUT) or log_number(name) is not None for name in files)


def _files_of(directory: str) -> Iterator[tuple[str, bytes]]:
    for path, directories, files in os.walk(directory):
        relative = os.path.relpath(path, directory)
        prefix = "" if relative == "." else f"{relative}/"
        if not prefix:
            # The seed is what the run began with; of another directory than a scenario's nothing is asked.
            kept = (EXPECTED_WORKSPACE.rstrip("/"),)
            directories[:] = [name for name in directories if name in kept and name != WORKSPACE.rstrip("/")]
        for name in sorted(files):
            with open(os.path.join(path, name), "rb") as file:
                yield prefix + name, file.read()


def _sessions(files: Mapping[str, bytes], place: str) -> Iterator[SessionView]:
    numbers = sorted(number for number in map(log_number, files) if number is not None)
    for number in numbers:
        name = log_name(number)
        yield read_session(
            read_log(files[name], f"{place}/{name}"), f"child {number}" if number else "parent"
        )


def _object(data: bytes, place: str) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise FixtureError(f"is not JSON: {error}", Location(place)) from None
    if not isinstance(value, dict):
        raise FixtureError("must be a JSON object", Location(place))
    return value
