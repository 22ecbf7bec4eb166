"""The guard: every file below a suite's package is one that a scenario claims, complete and well formed.

Pure: a listing and bytes in, findings out. It sees what no single test sees: files that nobody claims, directories
that a nested package hides, declarations that nothing answers, one text pinned twice.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from replay.errors import FixtureError, UsageError
from replay.scenario import layout
from replay.scenario.content import inspect_scenario
from replay.scenario.finding import Finding, Rule, finding
from replay.scenario.tree import Tree
from replay.scenario.write_back import ASIDE

__all__ = ["check_tree", "find_in_tree", "find_outside_scenarios"]

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
    return [found.error for found in find_in_tree(tree)]


def find_in_tree(tree: Tree) -> list[Finding]:
    """Findings of the whole tree, sorted by file and line."""
    found = [*find_outside_scenarios(tree)]
    for name in tree.scenarios:
        files = tree.scenario_files(name)
        if files:
            found.extend(inspect_scenario(name, files, tree.place(name)).findings)
    return sorted(found, key=lambda item: (item.error.where.file, item.error.where.line))


def find_outside_scenarios(tree: Tree) -> Iterator[Finding]:
    """Findings that need more than one scenario's files: what is there, missing, hidden or declared."""
    yield from _hidden(tree)
    yield from _strays(tree)
    for name in tree.scenarios:
        yield from _missing(tree, name)
    yield from _declared(tree, tree.overrides, (layout.OVERRIDE,), "overrides")
    yield from _declared(tree, tree.pins, layout.PINS, "pins")
    yield from _duplicate_pins(tree)


def _hidden(tree: Tree) -> Iterator[Finding]:
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
                fix=f"bazel run //:refresh -- {scenario}",
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


def _missing(tree: Tree, name: str) -> Iterator[Finding]:
    present = {path[len(name) + 1 :] for path in tree.paths if path.startswith(f"{name}/")}
    if not present - {""}:
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
        (layout.log_name(0), f"bazel run //:record -- {name}"),
        (layout.STDOUT, f"bazel run //:refresh -- {name}"),
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
