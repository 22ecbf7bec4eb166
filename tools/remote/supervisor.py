"""The first process of a service's PID namespace: starts its daemons in order, keeps their logs, ends with any of them.

When it ends, however it ends, the kernel ends all others in the namespace: the daemons and whatever they started.
"""

import os
import re
import selectors
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tools.remote.errors import RemoteError

ENVIRONMENT = {"HOME": "/run", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
# Of the end of a log, what an error quotes.
QUOTED_CHARS = 300
READ_BYTES = 1 << 16
STOP_S = 10


class Daemon(NamedTuple):
    """A process that stays in the foreground. It serves once `ready`, a regular expression, is in the output of the daemon
    `ready_in`, by default its own."""

    name: str
    command: tuple[str, ...]
    ready: str
    ready_in: str = ""
    environment: Mapping[str, str] = {}
    inherits: tuple[int, ...] = ()


# What is done between two daemons, in the namespace.
Step = Daemon | Callable[[], None]


class _Running(NamedTuple):
    daemon: Daemon
    process: subprocess.Popen[bytes]
    log: BinaryIO


class Supervisor:
    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: list[_Running] = []
        self._selector = selectors.DefaultSelector()
        self._stopped = False
        # The daemon whose output is awaited, and what it has put out meanwhile.
        self._awaited: str | None = None
        self._seen = b""
        woken, waker = socket.socketpair()
        for end in (woken, waker):
            end.setblocking(False)
        signal.set_wakeup_fd(waker.fileno())
        self._woken, self._waker = woken, waker
        self._selector.register(woken, selectors.EVENT_READ, self._reap)
        signal.signal(signal.SIGTERM, self._note_stop)
        # A handler of its own, or no signal would wake the selector.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self, steps: Iterable[Step], started: Callable[[], None]) -> None:
        """Starts everything, says so, and serves until SIGTERM. Raises RemoteError as soon as a daemon ends by itself."""
        for step in steps:
            if self._stopped:
                break
            if isinstance(step, Daemon):
                self._start(step)
            else:
                step()
        else:
            started()
        while not self._stopped:
            self._turn()
        self._stop()

    def _start(self, daemon: Daemon) -> None:
        process = subprocess.Popen(
            daemon.command,
            cwd="/",
            env={**ENVIRONMENT, **daemon.environment},
            pass_fds=daemon.inherits,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        running = _Running(daemon, process, (self._logs / f"{daemon.name}.log").open("wb", buffering=0))
        self._running.append(running)
        output = process.stdout
        assert output is not None
        self._awaited = daemon.ready_in or daemon.name
        self._seen = b""
        ready = re.compile(daemon.ready.encode())
        self._selector.register(output, selectors.EVENT_READ, lambda: self._read(running))
        while not ready.search(self._seen) and not self._stopped:
            self._turn()
        self._awaited = None

    def _read(self, running: _Running) -> None:
        output = running.process.stdout
        assert output is not None
        data = os.read(output.fileno(), READ_BYTES)
        if not data:
            self._selector.unregister(output)
        running.log.write(data)
        if running.daemon.name == self._awaited:
            self._seen += data

    def _turn(self) -> None:
        for key, _ in self._selector.select():
            key.data()

    def _reap(self) -> None:
        """Takes notice of ended children, among them orphans of the daemons."""
        self._woken.recv(READ_BYTES)
        ended: dict[int, int] = {}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
        for running in self._running:
            code = ended.get(running.process.pid)
            if code is not None and not self._stopped:
                raise RemoteError(f"{running.daemon.name} ended with {code}: {self._last_words(running)}")

    def _last_words(self, running: _Running) -> str:
        assert running.process.stdout is not None
        os.set_blocking(running.process.stdout.fileno(), False)
        running.log.write(running.process.stdout.read() or b"")
        log = self._logs / f"{running.daemon.name}.log"
        words = log.read_text(errors="replace").strip()[-QUOTED_CHARS:]
        return f"{' '.join(words.split()) or 'it said nothing'} ({log})"

    def _note_stop(self, *_: object) -> None:
        self._stopped = True

    def _stop(self) -> None:
        """Lets each daemon end in order, the last one first; what does not is ended by the kernel."""
        for running in reversed(self._running):
            if running.process.poll() is not None:
                continue
            running.process.terminate()
            descriptor = os.pidfd_open(running.process.pid)
            with selectors.DefaultSelector() as ended:
                ended.register(descriptor, selectors.EVENT_READ)
                ended.select(STOP_S)
