"""The end of a run: its surfaces, redacted and normalised on both sides, compared or written back.

Surfaces in order: `stdout`, then the session logs (surfaces.py says what they are called), `requests` and `workspace`
where the suite or the scenario asks for them, `pins` where it pins prompt and tool texts, `consumption` last.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

from replay.errors import ReplayError
from replay.runner.manifest import Manifest
from replay.runner.outputs import (
    Outputs,
    collect_outputs,
    compares_requests,
    keep_recorded,
    make_normaliser,
    normalise_surfaces,
)
from replay.runner.redaction import Redact
from replay.runner.relaxation import arranged, kept, unmet_ignores
from replay.runner.result import FAILED, PASSED, UNKNOWN, WRITTEN, Case
from replay.runner.surfaces import (
    REQUESTS_SURFACE,
    WORKSPACE,
    encode_lines,
    file_of,
    holds,
    is_log,
    log_surface,
    unwanted_files,
)
from replay.runner.workspace import workspace_names
from replay.scenario.advice import refresh_command
from replay.scenario.layout import EXECUTABLE, PINS, log_number
from replay.scenario.load import Scenario
from replay.surface import ABSENT, Json, first_difference, render_difference, unified

if TYPE_CHECKING:
    from replay.scenario.write_back import Change

__all__ = [
    "Ending",
    "Outputs",
    "collect_outputs",
    "compare",
    "planned_files",
    "stale_relaxations",
    "unfit",
    "write_expected",
    "write_files",
]

_MAX_VALUE_CHARACTERS = 2000


class Ending(NamedTuple):
    """All that a mode's `finish` needs."""

    scenario: Scenario
    manifest: Manifest
    outputs: Outputs
    workspace: list[Json] | None
    """What workspace.expected/ holds, None where it is not compared."""
    unconsumed: Sequence[str]
    made_session: bool
    """Whether the driver got a session; without one a header-only session.jsonl stands for no log."""
    stopped_by: ReplayError | None
    """What ended the run early; surfaces are then compared for the evidence only."""
    only: str = ""
    """The one surface that a filter names."""
    update_directory: str = ""
    redact: Redact = list
    """The run's. A fixture that this product wrote stays as it is; one that a person wrote may hold anything."""
    pins: bool = False
    """Whether the scenario is one that pins."""


def expected_surfaces(ending: Ending, names: Sequence[str]) -> dict[str, list[Json] | None]:
    """The committed side of each surface, redacted and normalised; None where its file is missing."""
    scenario, manifest = ending.scenario, ending.manifest
    logs_itself = manifest.agent.logs_itself
    raw = _committed(ending)
    ids = [log.header.id for log in scenario.logs]
    normaliser = make_normaliser(scenario, manifest, [], ids, ending.redact)
    wanted = {name: values for name, values in raw.items() if name in names}
    normalised = normalise_surfaces(normaliser, wanted, logs_itself, ending.redact)
    if not logs_itself:
        keep_recorded(scenario, normalised, logs_itself)
    return {name: normalised.get(name) for name in names}


def _committed(ending: Ending) -> dict[str, Sequence[Json]]:
    """The surfaces that the fixture holds, as they stand there."""
    scenario, logs_itself = ending.scenario, ending.manifest.agent.logs_itself
    raw: dict[str, Sequence[Json]] = {}
    if scenario.stdout is not None:
        raw["stdout"] = scenario.stdout
    for index, values in enumerate(scenario.session_values):
        raw[log_surface(index, logs_itself)] = values
    if scenario.requests is not None and logs_itself:
        raw[REQUESTS_SURFACE] = scenario.requests
    if ending.workspace is not None:
        raw[WORKSPACE] = ending.workspace
    return raw


def compare(ending: Ending) -> list[Case]:
    """The cases of a replay: each surface against its file, then consumption."""
    names = _names(ending)
    expected = expected_surfaces(ending, names)
    cases = [_compare_surface(ending, name, expected[name]) for name in names]
    if ending.outputs.pins is not None or ending.scenario.pins is not None:
        cases.append(_compare_pins(ending))
    cases.append(_consumption(ending))
    if ending.only:
        cases = [case for case in cases if case.surface == ending.only] or cases
    return cases


