"""The workspace surface: what lies in the agent's cwd after the run, where a suite or a `workspace.expected/` asks for it.

One value a file, sorted by path: {"path", "text"}, or {"path", "binary": {"bytes", "sha256"}} for what is no UTF-8. A
link, or a name that is no UTF-8, has no place in a fixture and so is an error. With the option `workspace_modes` a file that its owner may execute has "executable": true as well,
and nothing more of a mode: the rest of it, times and empty directories are no part of the surface, since neither git
nor Bazel's runfiles keep them. To Bazel the bit is no content: a change of it alone makes no test run again.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from replay.errors import AgentError
from replay.scenario.layout import EXPECTED_WORKSPACE

__all__ = [
    "Workspace",
    "executable_files",
    "expected_workspace",
    "file_value",
    "workspace_files",
    "workspace_values",
]

_MAX_BYTES = 64 << 20


class Workspace(NamedTuple):
    """What the agent left. `binaries`: SHA-256 in hex -> content of what `values` hold by their digest only."""

    values: list[Any]
    binaries: Mapping[str, bytes]


def workspace_values(cwd: str, modes: bool) -> Workspace:
    """The files below `cwd`. modes: whether executable ones are told. Raises AgentError for what no fixture can hold."""
    total = 0
    values = []
    binaries: dict[str, bytes] = {}
    for path in sorted(_walk(cwd)):
        relative = os.path.relpath(path, cwd)
        shown = relative.encode("utf-8", "backslashreplace").decode()
        if shown != relative or os.path.islink(path):
            what = "a link" if shown == relative else "a file whose name is not UTF-8"
            raise AgentError(
                f"the agent left {what} in its cwd, {shown}, which no fixture can hold",
                fix='let it write a plain file, or compare no workspace: neither surfaces = ["workspace"] nor workspace.expected/',
            )
        total += os.path.getsize(path)
        if total > _MAX_BYTES:
            raise AgentError(f"the agent left more than {_MAX_BYTES} bytes in its cwd, too much to compare")
        values.append(_read(relative, path, modes, binaries))
    return Workspace(values, binaries)


def expected_workspace(files: Mapping[str, str], modes: bool) -> list[Any]:
    """The committed side: name below workspace.expected/ -> absolute path."""
    return [_read(name, files[name], modes) for name in sorted(files)]


def workspace_files(values: Iterable[Any], binaries: Mapping[str, bytes]) -> dict[str, bytes]:
    """The surface as files of the fixture."""
    files = {}
    for value in values:
        name = EXPECTED_WORKSPACE + value["path"]
        binary = value.get("binary")
        files[name] = value["text"].encode() if binary is None else binaries[binary["sha256"]]
    return files


def executable_files(values: Iterable[Any]) -> dict[str, bool]:
    """Which files of the fixture that hold these values shall be executable, the others among them."""
    return {EXPECTED_WORKSPACE + value["path"]: "executable" in value for value in values}


def file_value(
    name: str, data: bytes, is_executable: bool, binaries: dict[str, bytes] | None = None
) -> dict[str, Any]:
    """The value of one file; a binary's content goes into `binaries`."""
    value: dict[str, Any] = {"path": name}
    try:
        value["text"] = data.decode()
    except UnicodeDecodeError:
        from hashlib import sha256  # few runs leave such a file

        digest = sha256(data).hexdigest()
        value["binary"] = {"bytes": len(data), "sha256": digest}
        if binaries is not None:
            binaries[digest] = data
    return value | ({"executable": True} if is_executable else {})


def _read(name: str, path: str, modes: bool, binaries: dict[str, bytes] | None = None) -> dict[str, Any]:
    with open(path, "rb") as file:
        is_executable = modes and bool(os.fstat(file.fileno()).st_mode & 0o100)
        return file_value(name, file.read(), is_executable, binaries)


def _walk(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield entry.path
