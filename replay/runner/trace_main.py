"""A trace test's entry under Bazel: all traces, one verdict, one exit code; and the action that replays a part of them.

0 passed, 1 the suite's verdict is against the agent, 2 a trace, the suite or the usage is wrong, 3 the agent did not
start, crashed or hung where that decides the verdict, 4 a fault of our own. `--part=DIRECTORY --slice=K/N` replays
every Nth trace from the Kth, counted from 0, and judges nothing.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence

from replay.errors import ReplayError, UsageError
from replay.runner.bazel_test import begin, end, report_infrastructure_failure, write_reports
from replay.runner.console import write_console
from replay.runner.environment import Environment, read_environment
from replay.runner.process import become_subreaper
from replay.runner.report import render_console
from replay.runner.result import Result
from replay.runner.runfiles import Runfiles, runfiles_directory
from replay.runner.trace_channel import ListeningLoop
from replay.runner.trace_manifest import TraceManifest, decode_trace_manifest
from replay.runner.trace_part import without_times, write_part
from replay.runner.trace_process import PlayStage
from replay.runner.trace_queue import Wanted, always
from replay.runner.trace_replay import load_traces, replay_traces
from replay.trace.model import AgentTrace
from replay.trace.replayer import Replayed

__all__ = ["chosen_files", "main", "open_stage"]

_PART, _SLICE = "--part=", "--slice="
_MARGIN_SECONDS = 10.0
_LEAST_BUDGET = 0.6


def main() -> int:
    """Run the manifest that the environment names. The process's exit code."""
    environment = read_environment(os.environ)
    begin(environment)
    try:
        code = _run(environment, os.environ, sys.argv[1:])
    except ReplayError as error:
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", error=error))
    except Exception:
        import traceback

        fault = traceback.format_exc()
        report_infrastructure_failure(environment, fault.strip().splitlines()[-1])
        code = _refuse(environment, Result("agent_replay", environment.target, "replay", fault=fault))
    end(environment)
    return code


def open_stage(environment: Environment, variables: Mapping[str, str]) -> PlayStage:
    """The manifest that the environment names, and what its agent is started with. Raises UsageError."""
    began = time.monotonic()
    runfiles = Runfiles(
        runfiles_directory(environment.runfiles_dir, __file__),
        environment.runfiles_manifest,
        environment.workspace,
    )
    place = runfiles.locate(environment.manifest)
    with open(place, "rb") as file:
        manifest = decode_trace_manifest(file.read(), os.path.basename(place))
    become_subreaper()
    loop = ListeningLoop()
    loop.stop_on_sigterm()
    seconds = environment.timeout_seconds
    ends = None if seconds is None else began + max(seconds - _MARGIN_SECONDS, seconds * _LEAST_BUDGET)
    inherited = {name: variables[name] for name in manifest.agent.inherited if name in variables}
    return PlayStage(manifest, runfiles, environment.temporary, loop, ends, inherited)


def _run(environment: Environment, variables: Mapping[str, str], arguments: Sequence[str]) -> int:
    part, number, of = _part(arguments)
    stage = open_stage(environment, variables)
    manifest = stage.manifest
    chosen = chosen_files(manifest, environment)[number::of]
    traces = load_traces(manifest, stage.runfiles, chosen)
    # A trace that runs once has no run to be spared, and its part is of any suite.
    is_vote = manifest.strategy.runs > 1 and not manifest.all_runs
    if part and not is_vote:
        write_part(part, _played(stage, traces, always(manifest.strategy.runs)), with_times=False)
        return 0
    from replay.runner.trace_verdict import ACTUAL, leave, open_bench, render

    bench = open_bench(manifest, stage.runfiles, traces)
    if part:
        untimed = bench.wanted(lambda run: run._replace(actual=without_times(run.actual)))
        write_part(part, _played(stage, traces, untimed), with_times=False)
        return 0
    replays = _played(stage, traces, bench.wanted() if is_vote else always(manifest.strategy.runs))
    if environment.outputs:
        # Before anything is judged: whatever refuses that, the runs are kept, and may have cost money.
        write_part(os.path.join(environment.outputs, ACTUAL), replays)
    report, tried = bench.judge(replays)
    if environment.outputs:
        leave(environment.outputs, report, tried, manifest, stage.runfiles)
    write_console(render(report, manifest, replays, bool(environment.outputs)))
    if environment.xml:
        from replay.trace.report_junit import render_junit

        with open(environment.xml, "wb") as file:
            file.write(render_junit(report))
    return report.exit_code


def _played(stage: PlayStage, traces: Mapping[str, AgentTrace], wanted: Wanted) -> list[Replayed]:
    replays = replay_traces(stage, traces, wanted)
    stage.loop.close()
    return replays


def chosen_files(manifest: TraceManifest, environment: Environment) -> list[str]:
    """All traces, or those that a filter names. Raises UsageError for native shards and for no match."""
    if environment.shards > 1:
        raise UsageError(
            "a verdict is over all traces, which no shard of Bazel's sees",
            fix="remove shard_count and --test_sharding_strategy, and write parts = N in the test's rule",
        )
    files = manifest.trace_files
    if not files:
        raise UsageError(
            f"{manifest.label or 'the test'} has no trace to replay",
            fix=f"record one: bazel run {manifest.label}.record -- --id ID --task TEXT",
        )
    if environment.only:
        from fnmatch import fnmatchcase

        files = [name for name in files if fnmatchcase(_stem(name), environment.only)]
        if not files:
            raise UsageError(
                f'--test_filter "{environment.only}" matches none of {len(manifest.trace_files)} traces',
                fix=f"one of: {', '.join(map(_stem, manifest.trace_files))}",
            )
    return files


def _stem(name: str) -> str:
    return os.path.basename(name).removesuffix(".json")


def _part(arguments: Sequence[str]) -> tuple[str, int, int]:
    """The directory that a part is written to, which part, and of how many; "" for a test.

    Raises UsageError for any other argument.
    """
    if not arguments:
        return "", 0, 1
    if len(arguments) == 2 and arguments[0].startswith(_PART) and arguments[1].startswith(_SLICE):
        number, _, of = arguments[1].removeprefix(_SLICE).partition("/")
        if number.isdecimal() and of.isdecimal() and int(number) < int(of):
            return os.path.abspath(arguments[0].removeprefix(_PART)), int(number), int(of)
    raise UsageError(f'"{" ".join(arguments)}" is no argument of a trace test')


def _refuse(environment: Environment, result: Result) -> int:
    """Report what stopped the test before any verdict."""
    write_console(render_console(result, ""))
    write_reports(environment, [result])
    if environment.outputs:
        from replay.runner.artefacts import write_result

        write_result(environment.outputs, result)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
