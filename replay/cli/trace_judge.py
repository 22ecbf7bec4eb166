"""`replay trace judge SUITE OUTPUTS`: the verdict on runs that were made before, by the suite as it is now.

OUTPUTS is what a trace test leaves. Of the runs themselves (actual/) every rule of the suite can be another one than when
they were made. Of the trials alone (trials.jsonl) the votes are counted again: by other numbers of passes, agreement and
thresholds; what each run came to stays. The agent runs no second time; where runs were left out and are missed now, that
is said.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence

from replay.cli.trace_files import REPORT, load_report, load_snapshots, load_suite, load_traces
from replay.cli.trace_report import add_outputs, write_outputs
from replay.errors import Location, UsageError
from replay.runner.bundle import Outputs, open_outputs
from replay.runner.console import write_console
from replay.runner.trace_part import REPLAYS, read_part
from replay.runner.trace_verdict import ACTUAL
from replay.trace.model import AgentTrace
from replay.trace.outcome import NO_SNAPSHOTS
from replay.trace.replayer import Replayed
from replay.trace.report_console import render_console
from replay.trace.strategies import STRATEGIES, strategy
from replay.trace.trials import TRIALS, TraceTrials, read_trials
from replay.trace.verdict import judge_trials, needs_closeness, versions_of
from replay.trace.vote import try_runs

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
    replays, stored = _outputs(arguments.outputs, baselines, arguments.strategy)
    known = {one.baseline.trace_id for one in replays} | {one.trace_id for one in stored}
    # Of a trace that the suite skips no trial is kept.
    needed = {name for name, trace in baselines.items() if not suite.rules_for(name, trace.category).skip}
    missing = sorted((needed if stored else baselines.keys()) - known)
    if missing:
        what = f'holds no run of "{missing[0]}"' + (
            f" and {len(missing) - 1} traces more" if missing[1:] else ""
        )
        raise UsageError(
            what, Location(", ".join(arguments.outputs)), "name the outputs of all parts of one test"
        )
    closeness = None
    if needs_closeness(suite, [*replays, *stored]):
        from replay.trace.similarity import load_model

        closeness = load_model().similarity
    snapshots = load_snapshots(arguments.suite)
    tried = [
        try_runs(suite, one, closeness, snapshots.get(one.baseline.trace_id, NO_SNAPSHOTS)) for one in replays
    ]
    report = judge_trials(
        suite,
        [*tried, *(one for one in stored if one.trace_id in baselines)],
        load_report(arguments.previous) if arguments.previous else None,
        name=arguments.suite.rstrip("/"),
        closeness=closeness,
        versions=versions_of(replays),
    )
    write_outputs(report, arguments)
    write_console(render_console(report))
    return report.exit_code


def _outputs(
    directories: Sequence[str], baselines: Mapping[str, AgentTrace], said: str
) -> tuple[list[Replayed], list[TraceTrials]]:
    """What the outputs of tests, or of parts, hold: runs, or where there are none, trials.

    Raises UsageError, FixtureError for a directory that has neither.
    """
    replays: list[Replayed] = []
    stored: list[TraceTrials] = []
    for directory in directories:
        outputs = open_outputs(directory)
        actual = f"{ACTUAL}/" if outputs.has(f"{ACTUAL}/{REPLAYS}") else ""
        if outputs.has(TRIALS) and not outputs.has(actual + REPLAYS):
            if said:
                raise UsageError(
                    f"{directory} holds trials and no runs, which cannot be judged as --strategy {said}",
                    fix="leave --strategy out: the trials say how they ran",
                )
            stored += read_trials(outputs.read(TRIALS), os.path.join(directory, TRIALS))
        else:
            chosen = strategy(said or _strategy_of(open_outputs(directories[0])))
            place = os.path.join(directory, actual).rstrip("/")
            replays += read_part(_below(outputs, actual), place, baselines, chosen)
    return replays, stored


def _below(outputs: Outputs, directory: str) -> Callable[[str], bytes]:
    return lambda name: outputs.read(directory + name)


def _strategy_of(outputs: Outputs) -> str:
    """The strategy that a report beside the runs names, else the strictest."""
    return (load_report(outputs.directory).strategy if outputs.has(REPORT) else "") or "exact"
