"""The refresh command: replays scenarios without a key and rewrites their expected outputs in the source tree.

    bazel run //:refresh -- SCENARIO… | --all                  a target of replay_commands
    python -m replay.runner --manifest FILE SCENARIO…          by hand: FILE is a manifest as the rules write it

Nothing is written for a scenario whose run did not end well. The exit code is the gravest of all runs.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache

from replay.acp import Tables
from replay.errors import ReplayError
from replay.runner.command import INTERRUPTED, Suites, add_manifest, guarded, open_suites
from replay.runner.environment import Environment, read_environment, read_machine
from replay.runner.loop import Loop
from replay.runner.main import read_tables, write_console
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.mode import REFRESH
from replay.runner.pipeline import Surroundings, run_scenario
from replay.runner.process import become_subreaper
from replay.runner.report import render_refresh, render_refresh_summary
from replay.runner.result import Result, worst
from replay.runner.selection import select_by_name
from replay.runner.transport_manifest import TransportManifest
from replay.scenario.write_back import claimed

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    options = _parser().parse_args(arguments)
    return guarded(
        lambda: _refresh(options, read_environment(os.environ)), "the scenario that was running is as it was"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="refresh", description="Replay scenarios without a key and rewrite their expected outputs."
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="a name, or SUITE/NAME")
    parser.add_argument("--all", action="store_true", dest="everything", help="every scenario there is")
    parser.add_argument(
        "--outputs", default="", metavar="DIR", help="leave what each run was there, as a test does"
    )
    add_manifest(parser)
    return parser


def _refresh(options: argparse.Namespace, environment: Environment) -> int:
    suites = open_suites(options.manifest, environment)
    chosen = select_by_name(suites.all, options.scenarios, everything=options.everything)
    become_subreaper()
    loop = Loop()
    loop.stop_on_sigterm()
    results: list[Result] = []
    for manifest, spec in ((manifest, spec) for manifest, specs in chosen for spec in specs):
        if loop.stopped:
            break
        outputs = suites.outputs_of(manifest, spec, options.outputs)
        results.append(_run(suites, manifest, spec, environment, loop, outputs))
        write_console(render_refresh(results[-1], outputs))
    left = sum(len(specs) for _, specs in chosen) - len(results)
    if len(results) > 1 or left:
        write_console(render_refresh_summary(results, left))
    loop.close()
    return worst(results) or (INTERRUPTED if left else 0)


def _run(
    suites: Suites,
    manifest: Manifest | TransportManifest,
    spec: ScenarioSpec,
    environment: Environment,
    loop: Loop,
    outputs: str,
) -> Result:
    try:
        with claimed(suites.directory_of(spec)):
            if isinstance(manifest, TransportManifest):
                return _refresh_surfaces(suites, manifest, spec, environment, loop, outputs)
            around = Surroundings(
                manifest,
                suites.runfiles,
                _tables(environment.schema),
                environment.temporary,
                loop,
                read_machine(),
                update_directory=suites.directory_of,
            )
            return run_scenario(spec, REFRESH, around, outputs)
    except ReplayError as refusal:
        return Result(spec.name, spec.label, REFRESH.name, error=refusal, commands=manifest.commands)


def _refresh_surfaces(
    suites: Suites,
    manifest: TransportManifest,
    spec: ScenarioSpec,
    environment: Environment,
    loop: Loop,
    outputs: str,
) -> Result:
    from replay.runner.transport_acceptance import REFRESH as REFRESH_SURFACES
    from replay.runner.transport_pipeline import TransportSurroundings, run_transport

    around = TransportSurroundings(
        manifest, suites.runfiles, environment.temporary, loop, update_directory=suites.directory_of
    )
    return run_transport(spec, REFRESH_SURFACES, around, outputs)


@cache
def _tables(schema: str) -> Tables:
    return read_tables(schema)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
