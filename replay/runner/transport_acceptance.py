"""What accepting and refreshing take from a transport run: the surfaces that differ.

A transcript is what a provider said, so only a recording says anything new there; a refresh brings one that a person
wrote into its canonical form. The surfaces are what the subject made of it.
"""

from collections.abc import Mapping, Sequence

from replay.errors import UsageError
from replay.runner.acceptance import (
    Proposal,
    actual_of,
    changed_since,
    digests_of,
    failed_surfaces,
    older_than,
    rerun_command,
    unfit_run,
)
from replay.runner.bundle import Bundle
from replay.runner.manifest import ScenarioSpec
from replay.runner.new_secrets import refuse_secrets
from replay.runner.result import PASSED, UNKNOWN, WRITTEN, Case
from replay.runner.transport_artefacts import surface_files
from replay.runner.transport_pipeline import TransportEnding, TransportMode
from replay.runner.transport_verdict import SUBJECT
from replay.scenario.transport_layout import provider_of, surface_of
from replay.scenario.write_back import Change, planned_changes, write_back
from replay.transport.transcript import write_transcript

__all__ = ["REFRESH", "judge_surfaces", "write_surfaces"]


def judge_surfaces(spec: ScenarioSpec, bundle: Bundle, directory: str) -> Proposal | None:
    """What the failed run in `bundle` has to give to the scenario in `directory`; None for a run that passed.

    Raises ReplayError, one sentence without the scenario's name, where nothing of the bundle can be taken.
    """
    result = bundle.result
    digests = digests_of(result, spec)
    if result["exit_code"] == 0:
        return None
    cases = {case["surface"]: case["verdict"] for case in result["cases"]}
    failed = failed_surfaces(result)
    if SUBJECT not in cases and cases:
        raise UsageError("its test ran with a filter, so it does not know the rest", fix=rerun_command(spec))
    ended_well = result["exit_code"] == 1 and cases.get(SUBJECT) == PASSED and UNKNOWN not in cases.values()
    if not ended_well or failed & spec.transcripts.keys():
        raise unfit_run(result, spec, "its run did not end well")
    files = {name: data for name, data in actual_of(bundle, spec).items() if _surface_name(name) in failed}
    left = failed - {_surface_name(name) for name in files}
    if left:
        raise unfit_run(result, spec, f"there is nothing to take for {', '.join(sorted(left))}")
    changes = planned_changes(directory, files)
    stale_by = changed_since(spec, directory, digests)
    if changes and stale_by:
        raise older_than(spec, stale_by)
    refuse_secrets(changes)
    return Proposal(spec, directory, files, [], changes)


def write_surfaces(ending: TransportEnding) -> Sequence[Case]:
    """The cases of a refresh: each file written where the scenario lives, or left as it was.

    An expected file whose surface the subject no longer writes is deleted. Nothing is written for a run that did not end
    well.
    """
    actual = ending.play.actual
    if not ending.play.verdict.ended_well or actual.refused is not None:
        return [
            Case(_stem(file), UNKNOWN, "nothing was written: the run did not end well")
            for file in actual.surfaces
        ]
    spec = ending.spec
    stale = [name for file, name in spec.expected.items() if file not in actual.surfaces]
    files = surface_files(spec, ending.play)
    for name, transcript in ending.transcripts.items():
        if transcript.start.schema:
            files[name] = write_transcript(transcript)
    refuse_secrets(planned_changes(ending.update_directory, files))
    changes = {change.name: change for change in write_back(ending.update_directory, files, stale)}
    return [_written(name, changes) for name in sorted({*files, *stale})]


REFRESH = TransportMode("refresh", write_surfaces, plays_orders=False)


def _written(name: str, changes: Mapping[str, Change]) -> Case:
    change = changes.get(name)
    if change is None:
        return Case(_surface_name(name), PASSED)
    from replay.runner.change_diff import summary

    return Case(_surface_name(name), WRITTEN, summary(change))


def _surface_name(name: str) -> str:
    """ "projection" for "codex.projection.expected.json", of a transcript its provider."""
    surface = surface_of(name)
    return surface.name if surface is not None else provider_of(name)


def _stem(file: str) -> str:
    return file.partition(".")[0]
