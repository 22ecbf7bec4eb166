"""What accepting would take from the outputs of a failed test, or the one sentence that says why it cannot.

Only what the agent produced is taken: the files of the surfaces that differ, and of a session log the agent's half.
The model's half stays what the committed log says (scenario/model_half.py), and a log that would not pass with it is
refused. Nothing here writes: `Proposal.changes` is what write_back would do.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from replay.errors import DivergenceError, FixtureError, Location, ReplayError, UsageError
from replay.runner.baseline import fixture_files
from replay.runner.bundle import Bundle
from replay.runner.gateway_log import with_recorded_calls
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.new_secrets import refuse_secrets
from replay.runner.relaxation import kept, kept_file
from replay.runner.result import FAILED, PASSED, UNKNOWN
from replay.runner.surfaces import (
    PINS_SURFACE,
    REQUESTS_SURFACE,
    WORKSPACE,
    holds,
    is_log,
    log_surface,
    unwanted_files,
)
from replay.runner.workspace import expected_workspace, workspace_files
from replay.scenario.advice import record_command
from replay.scenario.layout import (
    PINS,
    REQUESTS,
    is_fixture_file,
    log_name,
    log_number,
)
from replay.scenario.load import Scenario, ScenarioFiles, load_scenario
from replay.scenario.model_half import is_model_row, overridden_calls, with_model_half
from replay.scenario.transport_layout import is_transport_file
from replay.scenario.write_back import Change, planned_changes
from replay.script import derive_lanes
from replay.session import Row, SessionLog, encode_log, read_log, unpack
from replay.surface import Normaliser, Rule, Volatile, first_difference, render_difference

__all__ = [
    "Proposal",
    "actual_of",
    "changed_since",
    "digests_of",
    "failed_surfaces",
    "judge",
    "older_than",
    "rerun_command",
    "unfit_run",
]

_VERSION = 1
_CONSUMPTION = "consumption"


class Proposal(NamedTuple):
    """What would be written for one scenario. `files` and `stale` are for write_back; `changes` say the same."""

    spec: ScenarioSpec
    directory: str
    files: Mapping[str, bytes]
    stale: Sequence[str]
    changes: Sequence[Change]


def judge(spec: ScenarioSpec, manifest: Manifest, bundle: Bundle, directory: str) -> Proposal | None:
    """What the failed run in `bundle` has to give to the fixture in `directory`; None for a run that passed.

    A proposal without changes is of a run whose outputs the fixture has already. Raises ReplayError, one sentence
    without the scenario's name, where nothing of the bundle can be taken.
    """
    result = bundle.result
    digests = digests_of(result, spec)
    if result["exit_code"] == 0:
        return None
    _refuse_run(result, spec)
    actual = actual_of(bundle, spec)
    stale_by = changed_since(spec, directory, digests)
    try:
        proposal = _propose(spec, manifest, actual, failed_surfaces(result), directory)
    except ReplayError:
        if stale_by:
            raise older_than(spec, stale_by) from None
        raise
    if not proposal.changes:
        return proposal
    if stale_by:
        raise older_than(spec, stale_by)
    refuse_secrets(proposal.changes)
    return proposal


def rerun_command(spec: ScenarioSpec) -> str:
    """The command that makes a bundle."""
    return f"bazel test {spec.label or spec.name}"


def digests_of(result: Mapping[str, Any], spec: ScenarioSpec) -> dict[str, str]:
    """Of a run that did not pass, the files that it was judged by. Raises UsageError for a foreign result."""
    fixture = result.get("fixture")
    if result.get("version") != _VERSION or not isinstance(result.get("exit_code"), int):
        raise UsageError(
            f"its outputs are of version {result.get('version')!r}, this command reads {_VERSION}",
            fix=rerun_command(spec),
        )
    if result["exit_code"] and not fixture:
        raise UsageError(
            "its outputs do not say which fixture they were judged by: an older agent_replay wrote them",
            fix=rerun_command(spec),
        )
    return {file["name"]: file["sha256"] for file in fixture or ()}


def _refuse_run(result: Mapping[str, Any], spec: ScenarioSpec) -> None:
    """Raises UsageError for a run that went wrong otherwise than by surfaces that differ."""
    cases = {case["surface"]: case["verdict"] for case in result["cases"]}
    ended_well = result["exit_code"] == 1 and cases.get(_CONSUMPTION) == PASSED
    if ended_well and UNKNOWN not in cases.values():
        return
    if result["exit_code"] == 1 and cases and _CONSUMPTION not in cases:
        raise UsageError("its test ran with a filter, so it does not know the rest", fix=rerun_command(spec))
    kinds = {1: "its run left the recording", 2: "its run was refused", 3: "its agent failed"}
    raise unfit_run(result, spec, kinds.get(result["exit_code"], "its run met a fault of agent_replay"))


def unfit_run(result: Mapping[str, Any], spec: ScenarioSpec, why: str) -> UsageError:
    """What is said of a run that did not come to its end."""
    said = result["first_line"].removeprefix(f"{spec.name}: ")
    return UsageError(
        f"{why}, and only outputs of a run that came to its end can be taken: {said}",
        fix=result["fix"] or f"{rerun_command(spec)} --test_output=streamed",
    )


def failed_surfaces(result: Mapping[str, Any]) -> set[str]:
    """The cases of a result that failed."""
    return {case["surface"] for case in result["cases"] if case["verdict"] == FAILED}


def actual_of(bundle: Bundle, spec: ScenarioSpec) -> dict[str, bytes]:
    """The outputs in a bundle. Raises UsageError where there are none, or other files than a fixture has."""
    actual = bundle.actual()
    if not actual:
        raise UsageError(f"{bundle.place} holds no outputs of the run (actual/)", fix=rerun_command(spec))
    for name in actual:
        if not is_fixture_file(name) and not is_transport_file(name):
            raise UsageError(f"{bundle.place} holds {name!r}, which is no file of a fixture")
    return actual


def changed_since(spec: ScenarioSpec, directory: str, digests: Mapping[str, str]) -> str:
    """The first file of the fixture that is another than when the test ran; "" if it is the same fixture."""
    from hashlib import sha256

    today = {name: _read(directory, name) for name, _ in fixture_files(spec)}
    for name in sorted({*today, *digests}):
        data = today.get(name)
        if data is None or digests.get(name) != sha256(data).hexdigest():
            return name
    return ""


def older_than(spec: ScenarioSpec, name: str) -> UsageError:
    """What is said of outputs that were judged by another fixture than today's."""
    return UsageError(
        f"its outputs are older than its fixture: {name} has changed since the test ran",
        fix=rerun_command(spec),
    )


