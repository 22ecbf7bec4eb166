"""Which scenarios of a command should be recorded again: those that `replay stale` would call stale."""

import os
from collections.abc import Sequence
from datetime import date

from replay.runner.command import Suites
from replay.runner.freshness import survey
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.pending import TESTLOGS
from replay.runner.stale import stale_reasons

__all__ = ["select_stale"]


def select_stale(
    suites: Suites, chosen: Sequence[tuple[Manifest, ScenarioSpec]], on: date
) -> list[tuple[Manifest, ScenarioSpec]]:
    """Those of `chosen` for which there is a reason to record them again, in their order. on: today's date.

    A fixture that cannot be read is one of them.
    """
    testlogs = os.path.join(suites.tree, TESTLOGS)
    stale: set[str] = set()
    for package in dict.fromkeys(
        spec.package for manifest in suites.manifests for spec in manifest.scenarios
    ):
        specs = [
            spec for manifest in suites.manifests for spec in manifest.scenarios if spec.package == package
        ]
        directory = os.path.join(suites.tree, package)
        for known in survey(directory, dict.fromkeys(spec.name for spec in specs), testlogs, package):
            if known.problem is not None or stale_reasons(known.recording, known.today, on):
                stale.add(os.path.join(directory, known.name))
    return [(manifest, spec) for manifest, spec in chosen if suites.directory_of(spec) in stale]
