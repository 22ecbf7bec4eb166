"""Two execution logs: why a test that B executed was no hit of what A left in the cache.

A cache's key is made of the command (arguments, environment, declared outputs), the platform's properties, the timeout and
the inputs. All of them are in the log and are compared here. Where an input was made by an action of both logs, that
action is compared in its place, and so on down to a source, a flag, or an action that makes another file of the same
inputs. So a changed source is one reason, however much was made from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from replay.cache.advice import COVERAGE_FIX, input_fix, variable_fix
from replay.cache.execution_log import Action, ExecutionLog, TargetRun, read_log, rename_outputs, renaming
from replay.cache.inputs import ABSENT, MAX_COUNTED, Change, Difference, Inputs
from replay.cache.reason import MAX_REASONS, Explanation, Kind, Miss, Reason, grouped, shown
from replay.cache.spawn_pb2 import ExecLogEntry
from replay.errors import FixtureError, Location

__all__ = ["explain_logs"]

_MOST_STEPS: Final = 30
"""From a test's input back to what made it: longer chains end at what is made there."""
_SOURCE: Final = "execution logs"
_RUN_AGAIN: Final = (
    "nothing has to change: the next run with this cache is a hit, unless it is told otherwise"
)


class _Found(NamedTuple):
    """Reasons of one pair of actions; `total` counts those that are not held as well."""

    reasons: tuple[Reason, ...]
    total: int


def explain_logs(path_before: str, path_after: str) -> Explanation:
    """Read both logs and explain every test of the second. Raises ReplayError."""
    inputs = Inputs()
    before = read_log(path_before, inputs)
    after = read_log(path_after, inputs)
    renamed = renaming(before.directories, after.directories)
    if renamed:
        # Read again under the first log's names: else every path of the two would differ.
        after = read_log(path_after, inputs, renamed)
    if not before.tests:
        raise FixtureError(
            "holds no test, so nothing can be compared with it",
            Location(path_before),
            "Bazel's action cache answered: make it in a run after bazel clean, with --disk_cache or --remote_cache as usual",
        )
    comparison = _Comparison(before, after, inputs, renamed)
    misses = []
    hits: dict[str, list[str]] = {}
    for test, attempts in after.tests.items():
        last = attempts[-1].spawn
        if last.cache_hit:
            hits.setdefault(last.runner or "cache hit", []).append(str(test))
        else:
            misses.append(comparison.miss(test, attempts))
    only_before = tuple(sorted(str(test) for test in before.tests if test not in after.tests))
    return Explanation(
        _SOURCE, {cache: sorted(tests) for cache, tests in hits.items()}, grouped(misses), only_before
    )


