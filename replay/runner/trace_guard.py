"""The guard of a trace suite: every file in traces/, snapshots/ and workspace/ belongs there, sound and canonical. Pure.

It sees what no test sees: a trace under another name, a blob that nobody refers to or that is missing, what suite.json
or sample.json says of traces that are not there, a file of changes that nobody can measure by, snapshots of a trace that
is no more, a secret.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, UsageError
from replay.scenario.content import check_text, find_secrets
from replay.scenario.finding import Finding, Rule, finding
from replay.scenario.guard import find_hidden
from replay.scenario.tree import Tree
from replay.scenario.write_back import ASIDE
from replay.surface.secrets import Scanner
from replay.trace.blobs import digest_of
from replay.trace.changes import CHANGES, read_changes
from replay.trace.codec import blob_digests, read_trace, write_trace
from replay.trace.limits import MAX_TRACE_BYTES
from replay.trace.model import AgentTrace
from replay.trace.sampler_explanation import EXPLANATION, explained_traces
from replay.trace.snapshot import read_snapshot, write_snapshot
from replay.trace.suite import read_suite
from replay.trace.suite_check import check_read_only, check_suite

__all__ = ["GUARD_KIND", "TraceTree", "check_trace_tree", "trace_tree"]

GUARD_KIND: Final = "trace_guard"
_SUITE: Final = "suite.json"
_TRACES: Final = "traces/"
_BLOBS: Final = "traces/blobs/"
_SNAPSHOTS: Final = "snapshots/"
_WORKSPACE: Final = "workspace/"
_TOPS: Final = (_TRACES, _SNAPSHOTS, _WORKSPACE)
_CACHE: Final = "__pycache__/"
_BLOB: Final = re.compile(r"[0-9a-f]{64}")
_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}")
# Beside the traces may lie what the agent is made of, whatever its language.
_STRAY: Final = (".orig", ".rej", ".tmp", ".bak", ".swp", "~", ".DS_Store")
# A test has no keys of its shell to look for; a recording has.
_BY_LOOK: Final = Scanner()


class TraceTree(NamedTuple):
    """One package of a trace suite. `record` is what records a trace, "" where there is no such target."""

    tree: Tree
    record: str = ""


def trace_tree(data: bytes, read: Callable[[str], bytes]) -> TraceTree:
    """The tree that a guard's manifest describes; `read` gives the content of an rlocation path."""
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise UsageError(f"the manifest is not JSON: {error}") from None
    if not isinstance(fields, dict) or fields.get("kind") != GUARD_KIND or fields.get("version") != 1:
        raise UsageError("this is no manifest of a guard over traces, version 1")

    def get[T](key: str, kind: type[T]) -> T:
        value = fields.get(key)
        if not isinstance(value, kind):
            raise UsageError(f'the guard\'s manifest has no {kind.__name__} "{key}"')
        return value

    files: dict[str, Any] = get("files", dict)
    tree = Tree(
        package=get("package", str),
        suite=get("label", str),
        scenarios=(),
        overrides=(),
        pins=(),
        paths=[path for path in get("tree", list) if _CACHE not in path],
        subpackages=get("subpackages", list),
        files={path: read(place) for path, place in files.items() if _is_ours(path)},
    )
    return TraceTree(tree, get("record", str))


def check_trace_tree(suite: TraceTree) -> list[FixtureError]:
    """All that is wrong, by file. Raises UsageError for a suite without any trace."""
    tree = suite.tree
    if not any(_is_trace(path) for path in tree.paths):
        raise UsageError(
            f"{tree.suite}: there is no trace to check",
            fix=_record(suite, "TRACE") or "put one into traces/, or take the suite away",
        )
    found = [*find_hidden(tree), *_strays(tree)]
    sound: dict[str, AgentTrace] = {}
    referred: dict[str, str] = {}
    for path in tree.files:
        if _is_trace(path):
            found.extend(_check_trace(suite, path, sound, referred))
    found.extend(_blobs(tree, referred))
    found.extend(_snapshots(tree, sound))
    found.extend(_suite(tree, sound))
    found.extend(_sample(tree))
    found.extend(_changes(tree))
    found.extend(find_secrets(tree.files, tree.package, _BY_LOOK))
    found.sort(key=lambda item: (item.error.where.file, item.error.where.line))
    return [item.error for item in found]


# -- names --------------------------------------------------------------------------------------------------------


