"""A throw-away copy of the work tree, always at the same place, so that Bazel keeps what it has built there.

The place is the user's cache and not /tmp: Bazel's sandbox has a /tmp of its own. A change made through `edit` is
taken back by `restore`; what is below `EXTRA` belongs to one run and is deleted at the start of the next.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["EXTRA", "WorkTree", "copy_tree", "open_work_tree"]

EXTRA = "mutants"
"""The directory of packages that only the copy has."""


class WorkTree:
    """The copy. Paths are relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._kept: dict[Path, bytes | None] = {}

    @property
    def extra(self) -> Path:
        return self.root / EXTRA

    def keep(self, directory: str) -> Path:
        """The directory, after remembering every file in it for `restore`."""
        place = self.root / directory
        for file in place.rglob("*") if place.is_dir() else [place]:
            if file.is_file():
                self._kept.setdefault(file, file.read_bytes())
            elif not file.exists():
                self._kept.setdefault(file, None)
        return place

    def restore(self) -> None:
        """Take back every change of kept files."""
        for file, data in self._kept.items():
            if data is None:
                file.unlink(missing_ok=True)
            elif not file.is_file() or file.read_bytes() != data:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        self._kept.clear()


@contextmanager
def open_work_tree(source: Path) -> Iterator[tuple[WorkTree, Path]]:
    """The copy of `source` as it is now, and a directory for scratch files. One user at a time: others wait."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent_replay" / "mutations"
    root, scratch = home / "tree", home / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy_tree(source, root)
        yield WorkTree(root), scratch


def copy_tree(source: Path, root: Path) -> None:
    """Make `root` hold exactly what git would see in `source`; a file that did not change keeps its time."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        stdout=subprocess.PIPE,
        check=True,
    )
    # A file that git knows may be deleted and not yet committed.
    wanted = {
        name for name in os.fsdecode(listing.stdout).split("\0") if name and os.path.lexists(source / name)
    }
    if not wanted:
        raise FileNotFoundError(f"git lists no file in {source}")
    for name in sorted(_present(root) - wanted):
        (root / name).unlink()
    for name in sorted(wanted):
        _copy_file(source / name, root / name)
    for directory, _, _ in root.walk(top_down=False):
        if not any(directory.iterdir()):
            directory.rmdir()


def _present(root: Path) -> set[str]:
    found: set[str] = set()
    for directory, names, files in root.walk():
        # Bazel's own links at the top.
        links = [name for name in names if (directory / name).is_symlink()]
        names[:] = [name for name in names if name not in links]
        for name in (*files, *links):
            if directory != root or not name.startswith("bazel-"):
                found.add((directory / name).relative_to(root).as_posix())
    return found


def _copy_file(old: Path, new: Path) -> None:
    if new.is_symlink() or new.is_dir():
        new.unlink() if new.is_symlink() else shutil.rmtree(new)
    new.parent.mkdir(parents=True, exist_ok=True)
    if old.is_symlink():
        new.unlink(missing_ok=True)
        new.symlink_to(old.readlink())
        return
    data, mode = old.read_bytes(), old.stat().st_mode & 0o777
    if not new.is_file() or new.read_bytes() != data:
        new.write_bytes(data)
    if new.stat().st_mode & 0o777 != mode:
        new.chmod(mode)
