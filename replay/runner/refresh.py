"""The refresh command: replays scenarios without a key and rewrites their expected outputs in the source tree.

    bazel run //:refresh -- SCENARIO… | --all                  a replay_refresh target
    python -m replay.runner --manifest FILE SCENARIO…          by hand: FILE is a manifest as the rules write it

Scenarios lie below BUILD_WORKSPACE_DIRECTORY, by hand below the current directory, and so do files of a hand-written
manifest that no runfiles tree holds. Nothing is written for a scenario whose run did not end well. The exit code is
the gravest of all runs.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from replay.errors import ReplayError, UsageError
from replay.runner.environment import Environment, read_environment
from replay.runner.loop import Loop
from replay.runner.main import read_tables, write_console
from replay.runner.manifest import Manifest, ScenarioSpec, decode_manifest, listed_manifests
from replay.runner.mode import REFRESH
from replay.runner.pipeline import Surroundings, run_scenario
from replay.runner.process import become_subreaper
from replay.runner.report import render_refresh, render_refresh_summary
from replay.runner.result import Result, worst
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.selection import select_by_name
from replay.scenario.write_back import recover

__all__ = ["main"]

_STOPPED = 130
"""What a shell says of a command that SIGINT ended."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code. A user's mistake is a sentence, never a traceback."""
    try:
        return _refresh(_parser().parse_args(arguments), read_environment(os.environ))
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted: the scenario that was running is as it was", file=sys.stderr)
        return _STOPPED
    except Exception:
        import traceback

        traceback.print_exc()
        print("this is a fault of agent_replay: please report it with the lines above", file=sys.stderr)
        return 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="refresh", description="Replay scenarios without a key and rewrite their expected outputs."
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="a name, or SUITE/NAME")
    parser.add_argument("--all", action="store_true", dest="everything", help="every scenario there is")
    parser.add_argument(
        "--outputs", default="", metavar="DIR", help="leave what each run was there, as a test does"
    )
    parser.add_argument(
        "--manifest", action="append", default=[], metavar="FILE", help="instead of Bazel's own"
    )
    return parser


def _refresh(options: argparse.Namespace, environment: Environment) -> int:
    stood = environment.working or os.getcwd()
    tree = environment.workspace or os.getcwd()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__), environment.runfiles_manifest, tree
    )
    files = [os.path.join(stood, file) for file in options.manifest] or [environment.manifest]
    manifests = list(_read_manifests(files, runfiles))
    chosen = select_by_name(manifests, options.scenarios, everything=options.everything)
    tables = read_tables(environment.schema)
    become_subreaper()
    loop = Loop()
    loop.stop_on_sigterm()

    def directory_of(spec: ScenarioSpec) -> str:
        return os.path.join(tree, spec.directory or spec.name)

    results: list[Result] = []
    for manifest, spec in ((manifest, spec) for manifest, specs in chosen for spec in specs):
        if loop.stopped:
            break
        around = Surroundings(
            manifest, runfiles, tables, environment.temporary, loop, update_directory=directory_of
        )
        outputs = os.path.join(options.outputs, spec.name) if options.outputs else ""
        results.append(_run(around, directory_of(spec), spec, outputs and os.path.join(stood, outputs)))
        write_console(render_refresh(results[-1], outputs))
    left = sum(len(specs) for _, specs in chosen) - len(results)
    if len(results) > 1 or left:
        write_console(render_refresh_summary(results, left))
    loop.close()
    return worst(results) or (_STOPPED if left else 0)


def _run(around: Surroundings, directory: str, spec: ScenarioSpec, outputs: str) -> Result:
    """Refresh one scenario. What a killed refresh left is put right first, and then its files are others than Bazel's."""
    try:
        if not recover(directory):
            return run_scenario(spec, REFRESH, around, outputs)
        error: ReplayError = UsageError(
            "a refresh was killed here; its write is completed or taken back now",
            fix="run the same command again",
        )
    except ReplayError as refusal:
        error = refusal
    return Result(spec.name, spec.label, REFRESH.name, error=error)


def _read_manifests(files: Iterable[str], runfiles: Runfiles) -> Iterator[Manifest]:
    """The manifests in `files`, and those that they list."""
    for file in files:
        if not file:
            raise UsageError(
                "there is no manifest", fix="start a replay_refresh target with bazel run, or name --manifest"
            )
        try:
            with open(runfiles.locate(file), "rb") as opened:
                data = opened.read()
        except OSError as error:
            raise UsageError(f"the manifest {file} cannot be read: {error.strerror}") from None
        listed = listed_manifests(data, file)
        if listed is None:
            yield decode_manifest(data, os.path.basename(file))
        else:
            yield from _read_manifests(listed, runfiles)
