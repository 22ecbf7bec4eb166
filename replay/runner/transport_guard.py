"""The guard of transport scenarios: every file below a suite's package belongs to one, complete and well formed. Pure.

It sees what no single test sees: a provider that a scenario forgot, a transcript under another scenario's name, expected
files of a test that is no more, a secret.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.scenario.advice import record_command, refresh_command
from replay.scenario.content import check_sizes, check_text, find_secrets
from replay.scenario.document import document_problem
from replay.scenario.finding import Finding, Rule, finding
from replay.scenario.guard import find_hidden
from replay.scenario.transport_layout import (
    TRANSCRIPT,
    Surface,
    expected_file,
    is_model_file,
    provider_of,
    surface_of,
    surface_of_file,
    variant_of,
    variants_of,
)
from replay.scenario.tree import Tree, by_directory
from replay.scenario.write_back import ASIDE
from replay.session.diagnosis import check_repeated_keys
from replay.surface.secrets import Scanner
from replay.transport.engine import Engine
from replay.transport.profile import profile
from replay.transport.transcript import read_transcript, write_transcript

__all__ = ["GUARD_KIND", "TransportTree", "check_transports", "transport_tree"]

GUARD_KIND: Final = "transport_guard"
_SEED: Final = ("workspace/", "workspace.seed.json")
_OWN: Final = (".py", ".md")
_CACHE: Final = "__pycache__/"
# Beside the scenarios may lie what the subject is made of, whatever its language.
_STRAY: Final = (".ndjson", ".jsonl", ".orig", ".rej", ".tmp", ".bak", ".swp", "~", ".DS_Store")
# A test has no keys of its shell to look for; a recording has.
_BY_LOOK: Final = Scanner()


class TransportTree(NamedTuple):
    """One package of transport scenarios, and what its suite says of it. `tree` names no scenarios."""

    tree: Tree
    providers: Sequence[str] = ()
    inexpressible: Mapping[str, Mapping[str, str]] = {}
    """Scenario -> provider -> why its protocol cannot express it."""
    surfaces: Sequence[str] = ()
    """What every test compares ("projection.json")."""
    commands: str = "//"

    @property
    def scenarios(self) -> list[str]:
        """The directories that hold a transcript, or that the suite speaks of and that are there."""
        found = {path.partition("/")[0] for path in self.tree.paths if provider_of(path.partition("/")[2])}
        tops = {path.partition("/")[0] for path in self.tree.paths if "/" in path}
        return sorted(found | (self.inexpressible.keys() & tops))


def transport_tree(data: bytes, read: Callable[[str], bytes]) -> TransportTree:
    """The tree that a guard's manifest describes; `read` gives the content of an rlocation path."""
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise UsageError(f"the manifest is not JSON: {error}") from None
    if not isinstance(fields, dict) or fields.get("kind") != GUARD_KIND or fields.get("version") != 1:
        raise UsageError("this is no manifest of a guard over transport scenarios, version 1")

    def get[T](key: str, kind: type[T]) -> T:
        value = fields.get(key)
        if not isinstance(value, kind):
            raise UsageError(f'the guard\'s manifest has no {kind.__name__} "{key}"')
        return value

    files: dict[str, Any] = get("files", dict)
    tree = Tree(
        package=get("package", str),
        suite=get("suite", str),
        scenarios=(),
        overrides=(),
        pins=(),
        paths=[path for path in get("tree", list) if _CACHE not in path],
        subpackages=get("subpackages", list),
        files={path: read(place) for path, place in files.items() if _CACHE not in path},
    )
    return TransportTree(
        tree, get("providers", list), get("inexpressible", dict), get("surfaces", list), get("commands", str)
    )


def check_transports(suite: TransportTree) -> list[FixtureError]:
    """All that is wrong, by file. Raises UsageError for a suite without any scenario."""
    if not suite.scenarios:
        raise UsageError(
            f"{suite.tree.suite or suite.tree.package}: there is no transcript to check",
            fix=f"record one into <scenario>/<provider>{TRANSCRIPT}, or take the suite away",
        )
    paths = by_directory(dict.fromkeys(suite.tree.paths))
    names = {scenario: [path for path in paths[scenario] if path] for scenario in suite.scenarios}
    files = by_directory(suite.tree.files)
    found = [*find_hidden(suite.tree), *_strays(suite), *_declared(suite, names)]
    for scenario in names:
        found.extend(_in_scenario(suite, scenario, names[scenario]))
        found.extend(_contents(suite, scenario, files.get(scenario, {})))
    found.sort(key=lambda item: (item.error.where.file, item.error.where.line))
    return [item.error for item in found]


