"""`replay trace strategies SUITE -- AGENT ARG…`: what each strategy is worth on a suite, measured with its agent.

The changes that the suite must catch, and those that it must let pass, stand in SUITE/changes.json. Everything runs on
this machine, and what a strategy makes live is live.
"""

import argparse
import os
import sys
from typing import Final

from replay.cli.trace_table import render
from replay.errors import UsageError
from replay.runner.console import write_console
from replay.runner.process import become_subreaper
from replay.runner.runfiles import Runfiles
from replay.runner.trace_channel import ListeningLoop
from replay.runner.trace_manifest import SOCKET, STDIO, TraceAgent, TraceManifest
from replay.runner.trace_matrix import measure_strategy
from replay.runner.trace_process import PlayStage
from replay.trace.changes import CHANGES, AgentChange, read_changes
from replay.trace.strategies import STRATEGIES, Strategy, strategy

__all__ = ["add_arguments", "run"]

_DIRECTORIES: Final = ("traces", "snapshots", "workspace")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "suite", metavar="SUITE", help="the directory with suite.json, traces/ and changes.json"
    )
    parser.add_argument("agent", nargs="+", metavar="AGENT", help="how the agent is started, after --")
    parser.add_argument(
        "--strategies", default=",".join(STRATEGIES), metavar="NAMES", help="those to measure, with commas"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of the unchanged agent")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="runs a trace of consensus")
    parser.add_argument("--channel", default=STDIO, choices=(STDIO, SOCKET), help="where the agent speaks")
    parser.add_argument(
        "--inherit", action="append", default=[], metavar="NAME", help="a variable that the agent gets"
    )
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long one run may take")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="agents at once")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print the table."""
    if arguments.repeats < 2:
        raise UsageError("determinism takes at least 2 runs", fix="--repeats 2")
    chosen = [strategy(name) for name in arguments.strategies.split(",") if name]
    changes = _changes(arguments.suite)
    manifest = _manifest(arguments, chosen[0])
    become_subreaper()
    loop = ListeningLoop()
    inherited = {name: os.environ[name] for name in arguments.inherit if name in os.environ}
    stage = PlayStage(manifest, Runfiles(), os.environ.get("TMPDIR", "/tmp"), loop, None, inherited)
    rows = []
    for one in chosen:
        one = one.with_changes(runs=arguments.runs) if one.runs > 1 else one
        rows.append(measure_strategy(stage, one, changes, arguments.repeats, _told))
    loop.close()
    write_console(render(rows, changes, arguments.repeats))
    return 0


def _changes(suite: str) -> list[AgentChange]:
    path = os.path.join(suite, CHANGES)
    try:
        with open(path, "rb") as file:
            return read_changes(file.read(), path)
    except FileNotFoundError:
        return []


def _manifest(arguments: argparse.Namespace, first: Strategy) -> TraceManifest:
    suite = os.path.abspath(arguments.suite)
    files = {name: _files(suite, name) for name in _DIRECTORIES}
    if not any(name.endswith(".json") for name in files["traces"]):
        raise UsageError(f"{arguments.suite} has no traces", fix="name the directory that holds traces/")
    binary, *args = arguments.agent
    suite_file = os.path.join(suite, "suite.json")
    return TraceManifest(
        label="",
        agent=TraceAgent(
            os.path.basename(binary), os.path.abspath(binary), tuple(args), {}, arguments.channel
        ),
        strategy=first,
        directory=arguments.suite.rstrip("/"),
        suite=suite_file if os.path.exists(suite_file) else "",
        traces=files["traces"],
        snapshots=files["snapshots"],
        workspace={name.removeprefix("workspace/"): path for name, path in files["workspace"].items()},
        jobs=arguments.jobs,
        run_seconds=arguments.seconds,
    )


def _files(suite: str, directory: str) -> dict[str, str]:
    found = {}
    for place, _, names in os.walk(os.path.join(suite, directory)):
        for name in sorted(names):
            path = os.path.join(place, name)
            found[os.path.relpath(path, suite)] = path
    return found


def _told(line: str) -> None:
    print(line, file=sys.stderr)
