"""One process of an agent under trace replay: its sandbox, its pipes, its channel, and its end.

It hands each line of the protocol to whoever plays, keeps the rest of what the agent prints, and leaves no process behind.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from replay.errors import AgentError, UsageError
from replay.runner.environment import read_machine
from replay.runner.pipe_output import Output
from replay.runner.process import descendants, describe_status, end_all, spawn
from replay.runner.runfiles import Runfiles
from replay.runner.sandbox import expand, make_sandbox
from replay.runner.trace_channel import Lines, ListeningLoop, make_listener
from replay.runner.trace_manifest import SOCKET, TraceManifest
from replay.runner.trace_places import make_places
from replay.trace.protocol import CHANNEL_VARIABLE

__all__ = ["AgentProcess", "Gateway", "PlayStage"]

_TERM_SECONDS = 2.0
_KILL_SECONDS = 2.0
_EVIDENCE_LINES = 6


class Gateway(Protocol):
    """What an agent is told of a gateway."""

    values: Mapping[str, str]
    environment: Mapping[str, str]
    withheld: Sequence[str]
    """Variables of the caller's that it keeps from the agent."""


class PlayStage(NamedTuple):
    """What all processes of a test have in common."""

    manifest: TraceManifest
    runfiles: Runfiles
    temporary: str
    loop: ListeningLoop
    ends: float | None = None
    """Point on the monotonic clock at which everything must be over."""
    inherited: Mapping[str, str] = {}
    """Variables of the caller's that a live agent gets."""


