"""The surfaces of a run by name, and the fixture files that hold them.

stdout                      stdout.expected.jsonl
session, session.1, …       session.jsonl, session.1.jsonl, … of an agent that logs itself
requests, requests.1, …     the same files of an agent whose log the gateway writes
requests                    requests.expected.jsonl of an agent that logs itself and asks the gateway
workspace                   workspace.expected/, workspace.executable.txt
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import orjson

from replay.scenario.layout import EXECUTABLE, EXPECTED_WORKSPACE, PINS, REQUESTS, STDOUT, log_name
from replay.surface import Json

if TYPE_CHECKING:
    from replay.runner.manifest import Manifest

__all__ = [
    "PINS_SURFACE",
    "REQUESTS_SURFACE",
    "WORKSPACE",
    "encode_lines",
    "file_of",
    "holds",
    "is_log",
    "log_surface",
    "unwanted_files",
]

WORKSPACE: Final = "workspace"
REQUESTS_SURFACE: Final = "requests"
PINS_SURFACE: Final = "pins"


def log_surface(index: int, logs_itself: bool) -> str:
    """The surface of the k-th log, the parent's being the 0th."""
    name = "session" if logs_itself else REQUESTS_SURFACE
    return f"{name}.{index}" if index else name


def is_log(surface: str, logs_itself: bool) -> bool:
    """Whether a surface is a session log."""
    return surface.partition(".")[0] == log_surface(0, logs_itself)


def file_of(surface: str, logs_itself: bool) -> str:
    """The fixture file that holds a surface, or the directory."""
    if surface == "stdout":
        return STDOUT
    if surface == WORKSPACE:
        return EXPECTED_WORKSPACE
    if is_log(surface, logs_itself):
        return log_name(int(surface.partition(".")[2] or "0"))
    return REQUESTS


def holds(surface: str, file: str, logs_itself: bool) -> bool:
    """Whether a fixture file holds a surface, or a part of it."""
    if surface == WORKSPACE:
        return file == EXECUTABLE or file.startswith(EXPECTED_WORKSPACE)
    return file == file_of(surface, logs_itself)


def unwanted_files(manifest: Manifest, pins: bool) -> dict[str, str]:
    """Files that nothing asks for, whether they are there or not, and the surface of each.

    pins: whether the scenario is one that pins.
    """
    wants_requests = manifest.agent.logs_itself and REQUESTS_SURFACE in manifest.surfaces
    found = {} if wants_requests else {REQUESTS: REQUESTS_SURFACE}
    return found if pins else {**found, **dict.fromkeys(PINS, PINS_SURFACE)}


def encode_lines(values: Sequence[Json]) -> bytes:
    """JSON lines, one value each."""
    return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)
