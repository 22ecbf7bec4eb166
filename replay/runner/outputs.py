"""What a run produced, redacted and normalised: the surfaces of the actual side, and what both sides have in common.

One table of ids serves all surfaces of one side, because an id of the wire stands in the logs and the requests too.
Outputs are in the form that is committed: placeholders, canonical packing, and in the gateway's logs the model's half
as the fixture has it. Comparing and writing them is ending.py's work.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from replay.errors import DivergenceError
from replay.runner.gateway_log import canonical_lines, with_recorded_calls
from replay.runner.manifest import Manifest
from replay.runner.redaction import Redact
from replay.runner.reference import keep_references
from replay.runner.surfaces import REQUESTS_SURFACE, WORKSPACE, encode_lines, file_of, is_log, log_surface
from replay.runner.workspace import workspace_files
from replay.scenario.load import Scenario
from replay.script import derive_lanes
from replay.session import SessionLog, pack, unpack
from replay.surface import Json, Normaliser, Volatile
from replay.surface import Rule as SurfaceRule

if TYPE_CHECKING:
    from replay.models.call_log import ModelCall

__all__ = [
    "Outputs",
    "collect_outputs",
    "compares_requests",
    "keep_recorded",
    "make_normaliser",
    "normalise_surfaces",
]

# A run that leaves its recording may have lanes that the fixture lacks.
_MAX_NEW_LANES = 100


class Outputs(NamedTuple):
    """What a run produced, normalised: surface -> lines. `pins` is None unless the scenario pins."""

    surfaces: Mapping[str, list[Json]]
    pins: Any = None
    logs_itself: bool = True
    """Whether the session logs are the agent's own."""
    binaries: Mapping[str, bytes] = {}
    """SHA-256 in hex -> content of the files that the workspace of either side names by their digest."""

    def files(self) -> dict[str, bytes]:
        """The outputs as the files of a fixture."""
        files = {
            file_of(surface, self.logs_itself): encode_lines(values)
            for surface, values in self.surfaces.items()
            if surface != WORKSPACE
        }
        if WORKSPACE in self.surfaces:
            files.update(workspace_files(self.surfaces[WORKSPACE], self.binaries))
        if self.pins is not None:
            from replay.surface.pins import encode_pins

            files.update(encode_pins(self.pins))
        return files


def collect_outputs(
    scenario: Scenario,
    manifest: Manifest,
    stdout: Sequence[Json],
    logs: Sequence[SessionLog],
    calls: Sequence[ModelCall],
    workspace: Sequence[Json] | None,
    paths: Sequence[tuple[str, Sequence[str]]],
    pins: bool,
    cwd: str,
    redact: Redact = list,
) -> Outputs:
    """Everything that the run produced, redacted and normalised.

    calls: what crossed the gateway. Calls of gateway's logs that `scenario` holds keep the model's half that stands there.
    """
    logs_itself = manifest.agent.logs_itself
    actual: dict[str, Sequence[Json]] = {"stdout": stdout}
    if logs_itself:
        actual |= {log_surface(index, True): canonical_rows(log) for index, log in enumerate(logs)}
    else:
        from replay.models.call_log import log_rows

        rows = log_rows(calls, cwd)
        actual |= {log_surface(index, False): canonical_lines(lines) for index, lines in enumerate(rows)}
    if compares_requests(scenario, manifest):
        from replay.models.call_log import request_rows

        actual[REQUESTS_SURFACE] = request_rows(calls)
    if workspace is not None:
        actual[WORKSPACE] = workspace
    ids = [log.header.id for log in logs]
    normaliser = make_normaliser(scenario, manifest, paths, ids, redact)
    surfaces = normalise_surfaces(normaliser, actual, logs_itself, redact)
    found = _pins(normaliser, actual.get(log_surface(0, logs_itself), ()), redact) if pins else None
    keep_recorded(scenario, surfaces, logs_itself)
    return Outputs(surfaces, found, logs_itself)


def compares_requests(scenario: Scenario, manifest: Manifest) -> bool:
    """Whether requests are compared beside the logs of an agent that logs itself."""
    agent = manifest.agent
    is_wanted = REQUESTS_SURFACE in manifest.surfaces or scenario.requests is not None
    return agent.logs_itself and bool(agent.model_api) and is_wanted


def make_normaliser(
    scenario: Scenario,
    manifest: Manifest,
    paths: Sequence[tuple[str, Sequence[str]]],
    ids: Sequence[str],
    redact: Redact,
) -> Normaliser:
    """The normaliser of one side. ids: of its session logs, parent first."""
    kept = scenario.served_ids()
    if not manifest.agent.logs_itself:
        from replay.models.call_log import log_ids

        # Those of the gateway's logs are no session of the agent's, and take no number from them.
        ids, kept = [], [*kept, *log_ids(len(scenario.logs) + _MAX_NEW_LANES)]
    # As the surfaces say them, which are redacted first.
    ids = [str(each) for each in redact(list(ids))]
    return Normaliser(Volatile(paths, ids, kept), [SurfaceRule(*rule) for rule in manifest.rules])


def normalise_surfaces(
    normaliser: Normaliser, surfaces: Mapping[str, Sequence[Json]], logs_itself: bool, redact: Redact
) -> dict[str, list[Json]]:
    """All surfaces of a side, redacted, then normalised. The normaliser knows a session log by its name."""
    names = {
        name: f"session{name.removeprefix(REQUESTS_SURFACE)}"
        if is_log(name, logs_itself) and not logs_itself
        else name
        for name in surfaces
    }
    done = normaliser.normalise_all({names[name]: redact(values) for name, values in surfaces.items()})
    return {name: done[names[name]] for name in surfaces}


def _pins(normaliser: Normaliser, rows: Sequence[Json], redact: Redact) -> Any:
    """The pins of a log as it was; after the surfaces, which have their numbers then."""
    from replay.surface.pins import Pins, pins_of

    raw = pins_of(rows)
    if raw is None:
        return None
    system, schemas = normaliser.normalise("pins", redact(raw.values()))
    assert isinstance(system, str) and isinstance(schemas, dict)
    changes = schemas["changes"]
    assert isinstance(changes, list)
    return Pins(system, schemas["initial"], changes)


def keep_recorded(scenario: Scenario, surfaces: dict[str, list[Json]], logs_itself: bool) -> None:
    """Put into the logs of a side what no run can know; a log whose calls stand elsewhere stays as it is."""
    lanes = [] if logs_itself else derive_lanes(scenario.logs)
    for index, values in enumerate(scenario.session_values):
        name = log_surface(index, logs_itself)
        if name not in surfaces:
            continue
        if logs_itself:
            surfaces[name] = keep_references(values, surfaces[name])
            continue
        try:
            surfaces[name] = with_recorded_calls(surfaces[name], lanes[index])
        except DivergenceError:
            continue


def canonical_rows(log: SessionLog) -> list[Json]:
    """Header and rows in canonical packing: when an agent flushed is no behaviour of it."""
    return [log.header.fields, *pack(unpack(log.rows))]