class AgentProcess:
    """Started at once. on_line: takes each line; on_refused: what is no line; both are called from the loop.

    gateway: where its model calls go, None where they come over the channel. Raises AgentError if it cannot be started.
    """

    def __init__(
        self,
        stage: PlayStage,
        on_line: Callable[[bytes], None],
        on_refused: Callable[[AgentError], None],
        gateway: Gateway | None = None,
    ) -> None:
        self._gateway = gateway
        self._stage = stage
        self._on_line = on_line
        self._on_refused = on_refused
        self._lines = Lines()
        self._outputs = {"stdout": Output(), "stderr": Output()}
        self._is_on_socket = stage.manifest.agent.channel == SOCKET
        self._listener = self._reader = self._writer = -1
        self._is_closed = False
        self._sandbox = make_sandbox(stage.temporary)
        try:
            self.places = make_places(self._sandbox, read_machine(), self._given)
            _lay_out(stage.manifest.workspace, stage.runfiles, self._sandbox.cwd)
            channel = self._listen() if self._is_on_socket else "stdio"
            self._process = spawn(self._arguments(), self._environment(channel), self._sandbox.cwd)
        except BaseException:
            stage.loop.unlisten(self._listener)
            self._sandbox.close()
            raise
        self.pid = self._process.pid
        self._watch()

    @property
    def status(self) -> int | None:
        """Its exit status once it ended; everything that it wrote is then taken."""
        if self._process.poll() is not None:
            self._drain()
        return self._process.status

    @property
    def how(self) -> str:
        """ "exited with status 1"."""
        return describe_status(self._process.status or 0)

    def evidence(self) -> tuple[str, ...]:
        """The last lines of what it printed besides the protocol."""
        lines = [f"stderr: {line}" for line in self._outputs["stderr"].last_lines(_EVIDENCE_LINES)]
        if self._is_on_socket:
            lines += [f"stdout: {line}" for line in self._outputs["stdout"].last_lines(_EVIDENCE_LINES)]
        return tuple(lines)

    def send(self, data: bytes) -> None:
        """Write to the agent; nobody may be there to read it, which its exit tells."""
        if data and self._writer >= 0:
            self._stage.loop.write(self._writer, data)

    def close_channel(self) -> None:
        """Say that there are no more runs."""
        self._stage.loop.unlisten(self._listener)
        loop = self._stage.loop
        if self._writer >= 0 and not loop.is_writing(self._writer):
            if self._is_on_socket:
                self._hang_up()
            else:
                loop.forget(self._writer)
                self._process.close_stdin()
                self._writer = -1

    def close(self, others: Sequence[AgentProcess], grace_seconds: float) -> list[str]:
        """End it if it still runs, then what it left behind; names what was there.

        others: the agents that still run, whose processes are let alone. grace_seconds: for what is about to exit.
        """
        if self._is_closed:
            return []
        self._is_closed = True
        self._end()
        self._drain()
        theirs = frozenset(pid for other in others for pid in other.family())
        left = end_all(os.getpid(), grace_seconds, skip=theirs)
        loop, process = self._stage.loop, self._process
        loop.unlisten(self._listener)
        self._hang_up()
        for descriptor in (process.stdin, process.stdout, process.stderr, process.watch):
            if descriptor >= 0:
                loop.forget(descriptor)
        process.close()
        self._sandbox.close()
        return [f"{one.command} (pid {one.pid})" for one in left]

    def family(self) -> list[int]:
        """Itself and the processes that left its tree but have its directory in their environment."""
        marker = self._sandbox.tmp.encode()
        loose = (one.pid for one in descendants(os.getpid()) if marker in _variables(one.pid))
        return [self.pid, *loose]

    # Start.

    def _given(self) -> Iterator[bytes]:
        """What the run begins with; read only where something may be the name of a person or a machine."""
        manifest, locate = self._stage.manifest, self._stage.runfiles.locate
        yield manifest.agent.name.encode()
        for path in (*manifest.traces.values(), *manifest.workspace.values()):
            with open(locate(path), "rb") as file:
                yield file.read()

    def _arguments(self) -> list[str]:
        agent, locate = self._stage.manifest.agent, self._stage.runfiles.locate
        return [locate(agent.binary), *(expand(argument, self._values()) for argument in agent.args)]

    def _environment(self, channel: str) -> dict[str, str]:
        variables = self._stage.manifest.agent.env
        for name, value in variables.items():
            if not isinstance(value, str) or "=" in name or "\0" in name + value:
                raise UsageError(f'"{name}" cannot be a variable of the environment')
        own = {name: expand(value, self._values()) for name, value in variables.items()}
        gateway, inherited = self._gateway, dict(self._stage.inherited)
        for name in gateway.withheld if gateway is not None else ():
            inherited.pop(name, None)
        proxies = gateway.environment if gateway is not None else {}
        return self._sandbox.environment(proxies, inherited, own, {CHANNEL_VARIABLE: channel})

    def _values(self) -> dict[str, str]:
        gateway = self._gateway.values if self._gateway is not None else {}
        return {**self._sandbox.values(), **gateway, "runfiles": self._stage.runfiles.directory}

    def _listen(self) -> str:
        path = f"{self._sandbox.tmp}/agent.sock"
        listener = make_listener(path)
        self._listener = listener.fileno()
        self._stage.loop.listen(listener, self._connected)
        return f"unix:{path}"

    def _connected(self, descriptor: int) -> None:
        self._listener = -1
        # The loop knows a descriptor for reading or for writing.
        self._reader, self._writer = descriptor, os.dup(descriptor)
        self._stage.loop.read(self._reader, self._received)

    def _watch(self) -> None:
        loop, process = self._stage.loop, self._process
        loop.read(process.stderr, self._taking("stderr"))
        if self._is_on_socket:
            process.close_stdin()
            loop.read(process.stdout, self._taking("stdout"))
        else:
            self._writer = process.stdin
            loop.read(process.stdout, self._received)
        if process.watch >= 0:
            loop.read(process.watch, lambda _data: None)

    # What it writes.

    def _taking(self, name: str) -> Callable[[bytes], None]:
        return lambda data: self._outputs[name].take(data)

    def _received(self, data: bytes) -> None:
        try:
            lines = self._lines.take(data)
        except AgentError as error:
            self._on_refused(error)
            return
        for line in lines:
            self._on_line(line)

    def _drain(self) -> None:
        """What is in the pipes already; a process that was left behind may keep them open for ever."""
        takers = {
            self._process.stderr: self._outputs["stderr"].take,
            self._process.stdout: self._outputs["stdout"].take if self._is_on_socket else self._received,
            self._reader: self._received,
        }
        for descriptor, take in takers.items():
            while descriptor >= 0:
                try:
                    data = os.read(descriptor, 1 << 20)
                except OSError:
                    break
                if not data:
                    break
                take(data)

    # End.

    def _hang_up(self) -> None:
        if not self._is_on_socket:
            return
        for descriptor in (self._reader, self._writer):
            if descriptor >= 0:
                self._stage.loop.forget(descriptor)
                os.close(descriptor)
        self._reader = self._writer = -1

    def _end(self) -> None:
        process = self._process
        for number, seconds in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
            if process.poll() is not None:
                return
            if number == signal.SIGKILL:
                for one in descendants(process.pid):
                    _kill(one.pid)
            process.signal_group(number)
            process.wait(seconds)


def _variables(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _lay_out(workspace: Mapping[str, str], runfiles: Runfiles, cwd: str) -> None:
    """Copy the workspace into the agent's directory: real files, no links into runfiles."""
    if not workspace:
        return
    from replay.runner.seed import seed_workspace

    files = {name: runfiles.locate(path) for name, path in workspace.items()}
    seed_workspace(cwd, files, None, "workspace", {})