def _propose(
    spec: ScenarioSpec,
    manifest: Manifest,
    actual: Mapping[str, bytes],
    failed: set[str],
    directory: str,
) -> Proposal:
    surfaces = {name: _surface_of(name, manifest) for name in actual}
    files = {
        name: data for name, data in actual.items() if surfaces[name] in failed and log_number(name) is None
    }
    stale: list[str] = []
    logs = {surface for surface in failed if is_log(surface, manifest.agent.logs_itself)}
    if logs:
        files |= _logs(spec, manifest, actual, logs, directory)
    for file, surface in unwanted_files(manifest, spec.pins).items():
        stale.append(file)
        if files.pop(file, None) is not None or file in spec.files:
            failed = failed - {surface}
    for surface in sorted(failed - logs - {WORKSPACE} - {surfaces[name] for name in files}):
        raise UsageError(
            f"its run left nothing of the surface {surface}, so there is nothing to take",
            fix=rerun_command(spec),
        )
    files = _with_ignored_kept(spec, manifest, files, directory)
    if WORKSPACE in failed:
        stale += [name for name in _workspace_names(spec) if name not in files]
    return Proposal(spec, directory, files, stale, planned_changes(directory, files, stale))


def _with_ignored_kept(
    spec: ScenarioSpec, manifest: Manifest, files: Mapping[str, bytes], directory: str
) -> dict[str, bytes]:
    """`files` with lines, and files of the workspace, as they are where nothing is new but what the suite ignores."""
    modes = bool(manifest.options.workspace_modes)
    held = {name: data for name in _workspace_names(spec) if (data := _read(directory, name)) is not None}
    before, after = expected_workspace(held, modes), expected_workspace(files, modes)
    values = kept(manifest, WORKSPACE, before.values, after.values)
    found = workspace_files(values, {**before.binaries, **after.binaries})
    for name, data in files.items():
        surface = _surface_of(name, manifest)
        if surface == PINS_SURFACE:
            found[name] = data
        elif surface != WORKSPACE:
            found[name] = kept_file(manifest, surface, _read(directory, name), data)
    return found


def _workspace_names(spec: ScenarioSpec) -> list[str]:
    """The files of the fixture that hold the workspace after the run."""
    return [name for name, _ in fixture_files(spec) if holds(WORKSPACE, name, logs_itself=True)]


