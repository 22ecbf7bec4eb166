"""What the `replay trace` commands read and write: reports, suites, traces, snapshots."""

import os
from collections.abc import Callable, Mapping
from typing import Final

from replay.errors import FixtureError, Location, UsageError
from replay.runner.bundle import open_outputs
from replay.trace.blobs import DirectoryBlobs
from replay.trace.codec import read_trace
from replay.trace.model import AgentTrace
from replay.trace.report import Report
from replay.trace.report_json import read_report
from replay.trace.snapshot import Snapshot, read_snapshot
from replay.trace.suite import Suite, read_suite

__all__ = ["REPORT", "SUITE", "load_report", "load_snapshots", "load_suite", "load_traces", "write_file"]

SUITE: Final = "suite.json"
REPORT: Final = "report.json"
_JSON: Final = ".json"


def load_report(path: str) -> Report:
    """The report of a file, or that of a directory of test outputs."""
    if os.path.isdir(path):
        return read_report(open_outputs(path).read(REPORT), os.path.join(path, REPORT))
    return read_report(_read(path, "a report"), path)


def load_suite(directory: str) -> Suite:
    """The suite of a directory; one that says nothing without a suite.json. Every mistake is told, not the first alone."""
    path = os.path.join(directory, SUITE)
    if not os.path.exists(path):
        return Suite()
    data = _read(path, "the suite")
    try:
        return read_suite(data, path)
    except FixtureError as error:
        from replay.trace.edges import explain_suite

        more = explain_suite(data, path, error)
        fix = "\n".join([*filter(None, [error.fix]), *(f"and {one}" for one in more)])
        raise FixtureError(error.what, error.where, fix) from None


def load_traces(directory: str) -> dict[str, AgentTrace]:
    """The baselines of a directory, by id."""
    place = os.path.join(directory, "traces")
    blobs = DirectoryBlobs(os.path.join(place, "blobs"))
    found: dict[str, AgentTrace] = {}
    for path in _files(place):
        trace = read_trace(_read(path, "a trace"), path, blobs)
        if trace.trace_id in found:
            raise FixtureError(
                f'another trace has the id "{trace.trace_id}"', Location(path, path="$.trace_id")
            )
        found[trace.trace_id] = trace
    if not found:
        raise UsageError(f"{place} holds no trace", fix="name the directory that has the suite and traces/")
    return found


def load_snapshots(directory: str) -> Mapping[str, Mapping[str, Snapshot]]:
    """The accepted snapshots of a directory, by the id of their trace and their file's name."""
    place = os.path.join(directory, "snapshots")
    return {
        trace_id: {
            os.path.basename(path): read_snapshot(_read(path, "a snapshot"), path)
            for path in _files(os.path.join(place, trace_id))
        }
        for trace_id in (sorted(os.listdir(place)) if os.path.isdir(place) else ())
    }


def write_file(path: str, report: Report, render: Callable[[Report], bytes]) -> None:
    """Write a report to a file, its directory made if need be. Raises UsageError."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(render(report))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _files(directory: str) -> list[str]:
    if not os.path.isdir(directory):
        return []
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(_JSON)]


def _read(path: str, what: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{path} cannot be read as {what}: {error.strerror}") from None
