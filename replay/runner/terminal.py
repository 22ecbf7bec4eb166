"""Terminals of the client side: a command that the agent asks its editor to run, with its output kept.

A terminal is a process in the sandbox with stdout and stderr on one pipe, no tty. The loop feeds the output;
`output_byte_limit` keeps the end of it and cuts at a character, as the protocol says.
"""

import os
import signal
from collections.abc import Callable, Mapping, Sequence

from replay.errors import AgentError
from replay.runner.loop import Loop
from replay.runner.process import Process, signal_name, spawn

__all__ = ["Terminal", "Terminals", "find_program"]

_DEFAULT_LIMIT = 1 << 20


class Terminal:
    """One running or finished command."""

    __slots__ = ("_loop", "data", "is_drained", "limit", "process", "truncated", "waiting")

    def __init__(self, process: Process, loop: Loop, limit: int) -> None:
        self.process = process
        self.limit = limit
        self.data = b""
        self.truncated = False
        self.is_drained = False
        self.waiting: list[Callable[[], None]] = []
        """Called once when the command ended and all of its output is here."""
        self._loop = loop
        process.close_stdin()
        loop.read(process.stdout, self._take)
        if process.watch >= 0:
            loop.read(process.watch, self._ended)

    def text(self) -> str:
        """The output kept. Bytes that are not UTF-8 are shown as replacement characters."""
        return self.data.decode("utf-8", "replace")

    def status(self) -> tuple[int | None, str | None] | None:
        """Exit code or signal of a command that ended and whose output is all here; None before."""
        status = self.process.poll()
        if status is None or not self.is_drained:
            return None
        return (status, None) if status >= 0 else (None, signal_name(-status))

    def kill(self) -> None:
        self.process.signal_group(signal.SIGKILL)

    def close(self) -> None:
        """End the command, forget its descriptors."""
        self.kill()
        self.process.wait(1.0)
        self._drain()
        self._settle()
        for descriptor in (self.process.stdout, self.process.watch):
            if descriptor >= 0:
                self._loop.forget(descriptor)
        self.process.close()

    def _take(self, data: bytes) -> None:
        if data:
            self.data += data
            if len(self.data) > self.limit:
                self.truncated = True
                self.data = _cut(self.data, self.limit)
            return
        self.is_drained = True
        self._settle()

    def _ended(self, _data: bytes) -> None:
        self._drain()
        self._settle()

    def _drain(self) -> None:
        """The command ended: what it wrote is in the pipe; a child of it may keep the pipe open for ever."""
        while not self.is_drained:
            try:
                data = os.read(self.process.stdout, 1 << 16)
            except OSError:
                data = b""
            if not data:
                self._loop.forget(self.process.stdout)
                self.is_drained = True
            else:
                self._take(data)

    def _settle(self) -> None:
        if self.status() is None:
            return
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()


class Terminals:
    """The terminals of one run, by id: `terminal-1`, `terminal-2`, …"""

    __slots__ = ("_cwd", "_environment", "_loop", "_terminals", "_total")

    def __init__(self, loop: Loop, cwd: str, environment: Mapping[str, str]) -> None:
        self._loop = loop
        self._cwd = cwd
        self._environment = environment
        self._terminals: dict[str, Terminal] = {}
        self._total = 0

    def create(
        self, command: str, arguments: Sequence[str], extra: Mapping[str, str], cwd: str, limit: int | None
    ) -> str:
        """Start a command; its id. Raises AgentError where it cannot start."""
        environment = {**self._environment, **extra}
        program = find_program(command, environment.get("PATH", ""), cwd or self._cwd)
        process = spawn([program, *arguments], environment, cwd or self._cwd, merge_stderr=True)
        self._total += 1
        name = f"terminal-{self._total}"
        self._terminals[name] = Terminal(process, self._loop, _DEFAULT_LIMIT if limit is None else limit)
        return name

    def get(self, name: str) -> Terminal | None:
        return self._terminals.get(name)

    def release(self, name: str) -> None:
        self._terminals.pop(name).close()

    def pids(self) -> frozenset[int]:
        """The processes that belong to the driver and not to the agent."""
        return frozenset(terminal.process.pid for terminal in self._terminals.values())

    def close(self) -> list[str]:
        """End every terminal; the ids of those that the agent never released."""
        names = list(self._terminals)
        for name in names:
            self.release(name)
        return names


def find_program(command: str, path: str, cwd: str) -> str:
    """The file that a shell would run for `command`. Raises AgentError if there is none."""
    if "/" in command:
        return os.path.join(cwd, command)
    for directory in path.split(":"):
        candidate = os.path.join(directory, command)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise AgentError(f'"{command}" is not in {path}')


def _cut(data: bytes, limit: int) -> bytes:
    """The last `limit` bytes or a few fewer, beginning at a character."""
    if limit <= 0:
        return b""
    cut = data[-limit:]
    start = 0
    while start < min(4, len(cut)) and cut[start] & 0xC0 == 0x80:
        start += 1
    return cut[start:]
