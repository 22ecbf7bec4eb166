"""The end of a run: its surfaces, normalised on both sides, compared or written back.

Surfaces in order: `stdout`, then `session`, `session.1`, … for an agent that logs itself, `workspace` where the
scenario expects one, `pins` where it pins prompt and tool texts, `consumption` last. One table of ids serves all surfaces of one side, because
an id of the wire stands in the logs too. `accept-ready` outputs are in the form that is committed: placeholders,
canonical packing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from replay.errors import ReplayError
from replay.runner.manifest import Manifest
from replay.runner.reference import keep_references
from replay.runner.result import FAILED, PASSED, UNKNOWN, WRITTEN, Case
from replay.runner.workspace import workspace_files
from replay.scenario.advice import refresh_command
from replay.scenario.layout import EXPECTED_WORKSPACE, PINS, STDOUT, log_number
from replay.scenario.load import Scenario
from replay.session import SessionLog, pack, unpack
from replay.surface import ABSENT, Json, Normaliser, Volatile, first_difference, render_difference, unified
from replay.surface import Rule as SurfaceRule

if TYPE_CHECKING:
    from replay.scenario.write_back import Change

__all__ = ["Ending", "Outputs", "collect_outputs", "compare", "write_expected"]

WORKSPACE = "workspace"
_MAX_VALUE_CHARACTERS = 2000


class Outputs(NamedTuple):
    """What a run produced, normalised: surface -> lines. `pins` is None unless the scenario pins."""

    surfaces: Mapping[str, list[Json]]
    pins: Any = None

    def files(self) -> dict[str, bytes]:
        """The outputs as the files of a fixture."""
        files = {
            file_of(surface): encode_lines(values)
            for surface, values in self.surfaces.items()
            if surface != WORKSPACE
        }
        if WORKSPACE in self.surfaces:
            files.update(workspace_files(self.surfaces[WORKSPACE]))
        if self.pins is not None:
            from replay.surface.pins import encode_pins

            files.update(encode_pins(self.pins))
        return files


class Ending(NamedTuple):
    """All that a mode's `finish` needs."""

    scenario: Scenario
    manifest: Manifest
    outputs: Outputs
    workspace: list[Json] | None
    """What workspace.expected/ holds, None where there is none."""
    unconsumed: Sequence[str]
    made_session: bool
    """Whether the driver got a session; without one a header-only session.jsonl stands for no log."""
    stopped_by: ReplayError | None
    """What ended the run early; surfaces are then compared for the evidence only."""
    only: str = ""
    """The one surface that a filter names."""
    update_directory: str = ""


def file_of(surface: str) -> str:
    """The fixture file that holds a surface."""
    return STDOUT if surface == "stdout" else f"{surface}.jsonl"


def encode_lines(values: Sequence[Json]) -> bytes:
    """JSON lines, one value each."""
    return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)


def collect_outputs(
    scenario: Scenario,
    manifest: Manifest,
    stdout: Sequence[Json],
    logs: Sequence[SessionLog],
    workspace: Sequence[Json] | None,
    paths: Sequence[tuple[str, Sequence[str]]],
    pins: bool,
) -> Outputs:
    """Everything that the run produced, normalised."""
    rows = {surface_of(index): canonical_rows(log) for index, log in enumerate(logs)}
    actual: dict[str, Sequence[Json]] = {"stdout": stdout, **rows}
    if workspace is not None:
        actual[WORKSPACE] = workspace
    volatile = Volatile(paths, [log.header.id for log in logs], scenario.served_ids())
    normaliser = Normaliser(volatile, [SurfaceRule(*rule) for rule in manifest.rules])
    found = None
    if pins and rows:
        from replay.surface.pins import Pins, pins_of

        raw = pins_of(list(rows["session"]))
        if raw is not None:
            system, schemas = normaliser.normalise("pins", raw.values())
            assert isinstance(system, str) and isinstance(schemas, dict)
            changes = schemas["changes"]
            assert isinstance(changes, list)
            found = Pins(system, schemas["initial"], changes)
    surfaces = normaliser.normalise_all(actual)
    for index, values in enumerate(scenario.session_values):
        name = surface_of(index)
        if name in surfaces:
            surfaces[name] = keep_references(values, surfaces[name])
    return Outputs(surfaces, found)


def surface_of(index: int) -> str:
    """The surface of the k-th log: `session`, `session.1`, …"""
    return f"session.{index}" if index else "session"


def canonical_rows(log: SessionLog) -> list[Json]:
    """Header and rows in canonical packing: when an agent flushed is no behaviour of it."""
    return [log.header.fields, *pack(unpack(log.rows))]


def expected_surfaces(ending: Ending, names: Sequence[str]) -> dict[str, list[Json] | None]:
    """The committed side of each surface, normalised; None where its file is missing."""
    scenario, manifest = ending.scenario, ending.manifest
    raw: dict[str, Sequence[Json]] = {}
    if scenario.stdout is not None:
        raw["stdout"] = scenario.stdout
    for index, values in enumerate(scenario.session_values):
        raw[surface_of(index)] = values
    if ending.workspace is not None:
        raw[WORKSPACE] = ending.workspace
    volatile = Volatile([], [log.header.id for log in scenario.logs], scenario.served_ids())
    normaliser = Normaliser(volatile, [SurfaceRule(*rule) for rule in manifest.rules])
    wanted = {name: values for name, values in raw.items() if name in names}
    normalised = normaliser.normalise_all(wanted)
    return {name: normalised.get(name) for name in names}


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
    if ending.manifest.agent.logs_itself:
        written = sum(name.startswith("session") for name in ending.outputs.surfaces)
        names += [surface_of(index) for index in range(max(len(ending.scenario.session_values), written))]
    if ending.workspace is not None:
        names.append(WORKSPACE)
    return names


