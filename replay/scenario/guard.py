"""The guard: every file below a suite's package is one that a scenario claims, complete and well formed.

Pure: a listing and bytes in, findings out. It sees what no single test sees: files that nobody claims, directories
that a nested package hides, declarations that nothing answers, one text pinned twice.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from replay.errors import FixtureError, UsageError
from replay.scenario import layout
from replay.scenario.advice import elsewhere, make_recording, refresh_command
from replay.scenario.content import MAX_FILE_BYTES, MAX_SCENARIO_BYTES, MAX_SUITE_BYTES, inspect_scenario
from replay.scenario.finding import Finding, Rule, finding
from replay.scenario.tree import Tree, by_directory
from replay.scenario.write_back import ASIDE
from replay.session import Row, SessionLog
from replay.surface.pins import header_class

__all__ = ["check_tree", "find_hidden", "find_in_tree", "find_outside_scenarios", "find_unpinned"]

_PACKAGE_FILES: Final = frozenset(("BUILD", "BUILD.bazel", ".gitattributes", ".gitignore"))
_PACKAGE_ENDINGS: Final = (".bzl", ".md", ".yaml", ".yml", ".toml", ".py")
_LEFT_BEHIND: Final = (".orig", ".rej", ".tmp", ".bak", ".swp", "~", ".DS_Store")
_CREDENTIALS: Final = frozenset((".netrc", ".pypirc", "id_rsa", "id_ed25519", "credentials.json", ".env"))


def check_tree(tree: Tree) -> list[FixtureError]:
    """All that is wrong with a suite's fixtures, by file. Raises UsageError for a suite without any scenario."""
    if not tree.scenarios:
        raise UsageError(
            f"{tree.suite or tree.package}: there is no scenario to check",
            fix=f"make a directory with an {layout.INPUT}, or take the suite away",
        )
    errors = [found.error for found in find_in_tree(tree)]
    for error in errors:
        error.fix = elsewhere(error.fix, tree.commands)
    return errors


def find_in_tree(tree: Tree) -> list[Finding]:
    """Findings of the whole tree, sorted by file and line."""
    found = [*find_outside_scenarios(tree)]
    logs: dict[str, Sequence[SessionLog]] = {}
    contents = by_directory(tree.files)
    for name in tree.scenarios:
        files = contents.get(name)
        if files:
            inspection = inspect_scenario(name, files, tree.place(name))
            found.extend(inspection.findings)
            logs[name] = inspection.logs
    found.extend(find_unpinned(tree, logs))
    return sorted(found, key=lambda item: (item.error.where.file, item.error.where.line))


def find_outside_scenarios(tree: Tree) -> Iterator[Finding]:
    """Findings that need more than one scenario's files: what is there, missing, hidden or declared."""
    yield from find_hidden(tree)
    yield from _strays(tree)
    present = by_directory(dict.fromkeys(tree.paths))
    for name in tree.scenarios:
        yield from _missing(tree, name, present.get(name, {}).keys() - {""})
    yield from _declared(tree, tree.overrides, (layout.OVERRIDE,), "overrides")
    yield from _declared(tree, tree.pins, layout.PINS, "pins")
    yield from _uncompared_modes(tree)
    yield from _duplicate_pins(tree)
    yield from _check_size(tree)


def _check_size(tree: Tree) -> Iterator[Finding]:
    """Whether the suite is too big though no file and no scenario is."""
    contents = by_directory(tree.files)
    sizes = (
        sum(len(data) for data in contents.get(name, {}).values() if len(data) <= MAX_FILE_BYTES)
        for name in tree.scenarios
    )
    total = sum(size for size in sizes if size <= MAX_SCENARIO_BYTES)
    if total > MAX_SUITE_BYTES:
        yield finding(
            Rule.BUDGET,
            f"the scenarios have {total} bytes together, a suite may have {MAX_SUITE_BYTES}",
            tree.place(""),
            fix="record smaller runs, or make two suites",
        )


def find_hidden(tree: Tree) -> Iterator[Finding]:
    """What the tests would not get although it lies in the source tree."""
    for directory in tree.subpackages:
        yield finding(
            Rule.HIDDEN,
            "a nested BUILD file makes this directory a package of its own and hides its files from the suite",
            tree.place(f"{directory}/"),
            fix=f"delete the BUILD file, or pack the seed that needs it into {layout.SEED}",
        )
    for path in tree.links:
        yield finding(
            Rule.HIDDEN,
            "is a symbolic link, which does not survive runfiles and remote execution",
            tree.place(path),
            fix=f"commit the file itself, or say the link in {layout.SEED}",
        )
    for path in tree.paths:
        if ":" in path or "\\" in path or any(ord(char) < 32 for char in path):
            yield finding(
                Rule.HIDDEN,
                "has a name that Bazel cannot write as a label",
                tree.place(path),
                fix="rename it",
            )
    yield from _empty_directories(tree)


