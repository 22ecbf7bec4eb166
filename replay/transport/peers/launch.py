"""Launchers: the peers' executables for an orchestrator that a Python process spawns.

A launcher is a shell's exec of this very interpreter with this very bundle or path, so a peer starts without the start-up
script of a py_binary and without `site`: nothing is searched for that is known here already.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from replay.errors import UsageError

__all__ = ["PEERS", "write_launchers"]

PEERS: Mapping[str, str] = {
    "acp": "replay.transport.peers.acp",
    "claude": "replay.transport.peers.claude",
    "codex": "replay.transport.peers.codex",
    "cursor": "replay.transport.peers.cursor",
    "opencode": "replay.transport.peers.opencode",
}
"""Executable -> the module whose main() it runs."""


def write_launchers(directory: str, names: Sequence[str] = tuple(PEERS)) -> dict[str, str]:
    """Writes an executable for each peer into `directory`, which has to be there; name -> its path.

    Raises UsageError where that cannot be written.
    """
    written = {}
    for name in names:
        command = " ".join(map(_quoted, _command(PEERS[name])))
        script = f'#!/bin/sh\nexec {command} "$@"\n'
        path = os.path.join(directory, name)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o755)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(script)
        except OSError as error:
            raise UsageError(f"no executable can be written: {error.strerror}").at(path) from None
        written[name] = path
    return written


def _command(module: str) -> list[str]:
    """What runs main() of a module as this process runs its own: out of a bundle (tools/bytecode), or from files."""
    if bundled := getattr(sys.modules["__main__"], "RELAUNCH", None):
        return [*bundled, module]
    paths = [os.path.abspath(path or ".") for path in sys.path]
    # -I: nothing of the orchestrator's environment or directory reaches the interpreter. -B: it may be read-only.
    start = f"import sys; sys.path[:] = {paths!r}; from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-B", "-c", start]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
