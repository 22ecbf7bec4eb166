"""What the caches were worth in one run: hits, misses, time saved, slow and flaky tests, and what went wrong with a cache."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.cache.build_events import DISK, LOCAL, REMOTE, Build, Outcome, Target, read_build
from replay.cache.event_difference import is_told_not_to_look, misses_of
from replay.cache.inputs import Inputs
from replay.cache.reason import Kind
from replay.cache.stream import kind_of
from replay.errors import FixtureError, Location

__all__ = ["RunReport", "Slow", "Unchanged", "report_run"]

_MOST_SLOW: Final = 10


class Slow(NamedTuple):
    """A test that was executed, and how long it took, all attempts together."""

    label: str
    seconds: float


class Unchanged(NamedTuple):
    """Tests that were executed though nothing of them had changed, as far as build events say, and why."""

    why: str
    tests: tuple[str, ...]


class RunReport(NamedTuple):
    """The figures of one run. Counted are tests, a shard of a run of its own as one; attempts of one count once."""

    bazel: str
    tests: int
    local_hits: int
    """Answered by the action cache of the output base: nothing had changed there."""
    disk_hits: int
    remote_hits: int
    ran: int
    failed: tuple[str, ...]
    seconds_saved: float
    """What the hits took when they were executed."""
    seconds_ran: float
    """What the executed ones took, one after another."""
    wall_seconds: float
    slowest: tuple[Slow, ...]
    flaky: tuple[str, ...]
    unchanged: tuple[Unchanged, ...]
    cache_trouble: tuple[str, ...]
    is_whole: bool
    """False for a run that was broken off: its events end before the run does."""


def report_run(path: str, earlier_path: str = "") -> RunReport:
    """Read a run and, if there is one, an earlier run to compare it with. Raises ReplayError."""
    inputs = Inputs()
    build = _build(path, inputs)
    earlier = _build(earlier_path, inputs) if earlier_path else None
    last: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    for outcome in build.outcomes:
        last[outcome.name] = outcome
        seconds[outcome.name] = seconds.get(outcome.name, 0.0) + outcome.seconds
    hits = {
        cache: sum(outcome.cache == cache for outcome in last.values()) for cache in (LOCAL, DISK, REMOTE)
    }
    ran = [name for name, outcome in last.items() if not outcome.cache]
    return RunReport(
        bazel=build.version,
        tests=len(last),
        local_hits=hits[LOCAL],
        disk_hits=hits[DISK],
        remote_hits=hits[REMOTE],
        ran=len(ran),
        failed=tuple(sorted(name for name, outcome in last.items() if outcome.status != "PASSED")),
        seconds_saved=sum(outcome.seconds for outcome in last.values() if outcome.cache),
        seconds_ran=sum(seconds[name] for name in ran),
        wall_seconds=build.wall_seconds,
        slowest=tuple(sorted((Slow(name, seconds[name]) for name in ran), key=_slowness)[:_MOST_SLOW]),
        flaky=tuple(build.flaky),
        unchanged=(*_ordered(build, [last[name] for name in ran]), *_again(build, earlier, inputs)),
        cache_trouble=tuple(build.trouble),
        is_whole=build.exit_code is not None,
    )


def _build(path: str, inputs: Inputs) -> Build:
    kind = kind_of(path)
    if not kind.is_events:
        raise FixtureError(
            f"is {kind.value}; a report is made of build events",
            Location(path),
            "run Bazel with --build_event_json_file=FILE or --build_event_binary_file=FILE; cache-explain reads logs",
        )
    return read_build(path, kind, inputs)


def _ordered(build: Build, ran: Sequence[Outcome]) -> list[Unchanged]:
    """Tests that Bazel was told to execute, whatever there was."""
    found: dict[str, list[str]] = {}
    for outcome in ran:
        why = is_told_not_to_look(build, build.targets.get(outcome.label, Target()))
        if why:
            found.setdefault(f"no cached result was asked for: {why}", []).append(outcome.name)
    return [Unchanged(why, tuple(sorted(tests))) for why, tests in sorted(found.items())]


def _again(build: Build, earlier: Build | None, inputs: Inputs) -> list[Unchanged]:
    """Tests of which nothing differs from an earlier run, where they passed."""
    if earlier is None:
        return []
    passed = {outcome.name for outcome in earlier.outcomes if outcome.status == "PASSED"}
    found: dict[str, list[str]] = {}
    for miss in misses_of(earlier, build, inputs):
        if miss.test in passed and all(reason.kind is Kind.CACHE for reason in miss.reasons):
            why = "; ".join(reason.name for reason in miss.reasons)
            found.setdefault(f"as in the earlier run: {why}", []).append(miss.test)
    return [Unchanged(why, tuple(sorted(tests))) for why, tests in sorted(found.items())]


def _slowness(slow: Slow) -> tuple[float, str]:
    return -slow.seconds, slow.label
