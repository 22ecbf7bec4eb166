"""The verdict over the replays of a test: what the rooms of the trace say, and what a Bazel test must leave of it.

    bench = open_bench(manifest, runfiles, traces)       before anything is run: what cannot be judged costs nobody a run
    replays = replay_traces(stage, traces, bench.wanted())
    report, tried = bench.judge(replays)

trials.jsonl     what each run came to (replay/trace/trials.py)
report.json      the report (replay/trace/report_json.py): for people's tools, for `previous`, for the HTML page
result.json/.pb  the same as every test of ours leaves it; its cases are the traces
actual/          what the agent did (trace_part.py), ready to be accepted
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.proto.result_wire import encode_result
from replay.runner.artefacts import result_message
from replay.runner.result import FAILED, PASSED, Case, Result
from replay.runner.runfiles import Runfiles
from replay.runner.trace_manifest import TraceManifest
from replay.runner.trace_queue import Wanted
from replay.trace.comparators import Closeness
from replay.trace.model import AgentTrace
from replay.trace.outcome import NO_SNAPSHOTS
from replay.trace.replayer import Replayed, Run
from replay.trace.report import Report
from replay.trace.report_console import headline, render_console
from replay.trace.server import happening
from replay.trace.snapshot import Snapshot, read_snapshot
from replay.trace.strategies import Strategy
from replay.trace.suite import Suite, read_suite
from replay.trace.trials import TRIALS, TraceTrials, write_trials
from replay.trace.verdict import judge_trials, needs_closeness, versions_of
from replay.trace.vote import Ballot, try_runs

__all__ = ["ACTUAL", "Bench", "leave", "open_bench", "read_snapshots", "render"]

ACTUAL = "actual"
_EVIDENCE_TRACES = 3
_OUTPUTS_IN_BAZEL = "test.outputs"


class Bench(NamedTuple):
    """What the traces of a test are judged by."""

    label: str
    strategy: Strategy
    suite: Suite
    snapshots: Mapping[str, Mapping[str, Snapshot]] = {}
    previous: Report | None = None
    closeness: Closeness | None = None

    def wanted(self, view: Callable[[Run], Run] = lambda run: run) -> Wanted:
        """How many runs a trace has to have, given its first ones. view: a run as it will be judged, if not as it is."""
        ballots: dict[str, Ballot] = {}

        def ask(trace: AgentTrace, runs: Sequence[Run]) -> int:
            if trace.trace_id not in ballots:
                ballots[trace.trace_id] = Ballot(
                    self.suite,
                    happening(trace, self.strategy),
                    self.strategy,
                    self.closeness,
                    self.snapshots.get(trace.trace_id, NO_SNAPSHOTS),
                    view,
                )
            return ballots[trace.trace_id].wanted(runs)

        return ask

    def judge(self, replays: Sequence[Replayed]) -> tuple[Report, list[TraceTrials]]:
        """The report, and what each run came to. Raises UsageError where parts hold too few runs."""
        tried = [
            try_runs(self.suite, one, self.closeness, self.snapshots.get(one.baseline.trace_id, NO_SNAPSHOTS))
            for one in replays
        ]
        report = judge_trials(
            self.suite,
            tried,
            self.previous,
            name=self.label,
            closeness=self.closeness,
            versions=versions_of(replays),
        )
        return report, tried


def open_bench(manifest: TraceManifest, runfiles: Runfiles, traces: Mapping[str, AgentTrace]) -> Bench:
    """For these traces of the test. Raises FixtureError for a suite, a snapshot or a report that cannot be read, UsageError
    where a text model is needed and not there.
    """
    suite = _of_chosen(read_suite_of(manifest, runfiles), manifest, traces)
    closeness = None
    if needs_closeness(suite, [Replayed(trace, manifest.strategy, ()) for trace in traces.values()]):
        from replay.trace.similarity import load_model  # weights of a text model

        # A wheel that the test's target names, and the program does not: most tests have no use for it.
        sys.path += [path for path in map(runfiles.locate, manifest.meaning) if path not in sys.path]
        closeness = load_model().similarity
    return Bench(
        manifest.label,
        manifest.strategy,
        suite,
        read_snapshots(manifest, runfiles),
        _previous(manifest, runfiles),
        closeness,
    )


def _of_chosen(suite: Suite, manifest: TraceManifest, traces: Mapping[str, AgentTrace]) -> Suite:
    """The suite without what it says of traces that a filter left out, and of categories that are left out as a whole."""
    left_out = {os.path.basename(name).removesuffix(".json") for name in manifest.trace_files} - traces.keys()
    if not left_out:
        return suite
    categories = {trace.category for trace in traces.values()}
    return suite._replace(
        traces={name: said for name, said in suite.traces.items() if name not in left_out},
        categories={name: said for name, said in suite.categories.items() if name in categories},
    )


def read_suite_of(manifest: TraceManifest, runfiles: Runfiles) -> Suite:
    """The suite of a test, with the threshold that its target says in the place of the suite's own."""
    suite = Suite()
    if manifest.suite:
        suite = read_suite(_read(runfiles, manifest.suite), os.path.join(manifest.directory, "suite.json"))
    return suite if manifest.threshold is None else suite._replace(threshold=manifest.threshold)


