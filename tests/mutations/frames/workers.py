"""Plays many mutants, each in a fork of this process, which has imported all that a test imports.

A fork and not a thread: a test's runner is a process of its own here as well, and whatever it leaves behind becomes a child
of this process, which counts it and ends it.
"""

import gc
import json
import os
import selectors
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator

from replay.runner.process import become_subreaper, end_all
from tests.mutations.frames.play import FAULT, Outcome

__all__ = ["Workers"]

_READ_BYTES = 1 << 16


class Workers:
    """`count` at a time. leftovers: processes that outlived their test."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.leftovers = 0
        become_subreaper()
        # What is there now is never collected, so that a fork does not copy it.
        gc.collect()
        gc.freeze()

    def run[T](self, jobs: Iterable[tuple[T, Callable[[], Outcome]]]) -> Iterator[tuple[T, Outcome]]:
        """Each job's outcome, as they come."""
        waiting = iter(jobs)
        running: dict[int, tuple[int, T, bytearray]] = {}
        with selectors.DefaultSelector() as selector:
            while True:
                while len(running) < self._count and (job := next(waiting, None)) is not None:
                    key, function = job
                    pid, reader = _forked(function)
                    running[reader] = (pid, key, bytearray())
                    selector.register(reader, selectors.EVENT_READ)
                if not running:
                    break
                for ready, _ in selector.select():
                    reader = ready.fd
                    pid, key, data = running[reader]
                    chunk = os.read(reader, _READ_BYTES)
                    data += chunk
                    if not chunk:
                        selector.unregister(reader)
                        os.close(reader)
                        del running[reader]
                        _, status = os.waitpid(pid, 0)
                        yield key, _outcome(bytes(data), status)
        self.leftovers += len(end_all(os.getpid(), 0.0))


def _forked(function: Callable[[], Outcome]) -> tuple[int, int]:
    """A child that writes the outcome into the pipe whose end is returned."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        become_subreaper()
        try:
            outcome = function()
        except BaseException:
            outcome = Outcome(FAULT, traceback.format_exc())
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(outcome).encode())
    finally:
        os._exit(0)


def _outcome(data: bytes, status: int) -> Outcome:
    if not data:
        return Outcome(FAULT, f"the runner ended with status {os.waitstatus_to_exitcode(status)}")
    return Outcome(*json.loads(data))
