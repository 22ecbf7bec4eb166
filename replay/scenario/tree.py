"""The fixtures of one package as a value: what is there, and what the suite says should be.

The guard makes it from its manifest, the doctor from a directory; the checks see no difference.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import UsageError
from replay.scenario.layout import EXECUTABLE, INPUT, OVERRIDE, PINS

__all__ = ["Tree", "by_directory", "tree_of_listing", "tree_of_manifest"]


class Tree(NamedTuple):
    """One package. `paths` lists everything below it, directories with a slash at the end."""

    package: str
    """What stands before each path in a message, "" for nothing."""
    suite: str
    scenarios: Sequence[str]
    overrides: Sequence[str]
    pins: Sequence[str]
    paths: Sequence[str]
    subpackages: Sequence[str]
    files: Mapping[str, bytes]
    links: Sequence[str] = ()
    """Paths that are symbolic links; a listing by Bazel cannot tell."""
    commands: str = "//"
    """The package of the commands on the suite, as messages write it."""
    workspace_modes: Sequence[str] = ()
    """The scenarios whose options compare which files of the workspace are executable."""

    def place(self, path: str) -> str:
        """`path` as messages write it."""
        return f"{self.package}/{path}" if self.package else path


def by_directory[T](entries: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """What lies in each directory at the top, by its path relative to it; "" is the directory itself.

    entries: by path. In one pass: one for each scenario of a package would cost the square of their number.
    """
    found: dict[str, dict[str, T]] = {}
    for path, entry in entries.items():
        top, slash, rest = path.partition("/")
        if slash:
            found.setdefault(top, {})[rest] = entry
    return found


def tree_of_manifest(data: bytes, read: Callable[[str], bytes]) -> Tree:
    """The tree that a guard's manifest describes; `read` gives the content of an rlocation path."""
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise UsageError(f"the manifest is not JSON: {error}") from None
    if not isinstance(fields, dict) or fields.get("kind") != "guard" or fields.get("version") != 1:
        raise UsageError("this is no manifest of a guard, version 1")
    return Tree(
        package=_get(fields, "package", str),
        suite=_get(fields, "suite", str),
        scenarios=_get(fields, "scenarios", list),
        overrides=_get(fields, "overrides", list),
        pins=_get(fields, "pins", list),
        paths=_get(fields, "tree", list),
        subpackages=_get(fields, "subpackages", list),
        files={path: read(location) for path, location in _get(fields, "files", dict).items()},
        commands=fields.get("commands", "//"),
        workspace_modes=_get(fields, "workspace_modes", list),
    )


def _get[T](fields: dict[str, Any], key: str, kind: type[T]) -> T:
    value = fields.get(key)
    if not isinstance(value, kind):
        raise UsageError(f'the guard\'s manifest has no {kind.__name__} "{key}"')
    return value


def tree_of_listing(
    package: str, paths: Sequence[str], files: Mapping[str, bytes], links: Sequence[str] = ()
) -> Tree:
    """The tree of a directory that no suite describes: it declares whatever is there."""
    names = sorted({path.partition("/")[0] for path in paths if "/" in path})
    present = frozenset(paths)

    def having(wanted: Sequence[str]) -> Iterator[str]:
        return (name for name in names if any(f"{name}/{file}" in present for file in wanted))

    build_files = [
        path for path in paths if path.rpartition("/")[2] in ("BUILD", "BUILD.bazel") and "/" in path
    ]
    return Tree(
        package=package,
        suite="the suite",
        scenarios=list(having((INPUT, "session.jsonl", "stdout.expected.jsonl", "session.1.jsonl"))),
        overrides=list(having((OVERRIDE,))),
        pins=list(having(PINS)),
        paths=paths,
        subpackages=[path.rpartition("/")[0] for path in build_files],
        files=files,
        links=links,
        workspace_modes=list(having((EXECUTABLE,))),
    )
