"""BuildGrid as an executor: a server that only schedules, PostgreSQL for its queue, and one worker of buildbox beside it.

The queue lives as long as the service; what is stored (storage of the server, cache of the worker) stays. The action cache is
in the server's memory.
"""

import fcntl
import hashlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.remote import buildbox, nginx
from tools.remote.errors import RemoteError, UnfitError
from tools.remote.supervisor import ENVIRONMENT, Daemon, Step

LOCK = Path(__file__).with_name("requirements_lock.txt")
QUOTED_CHARS = 300
SERVER = "/run/buildgrid.sock"
# It says nothing when it serves, but for this.
PID_FILE = "/run/buildgrid.pid"
DATABASE = "/run/postgres"
URL = f"postgresql:///postgres?host={DATABASE}&user=buildgrid"
# PostgreSQL refuses to run as root; in a user namespace of its own the same user has another number.
AS_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--")

_CONFIG = """\
description: agent_replay
server:
  - !channel
    address: "unix://{server}"
    insecure-mode: true
authorization:
  method: none
connections:
  - !sql-connection &sql
    connection-string: "{url}"
storages:
  - !disk-storage &storage
    path: "{storage}"
caches:
  - !lru-action-cache &actions
    storage: *storage
    max-cached-refs: 100000
    allow-updates: true
    cache-failed-actions: false
schedulers:
  - !sql-scheduler &scheduler
    sql: *sql
    storage: *storage
    action-cache: *actions
    assigners:
      - !priority-age-assigner
        count: 1
        interval: 0.1
instances:
  - name: ""
    services:
      - !action-cache
        cache: *actions
      - !execution
        scheduler: *scheduler
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
thread-pool-size: 100
"""


def packages(home: Path) -> Path:
    """Where the Python packages of LOCK are, once `install` has been there."""
    return home / f"buildgrid-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]}"


def install(home: Path) -> None:
    """Installs BuildGrid for this user, once, with the pip configuration of the machine. Whole or not at all."""
    target = packages(home)
    if target.exists():
        return
    with (home / "buildgrid.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return
        print("agent_replay: installing BuildGrid, once (under a minute)", file=sys.stderr)
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        how = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--root-user-action=ignore"]
        done = subprocess.run(
            [*pip, *how, "--target", partial, "--requirement", LOCK],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            words = " ".join(done.stderr.split())[-QUOTED_CHARS:]
            raise UnfitError(
                f"{LOCK}: its packages cannot be installed: is there an index that has them? {words}"
            )
        partial.rename(target)


def steps(directory: Path, listener: socket.socket, jobs: int, home: Path) -> Iterable[Step]:
    python = {"PYTHONPATH": str(packages(home)), "PYTHONUNBUFFERED": "1"}
    bgd = (sys.executable, "-B", str(packages(home) / "bin" / "bgd"))
    yield lambda: _make_database()
    yield Daemon(
        "postgres",
        (*AS_NOBODY, _postgres("postgres"), *_DATABASE_OPTIONS),
        ready="ready to accept connections",
    )
    yield lambda: _run(*bgd, "migrate", "apply", URL, environment=python)
    config = directory / "buildgrid.yml"
    config.write_text(_CONFIG.format(server=SERVER, url=URL, storage=directory / "data" / "server"))
    yield Daemon(
        "buildgrid",
        (*bgd, "server", "start", "-vv", "--pid-file", PID_FILE, str(config)),
        ready="Created pid-file",
        environment=python,
    )
    yield buildbox.casd(directory, f"unix:{buildbox.SOCKET}", f"--cas-remote=unix://{SERVER}")
    yield Daemon("worker", tuple(_worker(jobs)), ready="Created new BotSession", ready_in="buildgrid")
    yield nginx.daemon(directory, listener, nginx.grpc_server(SERVER))


_DATABASE_OPTIONS = ("-D", f"{DATABASE}/data", "-k", DATABASE, "-c", "listen_addresses=", "-c", "fsync=off")


def _worker(jobs: int) -> Iterable[str]:
    yield "buildbox-worker"
    yield f"--bots-remote=unix://{SERVER}"
    yield f"--cas-remote=unix://{buildbox.SOCKET}"
    yield f"--concurrent-jobs={jobs}"
    yield f"--buildbox-run={buildbox.RUNNER}"
    for argument in buildbox.RUNNER_ARGUMENTS:
        yield f"--runner-arg={argument}"


def _postgres(program: str) -> str:
    """Debian keeps PostgreSQL's programs off the PATH, in a directory of their version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    if not found:
        raise RemoteError(
            f"/usr/lib/postgresql: no {program} there: is postgresql in tools/remote/packages.txt?"
        )
    return str(found[-1])


def _make_database() -> None:
    Path(DATABASE).mkdir(mode=0o700)
    _run(
        *(
            *AS_NOBODY,
            _postgres("initdb"),
            "--pgdata",
            f"{DATABASE}/data",
            "--username=buildgrid",
            "--auth=trust",
        ),
        *("--no-sync", "--encoding=UTF8", "--locale=C"),
    )


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd="/",
        env={**ENVIRONMENT, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(done.stdout.split())[-QUOTED_CHARS:]
        raise RemoteError(f"{Path(command[0]).name} ended with {done.returncode}: {words}")
