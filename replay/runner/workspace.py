"""The workspace surface: what lies in the agent's cwd after the run, where a scenario has `workspace.expected/`.

One value a file, sorted by path: {"path", "text"}, {"path", "base64"} for what is no text, {"path", "symlink"} for a
link. Modes, times and empty directories are no part of it: they do not survive a source tree and Bazel alike.
"""

import binascii
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replay.errors import AgentError
from replay.scenario.layout import EXPECTED_WORKSPACE

__all__ = ["expected_workspace", "workspace_files", "workspace_values"]

_MAX_BYTES = 64 << 20


def workspace_values(cwd: str) -> list[Any]:
    """The files below `cwd`. Raises AgentError for more than the surface can hold."""
    total = 0
    values = []
    for path in sorted(_walk(cwd)):
        relative = os.path.relpath(path, cwd)
        if os.path.islink(path):
            values.append({"path": relative, "symlink": os.readlink(path)})
            continue
        total += os.path.getsize(path)
        if total > _MAX_BYTES:
            raise AgentError(f"the agent left more than {_MAX_BYTES} bytes in its cwd, too much to compare")
        values.append(_value(relative, path))
    return values


def expected_workspace(files: Mapping[str, str]) -> list[Any]:
    """The committed side: name below workspace.expected/ -> absolute path."""
    return [_value(name, files[name]) for name in sorted(files)]


def workspace_files(values: Iterable[Any]) -> dict[str, bytes]:
    """The surface as files of the fixture; a link has no place there."""
    files = {}
    for value in values:
        name = EXPECTED_WORKSPACE + value["path"]
        if "text" in value:
            files[name] = value["text"].encode()
        elif "base64" in value:
            files[name] = binascii.a2b_base64(value["base64"])
    return files


def _value(name: str, path: str) -> dict[str, str]:
    with open(path, "rb") as file:
        data = file.read()
    try:
        return {"path": name, "text": data.decode()}
    except UnicodeDecodeError:
        return {"path": name, "base64": binascii.b2a_base64(data, newline=False).decode()}


def _walk(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield entry.path
