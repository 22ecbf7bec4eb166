"""What the commands on the traces of a source tree share: the test that they belong to, and how they write.

    bazel run //shop:agent_test.record -- TRACE… | --all | --id ID --task TEXT [--category C]
    bazel run //shop:agent_test.accept -- [TRACE…]

A command writes all of it or nothing, shows what changes, and writes no secret.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from replay.errors import FixtureError, UsageError
from replay.runner.change_diff import in_colour, render_change, summary
from replay.runner.console import write_console
from replay.runner.environment import Environment
from replay.runner.trace_manifest import TraceManifest
from replay.scenario.content import find_secrets
from replay.scenario.write_back import claimed, planned_changes, write_back
from replay.surface.secrets import Scanner
from replay.trace.blobs import DirectoryBlobs, MemoryBlobs
from replay.trace.codec import blob_digests, read_trace, write_trace
from replay.trace.model import AgentTrace

__all__ = ["Package", "write_files"]

_MAX_DIFF_LINES = 80


class Package(NamedTuple):
    """The package of a trace suite in the source tree."""

    directory: str
    """Absolute."""
    name: str
    """As messages write it."""

    @classmethod
    def of(cls, manifest: TraceManifest, environment: Environment) -> Package:
        """Raises UsageError where the command was not started with bazel run."""
        if not environment.workspace:
            raise UsageError("there is no source tree to write to", fix=f"bazel run {manifest.label}.accept")
        return cls(os.path.join(environment.workspace, manifest.directory), manifest.directory)

    def trace(self, trace_id: str) -> AgentTrace | None:
        """A trace as it is committed now, whole; None where there is none. Raises FixtureError for a broken one."""
        data = self.read(f"traces/{trace_id}.json")
        if data is None:
            return None
        blobs = DirectoryBlobs(os.path.join(self.directory, "traces/blobs"))
        return read_trace(data, f"{self.name}/traces/{trace_id}.json", blobs)

    def read(self, name: str) -> bytes | None:
        """A file of the package, None where there is none."""
        try:
            with open(os.path.join(self.directory, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def trace_files(self, traces: Mapping[str, AgentTrace]) -> tuple[dict[str, bytes], list[str]]:
        """The files of these traces, with their blobs, and the blobs that no trace needs any more."""
        store = MemoryBlobs()
        files = {f"traces/{trace_id}.json": write_trace(trace, store) for trace_id, trace in traces.items()}
        needed: set[str] = set()
        for name in self._traces() | files.keys():
            data = files.get(name) or self.read(name)
            if data is not None:
                needed |= blob_digests(data, f"{self.name}/{name}")
        files |= {f"traces/blobs/{_hex(digest)}": data for digest, data in store.held.items()}
        held = {f"traces/blobs/{name}" for name in _listed(os.path.join(self.directory, "traces/blobs"))}
        return files, sorted(held - {f"traces/blobs/{_hex(digest)}" for digest in needed})

    def _traces(self) -> set[str]:
        names = _listed(os.path.join(self.directory, "traces"))
        return {f"traces/{name}" for name in names if name.endswith(".json")}


def write_files(
    package: Package, files: Mapping[str, bytes], stale: Sequence[str], secrets: Mapping[str, str]
) -> int:
    """Show what changes and write it, all or nothing; how many files changed.

    secrets: variables of this shell whose values must be in no file. Raises FixtureError for a file with a secret.
    """
    for found in find_secrets(files, package.name, Scanner(secrets)):
        error = found.error
        raise FixtureError(
            f"{error.what}; nothing is written",
            error.where,
            "take it out of what the agent sees, then record again",
        )
    os.makedirs(package.directory, exist_ok=True)
    with claimed(package.directory):
        changes = planned_changes(package.directory, files, stale)
        for change in changes:
            lines = render_change(change, _MAX_DIFF_LINES)
            shown = in_colour(lines) if sys.stdout.isatty() else lines
            write_console(f"{package.name}/{change.name}\n" + "".join(f"  {line}\n" for line in shown))
        write_back(package.directory, files, stale)
    if changes:
        write_console(f"{', '.join(summary(change) for change in changes)}\n")
    return len(changes)


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _listed(directory: str) -> Iterator[str]:
    try:
        yield from sorted(os.listdir(directory))
    except FileNotFoundError:
        return
