"""Several runs at once, a process each: a run owns its process's signals, its current directory and its children.

What a job returns comes back through a pipe. A job whose parent dies is told to stop, so that it ends its agent and
writes nothing more; a signal that stops the parent is handed on, and no further job begins.
"""

import os
import selectors
import signal
import sys
from collections.abc import Callable
from types import FrameType

from replay.runner.process import become_subreaper, end_all

__all__ = ["Jobs"]

_PR_SET_PDEATHSIG = 1
_READ_BYTES = 1 << 16


class Jobs:
    """Runs `work(index)` for index 0…count-1 in processes of their own, at most `limit` at once."""

    def __init__(self, work: Callable[[int], bytes], count: int, limit: int) -> None:
        self._work = work
        self._waiting = list(range(count))
        self._limit = limit
        self._running: dict[int, int] = {}
        """Pipe -> process."""
        self.stopped = False
        """Whether a signal ended it early."""

    def run(self, finished: Callable[[int, bytes], None]) -> None:
        """Call `finished` with what each job returned, as they end; b"" for one that died."""
        become_subreaper()
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        results: dict[int, tuple[int, bytearray]] = {}
        try:
            with selectors.DefaultSelector() as selector:
                while self._running or (self._waiting and not self.stopped):
                    while self._waiting and not self.stopped and len(self._running) < self._limit:
                        pipe, index = self._start()
                        results[pipe] = index, bytearray()
                        selector.register(pipe, selectors.EVENT_READ)
                    for key, _ in selector.select():
                        data = os.read(key.fd, _READ_BYTES)
                        index, result = results[key.fd]
                        result += data
                        if not data:
                            selector.unregister(key.fd)
                            self._reap(key.fd)
                            finished(index, bytes(result))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self) -> tuple[int, int]:
        index = self._waiting.pop(0)
        ours, theirs = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        process = os.fork()
        if process == 0:
            os.close(ours)
            self._be_job(index, theirs, parent)
        os.close(theirs)
        self._running[ours] = process
        return ours, index

    def _be_job(self, index: int, pipe: int, parent: int) -> None:
        """The whole life of a job's process."""
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _die_with(parent)
            data = self._work(index)
            while data:
                data = data[os.write(pipe, data) :]
            status = 0
        finally:
            sys.stderr.flush()
            # Not sys.exit: what the parent has on its stack is no business of this process.
            os._exit(status)

    def _reap(self, pipe: int) -> None:
        os.close(pipe)
        os.waitpid(self._running.pop(pipe), 0)
        # A job that was killed could not end its agent.
        end_all(os.getpid(), 0.0, skip=frozenset(self._running.values()))

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopped = True
        for process in self._running.values():
            os.kill(process, signal.SIGTERM)


def _die_with(parent: int) -> None:
    """Let SIGTERM come when the parent ends."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
