"""The subject of a transport test: one executable, from its start to the last process that it leaves behind.

It gets no stdin. What it writes is kept, bounded, for the evidence; whatever ends it, its own exit, the test's time, a
run that left its recording, or SIGTERM, it is reaped, and so is all that it started.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from replay.runner.loop import Loop
from replay.runner.pipe_output import Output
from replay.runner.process import Process, descendants, describe_status, end_all, signal_name, spawn

__all__ = ["SubjectRun", "run_subject"]

_TERM_SECONDS = 2.0
_KILL_SECONDS = 2.0
_TURN_SECONDS = 0.25


class SubjectRun(NamedTuple):
    """How one run of the subject went. `status` as of Process; `ended_by` names the signals that were needed."""

    status: int
    ended_by: Sequence[str]
    stopped: bool
    """Whether SIGTERM or SIGINT ended the test."""
    hung: bool
    """Whether its time was over."""
    left_recording: bool
    """Whether it went on, though its run had left the recording, until it was ended."""
    leftovers: Sequence[str]
    seconds: float
    stdout: Output
    stderr: Output

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than with status 0 of its own accord."""
        return self.status != 0 or self.stopped or self.hung

    @property
    def how(self) -> str:
        """ "exited with status 1"."""
        return describe_status(self.status)


def run_subject(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    directory: str,
    loop: Loop,
    ends: float,
    exit_seconds: float,
    has_left: Callable[[], bool],
) -> SubjectRun:
    """Run the subject to its end. Raises AgentError if it cannot be started.

    ends: point on the monotonic clock. exit_seconds: how long it may go on once `has_left` says that the run left the
    recording, and how long what it leaves behind may take to end.
    """
    return _Subject(loop, spawn(arguments, environment, directory)).run(ends, exit_seconds, has_left)


class _Subject:
    """One process, its pipes in the loop."""

    def __init__(self, loop: Loop, process: Process) -> None:
        self._loop = loop
        self._process = process
        self._began = time.monotonic()
        self.stdout, self.stderr = Output(), Output()
        process.close_stdin()
        self._pipes = {"stdout": self.stdout, "stderr": self.stderr}
        for name in self._pipes:
            loop.read(getattr(process, name), self._reader(name))
        if process.watch >= 0:
            loop.read(process.watch, lambda _data: None)

    def run(self, ends: float, exit_seconds: float, has_left: Callable[[], bool]) -> SubjectRun:
        hung = left_recording = False
        used: list[str] = []
        try:
            limit = ends
            while not self._has_ended():
                now = time.monotonic()
                if not left_recording and has_left():
                    left_recording, limit = True, min(ends, now + exit_seconds)
                if self._loop.stopped or now >= limit:
                    hung = not self._loop.stopped and not left_recording
                    used = self._end()
                    break
                self._loop.step(min(limit - now, _TURN_SECONDS))
            left_recording = left_recording and bool(used)
        finally:
            leftovers = self._close(0.0 if used else exit_seconds)
        return SubjectRun(
            self._process.status if self._process.status is not None else -signal.SIGKILL,
            used,
            self._loop.stopped,
            hung,
            left_recording,
            leftovers,
            time.monotonic() - self._began,
            self.stdout,
            self.stderr,
        )

    def _has_ended(self) -> bool:
        return self._process.poll() is not None

    def _end(self) -> list[str]:
        """End the process and its group; the signals that it took."""
        used = []
        for number, seconds in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
            used.append(signal_name(number))
            self._process.signal_group(number)
            limit = time.monotonic() + seconds
            while not self._has_ended() and time.monotonic() < limit:
                self._loop.step(min(limit - time.monotonic(), _TURN_SECONDS))
            if self._has_ended():
                break
        return used

    def _close(self, grace_seconds: float) -> list[str]:
        """Read what is left in the pipes, then end and name what still runs."""
        process = self._process
        if process.poll() is None:
            for one in descendants(process.pid):
                _kill(one.pid)
            process.signal_group(signal.SIGKILL)
            process.wait(_KILL_SECONDS)
        self._drain()
        left = end_all(os.getpid(), grace_seconds)
        # A child of it may have written its last words since.
        self._drain()
        for descriptor in (process.stdout, process.stderr, process.watch):
            if descriptor >= 0:
                self._loop.forget(descriptor)
        process.close()
        return [f"{one.command} (pid {one.pid})" for one in left]

    def _drain(self) -> None:
        """What is in the pipes already; a process that was left behind may keep them open for ever."""
        for name, output in self._pipes.items():
            descriptor = getattr(self._process, name)
            while descriptor >= 0:
                try:
                    data = os.read(descriptor, 1 << 20)
                except OSError:
                    break
                if not data:
                    break
                output.take(data)

    def _reader(self, name: str) -> Callable[[bytes], None]:
        def read(data: bytes) -> None:
            if data:
                self._pipes[name].take(data)
                return
            os.close(getattr(self._process, name))
            setattr(self._process, name, -1)

        return read


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