def _compare_surface(ending: Ending, name: str, expected: list[Json] | None) -> Case:
    actual = ending.outputs.surfaces.get(name)
    file = f"{ending.scenario.name}/{file_of(name)}"
    if actual is None:
        if not ending.made_session and expected is not None and len(expected) == 1:
            return Case(name, PASSED)
        if ending.stopped_by is not None:
            return Case(name, UNKNOWN, "the run ended before this log was written")
        return Case(name, FAILED, f"{name}: the agent wrote no such session log; {file} expects one")
    if expected is None:
        what = "is missing" if name == "stdout" else "is missing: the agent wrote one more session log"
        return Case(
            name,
            FAILED,
            f"{name}: {file} {what}; to write it: {refresh_command(ending.scenario.name)}",
        )
    return _judged(name, _arranged(ending, name, expected), _arranged(ending, name, actual))


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


def _differ(ending: Ending, name: str, committed: list[Json]) -> object | None:
    actual = _arranged(ending, name, ending.outputs.surfaces[name])
    return first_difference(_arranged(ending, name, committed), actual)


def _arranged(ending: Ending, name: str, values: list[Json]) -> list[Json]:
    """The two relaxations that a suite may ask for, on both sides."""
    others = ending.manifest.options.others
    if name != "stdout" or not (others.get("floating") or others.get("merge_text")):
        return values
    from replay.surface.arrange import float_updates, merge_text

    if others.get("merge_text"):
        values = merge_text(values)
    kinds = [entry["kind"] for entry in others.get("floating") or []]
    return float_updates(values, kinds) if kinds else values


def _compare_pins(ending: Ending) -> Case:
    from replay.surface.pins import SYSTEM_PROMPT, TOOL_SCHEMAS

    pins = ending.scenario.pins
    if pins is None:
        return Case(
            "pins",
            FAILED,
            f"pins: {SYSTEM_PROMPT} and {TOOL_SCHEMAS} are missing; to write them: "
            f"{refresh_command(ending.scenario.name)}",
        )
    if ending.outputs.pins is None:
        verdict = UNKNOWN if ending.stopped_by is not None else FAILED
        return Case("pins", verdict, "pins: the agent's first log holds no request header to compare")
    return _judged("pins", pins.values(), ending.outputs.pins.values())


def _consumption(ending: Ending) -> Case:
    if ending.stopped_by is not None:
        return Case("consumption", UNKNOWN, "the run ended early")
    if not ending.unconsumed:
        return Case("consumption", PASSED)
    first, *rest = ending.unconsumed
    return Case("consumption", FAILED, f"consumption: {first}", diff=rest)


def write_expected(ending: Ending) -> list[Case]:
    """The cases of a refresh: each output file written where the scenario lives, or left as it was.

    A surface that equals the committed one keeps its bytes, so an unchanged run writes nothing. Nothing is written
    for a run that was stopped, left calls unconsumed or lost its session log.
    """
    from replay.scenario.write_back import write_back

    names = [name for name in _names(ending) if name in ending.outputs.surfaces]
    consumption = _consumption(ending)
    lost = _lost_log(ending)
    if ending.stopped_by is not None or consumption.verdict == FAILED or lost:
        return [
            *(Case(name, UNKNOWN, "nothing was written: the run did not end well") for name in names),
            *lost,
            consumption,
        ]
    expected = expected_surfaces(ending, names)
    files = ending.outputs.files()
    stale = [name for name in workspace_files(ending.workspace or ()) if name not in files]
    for name in names:
        committed = expected[name]
        if committed is None or _differ(ending, name, committed) is not None:
            continue
        for file in [file for file in files if _holds(name, file)]:
            # A log stays among the files, or write_back would take a child for a stale one.
            if log_number(file) is None:
                del files[file]
            else:
                files[file] = ending.scenario.recording[file]
    changes = write_back(ending.update_directory, files, stale)
    cases = [
        _written_case(name, [change for change in changes if _holds(name, change.name)]) for name in names
    ]
    for change in changes:
        if not any(_holds(name, change.name) for name in names):
            # A pin, or the log of a child that is no more.
            surface = "pins" if change.name in PINS else change.name.removesuffix(".jsonl")
            cases.append(_written_case(surface, [change]))
    return [*cases, consumption]


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
    return Case(name, WRITTEN, ", ".join(_written(change) for change in changes))


def _written(change: Change) -> str:
    """`wrote stdout.expected.jsonl (+2 -1)`: what became of a file, with the lines that came and went."""
    from difflib import SequenceMatcher

    before = (change.before or b"").split(b"\n")
    after = (change.after or b"").split(b"\n")
    added = removed = 0
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after).get_opcodes():
        if kind != "equal":
            removed += end - start
            added += new_end - new_start
    verb = "deleted" if change.after is None else "wrote"
    return f"{verb} {change.name} (+{added} -{removed})"


def _holds(surface: str, file: str) -> bool:
    """Whether a fixture file holds a surface, or a part of it."""
    return file.startswith(EXPECTED_WORKSPACE) if surface == WORKSPACE else file == file_of(surface)


def _shown(value: object) -> str:
    if value is ABSENT:
        return ""
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_VALUE_CHARACTERS else text[:_MAX_VALUE_CHARACTERS] + "…"
