"""What a run leaves in the undeclared outputs, for a person and for other tools.

    actual/            the outputs of a run that did not pass, in fixture layout: copy them over to accept
    frames.jsonl       every line of both directions, as it was on the wire, with milliseconds since the start
    agent.stderr.txt   what the agent wrote there, capped
    result.json        the verdict; the same message as result.pb (replay/proto/result.proto)

A suite that runs several scenarios in one test has one such directory a scenario.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replay.proto.result_wire import encode_result
from replay.runner.result import Result

__all__ = ["Frame", "encode_frames", "result_message", "write_artefacts", "write_result"]


_MOST_FRAMES = 20_000


class Frame(NamedTuple):
    """One line as it crossed the pipe. `sender` is "agent" or "client"; the line has no newline."""

    ms: float
    sender: str
    line: bytes


def write_artefacts(
    directory: str,
    frames: Sequence[Frame],
    stderr: bytes,
    actual: Mapping[str, bytes],
) -> list[str]:
    """Leave the evidence of a run in `directory`; the names written, relative to it."""
    names: list[str] = []
    if frames:
        _write(directory, "frames.jsonl", encode_frames(frames))
        names.append("frames.jsonl")
    if stderr:
        _write(directory, "agent.stderr.txt", stderr)
        names.append("agent.stderr.txt")
    for name, data in actual.items():
        _write(directory, f"actual/{name}", data)
    if actual:
        names.append("actual/")
    return names


def write_result(directory: str, result: Result) -> None:
    """Leave result.json and result.pb in `directory`."""
    message = result_message(result)
    _write(
        directory,
        "result.json",
        orjson.dumps(message, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    )
    _write(directory, "result.pb", encode_result(message))


def encode_frames(frames: Sequence[Frame]) -> bytes:
    """frames.jsonl. A line that is not UTF-8 shows its bytes escaped; of a flood the middle is left out, counted."""
    left_out = len(frames) - _MOST_FRAMES
    if left_out > 0:
        half = _MOST_FRAMES // 2
        gap = f"… {left_out} lines left out".encode()
        frames = [*frames[:half], Frame(frames[half].ms, "", gap), *frames[-half:]]
    return b"".join(
        orjson.dumps(
            {
                "ms": round(frame.ms, 3),
                "from": frame.sender,
                "line": frame.line.decode("utf-8", "backslashreplace"),
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for frame in frames
    )


def result_message(result: Result) -> dict[str, Any]:
    """The fields of result.proto; an enum stands as its name."""
    error = result.error
    return {
        "version": 1,
        "scenario": result.scenario,
        "label": result.label,
        "mode": result.mode,
        "exit_code": result.exit_code,
        "first_line": result.first_line,
        "place": str(error.where) if error is not None else "",
        "fix": result.fix,
        "cases": [
            {
                "surface": case.surface,
                "verdict": case.verdict,
                "message": case.message,
                "path": case.path,
                "expected": case.expected,
                "actual": case.actual,
            }
            for case in result.cases
        ],
        "warnings": list(result.warnings),
        "agent": {**result.agent._asdict(), "leftovers": list(result.agent.leftovers)},
        "timing": {name: round(value, 3) for name, value in result.timing._asdict().items()},
        "artefacts": list(result.artefacts),
        "fixture": [{"name": name, "sha256": digest} for name, digest in sorted(result.fixture.items())],
    }


def _write(directory: str, name: str, data: bytes) -> None:
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
