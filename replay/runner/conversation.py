"""The driver and the agent, joined by the loop: from the first spawn to the last exit.

One object plays one run. It writes what the driver sends, hands it each line of the agent's stdout, notices the
conditions that the driver waits for, and gives up in words when a wait takes too long. Closing is graceful:
stdin ends, the agent may exit, then SIGTERM, then SIGKILL; whatever it leaves behind is ended and named.

What stops a run is raised as AgentError (or DivergenceError by the driver); everything seen until then stays
readable in the object, so a failing run leaves the same evidence as a passing one.
"""

import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from replay.acp import Action, Done, Driver, LineReader, Restart, Send, WaitFile, WaitLogEvent
from replay.errors import AgentError, ReplayError
from replay.runner.artefacts import Frame
from replay.runner.loop import Loop
from replay.runner.manifest import Options
from replay.runner.process import Process, descendants, describe_status, end_all, signal_name
from replay.runner.session_tail import SessionTail
from replay.runner.terminal import Terminals

__all__ = ["Conversation", "Limits", "Stopped"]

_MAX_STDERR_BYTES = 4 << 20
_STDERR_LINES = 5
_CONDITION_SECONDS = 0.005
_TERM_SECONDS = 2.0
_KILL_SECONDS = 2.0
_LEFTOVER_SECONDS = 0.5
_LAST_WORDS_SECONDS = 0.5


class Stopped(Exception):
    """SIGTERM asked the run to end: the test's time is over."""


class Limits(NamedTuple):
    """How long things may take, in seconds; `end` is a point on the monotonic clock."""

    wait: float
    exit: float
    end: float


