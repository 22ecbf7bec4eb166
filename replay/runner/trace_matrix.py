"""The strategy table: what each strategy tells of an agent's changes, measured on a suite by running the agent.

    determinism    how often two runs of the unchanged agent come to the same (verdict, answer and tool calls)
    detection      share of the regressions in changes.json against which the suite's verdict is
    maintenance    share of the harmless changes against which it is, too: each costs a person a look
    time           seconds for the suite once

The suite must pass for the unchanged agent; of a strategy for which it does not, nothing more is measured.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import orjson

from replay.errors import ReplayError
from replay.runner.trace_manifest import TraceManifest
from replay.runner.trace_process import PlayStage
from replay.runner.trace_replay import load_traces, replay_traces
from replay.runner.trace_verdict import open_bench
from replay.trace.changes import HARMLESS, REGRESSION, AgentChange
from replay.trace.model import ABSENT, AgentTrace
from replay.trace.replayer import Replayed, Run
from replay.trace.report import Report
from replay.trace.strategies import Strategy

__all__ = ["Row", "measure_strategy"]


class Row(NamedTuple):
    """One strategy. caught, failed: change -> whether the suite's verdict is against it, by kind."""

    strategy: str
    passes: bool
    """Whether the suite passes for the unchanged agent, each time."""
    determinism: float
    caught: Mapping[str, bool]
    failed: Mapping[str, bool]
    seconds: float
    refusal: str = ""
    """Why it could not be measured."""
    fix: str = ""
    """What to do about that."""
    failing: Sequence[Report] = ()
    """The reports on the unchanged agent that failed."""

    @property
    def detection(self) -> float | None:
        """None where there is nothing to detect."""
        return _share(self.caught)

    @property
    def maintenance(self) -> float | None:
        """None where there is no harmless change."""
        return _share(self.failed)


def measure_strategy(
    stage: PlayStage,
    chosen: Strategy,
    changes: Sequence[AgentChange],
    repeats: int,
    said: Callable[[str], None] = lambda _line: None,
) -> Row:
    """Run the suite `repeats` times unchanged, and once with each change. said: is told what goes on."""
    manifest = stage.manifest._replace(strategy=chosen)
    verdicts: dict[str, dict[str, bool]] = {REGRESSION: {}, HARMLESS: {}}
    try:
        traces = load_traces(manifest, stage.runfiles, manifest.trace_files)
        began = time.monotonic()
        plain = [_once(stage, manifest, traces) for _ in range(repeats)]
        seconds = (time.monotonic() - began) / repeats
        failing = [report for report, _ in plain if report.exit_code]
        # A verdict that is always the same detects nothing.
        for change in () if failing else changes:
            said(f"{chosen.name}: {change.name}")
            report, _ = _once(stage, _changed(manifest, change), traces)
            verdicts[change.kind][change.name] = report.exit_code != 0
    except ReplayError as error:
        return Row(chosen.name, False, 0.0, {}, {}, 0.0, str(error), error.fix)
    caught, failed = verdicts[REGRESSION], verdicts[HARMLESS]
    return Row(chosen.name, not failing, _agreement(plain), caught, failed, seconds, failing=failing)


def _once(
    stage: PlayStage, manifest: TraceManifest, traces: Mapping[str, AgentTrace]
) -> tuple[Report, list[Replayed]]:
    bench = open_bench(manifest, stage.runfiles, traces)
    replays = replay_traces(stage._replace(manifest=manifest), traces, bench.wanted())
    return bench.judge(replays)[0], replays


def _changed(manifest: TraceManifest, change: AgentChange) -> TraceManifest:
    agent = manifest.agent
    return manifest._replace(
        agent=agent._replace(env={**agent.env, **change.env}, args=(*agent.args, *change.args))
    )


def _agreement(results: Sequence[tuple[Report, list[Replayed]]]) -> float:
    """Mean pairwise agreement of what the same trace came to, over all runs there were."""
    outcomes: dict[str, list[bytes]] = {}
    for report, replays in results:
        passed = {trace.trace_id: trace.passed for trace in report.traces}
        for replayed in replays:
            name = replayed.baseline.trace_id
            outcomes.setdefault(name, []).extend(_outcome(run, passed.get(name)) for run in replayed.runs)
    pairs = [one == other for each in outcomes.values() for one, other in combinations(each, 2)]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _outcome(run: Run, passed: bool | None) -> bytes:
    calls = [list(_call(step.tool_name, step.tool_input)) for step in run.actual.steps if step.tool_name]
    value = [passed, run.error is None, run.actual.success, run.actual.final_answer, calls]
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _call(name: str, value: Any) -> Iterator[Any]:
    yield name
    if value is not ABSENT:
        yield value


def _share(verdicts: Mapping[str, bool]) -> float | None:
    return sum(verdicts.values()) / len(verdicts) if verdicts else None
