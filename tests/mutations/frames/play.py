"""One mutant, played as the scenario's real test: the runner in this process, subject and peers in theirs."""

import os
import resource
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from replay.errors import DivergenceError, FixtureError, UsageError
from replay.runner.manifest import ScenarioSpec
from replay.runner.process import descendants, end_all
from replay.runner.result import FAILED, PASSED, Result
from replay.runner.runfiles import Runfiles
from replay.runner.transport_manifest import SubjectSpec, TransportManifest
from replay.runner.transport_pipeline import REPLAY, TransportSurroundings, run_transport
from replay.runner.transport_verdict import SUBJECT
from replay.scenario.transport_layout import provider_of, surface_of, variant_of
from tests.mutations.frames.stillness import StillnessLoop

__all__ = ["CATCHERS", "SURVIVED", "Outcome", "Variant", "find_variants", "play", "write_subject"]

READER, ENGINE, ASSERTION, ORCHESTRATOR, EXPECTED, HUNG = (
    "reader", "engine", "assertion", "orchestrator", "expected", "hung",
)  # fmt: skip
CATCHERS = (READER, ENGINE, ASSERTION, ORCHESTRATOR, EXPECTED, HUNG)
"""Who may catch a mutant: the file's reader, the engine, an assertion of the scenario, the orchestrator's own refusal, an
expected file, and nobody before everything stood still."""
SURVIVED, FAULT = "survived", "fault"
# What of the scenario speaks when an assertion of it fails.
_ASSERTING = ("scenario.py:", "world.py:", "world_process.py:")
_BOUND_SECONDS = 120.0


class Variant(NamedTuple):
    """One test of a scenario: its files by name, as they lie in the tree."""

    scenario: str
    name: str
    directory: Path
    files: Mapping[str, Path]
    workspace: Mapping[str, Path]

    @property
    def title(self) -> str:
        return f"{self.scenario}/{self.name}"

    @property
    def transcripts(self) -> list[str]:
        return [file for file in self.files if provider_of(file)]


class Outcome(NamedTuple):
    """`by` is one of CATCHERS, SURVIVED or FAULT; `said` the first line that a person would read."""

    by: str
    said: str
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    leftovers: int = 0


def find_variants(scenarios: Path) -> list[Variant]:
    """Every test below the directory of scenarios, sorted."""
    found = []
    for directory in sorted(path for path in scenarios.iterdir() if (path / "scenario.py").is_file()):
        names = sorted(path.name for path in directory.iterdir() if path.is_file())
        seed = directory / "workspace"
        workspace = {
            path.relative_to(seed).as_posix(): path for path in sorted(seed.rglob("*")) if path.is_file()
        }
        for variant in sorted({variant_of(name) for name in names if provider_of(name)}):
            own = {name: directory / name for name in names if variant_of(name) in ("", variant)}
            found.append(Variant(directory.name, variant, directory, own, workspace))
    return found


def write_subject(directory: Path) -> str:
    """The subject's executable: this interpreter with this path, without what searches for either."""
    start = f"import sys; sys.path[:] = {sys.path!r}; from scenarios.transport.subject import main; sys.exit(main())"
    quoted = "'" + start.replace("'", "'\\''") + "'"
    path = directory / "subject"
    path.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S -B -c {quoted}\n")
    path.chmod(0o755)
    return str(path)


def play(variant: Variant, mutated: Mapping[str, bytes], subject: str, scratch: Path) -> Outcome:
    """Play the variant with these files in place of its own. Nothing of it is left, no process and no file."""
    began = time.monotonic()
    place = scratch / variant.scenario
    place.mkdir(parents=True)
    try:
        spec = _laid_out(variant, mutated, place)
        manifest = TransportManifest("", SubjectSpec("subject", subject, (), {}), (spec,), exit_seconds=5.0)
        loop = StillnessLoop()
        loop.stop_on_sigterm()
        around = TransportSurroundings(
            manifest, Runfiles("", "", ""), str(scratch), loop, time.monotonic() + _BOUND_SECONDS
        )
        by, said = _judged(run_transport(spec, REPLAY, around), loop.is_still)
        left = descendants(os.getpid())
        end_all(os.getpid(), 0.0)
        loop.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
    return Outcome(by, said, cpu, time.monotonic() - began, len(left))


def _laid_out(variant: Variant, mutated: Mapping[str, bytes], place: Path) -> ScenarioSpec:
    """The scenario's directory as the test sees it: links to the tree, and the mutated files."""
    for name, path in variant.files.items():
        if name in mutated:
            (place / name).write_bytes(mutated[name])
        else:
            (place / name).symlink_to(path)
    expected = {surface.file: name for name in variant.files if (surface := surface_of(name)) is not None}
    return ScenarioSpec(
        name=variant.title,
        label="",
        package="",
        directory=variant.scenario,
        files={name: str(place / name) for name in variant.files},
        workspace={name: str(path) for name, path in variant.workspace.items()},
        workspace_expected={},
        declares_override=False,
        pins=False,
        cwd_parent="",
        variant=variant.name,
        transcripts={provider_of(name): name for name in variant.transcripts},
        expected=expected,
    )


def _judged(result: Result, is_still: bool) -> tuple[str, str]:
    """Who caught it, the first that had a say, and in which words."""
    if result.fault:
        return FAULT, result.fault
    error = result.error
    if isinstance(error, (FixtureError, UsageError)):
        return READER, str(error)
    if isinstance(error, DivergenceError):
        return ENGINE, str(error)
    if error is not None:
        return (HUNG, "; ".join(result.evidence)) if is_still else (ORCHESTRATOR, str(error))
    failed = {case.surface: case for case in result.cases if case.verdict == FAILED}
    if SUBJECT in failed:
        said = failed[SUBJECT].message
        by = ASSERTION if any(f" {file}" in said for file in _ASSERTING) else ORCHESTRATOR
        return by, said
    for case in failed.values():
        return (EXPECTED if case.is_output else ENGINE), case.message
    if not result.cases or any(case.verdict != PASSED for case in result.cases):
        return FAULT, f"neither passed nor failed: {result.cases}"
    return SURVIVED, ""
