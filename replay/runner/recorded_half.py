"""Whether a run's logs show what the model was recorded to say: a refresh writes nothing else.

For a gateway's log that is so by construction, as long as each call stands in the turn and step that it was recorded in.
An agent that logs itself logs what it was served; where it does not, its log would become another recording.
"""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from replay.errors import DivergenceError, FixtureError
from replay.runner.gateway_log import is_recorded, with_recorded_calls
from replay.runner.manifest import Manifest
from replay.runner.outputs import Outputs, make_normaliser, normalise_surfaces
from replay.runner.redaction import Redact
from replay.runner.result import FAILED, Case
from replay.runner.surfaces import encode_lines, is_log, log_surface
from replay.scenario.load import Scenario
from replay.scenario.model_half import overridden_calls, with_model_half
from replay.script import derive_lanes
from replay.session import read_log
from replay.surface import Json, first_difference, render_difference

__all__ = ["as_recorded", "other_streams"]

_ANOTHER = (
    "the agent logs another model stream than it was served, and only a recording writes what a model said"
)


def as_recorded(scenario: Scenario, manifest: Manifest, name: str, actual: Sequence[Json]) -> Sequence[Json]:
    """A log of the run with the model's half as it was recorded; as it is where its calls come from other logs."""
    try:
        return _merged(scenario, manifest, name, actual)
    except DivergenceError:
        return actual


def _merged(scenario: Scenario, manifest: Manifest, name: str, actual: Sequence[Json]) -> Sequence[Json]:
    """Raises DivergenceError where the calls of the two logs do not correspond."""
    logs_itself = manifest.agent.logs_itself
    names = [log_surface(index, logs_itself) for index in range(len(scenario.session_values))]
    if name not in names:
        return actual
    index = names.index(name)
    if not logs_itself:
        return with_recorded_calls(actual, derive_lanes(scenario.logs)[index])
    committed, lane = scenario.session_values[index], scenario.lanes[index]
    return with_model_half(committed, actual, overridden_calls(lane))


def other_streams(
    scenario: Scenario, manifest: Manifest, outputs: Outputs, redact: Redact = list
) -> list[Case]:
    """A finding for each log that shows other chunks or outcomes than the recording."""
    cases = []
    for name, actual in outputs.surfaces.items():
        if not is_log(name, manifest.agent.logs_itself):
            continue
        try:
            merged = _merged(scenario, manifest, name, actual)
        except DivergenceError as error:
            cases.append(Case(name, FAILED, f"{name}: {error.what}"))
            continue
        left, right = (
            _normalised(scenario, manifest, {name: lines}, redact)[name] for lines in (merged, actual)
        )
        difference = first_difference(left, right, name)
        if difference is not None:
            message = f"{name}: {_ANOTHER}; {render_difference(difference)}"
            cases.append(Case(name, FAILED, message, difference.path))
    return [] if cases and _are_moved(scenario, manifest, outputs, redact) else cases


def _normalised(
    scenario: Scenario, manifest: Manifest, surfaces: Mapping[str, Sequence[Json]], redact: Redact
) -> dict[str, list[Json]]:
    normaliser = make_normaliser(scenario, manifest, [], [log.header.id for log in scenario.logs], redact)
    return normalise_surfaces(normaliser, surfaces, manifest.agent.logs_itself, redact)


def _are_moved(scenario: Scenario, manifest: Manifest, outputs: Outputs, redact: Redact) -> bool:
    """Whether the logs hold every call of logs that a person wrote once and nothing else, elsewhere than before: an
    agent that is started again may begin a log anew, which that person need not have known."""
    logs_itself = manifest.agent.logs_itself
    if any(is_recorded(log.header.fields) for log in scenario.logs):
        return False
    committed = {log_surface(index, logs_itself): rows for index, rows in enumerate(scenario.session_values)}
    actual = {name: rows for name, rows in outputs.surfaces.items() if is_log(name, logs_itself)}
    sides = (_normalised(scenario, manifest, side, redact) for side in (committed, actual))
    try:
        recorded, live = (sorted(_calls(list(side.values()))) for side in sides)
    except FixtureError:
        # What the agent logged is no recording at all.
        return False
    return recorded == live


def _calls(logs: Sequence[Sequence[Json]]) -> Iterator[bytes]:
    """Each call of some logs: its chunks and its outcome."""
    for number, rows in enumerate(logs):
        for lane in derive_lanes([read_log(encode_lines(rows), f"log {number}")]):
            for call in lane.calls:
                yield orjson.dumps([call.entry.chunks, call.entry.outcome], option=orjson.OPT_SORT_KEYS)