def _is_ours(path: str) -> bool:
    return _CACHE not in path and (path in (_SUITE, EXPLANATION, CHANGES) or path.startswith(_TOPS))


def _is_trace(path: str) -> bool:
    return path.startswith(_TRACES) and path.endswith(".json") and path.count("/") == 1


def _trace_id(path: str) -> str:
    return path.removeprefix(_TRACES).removesuffix(".json")


def _record(suite: TraceTree, trace_id: str) -> str:
    return f"bazel run {suite.record} -- {trace_id}" if suite.record else ""


def _strays(tree: Tree) -> Iterator[Finding]:
    reported: set[str] = set()
    for path in tree.paths:
        place = tree.place(path)
        if f"{ASIDE}/" in path:
            top = path[: path.index(ASIDE) + len(ASIDE) + 1]
            if top not in reported:
                reported.add(top)
                what = "a write-back was killed here and has to be completed"
                yield finding(Rule.STRAY, what, tree.place(top), fix="run the accept or record command again")
        elif path.endswith("/") or path.startswith(_WORKSPACE):
            continue
        elif path.startswith(_TRACES) and not _is_trace(path) and not _is_blob(path):
            what = "is neither a trace (traces/<trace_id>.json) nor a blob (traces/blobs/<sha256>)"
            yield finding(Rule.STRAY, what, place, fix="move it away, or delete it")
        elif path.startswith(_SNAPSHOTS) and not (path.endswith(".json") and path.count("/") == 2):
            what = "is no snapshot (snapshots/<trace_id>/<label>.json)"
            yield finding(Rule.STRAY, what, place, fix="move it away, or delete it")
        elif path.endswith(_STRAY):
            yield finding(Rule.STRAY, "is a file that nothing claims", place, fix="delete it")


def _is_blob(path: str) -> bool:
    return path.startswith(_BLOBS) and _BLOB.fullmatch(path.removeprefix(_BLOBS)) is not None


# -- contents -----------------------------------------------------------------------------------------------------


def _check_trace(
    suite: TraceTree, path: str, sound: dict[str, AgentTrace], referred: dict[str, str]
) -> Iterator[Finding]:
    """What is wrong with a trace; one that can be read is added to `sound`, its blobs to `referred`."""
    data, place, stem = suite.tree.files[path], suite.tree.place(path), _trace_id(path)
    again = _record(suite, stem) or "restore it with git"
    if len(data) > MAX_TRACE_BYTES:
        what = f"has {len(data)} bytes, a trace may have {MAX_TRACE_BYTES}"
        yield finding(Rule.BUDGET, what, place, fix="record a smaller run: shorter outputs test the same")
        return
    problems = check_text(data, place, again)
    yield from problems
    if any(problem.rule is Rule.BROKEN for problem in problems):
        return
    try:
        trace = read_trace(data, place, strict=True)
        for digest in blob_digests(data, place):
            referred.setdefault(digest, path)
    except FixtureError as error:
        yield Finding(Rule.BROKEN, FixtureError(error.what, error.where, error.fix or again))
        return
    if trace.trace_id != stem:
        what = f'says "{trace.trace_id}", and the file is called "{stem}"'
        yield finding(Rule.UNDECLARED, what, place, path="$.trace_id", fix="rename one of them")
    elif not _ID.fullmatch(stem):
        what = "is no id that a file, a label and a command line can hold"
        yield finding(Rule.HIDDEN, what, place, path="$.trace_id", fix="write letters, digits and _ . + -")
    sound[stem] = trace
    written = write_trace(trace)
    if b"\r" not in data and written != data:
        what = "is not in canonical form (two spaces of indent, members in their order)"
        line = _first_line(data, written)
        fix = f"write it as the codec does (replay.trace.write_trace), or {again}"
        yield finding(Rule.NOT_CANONICAL, what, place, line, fix=fix)


def _blobs(tree: Tree, referred: Mapping[str, str]) -> Iterator[Finding]:
    held = {f"sha256:{path.removeprefix(_BLOBS)}": path for path in tree.files if _is_blob(path)}
    for digest, path in referred.items():
        if digest not in held:
            name = f"{_BLOBS}{digest.removeprefix('sha256:')}"
            what = f"is missing; {tree.place(path)} refers to it"
            yield finding(
                Rule.MISSING, what, tree.place(name), fix="restore it with git, or record the trace again"
            )
    for digest, path in held.items():
        if digest_of(tree.files[path]) != digest:
            yield finding(
                Rule.EDITED,
                "holds other bytes than its name says",
                tree.place(path),
                fix="restore it with git",
            )
        elif digest not in referred:
            yield finding(Rule.STRAY, "is a blob that no trace refers to", tree.place(path), fix="delete it")