def _names(ending: Ending) -> list[str]:
    """The surfaces of this run, of either side, in order."""
    names = ["stdout"]
    logs_itself = ending.manifest.agent.logs_itself
    logs = [name for name in ending.outputs.surfaces if is_log(name, logs_itself)]
    count = max(len(ending.scenario.session_values), len(logs))
    names += [log_surface(index, logs_itself) for index in range(count)]
    if compares_requests(ending.scenario, ending.manifest):
        names.append(REQUESTS_SURFACE)
    if ending.workspace is not None:
        names.append(WORKSPACE)
    return names


def _compare_surface(ending: Ending, name: str, expected: list[Json] | None) -> Case:
    actual = ending.outputs.surfaces.get(name)
    logs_itself = ending.manifest.agent.logs_itself
    file = f"{ending.scenario.name}/{file_of(name, logs_itself)}"
    writer = "agent" if logs_itself else "gateway"
    if actual is None:
        if not ending.made_session and expected is not None and len(expected) == 1:
            return Case(name, PASSED)
        if ending.stopped_by is not None:
            return Case(name, UNKNOWN, "the run ended before this log was written")
        return Case(name, FAILED, f"{name}: the {writer} wrote no such session log; {file} expects one")
    if expected is None or (name == WORKSPACE and actual and not expected):
        what = (
            f"is missing: the {writer} wrote one more session log"
            if is_log(name, logs_itself)
            else "is missing"
        )
        return Case(
            name,
            FAILED,
            f"{name}: {file} {what}; to write it: "
            f"{refresh_command(ending.scenario.name, ending.manifest.commands)}",
        )
    return _judged(name, *(arranged(ending.manifest, name, side) for side in (expected, actual)))


def _judged(name: str, left: Sequence[Json], right: Sequence[Json]) -> Case:
    difference = first_difference(left, right, name)
    if difference is None:
        return Case(name, PASSED)
    return Case(
        name,
        FAILED,
        render_difference(difference),
        difference.path,
        _shown(difference.expected),
        _shown(difference.actual),
        unified(left, right).split("\n"),
    )


def _differ(ending: Ending, name: str, committed: list[Json]) -> bool:
    actual = arranged(ending.manifest, name, ending.outputs.surfaces[name])
    return first_difference(arranged(ending.manifest, name, committed), actual) is not None


def stale_relaxations(ending: Ending) -> list[str]:
    """Warnings of a run that came to its end: what the suite ignores and neither side has."""
    if ending.stopped_by is not None:
        return []
    return unmet_ignores(ending.manifest, _committed(ending), ending.outputs.surfaces)


def _compare_pins(ending: Ending) -> Case:
    from replay.surface.pins import SYSTEM_PROMPT, TOOL_SCHEMAS

    pins = ending.scenario.pins
    if pins is None:
        return Case(
            "pins",
            FAILED,
            f"pins: {SYSTEM_PROMPT} and {TOOL_SCHEMAS} are missing; to write them: "
            f"{refresh_command(ending.scenario.name, ending.manifest.commands)}",
        )
    if ending.outputs.pins is None:
        verdict = UNKNOWN if ending.stopped_by is not None else FAILED
        return Case("pins", verdict, "pins: the agent's first log holds no request header to compare")
    return _judged("pins", ending.redact(pins.values()), ending.outputs.pins.values())


def _consumption(ending: Ending) -> Case:
    if ending.stopped_by is not None:
        return Case("consumption", UNKNOWN, "the run ended early")
    if not ending.unconsumed:
        return Case("consumption", PASSED)
    first, *rest = ending.unconsumed
    # Calls that the recording holds and the agent does not make are the model's half, which only record writes.
    return Case("consumption", FAILED, f"consumption: {first}", diff=rest, is_output=False)


def write_expected(ending: Ending) -> list[Case]:
    """The cases of a refresh: each output file written where the scenario lives, or left as it was.

    A surface that equals the committed one keeps its bytes, so an unchanged run writes nothing. Nothing is written
    for a run that was stopped, left calls unconsumed, lost its session log or shows other words of the model than
    were recorded.
    """
    cases = unfit(ending)
    if cases:
        return cases
    from replay.runner.new_secrets import refuse_secrets
    from replay.scenario.write_back import planned_changes

    files, stale = planned_files(ending)
    refuse_secrets(planned_changes(ending.update_directory, files, stale))
    return write_files(ending, files, stale)


