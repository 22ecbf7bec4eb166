"""What an agent changed in the world, as JSON: state that a provider sees, before and after a step.

A provider is any object with a `name` and a `snapshot()`; three are here. A snapshot never waits, follows no link out of
its root, and is bounded: what is too large is there by its digest. It says the same for the same state, whatever the
order of directories, rows or keys: state_hash of two snapshots tells whether anything changed.
"""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import orjson

from replay.errors import UsageError, counted
from replay.trace.jsonable import bounded, freeze

__all__ = ["DictState", "FileTreeState", "SqliteState", "StateProvider", "state_hash"]

_MOST_FILES = 20_000
_MOST_TEXT_BYTES = 16 << 10
_MOST_FILE_BYTES = 256 << 20
_MOST_ROWS = 1000
_MOST_READ_ROWS = 200_000
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
_PIECE_BYTES = 1 << 20


class StateProvider(Protocol):
    """Something whose state belongs to a run."""

    @property
    def name(self) -> str: ...
    def snapshot(self) -> Any: ...


def state_hash(state: Any) -> str:
    """ "sha256:…" of a state: the order of keys does not count, the type of a value does (1, 1.0, true are three)."""
    frozen = orjson.loads(freeze(state))
    return "sha256:" + hashlib.sha256(orjson.dumps(frozen, option=orjson.OPT_SORT_KEYS)).hexdigest()


class DictState:
    """A mapping of the agent's own, or a function that returns one."""

    def __init__(self, source: Mapping[str, Any] | Callable[[], Any], name: str = "memory") -> None:
        self.name = name
        self._source = source

    def snapshot(self) -> Any:
        """A copy as JSON."""
        state = self._source() if callable(self._source) else self._source
        return bounded(orjson.loads(freeze(state)))


class FileTreeState:
    """The files below a directory: {path: {"bytes", "sha256", "text"?, "executable"?} | {"link"} | {"special"}}.

    ignore: patterns of paths ("*.log", ".git"), matched against the path below the root and each of its names. text is
    there for short UTF-8, so that a difference can be read. Empty directories are {"directory": true}.
    """

    def __init__(
        self, root: str | Path, name: str = "files", ignore: Sequence[str] = (".git", "__pycache__")
    ) -> None:
        self.name = name
        self._root = os.fspath(root)
        self._ignore = tuple(ignore)

    def snapshot(self) -> dict[str, Any]:
        """Every file, by its path with "/". Raises UsageError where there are more than can be looked at."""
        found: dict[str, Any] = {}
        for path, entry in self._walk(self._root, ""):
            if len(found) == _MOST_FILES:
                raise UsageError(
                    f"{self._root} has more than {counted(_MOST_FILES, 'file')}; ignore some of them"
                )
            found[path] = entry
        return dict(sorted(found.items()))

    def _walk(self, directory: str, below: str) -> Iterator[tuple[str, dict[str, Any]]]:
        with os.scandir(directory) as entries:
            inner = [entry for entry in entries if not self._is_ignored(below + entry.name, entry.name)]
        if not inner and below:
            yield _text(below.removesuffix("/")), {"directory": True}
        for entry in inner:
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path, f"{below}{entry.name}/")
            else:
                yield _text(below + entry.name), _file(entry)

    def _is_ignored(self, path: str, name: str) -> bool:
        return any(fnmatchcase(path, pattern) or fnmatchcase(name, pattern) for pattern in self._ignore)


def _file(entry: os.DirEntry[str]) -> dict[str, Any]:
    if entry.is_symlink():
        return {"link": _text(os.readlink(entry.path))}
    try:
        # Not blocking: a pipe that nobody writes to must not hold the agent.
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return {"special": error.strerror or "unreadable"}
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return {"special": "no regular file"}
        if status.st_size > _MOST_FILE_BYTES:
            return {"bytes": status.st_size, "special": "too large to read"}
        return _content(file, bool(status.st_mode & stat.S_IXUSR))


def _content(file: Any, is_executable: bool) -> dict[str, Any]:
    digest = hashlib.sha256()
    first = piece = file.read(_PIECE_BYTES)
    size = 0
    while piece:
        digest.update(piece)
        size += len(piece)
        piece = file.read(_PIECE_BYTES)
    found: dict[str, Any] = {"bytes": size, "sha256": digest.hexdigest()}
    if is_executable:
        found["executable"] = True
    if size <= _MOST_TEXT_BYTES and b"\0" not in first:
        with suppress(UnicodeDecodeError):
            found["text"] = first.decode()
    return found


def _text(path: str) -> str:
    # A name on disk is bytes; those that are no UTF-8 come as lone surrogates.
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class SqliteState:
    """A database: {table: {"columns": […], "rows": [[…]], "count": n, "sha256"?}}, opened to read only.

    Rows are in the order of their values, since a table has none. Of a table of more than a thousand rows only the first are
    listed, and "sha256" is of all. tables: only these. A database that is not there is null.
    """

    def __init__(self, path: str | Path, name: str = "database", tables: Sequence[str] | None = None) -> None:
        self.name = name
        self._path = Path(path)
        self._tables = None if tables is None else set(tables)

    def snapshot(self) -> dict[str, Any] | None:
        """What is committed now."""
        if not self._path.exists():
            return None
        uri = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0)) as connection:
            connection.text_factory = _cell
            # One transaction: all tables at one moment.
            connection.execute("BEGIN")
            names = [name for (name,) in connection.execute(_TABLES)]
            return {
                name: _table(connection, name)
                for name in names
                if self._tables is None or name in self._tables
            }


def _table(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    quoted = name.replace('"', '""')
    cursor = connection.execute(f'SELECT * FROM "{quoted}"')
    columns = [column[0] for column in cursor.description]
    rows = sorted(freeze(row) for row in islice(cursor, _MOST_READ_ROWS + 1))
    if len(rows) > _MOST_READ_ROWS:
        raise UsageError(
            f"the table {name!r} has more than {counted(_MOST_READ_ROWS, 'row')}; name the tables that count"
        )
    table: dict[str, Any] = {
        "columns": columns,
        "rows": [orjson.loads(row) for row in rows[:_MOST_ROWS]],
        "count": len(rows),
    }
    if len(rows) > _MOST_ROWS:
        table["sha256"] = hashlib.sha256(b"\n".join(rows)).hexdigest()
    return table


def _cell(cell: bytes) -> str:
    # SQLite does not check that its text is any; what is none must be told apart too.
    return cell.decode("utf-8", "surrogateescape")
