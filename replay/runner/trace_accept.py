"""The accept command of a trace test: takes what its agent did in the newest run for right, without another run.

Without a name it takes every trace that failed. A run whose process broke, or that could not go on, is no baseline. Of a
test over snapshots it takes the snapshots and no trace. Exit code 0, or 2 where something was not taken.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256

from replay.errors import ReplayError, UsageError, counted
from replay.runner.bundle import Bundle, newest_bundle
from replay.runner.command import guarded
from replay.runner.console import write_console
from replay.runner.environment import Environment, read_environment
from replay.runner.result import FAILED
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.trace_commands import Package, write_files
from replay.runner.trace_manifest import TraceManifest, decode_trace_manifest
from replay.runner.trace_part import read_part
from replay.surface.secrets import credential_values
from replay.trace.model import AgentTrace
from replay.trace.renewal import renewed
from replay.trace.replayer import Replayed, Run
from replay.trace.snapshot import write_snapshot
from replay.trace.taken import snapshot_files

__all__ = ["main"]

_SNAPSHOT = "snapshot"


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    parser = argparse.ArgumentParser(
        prog="accept", description="Take what the agent did in the newest run of this test for right."
    )
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="ids; none for every trace that failed")
    parser.add_argument("--run", type=int, default=0, metavar="N", help="which of several runs, from 1")
    parser.add_argument("--testlogs", default="", metavar="DIR", help="bazel-testlogs by default")
    options = parser.parse_args(arguments)
    return guarded(
        lambda: _accept(options, os.environ),
        "the traces are as they were, or all are taken",
    )


def _accept(options: argparse.Namespace, variables: Mapping[str, str]) -> int:
    environment = read_environment(variables)
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__),
        environment.runfiles_manifest,
        environment.workspace,
    )
    place = runfiles.locate(environment.manifest)
    with open(place, "rb") as file:
        manifest = decode_trace_manifest(file.read(), os.path.basename(place))
    package = Package.of(manifest, environment)
    bundle = _bundle(manifest, environment, options.testlogs)
    failed = [case["surface"] for case in bundle.result["cases"] if case["verdict"] == FAILED]
    known = [case["surface"] for case in bundle.result["cases"]]
    for name in options.traces:
        if name not in known:
            raise UsageError(f'the newest run has no trace "{name}"', fix=f"one of: {', '.join(known)}")
    wanted = options.traces or failed
    if not wanted:
        write_console(f"{manifest.label}: every trace passed, there is nothing to take\n")
        return 0
    return _take(manifest, package, bundle, wanted, options.run, credential_values(variables))


def _take(
    manifest: TraceManifest,
    package: Package,
    bundle: Bundle,
    wanted: Sequence[str],
    number: int,
    secrets: Mapping[str, str],
) -> int:
    outputs, place = bundle.actual(), f"{bundle.place}/actual"
    traces: dict[str, AgentTrace] = {}
    baselines = {trace_id: trace for trace_id in wanted if (trace := package.trace(trace_id)) is not None}
    replays = {
        each.baseline.trace_id: each
        for each in read_part(_reader(outputs, place), place, baselines, manifest.strategy)
    }
    files: dict[str, bytes] = {}
    stale: list[str] = []
    refused = 0
    for trace_id in wanted:
        try:
            run = _run(manifest, package, bundle, replays.get(trace_id), trace_id, number)
            if manifest.strategy.compare == _SNAPSHOT:
                own = {f"snapshots/{trace_id}/{name}": data for name, data in _snapshots(run)}
                stale += [
                    name for name in manifest.snapshots if name.split("/")[1] == trace_id and name not in own
                ]
                files |= own
            else:
                traces[trace_id] = renewed(baselines[trace_id], run.actual, manifest.strategy)
        except ReplayError as refusal:
            write_console(f"{trace_id}: {refusal.explained()}\n")
            refused += 1
    if traces:
        own, unused = package.trace_files(traces)
        files |= own
        stale += unused
    taken = len(wanted) - refused
    if taken and not write_files(package, files, stale, secrets):
        write_console("the source tree holds these outputs already\n")
    write_console(f"{counted(taken, 'trace')} accepted{f', {refused} not' if refused else ''}\n")
    return 2 if refused else 0


def _reader(outputs: Mapping[str, bytes], place: str) -> Callable[[str], bytes]:
    """How the files of the outputs are read. Raises UsageError for one that is not there."""

    def read(name: str) -> bytes:
        if name not in outputs:
            raise UsageError(f"{place} holds no {name}", fix="run the test again")
        return outputs[name]

    return read


def _bundle(manifest: TraceManifest, environment: Environment, said: str) -> Bundle:
    """The newest outputs of the test. Raises UsageError where it has left none."""
    testlogs = (
        os.path.join(environment.working, said)
        if said
        else os.path.join(environment.workspace, "bazel-testlogs")
    )
    package, _, target = manifest.label.removeprefix("//").partition(":")
    bundle = newest_bundle(testlogs, package, target, target)
    if bundle is None:
        raise UsageError(
            f"{manifest.label} has left no outputs below {said or 'bazel-testlogs'}",
            fix=f"bazel test {manifest.label}",
        )
    return bundle


def _run(
    manifest: TraceManifest,
    package: Package,
    bundle: Bundle,
    replayed: Replayed | None,
    trace_id: str,
    number: int,
) -> Run:
    """The run to be taken. Raises UsageError for one that is no baseline, or that was of another fixture."""
    again = f"bazel test {manifest.label}"
    if replayed is None:
        raise UsageError("there is no run of it, or its trace is no more", fix=again)
    for name, digest in _fixture(bundle.result, trace_id).items():
        data = package.read(name)
        if data is None or sha256(data).hexdigest() != digest:
            raise UsageError(f"{package.name}/{name} has changed since the test ran", fix=again)
    if len(replayed.runs) > 1 and not 1 <= number <= len(replayed.runs):
        raise UsageError(f"it was run {len(replayed.runs)} times", fix="say which with --run N")
    run = replayed.runs[max(0, number - 1)]
    if run.error is not None:
        raise UsageError(f"its run broke, and is no baseline: {run.error.what}", fix=again)
    fatal = [each for each in run.divergences if each.is_fatal]
    if fatal:
        raise UsageError(
            f"its run could not go on, and is no baseline: {fatal[0].message}",
            fix=f"if the agent is right, record it anew: bazel run {manifest.label}.record -- {trace_id}",
        )
    return run


def _fixture(result: Mapping[str, object], trace_id: str) -> dict[str, str]:
    """File -> SHA-256 of what the run read of a trace."""
    listed = result.get("fixture")
    prefixes = (f"traces/{trace_id}.json", f"snapshots/{trace_id}/")
    return {
        entry["name"]: entry["sha256"]
        for entry in (listed if isinstance(listed, list) else ())
        if entry["name"].startswith(prefixes)
    }


def _snapshots(run: Run) -> Iterator[tuple[str, bytes]]:
    for name, snapshot in snapshot_files(run).items():
        yield name, write_snapshot(snapshot)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