class Conversation:
    """One run of a driver against an agent. `play` once; then read what came of it."""

    def __init__(
        self,
        driver: Driver,
        start_agent: Callable[[], Process],
        loop: Loop,
        cwd: str,
        tail: SessionTail,
        terminals: Terminals,
        limits: Limits,
        options: Options,
        divergence: Callable[[], ReplayError | None],
    ) -> None:
        self._driver = driver
        self._start_agent = start_agent
        self._loop = loop
        self._cwd = cwd
        self._tail = tail
        self._terminals = terminals
        self._limits = limits
        self._options = options
        self._divergence = divergence
        self._agent: Process | None = None
        self._lines = LineReader()
        self._began = time.monotonic()
        self._waiting: object = None
        self._wait_ends = 0.0
        self._is_done = False
        self._is_closing = False
        self._restart_wanted = False
        self._torn: AgentError | None = None
        """stdout ended inside a line: told once it is known how the process ended."""
        self.frames: list[Frame] = []
        self.stderr = bytearray()
        self.stderr_bytes = 0
        self.stdout_bytes = 0
        self.stdout_lines = 0
        self.starts = 0
        self.exit_status = 0
        self.ended_by_runner = False
        self.leftovers: list[str] = []
        self.warnings: list[str] = []

    def play(self) -> None:
        """Drive the agent through all steps and close it.

        Raises AgentError for an agent that fails, hangs, breaks the protocol or does not end well, and Stopped.
        """
        try:
            self._start()
            self.perform(self._driver.start())
            while not self._is_done:
                self._turn()
            self._close()
        finally:
            self._abandon()

    def stderr_tail(self) -> list[str]:
        """The last lines of stderr, as text."""
        text = bytes(self.stderr[-8192:]).decode("utf-8", "replace")
        return text.removesuffix("\n").split("\n")[-_STDERR_LINES:]

    def _turn(self) -> None:
        """One round: conditions, deadlines, then whatever the loop brings."""
        if self._loop.stopped:
            raise Stopped
        if self._restart_wanted:
            self._restart()
            return
        waiting = self._driver.waiting
        now = time.monotonic()
        if waiting is not self._waiting:
            self._waiting = waiting
            self._wait_ends = min(now + self._limits.wait, self._limits.end)
        polled = isinstance(waiting, WaitFile | WaitLogEvent)
        if polled and self._came_true(waiting):
            self.perform(self._driver.on_condition())
            return
        agent = self._agent
        if agent is not None and agent.stdout < 0:
            raise self._died(agent)
        if now >= self._wait_ends:
            raise self._hangs()
        if not self._loop.step(min(self._wait_ends - now, _CONDITION_SECONDS if polled else 0.25)):
            self._check_recording()

    def _check_recording(self) -> None:
        """Fail at once when the model seam says that the run left its recording: no wait can mend it."""
        divergence = self._divergence()
        if divergence is not None:
            raise divergence

    def _came_true(self, waiting: object) -> bool:
        if isinstance(waiting, WaitFile):
            return os.path.exists(os.path.join(self._cwd, waiting.path))
        if isinstance(waiting, WaitLogEvent):
            return self._tail.has_happened(waiting)
        return False

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                self._send(action.data)
            elif isinstance(action, Restart):
                self._restart_wanted = True
            elif isinstance(action, Done):
                self._is_done = True

    def _send(self, data: bytes) -> None:
        agent = self._agent
        if agent is None or agent.stdin < 0:
            return
        self.frames.append(Frame(self._ms(), "client", data.rstrip(b"\n")))
        self._loop.write(agent.stdin, data)

    # The agent's descriptors.

    def _start(self) -> None:
        agent = self._start_agent()
        self._agent = agent
        self.starts += 1
        self._lines = LineReader()
        self._loop.read(agent.stdout, self._take_stdout)
        self._loop.read(agent.stderr, self._take_stderr)
        if agent.watch >= 0:
            self._loop.read(agent.watch, self._take_exit)

    def _take_stdout(self, data: bytes) -> None:
        agent = self._agent
        if not data:
            if agent is not None and agent.stdout >= 0:
                os.close(agent.stdout)
                agent.stdout = -1
            try:
                self._lines.close()
            except AgentError as torn:
                self._torn = torn
            return
        self.stdout_bytes += len(data)
        for line in self._lines.feed(data):
            self.stdout_lines += 1
            self.frames.append(Frame(self._ms(), "agent", line))
            self.perform(self._driver.on_line(line))

    def _take_stderr(self, data: bytes) -> None:
        agent = self._agent
        if not data:
            if agent is not None and agent.stderr >= 0:
                os.close(agent.stderr)
                agent.stderr = -1
            return
        self.stderr_bytes += len(data)
        self.stderr += data
        if len(self.stderr) > _MAX_STDERR_BYTES:
            # The end says why an agent died; the first half goes.
            del self.stderr[: len(self.stderr) - _MAX_STDERR_BYTES // 2]

    def _take_exit(self, _data: bytes) -> None:
        """The process ended. What it wrote is in the pipes, which a child of it may keep open for ever."""
        agent = self._agent
        if agent is None:
            return
        agent.poll()
        for descriptor, take in ((agent.stdout, self._take_stdout), (agent.stderr, self._take_stderr)):
            if descriptor < 0:
                continue
            self._loop.forget(descriptor)
            while True:
                try:
                    data = os.read(descriptor, 1 << 20)
                except OSError:
                    data = b""
                if not data:
                    break
                take(data)
            take(b"")

    # Ways to end.

    def _restart(self) -> None:
        self._restart_wanted = False
        self._close()
        self._is_closing = False
        self._start()
        self.perform(self._driver.on_agent_restarted())

    def _close(self) -> None:
        """End the agent gracefully and judge how it went."""
        agent = self._agent
        if agent is None:
            return
        self._is_closing = True
        self._flush_stdin(agent)
        self._loop.forget(agent.stdin)
        agent.close_stdin()
        due = time.monotonic() + self._limits.exit
        steps = ((0, self._limits.exit), (signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS))
        used: list[str] = []
        for number, seconds in steps:
            if number:
                used.append(signal_name(number))
                agent.signal_group(number)
            if self._wait_for_exit(agent, seconds):
                break
        self.ended_by_runner = self.ended_by_runner or bool(used)
        left = self._sweep(agent, due)
        self._settle_exit(agent, used, left)

    def _flush_stdin(self, agent: Process) -> None:
        limit = time.monotonic() + self._limits.exit
        while agent.stdin >= 0 and self._loop.is_writing(agent.stdin) and time.monotonic() < limit:
            self._loop.step(0.05)

    def _wait_for_exit(self, agent: Process, seconds: float) -> bool:
        limit = min(time.monotonic() + seconds, max(self._limits.end, time.monotonic() + 0.2))
        while agent.poll() is None:
            left = limit - time.monotonic()
            if left <= 0:
                return False
            if self._loop.stopped:
                raise Stopped
            self._loop.step(min(left, 0.25 if agent.watch >= 0 else 0.01))
        self._take_exit(b"")
        return True

    def _settle_exit(self, agent: Process, used: list[str], left: list[str]) -> None:
        status = agent.status if agent.status is not None else -signal.SIGKILL
        self.exit_status = status
        self._release(agent)
        self._agent = None
        if self._torn is not None:
            raise self._torn
        if used:
            self._judge(
                self._options.forced_exit,
                f"the agent did not exit in {self._limits.exit:g} s after its stdin closed; {used[-1]} ended it",
                "exit when stdin ends; or say in options why not: forced_exit",
            )
        elif status:
            self._judge(
                self._options.exit_status,
                f"after its stdin closed the agent {describe_status(status)}",
                "exit with status 0 when stdin ends; or say in options why not: exit_status",
            )
        if left:
            count = "1 process" if len(left) == 1 else f"{len(left)} processes"
            self._judge(
                self._options.leftovers,
                f"the agent left {count} behind, now ended: {'; '.join(left[:3])}",
                "end children before exiting; or say in options why not: leftovers",
            )

    def _judge(self, reason: str, sentence: str, fix: str) -> None:
        if not reason:
            raise AgentError(sentence, fix=fix)
        self.warnings.append(f"{sentence} (accepted: {reason})")

    def _sweep(self, agent: Process, due: float) -> list[str]:
        """End what the agent left, except what belongs to the driver.

        due: children that end themselves may take as long as the agent itself might have; but nobody waits for
        those that a suite expects to stay.
        """
        skip = self._terminals.pids() | {agent.pid}
        grace = _LEFTOVER_SECONDS
        if not self._options.leftovers:
            grace = max(grace, due - time.monotonic())
        left = end_all(os.getpid(), grace, skip=skip)
        sentences = [f"{one.command} (pid {one.pid})" for one in left]
        self.leftovers.extend(one.command for one in left)
        return sentences

    def _abandon(self) -> None:
        """Leave nothing running, whatever happened before."""
        agent = self._agent
        if agent is not None:
            self._last_words(agent)
            tree = descendants(agent.pid)
            agent.signal_group(signal.SIGKILL)
            for one in tree:
                try:
                    os.kill(one.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            agent.wait(_KILL_SECONDS)
            self.exit_status = agent.status if agent.status is not None else -signal.SIGKILL
            self._release(agent)
            self._agent = None
        self._terminals.close()
        left = end_all(os.getpid(), 0.0)
        self.leftovers.extend(one.command for one in left)

    def _last_words(self, agent: Process) -> None:
        """Read what is in the pipes already, without letting it change the verdict."""
        self._loop.forget(agent.stdin)
        agent.close_stdin()
        for descriptor in (agent.stdout, agent.watch):
            if descriptor >= 0:
                self._loop.forget(descriptor)
        limit = time.monotonic() + _LAST_WORDS_SECONDS
        while agent.stderr >= 0 and time.monotonic() < limit and self._loop.step(0.0):
            continue

    def _release(self, agent: Process) -> None:
        for descriptor in (agent.stdin, agent.stdout, agent.stderr, agent.watch):
            if descriptor >= 0:
                self._loop.forget(descriptor)
        agent.close()

    # Sentences.

    def _hangs(self) -> AgentError:
        agent = self._agent
        alive = agent is not None and agent.poll() is None
        waited = self._waiting
        what = (
            waited.describe() if waited is not None and hasattr(waited, "describe") else "nothing to wait for"
        )
        over = "" if time.monotonic() < self._limits.end else " (the test's own time is nearly over)"
        return AgentError(
            f"{what} in {self._limits.wait:g} s{over}; the agent {'lives' if alive else 'is dead'}, "
            f"{self._seen()}"
        )

    def _died(self, agent: Process) -> AgentError:
        """stdout ended although the driver still waits."""
        waited = self._waiting
        wanted = (
            waited.describe()
            if waited is not None and hasattr(waited, "describe")
            else "the run was not over"
        )
        limit = time.monotonic() + _LAST_WORDS_SECONDS
        while agent.poll() is None and time.monotonic() < limit:
            self._loop.step(0.01)
        how = "closed its stdout and lives on" if agent.status is None else describe_status(agent.status)
        torn = f"; {self._torn.what}" if self._torn is not None else ""
        return AgentError(f"the agent {how}: {wanted}; it {self._seen()}{torn}")

    def _seen(self) -> str:
        out = _count(self.stdout_lines, "line")
        err = _count(self.stderr.count(b"\n") + bool(self.stderr and not self.stderr.endswith(b"\n")), "line")
        return f"wrote {out} of stdout and {err} of stderr"

    def _ms(self) -> float:
        return (time.monotonic() - self._began) * 1000


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