# -- what is there, and what is not -----------------------------------------------------------------------------


def _strays(suite: TransportTree) -> Iterator[Finding]:
    tree, known = suite.tree, frozenset(suite.scenarios)
    # What a nested package hides is reported as that.
    named = {directory.partition("/")[0] for directory in tree.subpackages}
    for path in tree.paths:
        top, slash, rest = path.partition("/")
        if not slash:
            if path.endswith(_STRAY):
                fix = "move it into its scenario, or delete it"
                yield finding(Rule.STRAY, "is a file that no scenario claims", tree.place(path), fix=fix)
        elif top not in known and rest and top not in named:
            named.add(top)
            yield finding(
                Rule.STRAY,
                "holds no transcript, so that it is no scenario",
                tree.place(f"{top}/"),
                fix=f"record one into {top}/<provider>{TRANSCRIPT}, or delete the directory",
            )


def _declared(suite: TransportTree, names: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Whether each scenario has what the suite promises, and nothing that the suite says cannot be.

    names: scenario to every path of it, relative to it, directories with a slash at the end.
    """
    tree, known = suite.tree, names.keys()
    for scenario in sorted(suite.inexpressible.keys() - known):
        what = f'the suite declares "{scenario}" in inexpressible, which is none of its scenarios'
        fix = f"take it out of inexpressible of {tree.suite}"
        yield finding(Rule.UNDECLARED, what, tree.place(f"{scenario}/"), fix=fix)
    for scenario in names:
        present = {provider_of(file) for file in names[scenario]} - {""}
        reasons = suite.inexpressible.get(scenario, {})
        for provider in suite.providers:
            name = f"{scenario}/{provider}{TRANSCRIPT}"
            if provider not in present and not reasons.get(provider):
                fix = (
                    f"{record_command(f'{scenario}/{provider}', suite.commands)}\n"
                    f"or say in inexpressible of {tree.suite} why its protocol cannot express the scenario"
                )
                yield finding(Rule.MISSING, "is missing", tree.place(name), fix=fix)
        for provider in sorted(reasons.keys() & present):
            what = f'is there, though the suite says in inexpressible that "{provider}" cannot express it'
            fix = f"take it out of inexpressible of {tree.suite}, or delete the transcript"
            yield finding(Rule.UNDECLARED, what, tree.place(f"{scenario}/{provider}{TRANSCRIPT}"), fix=fix)
        for provider in sorted(reasons.keys() - set(suite.providers)):
            what = f'the suite declares "{provider}" in inexpressible, which is none of its providers'
            fix = f"take it out of inexpressible of {tree.suite}"
            yield finding(Rule.UNDECLARED, what, tree.place(f"{scenario}/"), fix=fix)


def _in_scenario(suite: TransportTree, scenario: str, names: Sequence[str]) -> Iterator[Finding]:
    tree = suite.tree
    variants = variants_of(names)
    reported: set[str] = set()
    for name in names:
        place = tree.place(f"{scenario}/{name}")
        if variant_of(name):
            if variant_of(name) not in variants:
                yield _orphan(suite, scenario, name)
        elif not _has_a_place(name):
            top = name.partition("/")[0]
            if top not in reported:
                reported.add(top)
                yield _unknown(suite, scenario, name, place)
    for variant in variants:
        for file in suite.surfaces:
            surface = surface_of_file(file)
            name = expected_file(variant, surface) if surface is not None else file
            if name not in names:
                fix = refresh_command(f"{scenario}/{variant}", suite.commands)
                yield finding(Rule.MISSING, "is missing", tree.place(f"{scenario}/{name}"), fix=fix)


def _has_a_place(name: str) -> bool:
    if name.startswith(_SEED):
        return True
    return "/" not in name and name.endswith(_OWN)


def _orphan(suite: TransportTree, scenario: str, name: str) -> Finding:
    variant, place = variant_of(name), suite.tree.place(f"{scenario}/{name}")
    what = f"belongs to no test: there is no {variant}{TRANSCRIPT}"
    fix = f"{record_command(f'{scenario}/{variant}', suite.commands)}\nor delete it"
    return finding(Rule.STRAY, what, place, fix=fix)


def _unknown(suite: TransportTree, scenario: str, name: str, place: str) -> Finding:
    directory, slash, _ = name.partition("/")
    if directory == ASIDE:
        what = "a write-back was killed here and has to be completed"
        place = suite.tree.place(f"{scenario}/{ASIDE}/")
        return finding(Rule.STRAY, what, place, fix=refresh_command(scenario, suite.commands))
    if slash:
        place = suite.tree.place(f"{scenario}/{directory}/")
        what = "is a directory that has no meaning in a transport scenario"
        return finding(Rule.STRAY, what, place, fix="move it into workspace/, or delete it")
    what = "is a file that has no meaning in a transport scenario"
    nearest = _nearest(name)
    fix = f"rename it to {nearest}, or delete it" if nearest else "delete it"
    return finding(Rule.STRAY, what, place, fix=fix)


def _nearest(name: str) -> str:
    """What a file was probably meant to be called, "" if there is no telling."""
    from difflib import get_close_matches  # only on the way to an error

    variant, _, rest = name.partition(".")
    endings = ["transcript.ndjson", "projection.expected.json", "events.expected.jsonl"]
    found = get_close_matches(rest.replace("_", "."), endings, 1, 0.8) if variant else []
    return f"{variant}.{found[0]}" if found else ""


# -- what files hold ----------------------------------------------------------------------------------------------


def _contents(suite: TransportTree, scenario: str, files: Mapping[str, bytes]) -> Iterator[Finding]:
    place = suite.tree.place(scenario)
    yield from check_sizes(files, place)
    for name, data in files.items():
        if not variant_of(name) or is_model_file(name):
            continue
        refresh = refresh_command(f"{scenario}/{variant_of(name)}", suite.commands)
        problems = check_text(data, f"{place}/{name}", refresh)
        yield from problems
        if any(problem.rule is Rule.BROKEN for problem in problems):
            continue
        surface = surface_of(name)
        if surface is not None:
            yield from _check_surface(surface, data, f"{place}/{name}", refresh)
        else:
            yield from _check_transcript(scenario, name, data, f"{place}/{name}", refresh)
    yield from find_secrets(files, place, _BY_LOOK)


def _check_surface(surface: Surface, data: bytes, place: str, refresh: str) -> Iterator[Finding]:
    from replay.runner.transport_surfaces import encode_surface, read_surface

    problem = document_problem(data, place) if surface.kind == ".json" else None
    try:
        if problem is not None:
            raise problem
        values = read_surface(data, place)
    except FixtureError as error:
        yield Finding(Rule.BROKEN, FixtureError(error.what, error.where, error.fix or refresh))
        return
    written = encode_surface(values, surface.file)
    if b"\r" not in data and written != data:
        what = "is not in the form that a refresh writes"
        yield finding(Rule.NOT_CANONICAL, what, place, _first_line(data, written), fix=refresh)


def _first_line(data: bytes, written: bytes) -> int:
    """The first line, from 1, that is not as it would be written; the last where only its end is missing."""
    lines, wanted = data.split(b"\n"), written.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(wanted, 1):
        if number > len(lines) or lines[number - 1] != line:
            return number
    return len(wanted)


def _check_transcript(scenario: str, name: str, data: bytes, place: str, refresh: str) -> Iterator[Finding]:
    try:
        transcript = read_transcript(data, place)
        # A blank line is found below; it holds no key.
        check_repeated_keys([line or b"{}" for line in data.split(b"\n")], place)
        start = transcript.start
        # Whatever a play would refuse: frames that the protocol does not know, placeholders without a sense.
        Engine(transcript, profile(start.protocol), workspace="/workspace")
    except FixtureError as error:
        where = error.where if error.where.file else Location(place, 1)
        yield Finding(Rule.BROKEN, FixtureError(error.what, where, error.fix))
        return
    if not start.schema:
        what = 'is of the wild form: "schema" and its metadata are missing'
        yield finding(Rule.UNTOLD, what, place, start.line, fix='write "schema":1 and what that requires')
        return
    day = str(start.metadata["capturedAt"])
    if not _is_day(day):
        what = f'"{day}" is no day of the calendar, written as 2026-01-31'
        yield finding(
            Rule.UNTOLD, what, place, start.line, "$.metadata.capturedAt", "say when it was captured"
        )
    for key, said, wanted in (
        ("provider", start.provider, provider_of(name)),
        ("scenario", start.scenario, scenario),
    ):
        if said != wanted:
            what = f'says "{said}", and the {"file" if key == "provider" else "directory"} says "{wanted}"'
            yield finding(
                Rule.UNDECLARED,
                what,
                place,
                start.line,
                f"$.{key}",
                "rename one of them, or put the file where it belongs",
            )
    written = write_transcript(transcript)
    if b"\r" not in data and written != data:
        what = "is not in canonical form (compact JSON, keys in their order, no blank line)"
        yield finding(Rule.NOT_CANONICAL, what, place, _first_line(data, written), fix=refresh)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
