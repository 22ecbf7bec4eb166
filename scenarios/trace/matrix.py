"""The confusion matrix: every strategy against every change, for each agent, measured by the real replayer and judge.

    tools/bazel run //scenarios/trace:matrix [-- --agents reference --strategies exact,full --jobs 2]

A regression that the suite's verdict is not against is a miss, a harmless change that it is against is a false alarm.
`snapshot` runs the real tools below a served model, since served tools change no state that could be wrong. The last row
is what a team would run: strategies that complete each other, against which a change must hold as a whole.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from replay.errors import ReplayError
from replay.runner.process import become_subreaper
from replay.runner.runfiles import Runfiles
from replay.runner.trace_channel import ListeningLoop
from replay.runner.trace_manifest import SOCKET, TraceAgent, TraceManifest
from replay.runner.trace_matrix import Row, measure_strategy
from replay.runner.trace_process import PlayStage
from replay.trace.changes import HARMLESS, REGRESSION, AgentChange, read_changes
from replay.trace.strategies import LIVE, Strategy, strategy

__all__ = ["main", "render"]

STRATEGIES: Final[Mapping[str, Strategy]] = {
    "exact": strategy("exact"),
    "mock_tools": strategy("mock_tools"),
    "semantic": strategy("semantic"),
    "consensus": strategy("consensus").with_changes(runs=3),
    "snapshot": strategy("snapshot").with_changes(tools=LIVE),
    "full": strategy("full"),
}
TOGETHER: Final = ("semantic", "snapshot")
_REPEATS: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 0 where the row of the gate is without a fault for every agent."""
    parser = argparse.ArgumentParser(
        prog="matrix", description="What each strategy catches, and fails for nothing."
    )
    parser.add_argument(
        "--agent", action="append", default=[], metavar="NAME=BINARY=SUITE", help=argparse.SUPPRESS
    )
    parser.add_argument("--agents", default="", metavar="NAMES", help="those to measure, with commas")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), metavar="NAMES")
    parser.add_argument("--traces", default="", metavar="IDS", help="only these, with commas")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="agents at once")
    options = parser.parse_args(arguments)
    places = dict(one.split("=", 1) for one in options.agent)
    names = options.agents.split(",") if options.agents else list(places)
    become_subreaper()
    is_good = True
    for name in names:
        binary, _, suite = places[name].partition("=")
        changes = read_changes((Path(suite) / "changes.json").read_bytes(), f"{suite}/changes.json")
        traces = frozenset(options.traces.split(",")) if options.traces else None
        stage = _stage(binary, suite, traces, options.jobs)
        rows = list(_measure(stage, options.strategies.split(","), changes))
        print(f"{name}: {len(changes)} changes\n{render(rows, changes)}")
        is_good &= all(row.passes for row in rows) and _is_clean(gate(rows))
    return 0 if is_good else 1


def _measure(stage: PlayStage, names: Sequence[str], changes: Sequence[AgentChange]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="matrix-") as temporary:
        stage = stage._replace(temporary=temporary)
        for name in names:
            yield measure_strategy(stage, STRATEGIES[name], changes, _REPEATS, _told)
    stage.loop.close()


def _told(line: str) -> None:
    print(f"  {line}", file=sys.stderr)


def _stage(binary: str, suite: str, traces: frozenset[str] | None, jobs: int) -> PlayStage:
    """What all strategies of one agent have in common. traces: ids, None for all."""

    def below(directory: str) -> dict[str, str]:
        paths = sorted(path for path in (Path(suite) / directory).rglob("*") if path.is_file())
        return {str(path.relative_to(suite)): str(path.absolute()) for path in paths}

    manifest = TraceManifest(
        label="",
        agent=TraceAgent("agent", str(Path(binary).absolute()), channel=SOCKET),
        strategy=strategy("exact"),
        directory=suite,
        suite=str((Path(suite) / "suite.json").absolute()),
        traces={
            name: place
            for name, place in below("traces").items()
            if traces is None or Path(name).stem in traces
        },
        snapshots=below("snapshots"),
        jobs=jobs,
    )
    return PlayStage(manifest, Runfiles(), "", ListeningLoop())


def gate(rows: Sequence[Row]) -> Row | None:
    """The strategies of TOGETHER as one: it is against a change where one of them is."""
    parts = [row for row in rows if row.strategy in TOGETHER and not row.refusal]
    if len(parts) < len(TOGETHER):
        return None

    def either(of: Sequence[Mapping[str, bool]]) -> dict[str, bool]:
        return {name: any(one[name] for one in of) for name in of[0]}

    return Row(
        " + ".join(TOGETHER),
        all(row.passes for row in parts),
        min(row.determinism for row in parts),
        either([row.caught for row in parts]),
        either([row.failed for row in parts]),
        sum(row.seconds for row in parts),
    )


def _is_clean(row: Row | None) -> bool:
    return row is None or (all(row.caught.values()) and not any(row.failed.values()))


def render(rows: Sequence[Row], changes: Sequence[AgentChange]) -> str:
    """The matrix, a row a strategy; and which change each is against."""
    together = gate(rows)
    shown = [*rows, *([together] if together else [])]
    table: list[tuple[str, ...]] = [
        (
            "strategy",
            "unchanged",
            "agreement",
            "caught",
            "missed",
            "alarms",
            "let pass",
            "detection",
            "seconds",
        )
    ]
    for row in shown:
        if row.refusal:
            table.append((row.strategy, row.refusal, *[""] * 7))
            continue
        caught, alarms = sum(row.caught.values()), sum(row.failed.values())
        table.append(
            (row.strategy, "passes" if row.passes else "fails", f"{row.determinism:.2f}", str(caught),
             str(len(row.caught) - caught), str(alarms), str(len(row.failed) - alarms),
             f"{row.detection or 0:.0%}", f"{row.seconds:.1f}")
        )  # fmt: skip
    return "\n".join((*_aligned(table), "", *_aligned(list(_grid(shown, changes))), ""))


def _grid(rows: Sequence[Row], changes: Sequence[AgentChange]) -> Iterator[tuple[str, ...]]:
    measured = [row for row in rows if not row.refusal]
    yield ("change", *(row.strategy for row in measured))
    for kind, right, wrong in ((REGRESSION, "caught", "MISSED"), (HARMLESS, "passes", "ALARM")):
        for change in changes:
            if change.kind == kind:
                against = [{**row.caught, **row.failed}.get(change.name) for row in measured]
                words = [right if one is (kind == REGRESSION) else wrong for one in against]
                yield (change.name, *words)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[at]) for line in table) for at in range(len(table[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ReplayError as error:
        print(error.explained(), file=sys.stderr)
        sys.exit(error.exit_code)
