"""The verdict over the replays of a test: what the rooms of the trace say, and what a Bazel test must leave of it.

report.json      the report (replay/trace/report_json.py): for people's tools, for `previous`, for the HTML page
result.json/.pb  the same as every test of ours leaves it; its cases are the traces
actual/          what the agent did (trace_part.py), ready to be accepted
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.runner.artefacts import result_message
from replay.runner.result import FAILED, PASSED, Case, Result
from replay.runner.runfiles import Runfiles
from replay.runner.trace_manifest import TraceManifest
from replay.trace.replayer import Replayed
from replay.trace.report import Report
from replay.trace.report_console import headline, render_console
from replay.trace.snapshot import Snapshot, read_snapshot
from replay.trace.suite import Suite, read_suite
from replay.trace.verdict import judge, needs_closeness

__all__ = ["ACTUAL", "judge_replays", "leave", "read_snapshots", "render"]

ACTUAL = "actual"
_EVIDENCE_TRACES = 3
_OUTPUTS_IN_BAZEL = "test.outputs"


def judge_replays(manifest: TraceManifest, runfiles: Runfiles, replays: Sequence[Replayed]) -> Report:
    """The report. Raises FixtureError for a suite, a snapshot or a report that cannot be read."""
    suite = _of_chosen(read_suite_of(manifest, runfiles), manifest, replays)
    closeness = None
    if needs_closeness(suite, replays):
        from replay.trace.similarity import load_model  # weights of a text model

        # A wheel that the test's target names, and the program does not: most tests have no use for it.
        sys.path += [path for path in map(runfiles.locate, manifest.meaning) if path not in sys.path]
        closeness = load_model().similarity
    return judge(
        suite,
        replays,
        _previous(manifest, runfiles),
        name=manifest.label,
        closeness=closeness,
        snapshots=read_snapshots(manifest, runfiles),
    )


def _of_chosen(suite: Suite, manifest: TraceManifest, replays: Sequence[Replayed]) -> Suite:
    """The suite without what it says of traces that a filter left out, and of categories that are left out as a whole."""
    chosen = {replayed.baseline.trace_id for replayed in replays}
    left_out = {os.path.basename(name).removesuffix(".json") for name in manifest.trace_files} - chosen
    if not left_out:
        return suite
    categories = {replayed.baseline.category for replayed in replays}
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
            lines.append(f"artefacts: {_outputs_of(manifest)} (report.json, result.json, {ACTUAL}/)")
        lines.append(f"reproduce: bazel test {label} --test_output=streamed")
        failed = [trace.trace_id for trace in report.traces if not trace.passed and trace.runs]
        if failed and manifest.label and report.exit_code == 1:
            lines.append(
                f"accept: bazel run {label}.accept -- {failed[0] if len(failed) == 1 else ''}".rstrip(" -")
            )
    return render_console(report, label) + "".join(f"  {line}\n" for line in lines)


def leave(outputs: str, report: Report, manifest: TraceManifest, runfiles: Runfiles) -> None:
    """Leave what was judged in the undeclared outputs of a test, beside what the agent did."""
    from replay.proto import result_pb2
    from replay.trace.report_json import render_json

    result = result_of(report, manifest)
    if report.exit_code or any(case.verdict == FAILED for case in result.cases):
        result = result._replace(fixture=dict(_digests(manifest, runfiles)))
    message = result_message(result)
    # A trace that fails fails the test only where the suite says so.
    message["exit_code"] = report.exit_code
    message["first_line"] = f"{manifest.label}: {headline(report)}" if report.exit_code else ""
    for name, data in (
        ("report.json", render_json(report)),
        ("result.json", orjson.dumps(message, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)),
        ("result.pb", result_pb2.Result(**message).SerializeToString(deterministic=True)),
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
        name, manifest.label, manifest.strategy.name, cases, artefacts=["report.json", f"{ACTUAL}/"]
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