def _snapshots(tree: Tree, traces: Mapping[str, AgentTrace]) -> Iterator[Finding]:
    reported: set[str] = set()
    for path, data in tree.files.items():
        if not path.startswith(_SNAPSHOTS) or path.count("/") != 2 or not path.endswith(".json"):
            continue
        place, (_, trace_id, name) = tree.place(path), path.split("/")
        if trace_id not in traces:
            if trace_id not in reported and f"{_TRACES}{trace_id}.json" not in tree.files:
                reported.add(trace_id)
                what = f"holds snapshots of no trace: there is no {_TRACES}{trace_id}.json"
                yield finding(
                    Rule.STRAY,
                    what,
                    tree.place(f"{_SNAPSHOTS}{trace_id}/"),
                    fix="delete it, or record the trace",
                )
            continue
        try:
            snapshot = read_snapshot(data, place)
        except FixtureError as error:
            yield Finding(Rule.BROKEN, FixtureError(error.what, error.where, error.fix or "accept it again"))
            continue
        label = name.removesuffix(".json").partition(".")[0]
        if snapshot.label != label:
            what = f'says "{snapshot.label}", and the file is called "{name}"'
            yield finding(
                Rule.UNDECLARED, what, place, path="$.label", fix="rename the file, or accept it again"
            )
        elif write_snapshot(snapshot) != data:
            what = "is not in the form that accept writes"
            line = _first_line(data, write_snapshot(snapshot))
            yield finding(Rule.NOT_CANONICAL, what, place, line, fix="accept it again")


def _suite(tree: Tree, traces: Mapping[str, AgentTrace]) -> Iterator[Finding]:
    data, place = tree.files.get(_SUITE), tree.place(_SUITE)
    if data is None:
        return
    try:
        suite = read_suite(data, place)
    except FixtureError as error:
        from replay.trace.edges import explain_suite  # pydantic, to explain what was refused

        for problem in (error, *explain_suite(data, place, error)):
            yield Finding(Rule.BROKEN, FixtureError(problem.what, problem.where, problem.fix))
        return
    known = [(trace_id, trace.category) for trace_id, trace in traces.items()]
    broken = {_trace_id(path) for path in tree.files if _is_trace(path)} - traces.keys()
    if broken:
        # It is there, and its category is not known.
        said = {trace_id: override for trace_id, override in suite.traces.items() if trace_id not in broken}
        suite = suite._replace(traces=said, categories={})
    for problem in (*check_suite(suite, known, place), *check_read_only(suite, traces.values(), place)):
        yield Finding(Rule.UNDECLARED, FixtureError(problem.what, problem.where, problem.fix))


def _sample(tree: Tree) -> Iterator[Finding]:
    """What sample.json says of traces that are not there. A trace that it does not know was recorded later."""
    data = tree.files.get(EXPLANATION)
    if data is None:
        return
    try:
        explained = explained_traces(data, tree.place(EXPLANATION))
    except FixtureError as error:
        fix = error.fix or "sample again, or delete it"
        yield Finding(Rule.BROKEN, FixtureError(error.what, error.where, fix))
        return
    for trace_id, where in explained.items():
        if f"{_TRACES}{trace_id}.json" not in tree.files:
            what = f'says why "{trace_id}" was chosen, and there is no such trace'
            fix = "restore the trace with git, or take the entry out"
            yield Finding(Rule.UNDECLARED, FixtureError(what, where, fix))


def _changes(tree: Tree) -> Iterator[Finding]:
    """What is wrong with the changes that strategies are measured by."""
    data = tree.files.get(CHANGES)
    if data is None:
        return
    try:
        read_changes(data, tree.place(CHANGES))
    except FixtureError as error:
        fix = error.fix or "mend it, or restore it with git"
        yield Finding(Rule.BROKEN, FixtureError(error.what, error.where, fix))


def _first_line(data: bytes, written: bytes) -> int:
    """The first line, from 1, that is not as it would be written; the last where only its end is missing."""
    lines, wanted = data.split(b"\n"), written.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(wanted, 1):
        if number > len(lines) or lines[number - 1] != line:
            return number
    return len(wanted)
