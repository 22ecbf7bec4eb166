"""What the commands on scenarios of a source tree share: the suites that they were given, and how they end.

A command is a target of `replay_commands`, whose manifest lists those of the suites, or a Python module that is given
manifests by hand. Scenarios lie below BUILD_WORKSPACE_DIRECTORY, by hand below the current directory.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from replay.errors import ReplayError, UsageError
from replay.runner.environment import Environment
from replay.runner.manifest import (
    Manifest,
    ScenarioSpec,
    decode_manifest,
    listed_manifests,
    manifest_kind,
)
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.transport_manifest import KIND, TransportManifest, decode_transport_manifest

__all__ = ["INTERRUPTED", "Suites", "add_manifest", "guarded", "open_suites"]

INTERRUPTED = 130
"""What a shell says of a command that SIGINT ended."""


class Suites(NamedTuple):
    """The suites of a command. `tree` is the source tree, `stood` the directory in which the person stood."""

    manifests: list[Manifest]
    runfiles: Runfiles
    tree: str
    stood: str
    transports: Sequence[TransportManifest] = ()

    @property
    def all(self) -> list[Manifest | TransportManifest]:
        """The suites of session and of transport replay: what refresh, accept and review work on."""
        return [*self.manifests, *self.transports]

    def directory_of(self, spec: ScenarioSpec) -> str:
        """Where a scenario lives in the source tree, absolute."""
        return os.path.join(self.tree, spec.directory or spec.name)

    def outputs_of(self, manifest: Manifest | TransportManifest, spec: ScenarioSpec, said: str) -> str:
        """Where a run leaves its artefacts, absolute: below the directory that the person `said`; "" for nowhere."""
        if not said:
            return ""
        names = [one.name for suite in self.all for one in suite.scenarios]
        suite = manifest.suite.removeprefix("//").replace(":", "/") if names.count(spec.name) > 1 else ""
        return os.path.join(self.stood, said, suite, spec.name)


def add_manifest(parser: argparse.ArgumentParser) -> None:
    """The argument of every command by which it is started without Bazel."""
    parser.add_argument(
        "--manifest", action="append", default=[], metavar="FILE", help="instead of Bazel's own"
    )


def open_suites(files: Sequence[str], environment: Environment) -> Suites:
    """The suites of the manifests `files`, or where there are none, of Bazel's own manifest.

    Raises UsageError where there is no manifest or one cannot be read.
    """
    stood = environment.working or os.getcwd()
    tree = environment.workspace or os.getcwd()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__), environment.runfiles_manifest, tree
    )
    named = [os.path.join(stood, file) for file in files] or [environment.manifest]
    found = list(_read(named, runfiles))
    return Suites(
        [manifest for manifest in found if isinstance(manifest, Manifest)],
        runfiles,
        tree,
        stood,
        [manifest for manifest in found if isinstance(manifest, TransportManifest)],
    )


def _read(files: Iterable[str], runfiles: Runfiles) -> Iterator[Manifest | TransportManifest]:
    """The manifests in `files`, and those that they list."""
    for file in files:
        if not file:
            raise UsageError(
                "there is no manifest", fix="start the command's target with bazel run, or name --manifest"
            )
        try:
            with open(runfiles.locate(file), "rb") as opened:
                data = opened.read()
        except OSError as error:
            raise UsageError(f"the manifest {file} cannot be read: {error.strerror}") from None
        listed = listed_manifests(data, file)
        if listed is not None:
            yield from _read(listed, runfiles)
        elif manifest_kind(data, file) == KIND:
            yield decode_transport_manifest(data, os.path.basename(file))
        else:
            yield decode_manifest(data, os.path.basename(file))


def guarded(command: Callable[[], int], interrupted: str) -> int:
    """Run `command`; its exit code. A user's mistake is a sentence, never a traceback.

    interrupted: what Ctrl-C leaves, as a person should read it.
    """
    try:
        return command()
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"interrupted: {interrupted}", file=sys.stderr)
        return INTERRUPTED
    except Exception:
        import traceback

        traceback.print_exc()
        print("this is a fault of agent_replay: please report it with the lines above", file=sys.stderr)
        return 4
