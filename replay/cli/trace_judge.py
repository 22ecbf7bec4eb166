"""`replay trace judge SUITE OUTPUTS`: the verdict on runs that were made before, by the suite as it is now.

OUTPUTS is what a trace test leaves: the runs themselves and no verdict. So another threshold, budget or rule can be
tried on them in no time, and the agent runs no second time.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence

from replay.cli.trace_files import load_report, load_snapshots, load_suite, load_traces
from replay.cli.trace_report import add_outputs, write_outputs
from replay.errors import Location, UsageError
from replay.runner.console import write_console
from replay.runner.trace_part import read_part, reader_of
from replay.runner.trace_verdict import ACTUAL
from replay.trace.model import AgentTrace
from replay.trace.replayer import Replayed
from replay.trace.report_console import render_console
from replay.trace.strategies import STRATEGIES, Strategy, strategy
from replay.trace.verdict import judge, needs_closeness

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "suite", metavar="SUITE", help="the directory with suite.json, traces/ and snapshots/"
    )
    parser.add_argument(
        "outputs", nargs="+", metavar="OUTPUTS", help="the outputs of a test, or of its parts"
    )
    parser.add_argument(
        "--strategy",
        default="",
        metavar="NAME",
        help=f"how they ran, if not as their report says: {', '.join(STRATEGIES)}",
    )
    parser.add_argument("--previous", default="", metavar="REPORT", help="the report to compare with")
    add_outputs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Judge; the exit code is that of the report."""
    suite, baselines = load_suite(arguments.suite), load_traces(arguments.suite)
    chosen = strategy(arguments.strategy or _strategy_of(arguments.outputs[0]))
    replays = list(_runs(arguments.outputs, baselines, chosen))
    missing = sorted(baselines.keys() - {one.baseline.trace_id for one in replays})
    if missing:
        what = f'holds no run of "{missing[0]}"' + (
            f" and {len(missing) - 1} traces more" if missing[1:] else ""
        )
        raise UsageError(
            what, Location(", ".join(arguments.outputs)), "name the outputs of all parts of one test"
        )
    closeness = None
    if needs_closeness(suite, replays):
        from replay.trace.similarity import load_model

        closeness = load_model().similarity
    report = judge(
        suite,
        replays,
        load_report(arguments.previous) if arguments.previous else None,
        name=arguments.suite.rstrip("/"),
        closeness=closeness,
        snapshots=load_snapshots(arguments.suite),
    )
    write_outputs(report, arguments)
    write_console(render_console(report))
    return report.exit_code


def _runs(
    directories: Sequence[str], baselines: Mapping[str, AgentTrace], chosen: Strategy
) -> Iterator[Replayed]:
    """The replays of outputs of tests, or of parts. Raises UsageError, FixtureError for a directory that is neither."""
    for directory in directories:
        actual = os.path.join(directory, ACTUAL)
        place = actual if os.path.isdir(actual) else directory
        yield from read_part(reader_of(place), place, baselines, chosen)


def _strategy_of(directory: str) -> str:
    """The strategy that a report beside the runs names, else the strictest."""
    path = os.path.join(directory, "report.json")
    return (load_report(path).strategy if os.path.exists(path) else "") or "exact"
