"""Starts agents with their modules loaded already, which saves each the half second that a new interpreter takes for them.

Each is still a process of its own, with its own pipes, environment and working directory, and ends like any other.
The server has no threads and holds nothing of an agent but its process id. `ForkServer` is for the tests; the rest of
this file is the server, run as a module with the number of its socket.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

__all__ = ["ForkServer", "ForkedProcess"]

MAX_REQUEST_BYTES = 128 * 1024
STATUS_BYTES = 4


class ForkedProcess:
    """What the tests need of `subprocess.Popen`, for a process that is not our own child."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], status: int) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.status = status
        self.returncode: int | None = None
        self.pid = self.read_number()

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self.status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self.status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("reference_agent", timeout or 0.0)
            self.returncode = self.read_number()
            os.close(self.status)
        return self.returncode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        # Its id is not given to another before the server has told us of its end.
        if self.poll() is None:
            os.kill(self.pid, number)

    def read_number(self) -> int:
        number = os.read(self.status, STATUS_BYTES)
        assert number, "the fork server is gone"
        return int.from_bytes(number, signed=True)


class ForkServer:
    """The server as the tests see it."""

    def __enter__(self) -> Self:
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.reference_agent.fork_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
            )
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.connection.close()
        self.process.wait()

    def start(self, arguments: list[str], environment: Mapping[str, str], cwd: Path) -> ForkedProcess:
        request = {"arguments": arguments, "environment": dict(environment), "cwd": str(cwd)}
        stdin, our_stdin = os.pipe()
        our_stdout, stdout = os.pipe()
        our_stderr, stderr = os.pipe()
        our_status, status = os.pipe()
        theirs = [stdin, stdout, stderr, status]
        socket.send_fds(self.connection, [json.dumps(request).encode()], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        return ForkedProcess(
            os.fdopen(our_stdin, "wb"), os.fdopen(our_stdout, "rb"), os.fdopen(our_stderr, "rb"), our_status
        )


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Returns None when the tests are gone, and the request in each process that is to be an agent."""
    agents: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([connection.fileno(), *agents], [], [])[0]:
            if ready in agents:
                agent, status = agents.pop(ready)
                tell(status, os.waitstatus_to_exitcode(os.waitpid(agent, 0)[1]))
                os.close(status)
                os.close(ready)
                continue
            request, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 4)
            if not request:
                return None
            *standard, status = descriptors
            agent = os.fork()
            if agent == 0:
                for number, descriptor in enumerate(standard):
                    os.dup2(descriptor, number)
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                connection.detach()
                made: dict[str, Any] = json.loads(request)
                return made
            for descriptor in standard:
                os.close(descriptor)
            tell(status, agent)
            agents[os.pidfd_open(agent)] = (agent, status)


def tell(status: int, number: int) -> None:
    try:
        os.write(status, number.to_bytes(STATUS_BYTES, signed=True))
    except BrokenPipeError:
        return


def main() -> int:
    from scenarios.reference_agent import __main__ as agent
    from scenarios.reference_agent import connection, server, store  # noqa: F401
    from scenarios.reference_agent.model import openai_chat, replay  # noqa: F401

    request = serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return 0
    sys.argv[1:] = request["arguments"]
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    return agent.main()


if __name__ == "__main__":
    sys.exit(main())
