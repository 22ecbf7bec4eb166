"""Checkouts of the tree, each with an output base and a person of its own, and the place where all of it lies.

The place is the user's cache and not /tmp: Bazel's sandbox has a /tmp of its own. Nothing of it is left afterwards.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.mutations.bazel import Bazel
from tests.mutations.work_tree import WorkTree, copy_tree

__all__ = ["Checkout", "Person", "make_checkout", "open_place"]

# What pip may be configured by in a home directory.
_PIP_FILES = (".config", ".netrc", ".pip")


class Person(NamedTuple):
    """Who works in a checkout, and what their machine does to it."""

    name: str | None
    """USER; None for whoever calls."""
    umask: int
    """-1 for that of whoever calls."""
    modified: int | None
    """The time of every file in seconds since 1970; None for now."""


class Checkout(NamedTuple):
    tree: WorkTree
    bazel: Bazel

    def replay(self, *arguments: str) -> str:
        """What the command line of this tree prints, among Bazel's own lines."""
        return self.bazel.call("run", "//tools:replay", "--", *arguments).text

    def forget(self) -> None:
        """Drop everything that was built here, with the action cache; what was downloaded stays."""
        done = self.bazel.call("clean")
        if done.code != 0:
            raise RuntimeError(f"bazel clean failed:\n{done.text}")

    def close(self) -> None:
        """End the server and delete the output base."""
        self.bazel.call("clean", "--expunge")


@contextmanager
def open_place(cache: Path) -> Iterator[Path]:
    """An empty directory below the user's cache directory, deleted at the end. One user at a time: others wait."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "remote_tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place = cache / "remote_tests"
        # One that was killed leaves its own.
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place)


def make_checkout(source: Path, place: Path, person: Person) -> Checkout:
    """A copy of `source` in place/tree; place also gets the output base and, for a named person, a home."""
    tree, scratch = place / "tree", place / "scratch"
    scratch.mkdir(parents=True)
    copy_tree(source, tree)
    _apply(tree, person)
    # A server that was left alone ends by itself, should this program be killed.
    startup = [f"--output_base={place / 'output'}", "--max_idle_secs=600"]
    environment = _environment(place / "home", person.name) if person.name is not None else {}
    return Checkout(WorkTree(tree), Bazel(tree, scratch, startup, environment, person.umask))


def _environment(home: Path, name: str) -> Mapping[str, str]:
    """HOME, USER and LOGNAME. What was downloaded once and how pip is configured stay those of whoever calls."""
    home.mkdir()
    old = Path.home()
    for file in _PIP_FILES:
        if (old / file).exists():
            (home / file).symlink_to(old / file)
    cache = os.environ.get("XDG_CACHE_HOME") or str(old / ".cache")
    return {"HOME": str(home), "USER": name, "LOGNAME": name, "XDG_CACHE_HOME": cache}


def _apply(tree: Path, person: Person) -> None:
    for directory, names, files in tree.walk():
        for name in (*names, *files):
            path = directory / name
            if path.is_symlink():
                continue
            if person.umask >= 0:
                path.chmod(path.stat().st_mode & 0o777 & ~person.umask)
            if person.modified is not None:
                os.utime(path, (person.modified, person.modified))
