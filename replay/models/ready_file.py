"""The file that a hang entry makes once its prefix is out: the driver waits for it, then cancels."""

import os

from replay.errors import FixtureError

__all__ = ["make_ready_file"]


def make_ready_file(cwd: str, name: str) -> None:
    """Makes the empty file `name` below `cwd`, with the directories on the way; one that exists stays as it is.

    name: relative to `cwd`, or absolute and inside it. Raises FixtureError if it leads outside `cwd`, by `..`, by
    a symbolic link or otherwise, or cannot be made.
    """
    root = os.path.realpath(cwd)
    path = os.path.join(root, name)
    parent = os.path.realpath(os.path.dirname(path))
    base = os.path.basename(path)
    if base in ("", ".", "..") or "\0" in name or os.path.commonpath([root, parent]) != root:
        raise FixtureError(f"readyFile {name!r} is not a file inside the session's cwd")
    try:
        os.makedirs(parent, exist_ok=True)
        # O_NOFOLLOW: the last component may be a link that points out, which realpath of its parent cannot see.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(os.path.join(parent, base), flags, 0o644))
    except OSError as error:
        raise FixtureError(f"readyFile {name!r} cannot be made: {error.strerror}") from None
