"""The record command of transport replay: the subject drives real providers, and what passes becomes transcripts.

    bazel run //scenarios/transport:record -- SCENARIO/VARIANT… | SCENARIO… | --all
    python -m replay.runner.transport_record_start --manifest FILE …        by hand: FILE is a manifest as the rules write it

No key is needed: the product's gateway answers as the model, from `<variant>.session.jsonl`. Each scenario is recorded
twice, and what differed is told, since a transcript must not insist on it. A recording that tells the same course as the
committed one changes nothing. A transcript is written whole or not at all.
"""

import argparse
import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Final

from replay.errors import AgentError, FixtureError, ReplayError, UsageError
from replay.runner.command import add_manifest, guarded
from replay.runner.environment import Environment, read_environment, read_machine
from replay.runner.loop import Loop
from replay.runner.main import write_console
from replay.runner.manifest import ScenarioSpec
from replay.runner.process import become_subreaper
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.transport_record_manifest import RecordManifest, decode_record_manifest
from replay.runner.transport_recording import Take, TakeOrder, take
from replay.scenario.write_back import claimed
from replay.surface.secrets import Scanner, credential_values
from replay.transport.recorders.steady import first_difference, is_same_course
from replay.transport.recorders.write import write_transcript_file
from replay.transport.transcript import Transcript, read_transcript

__all__ = ["main"]

_SECONDS: Final = 120.0


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    options = _parser().parse_args(arguments)
    return guarded(
        lambda: _record(options, os.environ),
        "the transcripts that were not said to be written are as they were",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="record", description="Record real providers, driven by the subject, as transcripts."
    )
    add = parser.add_argument
    add("scenarios", nargs="*", metavar="SCENARIO", help="SCENARIO/VARIANT, or all variants of SCENARIO")
    add("--all", action="store_true", dest="everything", help="every one that can be recorded")
    add("--once", action="store_true", help="do not record a second time to see what differs")
    add("--keep-failure", action="store_true", help="write although the subject failed")
    add("--seconds", type=float, default=_SECONDS, metavar="S", help="how long the subject may take")
    add_manifest(parser)
    return parser


def _record(options: argparse.Namespace, variables: Mapping[str, str]) -> int:
    environment = read_environment(variables)
    tree = environment.workspace or os.getcwd()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__), environment.runfiles_manifest, tree
    )
    manifest = _manifest(options, environment, runfiles)
    work = _Work(options, environment, runfiles, manifest, variables, tree)
    code = 0
    for spec in _chosen(options, manifest):
        try:
            write_console(work.record(spec))
        except ReplayError as error:
            write_console(f"{spec.name}: not recorded\n{error.explained()}\n")
            code = max(code, error.exit_code)
    return code


def _manifest(options: argparse.Namespace, environment: Environment, runfiles: Runfiles) -> RecordManifest:
    named = options.manifest or [environment.manifest]
    if len(named) != 1 or not named[0]:
        raise UsageError(
            "there is no manifest", fix="start the command's target with bazel run, or name one --manifest"
        )
    try:
        with open(runfiles.locate(named[0]), "rb") as file:
            return decode_record_manifest(file.read(), os.path.basename(named[0]))
    except OSError as error:
        raise UsageError(f"the manifest {named[0]} cannot be read: {error.strerror}") from None


def _chosen(options: argparse.Namespace, manifest: RecordManifest) -> list[ScenarioSpec]:
    known = {spec.name: spec for spec in manifest.scenarios}
    if options.everything:
        return list(known.values())
    found: dict[str, ScenarioSpec] = {}
    for name in options.scenarios:
        fits = [spec for spec in known.values() if name in (spec.name, spec.name.partition("/")[0])]
        if not fits:
            raise UsageError(
                f'"{name}" cannot be recorded',
                fix=f"name one of: {', '.join(sorted(known)) or 'there are none'}",
            )
        found |= {spec.name: spec for spec in fits}
    if not found:
        raise UsageError(
            "no scenario is named", fix=f"bazel run {manifest.label} -- SCENARIO/VARIANT, or --all"
        )
    return list(found.values())


class _Work:
    """What the command does with one scenario after the other."""

    def __init__(
        self,
        options: argparse.Namespace,
        environment: Environment,
        runfiles: Runfiles,
        manifest: RecordManifest,
        variables: Mapping[str, str],
        tree: str,
    ) -> None:
        self._options = options
        self._environment = environment
        self._runfiles = runfiles
        self._manifest = manifest
        self._secrets = credential_values(variables)
        self._tree = tree
        self._machine = read_machine()
        self._today = datetime.datetime.now(datetime.UTC).date().isoformat()
        become_subreaper()
        self._loop = Loop()
        self._loop.stop_on_sigterm()

    def record(self, spec: ScenarioSpec) -> str:
        """Record one scenario; what to tell of it."""
        directory = os.path.join(self._tree, spec.directory)
        path = os.path.join(directory, f"{spec.variant}.transcript.ndjson")
        with claimed(directory):
            first = self._take(spec)
            transcript = first.recorded.transcript
            lines = [first.recorded.told(spec.name), *first.notes]
            if not self._options.once:
                again = self._take(spec).recorded.transcript
                differs = first_difference(transcript, again)
                lines.append(
                    f"a second recording took another course, from {differs}; no assertion may depend on it"
                    if differs
                    else "a second recording told the same course"
                )
            committed = _committed(path, spec)
            if committed is not None and is_same_course(committed, transcript):
                lines.append("unchanged: it tells the course of the committed transcript")
            else:
                write_transcript_file(path, transcript, Scanner(self._secrets))
                lines.append(f"written: {os.path.relpath(path, self._tree)}, {os.path.getsize(path)} bytes")
        return "\n    ".join(lines) + "\n"

    def _take(self, spec: ScenarioSpec) -> Take:
        provider = self._manifest.providers.get(spec.variant)
        if provider is None:
            known = ", ".join(sorted(self._manifest.providers))
            raise UsageError(
                f'no provider is called "{spec.variant}"',
                fix=f"add it to the providers of {self._manifest.label}: {known}",
            )
        if self._loop.stopped:
            raise AgentError("stopped before it began")
        return take(
            TakeOrder(
                spec,
                provider,
                self._manifest.subject,
                self._runfiles,
                self._environment.temporary,
                self._loop,
                self._machine,
                self._secrets,
                self._today,
                self._options.seconds,
                self._options.keep_failure,
            )
        )


def _committed(path: str, spec: ScenarioSpec) -> Transcript | None:
    """The transcript that there is, None where it cannot be read or there is none."""
    try:
        with open(path, "rb") as file:
            return read_transcript(file.read(), spec.name)
    except OSError, FixtureError:
        return None
