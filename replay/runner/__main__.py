"""`python -m replay.runner --manifest FILE`: the pipeline outside Bazel, for development and for making fixtures.

    --mode replay     compare, as a test does (the default)
    --mode refresh    write the outputs back into each scenario's directory: --update-dir DIR/<scenario>, else
                      the scenario's own directory below BUILD_WORKSPACE_DIRECTORY or the current directory

Paths of the manifest that no runfiles tree holds are looked for below that same source tree.
"""

import argparse
import os
import sys
import time

from replay.errors import ReplayError
from replay.runner.environment import read_environment
from replay.runner.loop import Loop
from replay.runner.main import read_manifest, read_tables, run_scenarios, show
from replay.runner.manifest import ScenarioSpec
from replay.runner.mode import MODES
from replay.runner.pipeline import Surroundings, run_scenario
from replay.runner.process import become_subreaper
from replay.runner.report import render_summary
from replay.runner.result import Result, worst
from replay.runner.runfiles import Runfiles


def main(arguments: list[str]) -> int:
    """The command. Its exit code is that of a test."""
    parser = argparse.ArgumentParser(
        prog="python -m replay.runner", description="Run scenarios outside Bazel."
    )
    parser.add_argument("--manifest", required=True, help="a manifest as the rules write it")
    parser.add_argument("--mode", choices=sorted(MODES), default="replay")
    parser.add_argument("--update-dir", default="", help="where refresh writes, one directory a scenario")
    parser.add_argument("--outputs", default="", help="where artefacts go, one directory a scenario")
    parser.add_argument("--timeout", type=float, default=None, help="seconds for everything, as TEST_TIMEOUT")
    parser.add_argument("scenarios", nargs="*", help="names; all of the manifest without any")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    environment = read_environment(os.environ)
    tree = environment.workspace or os.getcwd()
    manifest = read_manifest(options.manifest)
    chosen = [spec for spec in manifest.scenarios if not options.scenarios or spec.name in options.scenarios]
    if not chosen:
        parser.error(f"the manifest has no scenario {' '.join(options.scenarios)}")

    def update_directory(spec: ScenarioSpec) -> str:
        return (
            os.path.join(options.update_dir, spec.name)
            if options.update_dir
            else os.path.join(tree, spec.directory)
        )

    become_subreaper()
    loop = Loop()
    loop.stop_on_sigterm()
    around = Surroundings(
        manifest,
        Runfiles(environment.runfiles_dir, environment.runfiles_manifest, tree),
        read_tables(environment.schema),
        environment.temporary,
        loop,
        began + options.timeout if options.timeout else None,
        update_directory,
    )
    mode = MODES[options.mode]

    def run(spec: ScenarioSpec, outputs: str) -> Result:
        return run_scenario(spec, mode, around, outputs)

    def outputs_of(spec: ScenarioSpec) -> str:
        return os.path.join(options.outputs, spec.name) if options.outputs else ""

    results = []
    for result in run_scenarios(chosen, run, loop, outputs_of):
        results.append(result)
        show(result, outputs_of(manifest.scenarios[0]) and os.path.join(options.outputs, result.scenario))
    if len(results) > 1:
        print(render_summary(results), end="")
    return worst(results)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ReplayError as error:
        print(error, file=sys.stderr)
        if error.fix:
            print(f"  fix: {error.fix}", file=sys.stderr)
        sys.exit(error.exit_code)
