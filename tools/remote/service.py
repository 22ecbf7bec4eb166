"""A service: daemons of one engine in a directory of their own, behind one socket on loopback.

`up` forks the first process of a PID and mount namespace, which becomes the directory's holder (holder.py) and runs the
daemons (supervisor.py). The socket is bound here and inherited, so that a free port stays free and a request that comes
early waits for its answer instead of being refused.
"""

import os
import select
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from tools.remote.errors import RemoteError, UnfitError
from tools.remote.holder import claimed, end, hold, holder
from tools.remote.supervisor import Step, Supervisor

# No engine takes longer than a few seconds on an idle machine.
START_S = 60


class Engine(NamedTuple):
    """What a service runs, and how its clients speak to it."""

    scheme: str
    # The flag that names it to Bazel, and the configuration that it belongs to.
    flag: str
    config: str
    # The steps, given the service's directory and its listening socket.
    steps: Callable[[Path, socket.socket], Iterable[Step]]
    # Asks the service at host:port for something that all its parts have to answer; raises RemoteError or OSError.
    probe: Callable[[str], None]
    # Work before the start, outside the namespace.
    prepare: Callable[[], None] = lambda: None


class Service:
    def __init__(self, engine: Engine, directory: Path) -> None:
        self._engine = engine
        self._directory = directory
        self._address = directory / "address"
        self.bazelrc = directory / "bazelrc"

    def up(self, port: int | None) -> str:
        """Starts the service unless it runs; its endpoint, once it answers. port: None for the last one, else a free one."""
        with claimed(self._directory) as claim:
            if holder(self._directory) is None:
                self._start(port, claim)
            elif port not in (None, self._port()):
                raise RemoteError(
                    f"{self._directory}: it runs on port {self._port()} already: stop it first (down)"
                )
            endpoint = self._ask()
            self.bazelrc.write_text(f"common:{self._engine.config} --{self._engine.flag}={endpoint}\n")
        return endpoint

    def down(self) -> bool:
        """Stops the service with all its processes; False if it did not run. What it stored stays."""
        if not self._directory.exists():
            return False
        with claimed(self._directory):
            self.bazelrc.unlink(missing_ok=True)
            return end(self._directory)

    def status(self) -> str:
        """The endpoint of the running service, which has just answered. Raises RemoteError otherwise."""
        if holder(self._directory) is None:
            raise RemoteError(f"{self._directory}: nothing runs there: start it (up)")
        return self._ask()

    def _ask(self) -> str:
        address = self._address.read_text().strip()
        try:
            self._engine.probe(address)
        except OSError as error:
            raise RemoteError(
                f"{self._directory}: it runs and does not answer at {address} ({error}): look into {self._directory}/log"
            ) from None
        return f"{self._engine.scheme}://{address}"

    def _port(self) -> int | None:
        try:
            return int(self._address.read_text().rpartition(":")[2])
        except FileNotFoundError, ValueError:
            return None

    def _listen(self, port: int | None) -> socket.socket:
        """The service's socket: on the port asked for, on that of the last time if it is free, else on any."""
        candidates = [port] if port is not None else [self._port() or 0, 0]
        for candidate in candidates:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", candidate))
                listener.listen(512)
                return listener
            except OSError as error:
                listener.close()
                failure = error
        raise RemoteError(
            f"port {port}: it cannot be listened on ({failure.strerror}): name another one, or none"
        )

    def _start(self, port: int | None, claim: int) -> None:
        for name in ("data", "log", "tmp"):
            (self._directory / name).mkdir(exist_ok=True)
        self._engine.prepare()
        with self._listen(port) as listener:
            self._address.write_text("{}:{}\n".format(*listener.getsockname()))
            read, write = os.pipe()
            if not os.fork():
                os.close(read)
                os.close(claim)
                self._leave(listener, _Report(write))
            os.close(write)
        os.wait()
        try:
            said = _read_all(read)
        except KeyboardInterrupt:
            end(self._directory)
            raise
        code, _, sentence = said.partition(" ")
        if code != "0":
            end(self._directory)
            kind = UnfitError if code == str(UnfitError.code) else RemoteError
            raise kind(f"{self._directory}: it did not start: {sentence}")

    def _leave(self, listener: socket.socket, report: _Report) -> NoReturn:
        """In a fork: lets go of the caller, and forks the first process of the namespaces, which serves."""
        code = RemoteError.code
        try:
            os.setsid()
            self._detach(listener, report)
            os.unshare(os.CLONE_NEWPID | os.CLONE_NEWNS)
            if os.fork():
                os._exit(0)
            hold(self._directory)
            _mount("proc", "/proc")
            _mount("tmpfs", "/run")
            supervisor = Supervisor(self._directory / "log")
            supervisor.run(self._engine.steps(self._directory, listener), lambda: report.say(0, "started"))
            code = 0
        except RemoteError as error:
            report.say(error.code, str(error))
        except PermissionError as error:
            report.say(UnfitError.code, f"this machine does not allow it ({error})")
        except OSError as error:
            report.say(code, str(error))
        except BaseException:
            traceback.print_exc()
            report.say(code, f"a fault of its own, see {self._directory}/log/supervisor.log")
        finally:
            os._exit(code)

    def _detach(self, listener: socket.socket, report: _Report) -> None:
        """Lets go of the caller's terminal, pipes and other descriptors."""
        log = os.open(
            self._directory / "log" / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644
        )
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(old, new)
        os.chdir("/")
        low = 3
        for kept in sorted((listener.fileno(), report.pipe)):
            os.closerange(low, kept)
            low = kept + 1
        os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _mount(kind: str, where: str) -> None:
    done = subprocess.run(["mount", "-t", kind, kind, where], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnfitError(
            f"{where} cannot be mounted ({done.stderr.strip()}): is this a container without that right?"
        )


class _Report:
    """What became of the start, told to the command that waits for it; what comes later is in the log only."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self._is_told = False

    def say(self, code: int, sentence: str) -> None:
        if code:
            print(sentence, file=sys.stderr, flush=True)
        if not self._is_told:
            self._is_told = True
            # The command may have been interrupted.
            with suppress(BrokenPipeError):
                os.write(self.pipe, f"{code} {sentence}".encode())
            os.close(self.pipe)


def _read_all(read: int) -> str:
    said = bytearray()
    with open(read, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], START_S)[0]:
            data = pipe.read(1 << 12)
            if not data:
                return said.decode(errors="replace")
            said += data
    return f"1 it was not ready after {START_S} s"