def unfit(ending: Ending) -> list[Case]:
    """The cases of a run that did not end well enough to be written, [] for any other."""
    consumption = _consumption(ending)
    is_over = ending.stopped_by is not None or consumption.verdict == FAILED
    refused = _lost_log(ending)
    if not is_over and not refused:
        from replay.runner.recorded_half import other_streams

        refused = other_streams(ending.scenario, ending.manifest, ending.outputs, ending.redact)
    if not is_over and not refused:
        return []
    refused_names = [case.surface for case in refused]
    names = [name for name in _written_names(ending) if name not in refused_names]
    unknown = [Case(name, UNKNOWN, "nothing was written: the run did not end well") for name in names]
    return [*unknown, *refused, consumption]


def planned_files(ending: Ending) -> tuple[dict[str, bytes], list[str]]:
    """The files that a run would have written, and those of the scenario that it would have deleted.

    A surface that equals the committed one is not among them, but for logs, which write_back has to see.
    """
    names = _written_names(ending)
    expected, committed = expected_surfaces(ending, names), _committed(ending)
    files = _with_kept_workspace(ending).files()
    stale = [name for name in workspace_names(ending.workspace or ()) if name not in files]
    logs_itself = ending.manifest.agent.logs_itself
    for name in names:
        normalised = expected[name]
        own = [file for file in files if holds(name, file, logs_itself)]
        if normalised is not None and not _differ(ending, name, normalised):
            for file in own:
                # A log stays among the files, or write_back would take a child for a stale one.
                if log_number(file) is None:
                    del files[file]
                else:
                    files[file] = ending.scenario.recording[file]
        elif name != WORKSPACE:
            files[file_of(name, logs_itself)] = encode_lines(_written(ending, name, committed.get(name, ())))
    for file in unwanted_files(ending.manifest, ending.pins):
        files.pop(file, None)
        stale.append(file)
    return files, stale


def _with_kept_workspace(ending: Ending) -> Outputs:
    """The outputs with the committed file in the place of each that differs by nothing but what is ignored."""
    outputs = ending.outputs
    if WORKSPACE not in outputs.surfaces:
        return outputs
    files = kept(ending.manifest, WORKSPACE, ending.workspace or (), outputs.surfaces[WORKSPACE])
    return outputs._replace(surfaces={**outputs.surfaces, WORKSPACE: list(files)})


def _written(ending: Ending, name: str, committed: Sequence[Json]) -> Sequence[Json]:
    """The lines of a surface that differs as they go into its file."""
    actual: Sequence[Json] = ending.outputs.surfaces[name]
    if is_log(name, ending.manifest.agent.logs_itself):
        from replay.runner.recorded_half import as_recorded

        # The run's outputs show what the model said normalised.
        actual = as_recorded(ending.scenario, ending.manifest, name, actual)
    return kept(ending.manifest, name, committed, actual)


def write_files(ending: Ending, files: Mapping[str, bytes], stale: Sequence[str]) -> list[Case]:
    """Writes what `planned_files` returned, all or nothing; a case a surface says what became of it."""
    from replay.scenario.write_back import write_back

    names = _written_names(ending)
    logs_itself = ending.manifest.agent.logs_itself
    changes = write_back(ending.update_directory, files, stale)
    cases = [
        _written_case(name, [change for change in changes if holds(name, change.name, logs_itself)])
        for name in names
    ]
    for change in changes:
        if not any(holds(name, change.name, logs_itself) for name in names):
            # What is wanted no more, or the log of a child that is no more.
            surface = change.name.removesuffix(".jsonl").removesuffix(".expected")
            surface = WORKSPACE if change.name == EXECUTABLE else surface
            surface = "pins" if change.name in PINS else surface
            cases.append(_written_case(surface, [change]))
    return [*cases, _consumption(ending)]


def _written_names(ending: Ending) -> list[str]:
    return [name for name in _names(ending) if name in ending.outputs.surfaces]


def _lost_log(ending: Ending) -> list[Case]:
    """A finding where the scenario has a log, the agent made a session and wrote none."""
    is_lost = (
        ending.manifest.agent.logs_itself
        and ending.made_session
        and bool(ending.scenario.logs)
        and "session" not in ending.outputs.surfaces
    )
    return [Case("session", FAILED, "session: the agent wrote no such session log")] if is_lost else []


def _written_case(name: str, changes: Sequence[Change]) -> Case:
    if not changes:
        return Case(name, PASSED)
    from replay.runner.change_diff import summary

    return Case(name, WRITTEN, ", ".join(map(summary, changes)))


def _shown(value: object) -> str:
    if value is ABSENT:
        return ""
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_VALUE_CHARACTERS else text[:_MAX_VALUE_CHARACTERS] + "…"
