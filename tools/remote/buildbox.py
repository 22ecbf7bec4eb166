"""buildbox-casd as an executor: storage, action cache and execution in one process, behind nginx.

It claims version 2.1 of the Remote Execution API and later, and Bazel 7 asks for 2.0. The front answers that one question
itself, with casd's own answer and a lower version in it.
"""

import socket
from collections.abc import Iterable
from pathlib import Path

from tools.remote import nginx
from tools.remote.reapi import CAPABILITIES, call, frame
from tools.remote.supervisor import Daemon, Step

QUOTA = "10G"
SOCKET = "/run/casd.sock"
# ServerCapabilities.low_api_version {major: 2, minor: 0}. A field that comes twice is merged, and the later value holds.
LOW_API_VERSION = bytes.fromhex("220408021000")

# What an action sees besides its inputs: the private root as /usr, and names of users.
_BINDS = (
    "/usr:/usr",
    "/usr/bin:/bin",
    "/usr/lib:/lib",
    "/usr/lib64:/lib64",
    "/etc/passwd:/etc/passwd",
    "/etc/group:/etc/group",
)
RUNNER = "/usr/bin/buildbox-run-bubblewrap"
# FUSE is refused to ordinary users and in many containers.
RUNNER_ARGUMENTS = ("--staging-mode=copy-or-link", *(f"--ro-bind-mount={bind}" for bind in _BINDS))

_CAPABILITIES = """\
    location = {path} {{
      root {files};
      default_type application/grpc;
      # A file is served for GET only; on an error page's way it is.
      error_page 405 =200 {path};
      add_trailer grpc-status 0 always;
    }}
"""


def steps(directory: Path, listener: socket.socket, jobs: int) -> Iterable[Step]:
    yield casd(directory, f"unix:{SOCKET}", "--cache-failures=false", *execution(jobs))
    files = directory / "front"
    yield lambda: _write_capabilities(files)
    own = _CAPABILITIES.format(path=f"/{CAPABILITIES}", files=files)
    yield nginx.daemon(directory, listener, own + nginx.grpc_server(SOCKET))


def casd(directory: Path, bind: str, *options: str) -> Daemon:
    """buildbox-casd with its storage in the directory."""
    storage = directory / "data"
    return Daemon(
        name="casd",
        command=(
            "buildbox-casd",
            f"--bind={bind}",
            f"--quota-high={QUOTA}",
            "--log-level=info",
            "--shutdown-deadline=1",
            *options,
            str(storage),
        ),
        ready="Server listening|listening on",
    )


def execution(jobs: int) -> Iterable[str]:
    """The options by which casd executes actions itself, at most `jobs` at a time."""
    yield f"--buildbox-run={RUNNER}"
    yield f"--jobs={jobs}"
    for argument in RUNNER_ARGUMENTS:
        yield f"--runner-arg={argument}"


def _write_capabilities(files: Path) -> None:
    answer = call(CAPABILITIES, unix=SOCKET)
    file = files / CAPABILITIES
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(frame(answer + LOW_API_VERSION))
