"""The sandbox of one run: its directories, and the environment that an agent gets.

    TEST_TMPDIR/<unique>/cwd      the agent's working directory, unless the scenario names another parent
                      /home       HOME
                      /sessions   where the agent writes its session logs
                      /fixture    the rendered recording that a self-replaying agent reads
    /tmp/agent_replay-<unique>/   a root whose length is the same on every machine
                      spill       where tools put output too long for the model; its path is budgeted into it
                      tmp         TMPDIR, apart from home

Each directory above is made exclusively by this run, so runs at once never share one, and closing a sandbox
removes what it made and nothing else. Homes and temporary directories lie apart because agents refuse helpers
below a temporary directory. No variable of the caller reaches the agent: the environment is built from nothing.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from replay.errors import UsageError

__all__ = ["Sandbox", "expand", "make_sandbox", "remove_tree"]

_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHORT_ROOTS = ("/tmp", "/var/tmp")
_NAME_BYTES = 6


class Sandbox(NamedTuple):
    """Absolute paths, symlinks resolved. `roots` is what this run made and will remove."""

    cwd: str
    home: str
    tmp: str
    spill: str
    sessions: str
    fixture: str
    roots: tuple[str, ...]

    def values(self) -> dict[str, str]:
        """What the placeholders of agent arguments and of rendered fixtures stand for."""
        return {
            "cwd": self.cwd,
            "home": self.home,
            "tmp": self.tmp,
            "spill": self.spill,
            "sessions": self.sessions,
        }

    def environment(self, *extra: Mapping[str, str]) -> dict[str, str]:
        """The agent's whole environment; later mappings win. Values may hold {placeholders}."""
        environment = {
            "PATH": _PATH,
            "HOME": self.home,
            "TMPDIR": self.tmp,
            "TMP": self.tmp,
            "TEMP": self.tmp,
            # Not LC_ALL as well: where a machine lacks C.UTF-8, shells warn about that one on stderr.
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PWD": self.cwd,
        }
        for mapping in extra:
            environment.update(mapping)
        return environment

    def spellings(self) -> list[tuple[str, list[str]]]:
        """Placeholder and path, for the normaliser, which knows in how many ways one is written."""
        return [
            (name, [path])
            for name, path in (
                ("{{cwd}}", self.cwd),
                ("{{spill}}", self.spill),
                ("{{tmp}}", self.tmp),
                ("{{home}}", self.home),
                ("{{sessions}}", self.sessions),
            )
        ]

    def close(self) -> None:
        """Remove everything that this run made. Files that an agent made unreadable are removed too."""
        for root in self.roots:
            remove_tree(root)


def make_sandbox(temporary: str, cwd_parent: str = "", wish: str = "") -> Sandbox:
    """Fresh directories for one run.

    `temporary` must exist. `cwd_parent` is an absolute directory, or {home}, {tmp} with a path below it. `wish` are 12
    hex digits for names that are free; otherwise names are drawn. Raises UsageError for a parent that is relative.
    """
    long_root = _claim(os.path.realpath(temporary), wish)
    short_root = _claim_short(long_root, wish)
    roots = [short_root, long_root]
    home, tmp = f"{long_root}/home", f"{short_root}/tmp"
    for path in (home, tmp, f"{short_root}/spill", f"{long_root}/sessions", f"{long_root}/fixture"):
        os.mkdir(path, 0o700)
    cwd = f"{long_root}/cwd"
    if cwd_parent:
        parent = expand(cwd_parent, {"home": home, "tmp": tmp})
        if not os.path.isabs(parent):
            remove_tree(short_root)
            remove_tree(long_root)
            raise UsageError(
                f'cwd_parent "{cwd_parent}" is relative', fix="name an absolute directory, {home} or {tmp}"
            )
        os.makedirs(parent, exist_ok=True)
        own = _claim(os.path.realpath(parent), wish)
        roots.insert(0, own)
        cwd = f"{own}/cwd"
    os.mkdir(cwd, 0o755)
    return Sandbox(
        cwd, home, tmp, f"{short_root}/spill", f"{long_root}/sessions", f"{long_root}/fixture", tuple(roots)
    )


def expand(text: str, values: Mapping[str, str]) -> str:
    """`text` with each {name} of `values` replaced; other braces stay as they are."""
    if "{" not in text:
        return text
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def remove_tree(root: str) -> None:
    """Delete a directory tree, following no symlink; what cannot be deleted stays."""
    try:
        os.chmod(root, 0o700)
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    remove_tree(entry.path)
                else:
                    os.unlink(entry.path)
        os.rmdir(root)
    except OSError:
        return


def _claim(parent: str, wish: str) -> str:
    """A new directory below `parent` that no other run has. Its name has the same length in every run."""
    while True:
        path = f"{parent}/agent_replay-{wish or os.urandom(_NAME_BYTES).hex()}"
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            wish = ""
            continue
        return path


def _claim_short(long_root: str, wish: str) -> str:
    """The root of fixed length. Where no short directory is writable the long root has to serve."""
    for parent in _SHORT_ROOTS:
        try:
            return _claim(os.path.realpath(parent), wish)
        except OSError:
            continue
    path = f"{long_root}/short"
    os.mkdir(path, 0o700)
    return path
