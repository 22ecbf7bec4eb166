"""The workspace surface: what lies in the agent's cwd after the run, where a suite or a `workspace.expected/` asks for it.

One value a file, sorted by path: {"path", "text"}, or {"path", "binary": {"bytes", "sha256"}} for what is no UTF-8. A
link, or a name that is no UTF-8, has no place in a fixture and so is an error. With the option `workspace_modes` a file
that its owner may execute has "executable": true as well, and nothing more of a mode: the rest of it, times and empty
directories are no part of the surface. The fixture says it in `workspace.executable.txt`, a path a line, sorted by bytes:
a mode is no content to Bazel, to a remote executor or to a zip file.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from replay.errors import AgentError
from replay.scenario.layout import EXECUTABLE, EXPECTED_WORKSPACE

__all__ = [
    "Workspace",
    "expected_workspace",
    "workspace_files",
    "workspace_names",
    "workspace_values",
]

_MAX_BYTES = 64 << 20


class Workspace(NamedTuple):
    """One side. `binaries`: SHA-256 in hex -> content of what `values` hold by their digest only."""

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
        with open(path, "rb") as file:
            is_executable = modes and bool(os.fstat(file.fileno()).st_mode & 0o100)
            values.append(_value(relative, file.read(), is_executable, binaries))
    return Workspace(values, binaries)


def expected_workspace(files: Mapping[str, bytes], modes: bool) -> Workspace:
    """The surface that files of a fixture hold: name there -> content. modes: whether executable ones are told."""
    executable = set(files.get(EXECUTABLE, b"").decode("utf-8", "replace").split("\n")) if modes else ()
    names = sorted(name for name in files if name.startswith(EXPECTED_WORKSPACE))
    paths = {name.removeprefix(EXPECTED_WORKSPACE): files[name] for name in names}
    binaries: dict[str, bytes] = {}
    values = [_value(path, data, path in executable, binaries) for path, data in paths.items()]
    return Workspace(values, binaries)


def workspace_files(values: Iterable[Any], binaries: Mapping[str, bytes]) -> dict[str, bytes]:
    """The surface as files of the fixture: the way back from `expected_workspace`."""
    files = {}
    executable = set()
    for value in values:
        name = EXPECTED_WORKSPACE + value["path"]
        binary = value.get("binary")
        files[name] = value["text"].encode() if binary is None else binaries[binary["sha256"]]
        if "executable" in value:
            executable.add(value["path"].encode() + b"\n")
    if executable:
        files[EXECUTABLE] = b"".join(sorted(executable))
    return files


def workspace_names(values: Iterable[Any]) -> list[str]:
    """The files of a fixture that may hold these values."""
    return [EXECUTABLE, *(EXPECTED_WORKSPACE + value["path"] for value in values)]


def _value(name: str, data: bytes, is_executable: bool, binaries: dict[str, bytes]) -> dict[str, Any]:
    """The value of one file; a binary's content goes into `binaries`."""
    value: dict[str, Any] = {"path": name}
    try:
        value["text"] = data.decode()
    except UnicodeDecodeError:
        from hashlib import sha256  # few runs leave such a file

        digest = sha256(data).hexdigest()
        value["binary"] = {"bytes": len(data), "sha256": digest}
        binaries[digest] = data
    return value | ({"executable": True} if is_executable else {})


def _walk(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield entry.path
