"""Writes a scenario's outputs back: all files or none, whenever the process is killed.

    1. every new file is written aside, in `.replay-write-back/new/` of the directory, and synced
    2. the journal `.replay-write-back/commit` is renamed into place: from now on the new state is the true one
    3. each file is renamed over the old one, stale children are unlinked, the directory is synced
    4. the aside directory goes

A crash before 2 leaves the old files and an aside directory without a journal, which the next call throws away; a
crash after it leaves a journal, which the next call (or `recover`) completes. Nobody reads a mix: readers that come
after a crash see files of one state only once `recover` ran, and the guard names the aside directory until then.
Two processes at once would mix what they write: whoever reads a fixture in order to write it holds it `claimed`.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from replay.errors import ReplayError, UsageError
from replay.scenario.layout import children_of, is_fixture_file, log_name
from replay.scenario.trace_layout import is_trace_file
from replay.scenario.transport_layout import is_transport_file

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ASIDE", "Change", "claimed", "planned_changes", "recover", "write_back"]

ASIDE: Final = ".replay-write-back"
_COMMIT: Final = "commit"
_NEW: Final = "new"


class Change(NamedTuple):
    """One file before and after; None where there was or is none."""

    name: str
    before: bytes | None
    after: bytes | None


@contextmanager
def claimed(directory: str) -> Iterator[None]:
    """Keeps other commands from a fixture, from the first look at it to the last write. Not to be nested.

    Raises UsageError where another command holds it, and where a killed write was put right just now, so that what
    the caller knows of the files may be old.
    """
    with _explained(Path(directory), "look whether the suite still names a directory of this tree"):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                "another command is at work on this scenario", fix="run this one again when that has ended"
            ) from None
        except OSError:
            pass  # a file system without locks
        if recover(directory):
            raise UsageError(
                "a write was killed here; it is completed or taken back now", fix="run the same command again"
            )
        yield
    finally:
        os.close(descriptor)


def planned_changes(directory: str, files: Mapping[str, bytes], stale: Iterable[str] = ()) -> list[Change]:
    """What write_back would change, sorted by name. Raises UsageError when the directory cannot be read."""
    root = Path(directory)
    stale = {**dict.fromkeys(stale), **dict.fromkeys(_stale_children(root, files))}
    with _explained(root, "fix its permissions"):
        changes = [Change(name, _read(root / name), data) for name, data in files.items()]
        changes += [Change(name, _read(root / name), None) for name in stale if name not in files]
    return sorted(change for change in changes if change.before != change.after)


def write_back(directory: str, files: Mapping[str, bytes], stale: Iterable[str] = ()) -> list[Change]:
    """Make `files` (name relative to `directory` -> content) the scenario's; returns what changed, sorted by name.

    A file whose content is unchanged is not touched, and one that is written anew keeps its mode. The files `stale` are
    deleted, and if `files` holds any session log, logs of children that are not among them. Raises UsageError when the
    directory cannot be written; then nothing has changed.
    """
    stale = list(stale)
    for name in [*files, *stale]:
        is_ours = is_fixture_file(name) or is_transport_file(name) or is_trace_file(name)
        if not is_ours or ".." in name.split("/"):
            raise ReplayError(f"refuses to write {name!r}, which is no file of a fixture")
    root = Path(directory)
    recover(directory)
    changes = planned_changes(directory, files, stale)
    if not changes:
        return []
    changed = [change.name for change in changes if change.after is not None]
    aside = root / ASIDE
    try:
        with _explained(root, "the fixture is as it was; make room or fix the permissions"):
            for name in changed:
                _write(aside / _NEW / name, files[name])
                if (root / name).exists():
                    shutil.copymode(root / name, aside / _NEW / name)
            _write_journal(aside, changed, [change.name for change in changes if change.after is None])
    except BaseException:
        # Whatever ends it here, a full disk or a Ctrl-C: without its journal the aside directory means nothing.
        if not (aside / _COMMIT).exists():
            shutil.rmtree(aside, ignore_errors=True)
        raise
    try:
        _complete(root)
    except KeyboardInterrupt:
        _complete(root)
        raise
    return changes


def recover(directory: str) -> bool:
    """Complete or throw away what a killed write_back left in `directory`; whether there was anything."""
    root = Path(directory)
    aside = root / ASIDE
    if not aside.is_dir():
        return False
    if (aside / _COMMIT).exists():
        _complete(root)
    else:
        with _explained(root, f"delete {aside}"):
            shutil.rmtree(aside)
    return True


def _complete(root: Path) -> None:
    """The second half, which may run again after a crash at any point of it."""
    with _explained(root, "fix its permissions and run the same command again, which completes the write"):
        aside = root / ASIDE
        commit = aside / _COMMIT
        if not commit.exists():
            shutil.rmtree(aside, ignore_errors=True)
            return
        journal = orjson.loads(commit.read_bytes())
        touched = {root, *_move_new(root, journal["write"])}
        for name in journal["delete"]:
            (root / name).unlink(missing_ok=True)
        touched.update(_prune(root, (root / name).parent) for name in journal["delete"])
        for directory in sorted(touched):
            _sync_directory(directory)
        # The journal goes last but for the directory: without it the rest means nothing.
        shutil.rmtree(aside / _NEW, ignore_errors=True)
        commit.unlink()
        aside.rmdir()


def _move_new(root: Path, names: list[str]) -> Iterator[Path]:
    """Rename each new file into place, where an earlier attempt did not; yields the directories that changed."""
    for name in names:
        source, target = root / ASIDE / _NEW / name, root / name
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
        yield target.parent


def _prune(root: Path, directory: Path) -> Path:
    """Remove `directory` and what is above it where a deletion left them empty; the first that stays."""
    while directory != root:
        try:
            directory.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            break
        directory = directory.parent
    return directory


def _stale_children(root: Path, files: Mapping[str, bytes]) -> list[str]:
    if log_name(0) not in files:
        return []
    with _explained(root, "name the directory of a scenario"):
        present = [path.name for path in root.iterdir()]
    return [log_name(number) for number in children_of(present) if log_name(number) not in files]


def _write_journal(aside: Path, changed: list[str], stale: list[str]) -> None:
    draft = aside / f"{_COMMIT}.draft"
    _write(draft, orjson.dumps({"write": changed, "delete": stale}))
    for path, _, _ in aside.walk():
        _sync_directory(path)
    draft.rename(aside / _COMMIT)
    _sync_directory(aside)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(root: Path, fix: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write the fixture in {root}: {error.strerror or error}", fix=fix) from error
