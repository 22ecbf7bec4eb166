"""The runner's entry under Bazel: one test target, one or many scenarios, one exit code.

0 passed, 1 a surface differs or the run left its recording, 2 the fixture or the usage is wrong, 3 the agent failed
or hung, 4 a fault of our own. With several scenarios the gravest wins. On SIGTERM the agent is ended, what is known
is written, and the remaining scenarios are named as not run.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from replay import acp
from replay.acp import Tables, load_tables
from replay.errors import AgentError, ReplayError, UsageError
from replay.runner.bazel_test import (
    begin,
    end,
    report_infrastructure_failure,
    select,
    surface_filter,
    write_reports,
)
from replay.runner.console import write_console
from replay.runner.environment import Environment, read_environment, read_machine
from replay.runner.loop import Loop
from replay.runner.manifest import Manifest, ScenarioSpec, decode_manifest
from replay.runner.process import become_subreaper
from replay.runner.report import render_console, render_summary
from replay.runner.result import Result, worst
from replay.runner.runfiles import Runfiles, runfiles_directory

__all__ = ["main", "read_tables", "write_console"]

_OUTPUTS_IN_BAZEL = "test.outputs"


def main() -> int:
    """Run the manifest that the environment names. The process's exit code."""
    environment = read_environment(os.environ)
    begin(environment)
    try:
        code = run_manifest(environment)
    except ReplayError as error:
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", error=error))
    except Exception:
        import traceback

        fault = traceback.format_exc()
        report_infrastructure_failure(environment, fault.strip().splitlines()[-1])
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", fault=fault))
    end(environment)
    return code


def run_manifest(environment: Environment) -> int:
    """Replay the scenarios of this shard and filter, with everything that Bazel wants written."""
    from replay.runner.mode import REPLAY
    from replay.runner.pipeline import Surroundings

    began = time.monotonic()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__),
        environment.runfiles_manifest,
        environment.workspace,
    )
    manifest = read_manifest(runfiles.locate(environment.manifest))
    chosen, warnings = select(environment, manifest.scenarios)
    become_subreaper()
    loop = Loop()
    loop.stop_on_sigterm()
    ends = began + environment.timeout_seconds if environment.timeout_seconds else None
    around = Surroundings(
        manifest,
        runfiles,
        read_tables(environment.schema),
        environment.temporary,
        loop,
        read_machine(),
        ends,
        only=surface_filter(environment),
    )

    def run(spec: ScenarioSpec, outputs: str) -> Result:
        from replay.runner.pipeline import run_scenario

        return run_scenario(spec, REPLAY, around, outputs)

    results: list[Result] = []
    for result in run_scenarios(chosen, run, loop, outputs_of(environment, manifest), environment.fail_fast):
        results.append(result._replace(warnings=[*warnings, *result.warnings]) if not results else result)
        show(result, _outputs_shown(result, environment, manifest))
        if result.fault:
            report_infrastructure_failure(environment, result.first_line)
    for warning in warnings:
        print(f"warning: {warning}")
    if len(chosen) > 1:
        print(render_summary(results), end="")
    write_reports(environment, results)
    loop.close()
    return worst(results)


def run_scenarios(
    chosen: Sequence[ScenarioSpec],
    run: Callable[[ScenarioSpec, str], Result],
    loop: Loop,
    outputs_of_scenario: Callable[[ScenarioSpec], str],
    fail_fast: bool = False,
) -> Iterator[Result]:
    """One result a scenario, in order. After SIGTERM, or the first failure of a fail-fast run, none is started.

    run: takes a scenario and the directory for its artefacts, empty for none.
    """
    for spec in chosen:
        if loop.stopped:
            error = AgentError("not run: SIGTERM came before its turn")
            yield Result(spec.name, spec.label, "replay", error=error)
            continue
        result = run(spec, outputs_of_scenario(spec))
        yield result
        if len(chosen) > 1:
            gc.collect()
            # The manifest of thousands and all modules, which the next collection need not look at.
            gc.freeze()
        if fail_fast and result.exit_code:
            return


def read_manifest(path: str) -> Manifest:
    """The manifest in a file."""
    with open(path, "rb") as file:
        return decode_manifest(file.read(), os.path.basename(path))


def read_tables(file: str = "") -> Tables:
    """The ACP schema: `file`, else the table that the build made beside replay/acp. Raises UsageError for none."""
    path = file or os.path.join(os.path.dirname(acp.__file__), "schema_tables.json")
    try:
        if file:
            with open(file, "rb") as table:
                return load_tables(table.read())
        # In a program the modules are in one file, and so is what lies beside them.
        loader: Any = acp.__loader__
        return load_tables(loader.get_data(path))
    except FileNotFoundError:
        raise UsageError(
            f"the ACP schema's table {path} is missing",
            fix="bazel build //replay/acp:schema_tables, and name its output in AGENT_REPLAY_SCHEMA",
        ) from None


def outputs_of(environment: Environment, manifest: Manifest) -> Callable[[ScenarioSpec], str]:
    """Where the artefacts of a scenario go: the undeclared outputs, one directory each in a batch."""

    def directory(spec: ScenarioSpec) -> str:
        if not environment.outputs:
            return ""
        return os.path.join(environment.outputs, spec.name) if manifest.batched else environment.outputs

    return directory


def show(result: Result, outputs: str) -> None:
    """Print the report on one run."""
    write_console(render_console(result, outputs))


def _outputs_shown(result: Result, environment: Environment, manifest: Manifest) -> str:
    """Where a person finds the artefacts: Bazel's link to them, as the sandbox's own path is gone by then."""
    package, _, name = (result.label or environment.target).removeprefix("//").partition(":")
    parts = ["bazel-testlogs", package, name, _OUTPUTS_IN_BAZEL, result.scenario if manifest.batched else ""]
    return "/".join(part for part in parts if part) if name else environment.outputs


def _refuse(environment: Environment, result: Result) -> int:
    """Report what stopped the run before any scenario."""
    show(result, "")
    write_reports(environment, [result])
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
