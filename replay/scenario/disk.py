"""Reads the fixtures of a directory into a Tree: the I/O of the doctor, and of no test."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from replay.errors import UsageError
from replay.scenario.layout import INPUT, STDOUT, log_number
from replay.scenario.tree import Tree, tree_of_listing

__all__ = ["packages_below", "read_tree"]

_MAX_FILE_BYTES = 256 << 20
_SKIPPED = frozenset((".git", "node_modules", "__pycache__"))


def packages_below(directory: str) -> list[tuple[str, list[str]]]:
    """(package directory, scenario names) of every scenario at or below `directory`, sorted.

    Raises UsageError if there is no such directory, or no scenario in it.
    """
    if not Path(directory).is_dir():
        raise UsageError(
            f"{directory}: no such directory", fix="name a scenario, or a directory of scenarios"
        )
    found: dict[str, list[str]] = {}
    for path in _scenario_directories(directory):
        package, _, name = path.rpartition("/")
        found.setdefault(package, []).append(name)
    if not found:
        raise UsageError(
            f"{directory}: holds no scenario",
            fix=f"name a directory with an {INPUT}, or one that such a one lies in",
        )
    return sorted((package, sorted(names)) for package, names in found.items())


def _scenario_directories(directory: str) -> Iterator[str]:
    # A trailing slash or "." has no name to report by.
    root = directory.rstrip("/") or directory
    if root.rpartition("/")[2] in ("", ".", ".."):
        root = str(Path(root).resolve())
    for path, directories, files in os.walk(root):
        if INPUT in files or STDOUT in files or any(log_number(name) is not None for name in files):
            yield path
            directories.clear()
            continue
        directories[:] = sorted(name for name in directories if name not in _SKIPPED)


def read_tree(package: str, names: Sequence[str] | None) -> Tree:
    """The tree below `package`; `names` limits it to some of its directories. Links are listed and not followed."""
    paths: list[str] = []
    links: list[str] = []
    files: dict[str, bytes] = {}
    for path, directories, present in os.walk(package or "."):
        relative = os.path.relpath(path, package or ".")
        prefix = "" if relative == "." else f"{relative}/"
        directories[:] = sorted(
            name
            for name in directories
            if name not in _SKIPPED and (prefix or names is None or name in names)
        )
        paths.extend(f"{prefix}{name}/" for name in directories)
        links.extend(f"{prefix}{name}" for name in (*directories, *present) if Path(path, name).is_symlink())
        for name in sorted(present) if prefix or names is None else ():
            paths.append(prefix + name)
            if not Path(path, name).is_symlink():  # whatever it leads to is none of ours
                files[prefix + name] = _read(Path(path, name))
    return tree_of_listing(package, paths, files, links)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