def read_snapshots(manifest: TraceManifest, runfiles: Runfiles) -> dict[str, dict[str, Snapshot]]:
    """Trace id -> file name -> snapshot. Raises FixtureError for one that cannot be read or lies in no trace's directory."""
    found: dict[str, dict[str, Snapshot]] = {}
    for name, path in sorted(manifest.snapshots.items()):
        place = os.path.join(manifest.directory, name)
        parts = name.split("/")
        if len(parts) != 3:
            raise FixtureError(
                "is no snapshot", Location(place), "snapshots lie in snapshots/<trace_id>/<label>.json"
            )
        found.setdefault(parts[1], {})[parts[2]] = read_snapshot(_read(runfiles, path), place)
    return found


def render(report: Report, manifest: TraceManifest, replays: Sequence[Replayed], has_outputs: bool) -> str:
    """What a person reads: the report, what failed agents printed, where to look, what to run."""
    label = manifest.label or "the suite"
    lines = list(_evidence(report, replays))
    if report.exit_code:
        if has_outputs:
            lines.append(
                f"artefacts: {_outputs_of(manifest)} (report.json, {TRIALS}, result.json, {ACTUAL}/)"
            )
        lines.append(f"reproduce: bazel test {label} --test_output=streamed")
        failed = [trace.trace_id for trace in report.traces if not trace.passed and trace.runs]
        if failed and manifest.label and report.exit_code == 1:
            lines.append(
                f"accept: bazel run {label}.accept -- {failed[0] if len(failed) == 1 else ''}".rstrip(" -")
            )
    return render_console(report, label) + "".join(f"  {line}\n" for line in lines)


def leave(
    outputs: str, report: Report, tried: Sequence[TraceTrials], manifest: TraceManifest, runfiles: Runfiles
) -> None:
    """Leave what was judged in the undeclared outputs of a test, beside what the agent did."""
    from replay.trace.report_json import render_json

    result = result_of(report, manifest)
    if report.exit_code or any(case.verdict == FAILED for case in result.cases):
        result = result._replace(fixture=dict(_digests(manifest, runfiles)))
    message = result_message(result)
    # A trace that fails fails the test only where the suite says so.
    message["exit_code"] = report.exit_code
    message["first_line"] = f"{manifest.label}: {headline(report)}" if report.exit_code else ""
    for name, data in (
        (TRIALS, write_trials(tried)),
        ("report.json", render_json(report)),
        ("result.json", orjson.dumps(message, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)),
        ("result.pb", encode_result(message)),
    ):
        with open(os.path.join(outputs, name), "wb") as file:
            file.write(data)


def result_of(report: Report, manifest: TraceManifest) -> Result:
    """The report as the result of a test; a trace that was not judged is no case."""
    cases = []
    for trace in report.traces:
        if trace.runs:
            message = trace.reasons[0].message if trace.reasons else ""
            cases.append(
                Case(trace.trace_id, PASSED if trace.passed else FAILED, "" if trace.passed else message)
            )
    name = manifest.label.rpartition(":")[2] or "agent_replay"
    return Result(
        name, manifest.label, manifest.strategy.name, cases, artefacts=["report.json", TRIALS, f"{ACTUAL}/"]
    )


def _previous(manifest: TraceManifest, runfiles: Runfiles) -> Report | None:
    if not manifest.previous:
        return None
    from replay.trace.report_json import read_report

    return read_report(_read(runfiles, manifest.previous), os.path.basename(manifest.previous))


def _evidence(report: Report, replays: Sequence[Replayed]) -> Iterator[str]:
    """What agents printed whose runs broke; of the first few."""
    failed = {trace.trace_id for trace in report.traces if not trace.passed}
    shown = 0
    for replayed in replays:
        evidence = [line for run in replayed.runs for line in run.evidence]
        if evidence and replayed.baseline.trace_id in failed and shown < _EVIDENCE_TRACES:
            shown += 1
            yield f"{replayed.baseline.trace_id}:"
            yield from (f"  {line}" for line in evidence)
    fixes = {
        run.error.fix: None for one in replays for run in one.runs if run.error is not None and run.error.fix
    }
    yield from (f"fix: {fix}" for fix in list(fixes)[:1])


def _outputs_of(manifest: TraceManifest) -> str:
    package, _, name = manifest.label.removeprefix("//").partition(":")
    return "/".join(part for part in ("bazel-testlogs", package, name, _OUTPUTS_IN_BAZEL) if part)


def _digests(manifest: TraceManifest, runfiles: Runfiles) -> Iterator[tuple[str, str]]:
    """Every file of the suite and its SHA-256: what tells accept whether a run was of today's fixture."""
    files: Mapping[str, str] = {**manifest.traces, **manifest.snapshots}
    for name, path in files.items():
        yield name, sha256(_read(runfiles, path)).hexdigest()


def _read(runfiles: Runfiles, rlocation: str) -> bytes:
    place = runfiles.locate(rlocation)
    try:
        with open(place, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{rlocation} cannot be read: {error.strerror}") from None
