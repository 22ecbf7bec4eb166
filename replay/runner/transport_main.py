"""A transport test's entry under Bazel: one scenario with one variant, one exit code.

0 passed, 1 the run left its recording, the subject failed or a surface differs, 2 the fixture or the usage is wrong,
3 the subject did not start, crashed, hung or left processes behind, 4 a fault of our own. `--order=N` plays one order of
the recorded races instead of those that the manifest asks for.
"""

import os
import sys
import time
from collections.abc import Sequence

from replay.errors import ReplayError, UsageError
from replay.runner.bazel_test import (
    begin,
    end,
    report_infrastructure_failure,
    select,
    surface_filter,
    write_reports,
)
from replay.runner.console import write_console
from replay.runner.environment import Environment, read_environment
from replay.runner.loop import Loop
from replay.runner.process import become_subreaper
from replay.runner.report import render_console
from replay.runner.result import Result, worst
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.transport_manifest import decode_transport_manifest

__all__ = ["main"]

_ORDER = "--order"
_OUTPUTS_IN_BAZEL = "test.outputs"


def main() -> int:
    """Run the manifest that the environment names. The process's exit code."""
    environment = read_environment(os.environ)
    begin(environment)
    try:
        code = _run(environment, _order(sys.argv[1:]))
    except ReplayError as error:
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", error=error))
    except Exception:
        import traceback

        fault = traceback.format_exc()
        report_infrastructure_failure(environment, fault.strip().splitlines()[-1])
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", fault=fault))
    end(environment)
    return code


def _run(environment: Environment, order: int | None) -> int:
    began = time.monotonic()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__),
        environment.runfiles_manifest,
        environment.workspace,
    )
    place = runfiles.locate(environment.manifest)
    with open(place, "rb") as file:
        manifest = decode_transport_manifest(file.read(), os.path.basename(place))
    chosen, warnings = select(environment, manifest.scenarios)
    for warning in warnings:
        print(f"warning: {warning}")
    become_subreaper()
    loop = Loop()
    loop.stop_on_sigterm()
    from replay.runner.transport_pipeline import REPLAY, TransportSurroundings, run_transport

    around = TransportSurroundings(
        manifest,
        runfiles,
        environment.temporary,
        loop,
        began + environment.timeout_seconds if environment.timeout_seconds else None,
        surface_filter(environment),
        order,
    )
    results = []
    for spec in chosen:
        result = run_transport(spec, REPLAY, around, environment.outputs)
        results.append(result._replace(warnings=[*warnings, *result.warnings]))
        write_console(render_console(result, _outputs_shown(result, environment)))
        if result.fault:
            report_infrastructure_failure(environment, result.first_line)
    write_reports(environment, results)
    loop.close()
    return worst(results)


def _order(arguments: Sequence[str]) -> int | None:
    """The order that a test argument asks for. Raises UsageError for any other argument."""
    if not arguments:
        return None
    name, _, text = " ".join(arguments).replace(" ", "=", 1).partition("=")
    if name != _ORDER or not (text.isascii() and text.isdigit()):
        raise UsageError(
            f'"{" ".join(arguments)}" is no argument of a transport test',
            fix=f"--test_arg={_ORDER}=N, from 0",
        )
    return int(text)


def _outputs_shown(result: Result, environment: Environment) -> str:
    """Where a person finds the artefacts: Bazel's link to them, as the sandbox's own path is gone by then."""
    package, _, name = (result.label or environment.target).removeprefix("//").partition(":")
    return "/".join(part for part in ("bazel-testlogs", package, name, _OUTPUTS_IN_BAZEL) if part)


def _refuse(environment: Environment, result: Result) -> int:
    """Report what stopped the run before any scenario."""
    write_console(render_console(result, ""))
    write_reports(environment, [result])
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