def _logs(
    spec: ScenarioSpec, manifest: Manifest, actual: Mapping[str, bytes], failed: Iterable[str], directory: str
) -> dict[str, bytes]:
    """The session logs of the run with the committed model's half; one that passed keeps its bytes."""
    scenario = _load(spec, directory)
    committed = {name: _lines(log) for name, log in zip(scenario.log_names, scenario.logs, strict=True)}
    lanes = dict(zip(scenario.log_names, scenario.lanes, strict=True))
    names = [name for name in actual if log_number(name) is not None]
    if log_name(0) not in names:
        raise UsageError("its run left no session log", fix=rerun_command(spec))
    for name in committed.keys() - names:
        if any(map(is_model_row, committed[name])):
            raise DivergenceError(
                "the run has no such log, and its model calls are no outputs of the agent",
                Location(name),
                record_command(spec.name, manifest.commands),
            )
    derived = dict(zip(scenario.log_names, derive_lanes(scenario.logs), strict=True))
    files: dict[str, bytes] = {}
    for name in names:
        if _surface_of(name, manifest) not in failed:
            files[name] = scenario.recording[name]
            continue
        live = _lines(read_log(actual[name], name))
        try:
            if manifest.agent.logs_itself or name not in derived:
                overridden = overridden_calls(lanes[name]) if name in lanes else ()
                merged = with_model_half(committed.get(name, []), live, overridden)
                _refuse_other_stream(merged, live, scenario, manifest)
            else:
                merged = with_recorded_calls(live, derived[name])
            if scenario.override is None:
                _refuse_other_chunks(committed.get(name, []), merged)
        except DivergenceError as error:
            raise DivergenceError(
                error.what, Location(name), error.fix or record_command(spec.name, manifest.commands)
            ) from None
        files[name] = encode_log(merged[0], merged[1:])
    return files


def _refuse_other_stream(merged: list[Any], live: list[Any], scenario: Scenario, manifest: Manifest) -> None:
    """Raises DivergenceError where an agent's log would not pass with the committed model's half in it."""
    volatile = Volatile([], [log.header.id for log in scenario.logs], scenario.served_ids())
    rules = [Rule(*rule) for rule in manifest.rules]
    left, right = (Normaliser(volatile, rules).normalise("session", lines[1:]) for lines in (merged, live))
    difference = first_difference(left, right)
    if difference is not None:
        raise DivergenceError(
            "the agent logs another model stream than it was served: "
            + render_difference(difference._replace(line=difference.line + 1)),
            fix="what the model said is written by a recording only; mend the agent's log",
        )


def _refuse_other_chunks(committed: list[Any], merged: list[Any]) -> None:
    """Raises DivergenceError where a chunk of the recording would be lost, changed or joined by another."""
    if _streams(committed) != _streams(merged):
        raise DivergenceError("the run's model calls are not those of the recording")


def _streams(lines: list[Any]) -> dict[tuple[int, int], list[Any]]:
    """The chunks of a log by turn and step; calls that overlap may stand in each other's way anyhow."""
    found: dict[tuple[int, int], list[Any]] = {}
    for row in unpack(Row(number, line) for number, line in enumerate(lines[1:], 2)):
        if row.type == "assistant/chunk":
            found.setdefault((row.data["turn"], row.data["step"]), []).append(row.data["chunk"])
    return found


def _load(spec: ScenarioSpec, directory: str) -> Scenario:
    place = spec.directory or spec.name
    files = {name: os.path.join(directory, name) for name in spec.files}
    try:
        return load_scenario(ScenarioFiles(spec.name, spec.label, files, (), place))
    except OSError as error:
        raise FixtureError(f"cannot be read: {error.strerror or error}", Location(place)) from None


def _lines(log: SessionLog) -> list[Any]:
    return [log.header.fields, *(row.fields for row in log.rows)]


def _surface_of(name: str, manifest: Manifest) -> str:
    """The surface that a file of the fixture holds, or a part of it."""
    number = log_number(name)
    if number is not None:
        return log_surface(number, manifest.agent.logs_itself)
    if name in PINS:
        return PINS_SURFACE
    if holds(WORKSPACE, name, manifest.agent.logs_itself):
        return WORKSPACE
    return REQUESTS_SURFACE if name == REQUESTS else "stdout"


def _read(directory: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(directory, name), "rb") as file:
            return file.read()
    except OSError:
        return None
