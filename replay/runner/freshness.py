"""Reads what is known of recordings and of their agents today: the files that stale.py judges.

Evidence of today is there without running anything: the newest outputs of a scenario's test (a test that passed shows
its own fixture), and what the outputs of the other fixtures of the same directory show. `replay stale` and `record --only-stale` go by both.
"""

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import NamedTuple

from replay.errors import ReplayError, UsageError
from replay.runner.bundle import Bundle, find_bundles, newest_bundles
from replay.runner.command import Suites
from replay.runner.manifest import Manifest, ScenarioSpec
from replay.runner.pending import TESTLOGS
from replay.runner.stale import Evidence, Facts, facts_of, stale_reasons, today_of, with_pins
from replay.scenario.layout import PINS, STDOUT, log_name

__all__ = ["Known", "select_stale", "survey"]

_SECONDS_A_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_READ = (STDOUT, log_name(0), *PINS)


class Known(NamedTuple):
    """What is known of one scenario: its recording, and its agent today."""

    name: str
    recording: Facts
    today: Facts
    problem: ReplayError | None
    """Why the fixture cannot be read; then nothing else is known."""


class _Read(NamedTuple):
    facts: Facts
    evidence: Sequence[Evidence]
    problem: ReplayError | None


def survey(directory: str, names: Iterable[str], testlogs: str, package: str) -> list[Known]:
    """The scenarios `names` of one directory, which is the Bazel package `package`.

    testlogs: where tests left their outputs, "" for nowhere.
    """
    names = list(names)
    runs = newest_bundles(_runs(testlogs, package))
    read = [_read(os.path.join(directory, name), runs.get(name)) for name in names]
    evidence = [one for scenario in read for one in scenario.evidence]
    # Asked once for each agent and header class, and not for each scenario.
    of_agent = functools.cache(lambda agent: today_of(agent, evidence))
    of_class = functools.cache(
        lambda agent, kind: today_of(agent, (one for one in evidence if one.facts.header_class == kind))
    )
    known = []
    for name, scenario, facts in zip(names, read, with_pins([one.facts for one in read]), strict=True):
        now = of_agent(facts.agent)
        # Another header class pins another prompt.
        own = of_class(facts.agent, facts.header_class)
        asked = max(scenario.evidence, key=lambda one: one.when).facts.asked if scenario.evidence else ""
        now = now._replace(prompt=own.prompt, tools=own.tools, asked=asked)
        known.append(Known(name, facts, now, scenario.problem))
    return known


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


def _read(place: str, newest: Bundle | None) -> _Read:
    try:
        files = dict(_files(place))
        facts, shown = facts_of(files, place), facts_of(files, place, as_run=True)
        return _Read(facts, [Evidence(shown, _day(facts)), *_of_tests(newest, shown)], None)
    except ReplayError as problem:
        return _Read(Facts(), [], problem)


def _files(place: str) -> Iterator[tuple[str, bytes]]:
    for name in _READ:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                yield name, file.read()


def _day(facts: Facts) -> float:
    """The day of a recording as a number; 0 where it is not known."""
    try:
        return float(date.fromisoformat(facts.captured).toordinal())
    except ValueError:
        return 0.0


def _runs(testlogs: str, package: str) -> Iterator[Bundle]:
    """What the tests of a package left."""
    for target in _targets(os.path.join(testlogs, package) if testlogs else ""):
        # A package has other tests too, whose outputs are no bundles.
        with suppress(UsageError):
            yield from list(find_bundles(testlogs, package, target))


def _of_tests(newest: Bundle | None, fixture: Facts) -> Iterator[Evidence]:
    """What the newest run of the scenario's test showed, if there was one."""
    if newest is None:
        return
    # In days, as a recording's; a test is newer than a recording of its day.
    when = newest.written / _SECONDS_A_DAY + _EPOCH
    if newest.result.get("exit_code") == 0:
        yield Evidence(fixture, when)
    elif newest.result.get("exit_code") == 1:
        yield Evidence(facts_of(newest.actual(), newest.place, as_run=True), when)


def _targets(directory: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(directory or os.devnull) if entry.is_dir())
    except OSError:
        return []