def _empty_directories(tree: Tree) -> Iterator[Finding]:
    filled = {path.rstrip("/").rpartition("/")[0] + "/" for path in tree.paths}
    # A nested package's files are no part of the listing, nor is what a link leads to.
    hidden = tuple(f"{directory}/" for directory in (*tree.subpackages, *tree.links))
    for path in tree.paths:
        if path.endswith("/") and path not in filled and not path.startswith(hidden):
            yield _empty_directory(tree, path)


def _empty_directory(tree: Tree, path: str) -> Finding:
    in_seed = f"/{layout.WORKSPACE}" in path or f"/{layout.EXPECTED_WORKSPACE}" in path
    return finding(
        Rule.HIDDEN if in_seed else Rule.STRAY,
        "is an empty directory, which git does not keep",
        tree.place(path),
        fix=f"say it in {layout.SEED}" if in_seed else "delete it",
    )


def _strays(tree: Tree) -> Iterator[Finding]:
    scenarios = frozenset(tree.scenarios)
    named: set[str] = set()  # directories that were reported: one finding for all that is in them
    with_input = {path.partition("/")[0] for path in tree.paths if path.partition("/")[2] == layout.INPUT}
    for path in tree.paths:
        top, slash, rest = path.partition("/")
        if not slash:
            yield from _stray_at_top(tree, path)
        elif top not in scenarios:
            if top not in named and rest:
                named.add(top)
                yield _unclaimed_directory(tree, top, top in with_input)
        elif rest and not rest.endswith("/"):
            yield from _stray_in_scenario(tree, top, rest, named)


def _stray_at_top(tree: Tree, path: str) -> Iterator[Finding]:
    if path in _PACKAGE_FILES or path.endswith(_PACKAGE_ENDINGS):
        return
    fix = "move it into its scenario, or delete it"
    yield finding(Rule.STRAY, "is a file that no scenario claims", tree.place(path), fix=fix)


def _unclaimed_directory(tree: Tree, name: str, has_input: bool) -> Finding:
    if has_input:
        what = "is a scenario that the suite does not list"
        return finding(
            Rule.UNDECLARED, what, tree.place(f"{name}/"), fix=f'add "{name}" to scenarios of {tree.suite}'
        )
    what = f"has no {layout.INPUT}, so that it is no scenario"
    return finding(
        Rule.STRAY, what, tree.place(f"{name}/"), fix=f"write {layout.INPUT}, or delete the directory"
    )


def _stray_in_scenario(tree: Tree, scenario: str, rest: str, named: set[str]) -> Iterator[Finding]:
    place = tree.place(f"{scenario}/{rest}")
    if rest.rpartition("/")[2] in _CREDENTIALS and rest.startswith(
        (layout.WORKSPACE, layout.EXPECTED_WORKSPACE)
    ):
        what = "is a file of credentials by its name, and would reach the agent"
        yield finding(Rule.SECRET, what, place, fix="take it out of the workspace; replay needs no key")
    if layout.is_fixture_file(rest):
        return
    directory, slash, _ = rest.partition("/")
    if directory == ASIDE:
        if ASIDE not in named:
            named.add(ASIDE)
            what = "a write-back was killed here and has to be completed"
            yield finding(
                Rule.STRAY,
                what,
                tree.place(f"{scenario}/{ASIDE}/"),
                fix=refresh_command(scenario),
            )
    elif slash:
        if f"{scenario}/{directory}" not in named:
            named.add(f"{scenario}/{directory}")
            what = "is a directory that has no meaning in a scenario"
            fix = f"move it into {layout.WORKSPACE}, or delete it"
            yield finding(Rule.STRAY, what, tree.place(f"{scenario}/{directory}/"), fix=fix)
    else:
        nearest = "" if rest.endswith(_LEFT_BEHIND) else layout.nearest_name(rest)
        what = "is a file that has no meaning in a scenario"
        yield finding(
            Rule.STRAY, what, place, fix=f"rename it to {nearest}, or delete it" if nearest else "delete it"
        )