class _Comparison:
    """Two logs side by side. Pairs of actions that made something are compared once, whoever uses what they made."""

    def __init__(
        self, before: ExecutionLog, after: ExecutionLog, inputs: Inputs, renamed: Mapping[str, str]
    ) -> None:
        self._before = before
        self._after = after
        self._inputs = inputs
        self._renamed = renamed
        self._labels = {test.label for test in before.tests}
        self._makers: dict[str, _Found] = {}
        self._inputs_of: dict[Difference, _Found] = {}

    def miss(self, test: TargetRun, attempts: Sequence[Action]) -> Miss:
        """Why a test was executed in B."""
        action = attempts[-1]
        earlier = self._before.tests.get(test)
        if earlier is None:
            return Miss(str(test), (_not_in_before(test.label in self._labels),), 1)
        # Of several attempts the one that passed is stored, and it is the last.
        known = earlier[-1]
        commands = [_command(one.spawn) for one in (known, action)]
        if commands[0] != commands[1]:
            return Miss(
                str(test), (Reason(Kind.OPTION, "command", commands[0], commands[1], COVERAGE_FIX),), 1
            )
        found = self._reasons(known, action, 0)
        one, other = known.spawn, action.spawn
        cache = tuple(_cache_reasons(one, other))
        if not found.total and not cache:
            cache = (_same_key(one, other),)
        return Miss(str(test), (*found.reasons, *cache), found.total + len(cache))

    def _reasons(self, known: Action, action: Action, steps: int) -> _Found:
        before, after = known.spawn, action.spawn
        own = [
            *self._directory(before, after),
            *self._environment(before, after),
            *self._arguments(before, after),
            *_platform(before, after),
            *_timeout(before, after),
            *_outputs(known, action),
        ]
        inputs = self._input_reasons(self._inputs.compare(known.inputs, action.inputs), steps)
        return _Found((*own, *inputs.reasons)[:MAX_REASONS], min(len(own) + inputs.total, MAX_COUNTED))

    def _input_reasons(self, difference: Difference, steps: int) -> _Found:
        """What changed inputs come from. Tests that share what changed share the reasons."""
        if difference not in self._inputs_of:
            # What is made of one cause is told with it, however many files that are.
            made: dict[Reason, tuple[str, ...]] = {}
            for change in difference.changes:
                for reason in self._causes(change, steps):
                    cause = reason._replace(made=())
                    made[cause] = (*made.get(cause, ()), *reason.made)
            causes = [cause._replace(made=tuple(dict.fromkeys(paths))) for cause, paths in made.items()]
            reasons = sorted(causes, key=_order)
            not_told = difference.total - len(difference.changes)
            self._inputs_of[difference] = _Found(tuple(reasons[:MAX_REASONS]), len(reasons) + not_told)
        return self._inputs_of[difference]

    def _causes(self, change: Change, steps: int) -> tuple[Reason, ...]:
        """The change itself, or what made it another one."""
        one, other = self._before.maker(change.path), self._after.maker(change.path)
        plain = Reason(
            Kind.INPUT,
            change.path,
            change.before,
            change.after,
            input_fix(change.path, change.before, change.after),
        )
        if one is None or other is None:
            known, where = (one, "A") if one else (other, "B")
            if known is None:
                return (plain,)
            spawn = known.spawn
            made_by = f"{spawn.mnemonic} of {spawn.target_label} made it in {where}; the other log does not have that action"
            return (plain._replace(fix=f"{made_by}: log both runs from an empty output base, bazel clean"),)
        if ABSENT in (change.before, change.after) or steps >= _MOST_STEPS:
            return (plain,)
        if change.path not in self._makers:
            self._makers[change.path] = self._reasons(one, other, steps + 1)
        found = self._makers[change.path]
        if not found.total:
            spawn = other.spawn
            fix = f"{spawn.mnemonic} of {spawn.target_label} made another file of the same inputs: a time, a path or an order is in it"
            return (plain._replace(kind=Kind.NOT_DETERMINISTIC, fix=fix),)
        return tuple(reason._replace(made=(*reason.made, change.path)) for reason in found.reasons)

    def _directory(self, before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
        """An output directory that is called otherwise, if this action has it in its key."""
        texts = [*after.args, *(one.value for one in after.env_vars)]
        for name, known in self._renamed.items():
            if any(f"bazel-out/{name}/" in text for text in texts):
                fix = "another --compilation_mode, --cpu, --platforms or feature names it: put that flag in the .bazelrc that both read"
                yield Reason(Kind.DIRECTORY, "bazel-out", known, name, fix)

    def _environment(self, before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
        one = {variable.name: variable.value for variable in before.env_vars}
        other = {variable.name: rename_outputs(variable.value, self._renamed) for variable in after.env_vars}
        # It is a hash of the test's path, and says no more than that the directory is called otherwise.
        told = {"TEST_TMPDIR"} if self._renamed else set()
        for name in sorted((one.keys() | other.keys()) - told):
            if one.get(name) != other.get(name):
                yield Reason(
                    Kind.ENVIRONMENT, name, _value(one, name), _value(other, name), variable_fix(name)
                )

    def _arguments(self, before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
        """The first argument that differs; those behind it are often moved alone."""
        renamed = (rename_outputs(arg, self._renamed) for arg in after.args)
        for number, (one, other) in enumerate(zip_longest(before.args, renamed)):
            if one != other:
                fix = "it comes from --test_arg, or from args of the target: put the flag in the .bazelrc that both read"
                if before.mnemonic != "TestRunner":
                    fix = f"it is of {before.mnemonic} of {before.target_label}: a rule, a BUILD file or a flag gives it"
                yield Reason(Kind.ARGUMENT, str(number), _quoted(one), _quoted(other), fix)
                return


def _not_in_before(is_known: bool) -> Reason:
    if is_known:
        fix = "--runs_per_test, --test_sharding_strategy or shard_count of the target differs: make them the same"
        return Reason(Kind.CACHE, "A has other shards or runs of this test", fix=fix)
    fix = "A's action cache answered it, or A was not asked for it: make A in a run after bazel clean, of the same targets"
    return Reason(Kind.CACHE, "A has no action of this test", fix=fix)


def _command(spawn: ExecLogEntry.Spawn) -> str:
    """Which command of Bazel's executed a test: coverage sets a dozen variables, and says all with one."""
    return "coverage" if any(one.name == "COVERAGE_DIR" for one in spawn.env_vars) else "test"


def _platform(before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
    one = {held.name: held.value for held in before.platform.properties}
    other = {held.name: held.value for held in after.platform.properties}
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            fix = "it comes from exec_properties of the target or its platform, --platforms, --extra_execution_platforms or --remote_default_exec_properties"
            yield Reason(Kind.PLATFORM, name, _value(one, name), _value(other, name), fix)


def _timeout(before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
    """A timeout that the environment does not tell; that of a test stands in TEST_TIMEOUT as well."""
    has_variable = any(variable.name == "TEST_TIMEOUT" for variable in after.env_vars)
    if before.timeout_millis != after.timeout_millis and not has_variable:
        one, other = (f"{spawn.timeout_millis / 1000:g} s" for spawn in (before, after))
        yield Reason(Kind.TIMEOUT, "", one, other, variable_fix("TEST_TIMEOUT"))


def _outputs(known: Action, action: Action) -> Iterator[Reason]:
    one, other = set(known.outputs), set(action.outputs)
    for path in sorted(one ^ other):
        fix = "flags and the version of Bazel decide which files a test declares: --zip_undeclared_test_outputs, coverage, .bazelversion"
        yield Reason(
            Kind.OUTPUT, path, "declared" if path in one else "", "declared" if path in other else "", fix
        )


def _cache_reasons(before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Iterator[Reason]:
    """What kept A from storing its result or B from looking, whatever the key."""
    if not after.cacheable:
        fix = "take --nocache_test_results, or the tag no-cache, external or no-remote-cache off, where it should be cached"
        yield Reason(Kind.CACHE, "B did not look: Bazel holds the test not cacheable in this run", fix=fix)
    elif not after.remote_cacheable:
        fix = "take the tag no-remote-cache, no-remote or local off, where it should be shared"
        yield Reason(Kind.CACHE, "B did not look in the remote cache: the test is kept out of it", fix=fix)
    elif not after.digest.hash:
        fix = "give B --remote_cache=… or --disk_cache=…; --config=remote-cache where the .bazelrc has it"
        yield Reason(Kind.CACHE, "B asked no cache", fix=fix)
    if before.exit_code or before.status:
        how = before.status or f"exit code {before.exit_code}"
        yield Reason(
            Kind.CACHE, f"A stored nothing: the test failed there ({how})", fix="failures are never cached"
        )
    elif not before.cacheable:
        fix = "take --nocache_test_results or the tag off in A, where the results should be shared"
        yield Reason(Kind.CACHE, "A stored nothing: Bazel held the test not cacheable", fix=fix)
    elif not before.digest.hash:
        fix = "give A --remote_cache=… or --disk_cache=…"
        yield Reason(Kind.CACHE, "A stored nothing: it had no cache", fix=fix)


def _same_key(before: ExecLogEntry.Spawn, after: ExecLogEntry.Spawn) -> Reason:
    if before.digest.hash == after.digest.hash:
        fix = (
            "A did not upload (--noremote_upload_local_results, a failed upload), the cache lost the entry or is another one"
            f" (--remote_cache, --remote_instance_name), or B was told not to look (--noremote_accept_cached). {_RUN_AGAIN}"
        )
        return Reason(Kind.CACHE, "the keys are equal: the cache had no entry", fix=fix)
    fix = "it is what no log holds: the digest function, a cache salt, an option of the remote protocol, or another version of Bazel"
    return Reason(Kind.CACHE, "the keys differ in nothing that the logs hold", fix=fix)


def _order(reason: Reason) -> tuple[int, tuple[int, str]]:
    return list(Kind).index(reason.kind), Change(reason.name, "", "").order


def _value(variables: Mapping[str, str], name: str) -> str:
    return _quoted(shown(name, variables[name])) if name in variables else ""


def _quoted(text: str | None) -> str:
    return "" if text is None else f'"{shown("argument", text)}"'
