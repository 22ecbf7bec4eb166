"""Replays as files: what a part of a test leaves for the test that judges all parts, and what a test leaves for accept.

    replays.jsonl              a line for each trace with its runs: divergences, states, errors
    <trace_id>.json            the trace of its run, as the agent made it
    <trace_id>.<run>.json      the same of each of several runs

A line says of how many runs a trace was to have; it has fewer where no other could change what they come to together.
A part holds no verdict: a verdict is over all parts.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from replay.errors import AgentError, DivergenceError, FixtureError, Location, ReplayError, UsageError
from replay.trace.codec import read_trace, write_trace
from replay.trace.divergence import Divergence
from replay.trace.model import ABSENT, AgentTrace
from replay.trace.replayer import Replayed, Run
from replay.trace.server import happening
from replay.trace.strategies import Strategy

__all__ = ["REPLAYS", "actual_name", "read_part", "reader_of", "without_times", "write_part"]

REPLAYS = "replays.jsonl"
_AGAIN = "run the test again"
_ERRORS: Mapping[str, type[ReplayError]] = {
    kind.__name__: kind for kind in (AgentError, DivergenceError, FixtureError, UsageError)
}


def actual_name(trace_id: str, number: int, runs: int) -> str:
    """The file of a run's trace: "t1.json", of several runs that were asked for "t1.2.json"."""
    return f"{trace_id}.{number}.json" if runs > 1 else f"{trace_id}.json"


def write_part(directory: str, replays: Sequence[Replayed], *, with_times: bool = True) -> None:
    """Leave replays in `directory`, made if it is not there. with_times: else the same runs leave the same bytes."""
    for replayed in replays:
        for number, run in enumerate(replayed.runs, 1):
            name = actual_name(replayed.baseline.trace_id, number, replayed.strategy.runs)
            actual = run.actual if with_times else without_times(run.actual)
            _write(os.path.join(directory, name), write_trace(actual))
    rows = (
        orjson.dumps(
            {
                "trace_id": replayed.baseline.trace_id,
                "of": replayed.strategy.runs,
                "runs": [_run_fields(run) for run in replayed.runs],
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for replayed in replays
    )
    _write(os.path.join(directory, REPLAYS), b"".join(rows))


def read_part(
    read: Callable[[str], bytes], place: str, baselines: Mapping[str, AgentTrace], strategy: Strategy
) -> Iterator[Replayed]:
    """The replays of these baselines that a part left; `read` gives its files. How many runs were asked for, the part says.

    Raises FixtureError with file and line for what no part holds.
    """
    lines = read(REPLAYS).split(b"\n")
    for at, line in enumerate(lines, 1):
        if at == len(lines) and not line:
            break
        where = Location(f"{place}/{REPLAYS}", at)
        if at == len(lines):
            raise FixtureError("ends in the middle of a line", where, _AGAIN)
        trace_id, asked, rows = _entry(line, where)
        baseline = baselines.get(trace_id)
        if baseline is None:
            continue
        made = []
        for number, fields in enumerate(rows, 1):
            name = actual_name(trace_id, number, asked)
            actual = read_trace(read(name), f"{place}/{name}")
            made.append(_run(fields, actual, where._replace(path=f"$.runs[{number - 1}]")))
        yield Replayed(happening(baseline, strategy), strategy.with_changes(runs=asked), tuple(made))


def reader_of(directory: str) -> Callable[[str], bytes]:
    """How the files of a part in a directory are read. Raises UsageError for one that cannot be."""

    def read(name: str) -> bytes:
        path = os.path.join(directory, name)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise UsageError(f"the part {path} cannot be read: {error.strerror}") from None

    return read


def without_times(trace: AgentTrace) -> AgentTrace:
    """The order of the steps in the place of their times."""
    steps = (
        step._replace(timestamp=at, model_duration_ms=None, tool_duration_ms=None)
        for at, step in enumerate(trace.steps)
    )
    return trace._replace(steps=tuple(steps), total_duration_ms=None)


def _run_fields(run: Run) -> dict[str, Any]:
    error = run.error
    return {
        "divergences": [
            {key: value for key, value in each._asdict().items() if value is not ABSENT}
            for each in run.divergences
        ],
        "states": run.states,
        "tools": run.tools,
        "error": None
        if error is None
        else {"kind": type(error).__name__, "what": error.what, "where": list(error.where), "fix": error.fix},
        "evidence": run.evidence,
    }


def _entry(line: bytes, where: Location) -> tuple[str, int, list[Any]]:
    """The id of a trace, how many runs it was to have, and the rows of those that were made."""
    try:
        match orjson.loads(line):
            case {"trace_id": str(trace_id), "of": int(asked), "runs": list(rows)} if len(rows) <= asked:
                return trace_id, asked, rows
    except orjson.JSONDecodeError as error:
        raise FixtureError(f"is not JSON: {error}", where, _AGAIN) from None
    raise FixtureError("is no trace with its runs", where, _AGAIN)


def _run(fields: Any, actual: AgentTrace, where: Location) -> Run:
    match fields:
        case {
            "divergences": list(found),
            "states": list(states),
            "tools": tools,
            "error": error,
            "evidence": list(evidence),
        } if all(isinstance(line, str) for line in evidence):
            return Run(
                actual,
                tuple(_divergence(each, where) for each in found),
                tuple(_state(each, where) for each in states),
                tools,
                None if error is None else _error(error, where),
                tuple(evidence),
            )
    raise FixtureError("is no run that a trace test of this version left", where, _AGAIN)


def _divergence(fields: Any, where: Location) -> Divergence:
    match fields:
        case {
            "kind": str(),
            "step": int(),
            "message": str(),
            "path": str(),
            "is_fatal": bool(),
        } if fields.keys() <= set(Divergence._fields):
            return Divergence(**fields)
    raise FixtureError("holds what is no divergence", where, _AGAIN)


def _state(fields: Any, where: Location) -> tuple[str, Any]:
    match fields:
        case [str(label), state]:
            return label, state
    raise FixtureError("holds what is no labelled state", where, _AGAIN)


def _error(fields: Any, where: Location) -> ReplayError:
    match fields:
        case {
            "kind": str(kind),
            "what": str(what),
            "where": [str(file), int(line), str(path)],
            "fix": str(fix),
        }:
            return _ERRORS.get(kind, AgentError)(what, Location(file, line, path), fix)
    raise FixtureError("holds what is no error", where, _AGAIN)


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