def _missing(tree: Tree, name: str, present: Set[str]) -> Iterator[Finding]:
    """What a scenario has to hold and does not. present: the paths below it, relative to it."""
    if not present:
        if name not in tree.subpackages:
            what = "the suite lists this scenario, and there is no such directory"
            yield finding(
                Rule.MISSING,
                what,
                tree.place(f"{name}/"),
                fix=f'take "{name}" out of {tree.suite}, or add it',
            )
        return
    for file, fix in (
        (layout.INPUT, "write what the driver plays, or delete the directory"),
        (layout.log_name(0), make_recording(name)),
        (layout.STDOUT, refresh_command(name)),
    ):
        if file not in present:
            yield finding(Rule.MISSING, "is missing", tree.place(f"{name}/{file}"), fix=fix)
    gap = layout.child_gap(present)
    if gap is not None:
        missing, orphan = map(layout.log_name, gap)
        what = f"is an orphan: children have no gaps and {missing} is missing"
        yield finding(
            Rule.MISSING, what, tree.place(f"{name}/{orphan}"), fix=f"rename it to {missing}, or delete it"
        )


def _declared(
    tree: Tree, declared: Sequence[str], files: tuple[str, ...], attribute: str
) -> Iterator[Finding]:
    """Whether exactly the scenarios that the suite declares have these files."""
    present = frozenset(tree.paths)
    known = frozenset(tree.scenarios)
    for name in declared:
        if name not in known:
            what = f'the suite declares "{name}" in {attribute}, which is none of its scenarios'
            yield finding(
                Rule.UNDECLARED,
                what,
                tree.place(f"{name}/"),
                fix=f"take it out of {attribute} of {tree.suite}",
            )
            continue
        for file in files:
            if f"{name}/{file}" not in present:
                what = f"is missing, though the suite declares it in {attribute}"
                fix = f'write it, or take "{name}" out of {attribute} of {tree.suite}'
                yield finding(Rule.MISSING, what, tree.place(f"{name}/{file}"), fix=fix)
    for name in sorted(known.difference(declared)):
        for file in files:
            if f"{name}/{file}" in present:
                what = f"is not declared: the suite does not name the scenario in {attribute}"
                fix = f'add "{name}" to {attribute} of {tree.suite}, or delete the file'
                yield finding(Rule.UNDECLARED, what, tree.place(f"{name}/{file}"), fix=fix)


def _uncompared_modes(tree: Tree) -> Iterator[Finding]:
    present = frozenset(tree.paths)
    for name in sorted(frozenset(tree.scenarios).difference(tree.workspace_modes)):
        if f"{name}/{layout.EXECUTABLE}" in present:
            yield finding(
                Rule.UNDECLARED,
                "is compared by nothing: the scenario's options have no workspace_modes",
                tree.place(f"{name}/{layout.EXECUTABLE}"),
                fix="write replay_options(workspace_modes = …) with the reason, or delete the file",
            )


def _duplicate_pins(tree: Tree) -> Iterator[Finding]:
    for file in layout.PINS:
        first: dict[bytes, str] = {}
        for name in tree.scenarios:
            data = tree.files.get(f"{name}/{file}")
            if data is None:
                continue
            other = first.setdefault(data, name)
            if other != name:
                yield finding(
                    Rule.DUPLICATE,
                    f"is the same as {other}/{file}: one scenario pins a text, or a change of it touches every file",
                    tree.place(f"{name}/{file}"),
                    fix=f'take "{name}" out of pins of {tree.suite} and delete the file',
                )


def find_unpinned(tree: Tree, logs: Mapping[str, Sequence[SessionLog]]) -> Iterator[Finding]:
    """Header classes whose prompt and tools no scenario pins, in a suite that pins any: texts that nothing compares.

    logs: those of each scenario that could be read. Only a parent's first header counts, since a pin compares that
    one. One class may have several pins, as its configuration does not say which tools a deployment offers.
    """
    if not tree.pins:
        return
    headers = {
        name: header for name in tree.scenarios if (header := _pinnable(logs.get(name, ()))) is not None
    }
    pins = frozenset(tree.pins)
    pinned = {header_class([row.fields]) for name, row in headers.items() if name in pins}
    for name, row in headers.items():
        known = header_class([row.fields])
        if known not in pinned:
            pinned.add(known)
            yield finding(
                Rule.MISSING,
                f"the prompt and the tools of this header are compared nowhere: no scenario of its class {known} pins them",
                tree.place(f"{name}/{layout.log_name(0)}"),
                row.line,
                "$.data.header",
                f'add "{name}" to pins of {tree.suite}, then {refresh_command(name)}',
            )


def _pinnable(logs: Sequence[SessionLog]) -> Row | None:
    """The first request header of a scenario's parent log, if there is a text in it to pin."""
    if not logs or not logs[0].file.endswith(f"/{layout.log_name(0)}"):
        return None
    row = next((row for row in logs[0].rows if row.type == "request/header"), None)
    header = row.data.get("header") if row is not None else None
    # A gateway's header holds hashes of both texts, which every replay compares.
    if row is None or not isinstance(header, dict) or "hashes" in row.data:
        return None
    has_text = any(header.get(key) is not None for key in ("system", "tools"))
    return row if has_text else None
