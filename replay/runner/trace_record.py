"""The record command of a trace test: runs the agent live and commits what it did as its traces.

    record TRACE…                                  recorded again, by the task that they hold
    record --all                                   every trace of the test
    record --id ID --task TEXT [--category C]      a new one

Everything is live, whatever the test's strategy: the agent gets the variables of this shell that `env_inherit_live` of
the target names. A run that broke is not written. Exit code 0, or 3 where a run broke.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from replay.errors import UsageError, counted
from replay.runner.command import guarded
from replay.runner.console import write_console
from replay.runner.environment import read_environment
from replay.runner.trace_commands import Package, write_files
from replay.runner.trace_main import open_stage
from replay.runner.trace_play import play_traces
from replay.runner.trace_process import PlayStage
from replay.runner.trace_queue import always
from replay.scenario.trace_layout import is_trace_file
from replay.surface.secrets import credential_values
from replay.trace.model import AgentTrace
from replay.trace.strategies import strategy

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the command; the process's exit code."""
    parser = argparse.ArgumentParser(prog="record", description="Run the agent live and keep what it does.")
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="ids of traces to record again")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--id", default="", help="of a new trace")
    parser.add_argument("--task", default="", help="of a new trace, or in the place of the old one's")
    parser.add_argument("--category", default="", help="of a new trace")
    options = parser.parse_args(arguments)
    return guarded(lambda: _record(options, os.environ), "the traces are as they were")


def _record(options: argparse.Namespace, variables: Mapping[str, str]) -> int:
    environment = read_environment(variables)
    stage = open_stage(environment, variables)
    stage = stage._replace(ends=None, manifest=stage.manifest._replace(strategy=strategy("full")))
    package = Package.of(stage.manifest, environment)
    wanted = _wanted(options, stage, package)
    played = play_traces(stage, list(wanted.values()), always(1))
    if stage.loop.stopped:
        raise KeyboardInterrupt
    stage.loop.close()
    made: dict[str, AgentTrace] = {}
    for trace_id, (run,) in zip(wanted, played, strict=True):
        if run.error is not None:
            lines = [run.error.explained(), *run.evidence]
            write_console(f"{trace_id}: not recorded: " + "\n    ".join(lines) + "\n")
            continue
        said = run.actual.metadata.get("provenance")
        provenance = {**(said if isinstance(said, dict) else {}), "kind": "recorded"}
        metadata = {**run.actual.metadata, "provenance": provenance}
        made[trace_id] = run.actual._replace(metadata=metadata)
        # No word of what the agent said: nothing has looked for secrets in it yet.
        raised = ", and the agent raised an exception" if "error" in run.actual.metadata else ""
        write_console(f"{trace_id}: {counted(len(run.actual.steps), 'step')}{raised}\n")
    if made:
        write_files(package, *package.trace_files(made), credential_values(variables))
    broken = len(wanted) - len(made)
    write_console(f"{counted(len(made), 'trace')} recorded{f', {broken} not' if broken else ''}\n")
    return 3 if broken else 0


def _wanted(options: argparse.Namespace, stage: PlayStage, package: Package) -> dict[str, AgentTrace]:
    """Id -> what is to be recorded. Raises UsageError for ids that are none."""
    known = [os.path.basename(name).removesuffix(".json") for name in stage.manifest.trace_files]
    if options.id:
        if options.traces or options.all or not options.task:
            raise UsageError("--id is a new trace", fix="give it a --task, and name no other")
        if not is_trace_file(f"traces/{options.id}.json"):
            raise UsageError(f'"{options.id}" names no file', fix="write letters, digits and _ . + -")
        if package.read(f"traces/{options.id}.json") is not None:
            fix = f"record it again: {options.id} --task TEXT; or give the new one another --id"
            raise UsageError(f'there is a trace "{options.id}" already', fix=fix)
        metadata = {"category": options.category} if options.category else {}
        return {options.id: AgentTrace(options.id, options.task, metadata=metadata)}
    names = known if options.all else options.traces
    if not names:
        raise UsageError("nothing to record", fix=f"name traces, or --all: {', '.join(known[:8])}")
    if options.category:
        raise UsageError("--category is of a new trace", fix="write it into the trace's metadata")
    if options.task and len(names) > 1:
        raise UsageError("--task is of one trace", fix=f"name one of: {', '.join(names[:8])}")
    found = {}
    for name in names:
        trace = package.trace(name)
        if trace is None:
            raise UsageError(
                f'there is no trace "{name}"',
                fix=f"one of: {', '.join(known)}; a new one has --id and --task",
            )
        found[name] = trace._replace(task=options.task or trace.task)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
