"""The scenarios whose failed tests wait for a decision: what `accept` takes at once and `review` asks about."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from replay.errors import ReplayError, UsageError
from replay.runner.acceptance import Proposal, judge, rerun_command
from replay.runner.bundle import Bundle, find_bundles, newest_bundles
from replay.runner.command import Suites
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.selection import select_by_name
from replay.runner.transport_acceptance import judge_surfaces
from replay.runner.transport_manifest import TransportManifest
from replay.scenario.write_back import claimed

__all__ = ["TESTLOGS", "Pending", "find_pending", "judged", "testlogs_of"]

TESTLOGS = "bazel-testlogs"
"""Bazel's link in the source tree to what tests left."""


class Pending(NamedTuple):
    """One scenario with the newest outputs of its test, and either what can be taken from them or why nothing can."""

    manifest: Manifest | TransportManifest
    spec: ScenarioSpec
    has_outputs: bool
    """Whether its test left any, readable or not."""
    proposal: Proposal | None
    """None for a run that passed, and for a refusal."""
    refusal: ReplayError | None


def testlogs_of(suites: Suites, said: str) -> str:
    """Where tests leave their outputs: what the person `said`, else Bazel's link. Raises UsageError for no such place."""
    place = os.path.join(suites.stood, said) if said else os.path.join(suites.tree, TESTLOGS)
    if os.path.isdir(place):
        return place
    raise UsageError(
        f"{said or TESTLOGS}: no such directory, and tests leave their outputs there",
        fix="run the tests first; where --symlink_prefix gives the link another name, say --testlogs DIR",
    )


def find_pending(suites: Suites, names: Sequence[str], testlogs: str) -> Iterator[Pending]:
    """The scenarios that `names` mean, each judged; without names those that have outputs of a run that did not pass.

    Raises UsageError for a name that means nothing, and where no scenario at all has outputs.
    """
    chosen = select_by_name(suites.all, names, everything=not names)
    with_outputs = 0
    # A batch leaves the outputs of thousands, which are read once and not for each of them.
    newest = functools.cache(functools.partial(_newest, testlogs))
    for manifest, specs in chosen:
        for spec in specs:
            found = _judged(suites, manifest, spec, newest)
            with_outputs += found.has_outputs
            is_failure = (found.refusal or found.proposal) is not None
            if names or (found.has_outputs and is_failure):
                yield found
    if not with_outputs and not names:
        labels = dict.fromkeys(manifest.suite for manifest, _ in chosen)
        raise UsageError("no test of these suites has left outputs", fix=f"bazel test {' '.join(labels)}")


def judged(
    suites: Suites, manifest: Manifest | TransportManifest, spec: ScenarioSpec, testlogs: str
) -> Pending:
    """One scenario with the newest outputs of its test, as they are now."""
    return _judged(suites, manifest, spec, functools.partial(_newest, testlogs))


def _newest(testlogs: str, label: str) -> dict[str, Bundle] | ReplayError:
    """The newest bundle of each scenario of a test, by its name, or why its outputs cannot be read."""
    package, _, target = label.removeprefix("//").partition(":")
    try:
        return newest_bundles(find_bundles(testlogs, package, target))
    except ReplayError as problem:
        return problem


def _judged(
    suites: Suites,
    manifest: Manifest | TransportManifest,
    spec: ScenarioSpec,
    newest: Callable[[str], dict[str, Bundle] | ReplayError],
) -> Pending:
    directory = suites.directory_of(spec)
    try:
        bundles = newest(spec.label)
        if isinstance(bundles, ReplayError):
            raise bundles
        bundle = bundles.get(spec.name)
        if bundle is None:
            missing = UsageError("its test has left no outputs", fix=rerun_command(spec))
            return Pending(manifest, spec, False, None, missing)
        with claimed(directory):
            if isinstance(manifest, TransportManifest):
                proposal = judge_surfaces(spec, bundle, directory)
            else:
                proposal = judge(spec, manifest, bundle, directory)
    except ReplayError as refusal:
        return Pending(manifest, spec, True, None, refusal)
    return Pending(manifest, spec, True, proposal, None)
