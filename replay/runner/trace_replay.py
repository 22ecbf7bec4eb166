"""From a manifest to replays: the traces are loaded, cut into runs, and played; or parts that were played are read."""

import os
from collections.abc import Mapping, Sequence

from replay.errors import FixtureError, Location
from replay.runner.runfiles import Runfiles
from replay.runner.trace_manifest import TraceManifest
from replay.runner.trace_part import read_part, reader_of
from replay.runner.trace_play import play_traces
from replay.runner.trace_process import PlayStage
from replay.runner.trace_queue import Wanted
from replay.trace.blobs import BlobStore, digest_of
from replay.trace.codec import read_trace
from replay.trace.model import AgentTrace
from replay.trace.replayer import Replayed
from replay.trace.server import happening

__all__ = ["RunfilesBlobs", "load_traces", "replay_traces"]


class RunfilesBlobs:
    """The blobs beside the traces, by their digest."""

    def __init__(self, manifest: TraceManifest, runfiles: Runfiles) -> None:
        self._places = {
            name.rpartition("/")[2]: path
            for name, path in manifest.traces.items()
            if not name.endswith(".json")
        }
        self._runfiles = runfiles

    def get(self, digest: str) -> bytes | None:
        """The bytes of a blob, None where there is none."""
        path = self._places.get(digest.removeprefix("sha256:"))
        if path is None:
            return None
        with open(self._runfiles.locate(path), "rb") as file:
            data = file.read()
        if digest_of(data) != digest:
            raise FixtureError("holds other bytes than its name says", Location(path), "restore it with git")
        return data

    def put(self, data: bytes) -> str:
        """A test writes no fixture."""
        raise NotImplementedError


def load_traces(manifest: TraceManifest, runfiles: Runfiles, chosen: Sequence[str]) -> dict[str, AgentTrace]:
    """Trace id -> trace, of these files. Raises FixtureError for one that cannot be read, or says another id."""
    blobs: BlobStore = RunfilesBlobs(manifest, runfiles)
    found: dict[str, AgentTrace] = {}
    for name in chosen:
        place = os.path.join(manifest.directory, name)
        with open(runfiles.locate(manifest.traces[name]), "rb") as file:
            trace = read_trace(file.read(), place, blobs)
        stem = os.path.basename(name).removesuffix(".json")
        if trace.trace_id != stem:
            raise FixtureError(
                f'says "{trace.trace_id}", and the file is called "{stem}"',
                Location(place, path="$.trace_id"),
                "rename one of them",
            )
        found[trace.trace_id] = trace
    return found


def replay_traces(stage: PlayStage, traces: Mapping[str, AgentTrace], wanted: Wanted) -> list[Replayed]:
    """All traces replayed, or read from the parts that the manifest names. Raises ReplayError for what cannot be."""
    manifest = stage.manifest
    if manifest.parts:
        found = {}
        for part in manifest.parts:
            place = stage.runfiles.locate(part)
            for replayed in read_part(reader_of(place), place, traces, manifest.strategy):
                found[replayed.baseline.trace_id] = replayed
        missing = [name for name in traces if name not in found]
        if missing:
            raise FixtureError(f"no part holds a replay of {', '.join(missing)}")
        return [found[name] for name in traces]
    played = play_traces(stage, list(traces.values()), wanted)
    return [
        Replayed(happening(trace, manifest.strategy), manifest.strategy, runs)
        for trace, runs in zip(traces.values(), played, strict=True)
    ]
