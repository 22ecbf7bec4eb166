"""Two files of build events: what can be said of why a test of B was executed, and what only execution logs say.

Events hold no arguments, environment or inputs of a test. They hold the command line as Bazel understood it, with what each
option has an effect on; the version of Bazel; the output directory; and of a target the files that it builds, its tags and
its timeout. A difference in one of these can be the reason, and is told as one; where there is none, that is said.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from replay.cache.advice import COVERAGE_FIX, input_fix, is_silent_option, option_fix, variable_fix
from replay.cache.build_events import Build, Outcome, Target, read_build
from replay.cache.inputs import Inputs
from replay.cache.reason import MAX_REASONS, Explanation, Kind, Miss, Reason, grouped, shown
from replay.cache.stream import kind_of

__all__ = ["explain_events", "is_told_not_to_look", "misses_of"]

_LESS: Final = (
    "build events hold no inputs, arguments or environment of a test: for those run both with"
    " --execution_log_compact_file=FILE and explain the two logs"
)
_CACHES: Final = ("disk_cache", "remote_cache", "remote_executor")
_NOT_CACHED: Final = frozenset(("no-cache", "external", "no-remote-cache", "no-remote", "local"))
_OFF: Final = frozenset(("0", "false", "no"))


def explain_events(path_before: str, path_after: str) -> Explanation:
    """Read both files and explain every test of the second. Raises ReplayError."""
    inputs = Inputs()
    before = read_build(path_before, kind_of(path_before), inputs)
    after = read_build(path_after, kind_of(path_after), inputs)
    hits: dict[str, list[str]] = {}
    for outcome in _last(after).values():
        if outcome.cache:
            hits.setdefault(outcome.cache, []).append(outcome.name)
    names = _last(after)
    only_before = sorted(name for name in _last(before) if name not in names)
    return Explanation(
        "build events",
        {cache: sorted(tests) for cache, tests in hits.items()},
        grouped(misses_of(before, after, inputs)),
        only_before,
        (_LESS, *_strategies(before, after), *_status(before, after)),
    )


def misses_of(before: Build, after: Build, inputs: Inputs) -> Iterator[Miss]:
    """Every test that the second run executed, with what differs from the first."""
    shared = tuple(_shared(before, after))
    known = _last(before)
    for name, outcome in _last(after).items():
        if outcome.cache:
            continue
        earlier = known.get(name)
        if earlier is None:
            fix = "A was not asked for it: make A of the same targets"
            yield Miss(name, (Reason(Kind.CACHE, "A has no such test", fix=fix),), 1)
            continue
        reasons = [*shared, *_directory(before, after, earlier, outcome)]
        has_other_paths = len(reasons) > len(shared)
        one = before.targets.get(outcome.label, Target())
        other = after.targets.get(outcome.label, Target())
        reasons += [*_timeout(one, other), *([] if has_other_paths else _files(one, other, inputs))]
        cache = [*_not_looked(after, other), *_not_stored(before, earlier)]
        reasons += cache or ([] if reasons else [_nothing(before, after)])
        yield Miss(name, tuple(reasons[:MAX_REASONS]), len(reasons))


def is_told_not_to_look(build: Build, target: Target) -> str:
    """Why a run takes no cached result of a test: the option or the tag; empty where nothing keeps it from that."""
    if _is_off(build, "cache_test_results"):
        return "--nocache_test_results"
    tags = sorted(_NOT_CACHED & set(target.tags))
    if tags:
        return f"the tag {tags[0]}"
    if _is_off(build, "remote_accept_cached") and not _value(build, "disk_cache"):
        return "--noremote_accept_cached"
    return ""


def _last(build: Build) -> dict[str, Outcome]:
    """The last attempt of each test."""
    return {outcome.name: outcome for outcome in build.outcomes}


def _shared(before: Build, after: Build) -> Iterator[Reason]:
    """What differs of the runs as such, and so for every test."""
    if before.version != after.version:
        fix = "every Bazel brings tools of its own into a test: one version for both, in .bazelversion"
        yield Reason(Kind.OPTION, "version of Bazel", before.version, after.version, fix)
    if before.command != after.command:
        yield Reason(Kind.OPTION, "command", before.command, after.command, COVERAGE_FIX)
    for name in sorted(before.options.keys() | after.options.keys()):
        one, other = before.options.get(name), after.options.get(name)
        known = one or other
        mine, theirs = (option.values if option else () for option in (one, other))
        if known is None or mine == theirs or known.is_hidden or is_silent_option(name, known.effects):
            continue
        yield Reason(
            Kind.OPTION, f"--{name}", _only(name, mine, theirs), _only(name, theirs, mine), option_fix(name)
        )


def _only(name: str, values: Sequence[str], others: Sequence[str]) -> str:
    """The values that one run alone has; all of them where it is their order that differs."""
    own = [value for value in values if value not in others] or list(values)
    return ", ".join(shown(name, value) for value in own)


def _directory(before: Build, after: Build, earlier: Outcome, outcome: Outcome) -> Iterator[Reason]:
    one = before.configurations.get(earlier.configuration, "")
    other = after.configurations.get(outcome.configuration, "")
    if one != other:
        fix = "another --compilation_mode, --cpu, --platforms or feature names it: put that flag in the .bazelrc that both read"
        yield Reason(Kind.DIRECTORY, "bazel-out", one, other, fix)


def _timeout(one: Target, other: Target) -> Iterator[Reason]:
    if one.timeout_seconds != other.timeout_seconds:
        before, after = (f"{target.timeout_seconds:g} s" for target in (one, other))
        yield Reason(Kind.TIMEOUT, "", before, after, variable_fix("TEST_TIMEOUT"))


def _files(one: Target, other: Target, inputs: Inputs) -> Iterator[Reason]:
    """Files that the target builds; what else the test reads is in no event."""
    for change in inputs.compare(one.files, other.files).changes:
        fix = input_fix(change.path, change.before, change.after)
        if change.path.startswith("bazel-out/"):
            fix = "what it is built of differs, and execution logs name that"
        yield Reason(Kind.INPUT, change.path, change.before, change.after, fix)


def _not_looked(after: Build, target: Target) -> Iterator[Reason]:
    """What kept B from looking for a result."""
    told = is_told_not_to_look(after, target)
    if told:
        fix = f"take {told} off, where the result should be shared"
        yield Reason(Kind.CACHE, f"B did not look for a result: {told}", fix=fix)
    elif not any(_value(after, name) for name in _CACHES):
        fix = "give B --remote_cache=… or --disk_cache=…; --config=remote-cache where the .bazelrc has it"
        yield Reason(Kind.CACHE, "B asked no cache but that of its own output base", fix=fix)


def _not_stored(before: Build, earlier: Outcome) -> Iterator[Reason]:
    """What kept A from storing its result."""
    if earlier.status != "PASSED":
        fix = "failures are never cached"
        yield Reason(Kind.CACHE, f"A stored nothing: the test was {earlier.status} there", fix=fix)
    elif not any(_value(before, name) for name in _CACHES):
        fix = "give A --remote_cache=… or --disk_cache=…"
        yield Reason(Kind.CACHE, "A stored nothing: it had no cache", fix=fix)
    elif _is_off(before, "remote_upload_local_results") and not _value(before, "disk_cache"):
        fix = "that is right for a reader; let one run, of CI, upload"
        yield Reason(Kind.CACHE, "A stored nothing: --noremote_upload_local_results", fix=fix)


def _nothing(before: Build, after: Build) -> Reason:
    where = [f"--{name}" for name in _CACHES if _value(before, name) != _value(after, name)]
    if where:
        return Reason(
            Kind.CACHE, f"the runs have different caches: {', '.join(where)}", fix="both have to name one"
        )
    return Reason(Kind.CACHE, "nothing that build events hold differs", fix=_LESS)


def _value(build: Build, name: str) -> str:
    option = build.options.get(name)
    return option.values[-1] if option else ""


def _is_off(build: Build, name: str) -> bool:
    return _value(build, name) in _OFF


def _strategies(before: Build, after: Build) -> Iterator[str]:
    """Where tests ran: no part of a key, but a platform's properties often change with it."""
    one, other = (
        sorted({outcome.strategy for outcome in _last(build).values() if not outcome.cache})
        for build in (before, after)
    )
    if one and other and one != other:
        yield (
            f"A ran its tests by {', '.join(one)} and B by {', '.join(other)}: another execution platform has other"
            " properties, which are part of a key"
        )


def _status(before: Build, after: Build) -> Iterator[str]:
    keys = before.status.keys() | after.status.keys()
    stable = sorted(
        key for key in keys if key.startswith("STABLE_") and before.status.get(key) != after.status.get(key)
    )
    if stable:
        yield f"the workspace status differs in {', '.join(stable[:10])}: it matters where a test, or what it uses, is stamped"
