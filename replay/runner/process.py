"""The one door to processes: starting the agent, seeing it end, and leaving nothing behind.

An agent starts in a session of its own. The runner is a subreaper, so whatever the agent's tree leaves behind
becomes a child of the runner and is found below it in /proc, however it left its process group. posix_spawn
needs no `subprocess` (7 ms of import) and no fork of a process with threads.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from replay.errors import AgentError

__all__ = [
    "Leftover",
    "Process",
    "become_subreaper",
    "descendants",
    "describe_status",
    "end_all",
    "reap",
    "signal_name",
    "spawn",
]

_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.005
_STDERR = 2


class Leftover(NamedTuple):
    """A process that outlived its agent."""

    pid: int
    command: str


class Process:
    """A started child. The three descriptors are the runner's ends, non-blocking; -1 once closed."""

    __slots__ = ("pid", "status", "stderr", "stdin", "stdout", "watch")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.status: int | None = None
        """Exit status once it ended: 0…255, or minus the number of the signal that ended it."""
        self.watch = _open_pidfd(pid)
        """A descriptor that turns readable when the process ends, or -1 where the system has none."""

    def poll(self) -> int | None:
        """Reap the process if it ended; its status, or None while it lives."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.status = 0
                return self.status
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def wait(self, seconds: float) -> int | None:
        """Wait at most `seconds` for the end, without reading any output."""
        limit = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < limit:
            time.sleep(_POLL_SECONDS)
        return self.status

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and to its group, dead or alive."""
        for send, target in ((os.killpg, self.pid), (os.kill, self.pid)):
            if self.status is not None and send is os.kill:
                continue
            try:
                send(target, number)
            except ProcessLookupError, PermissionError:
                continue

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Close every descriptor that is still open."""
        self.close_stdin()
        for name in ("stdout", "stderr", "watch"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                os.close(descriptor)
                setattr(self, name, -1)


def spawn(
    arguments: Sequence[str], environment: Mapping[str, str], directory: str, *, merge_stderr: bool = False
) -> Process:
    """Start a program in a session of its own. Raises AgentError when it cannot start.

    `merge_stderr` sends its stderr where its stdout goes, as a terminal does.
    """
    _seal_descriptors()
    child_in, stdin = os.pipe()
    stdout, child_out = os.pipe()
    stderr, child_err = (-1, -1) if merge_stderr else os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, child_in, 0),
        (os.POSIX_SPAWN_DUP2, child_out, 1),
        (os.POSIX_SPAWN_DUP2, child_out if merge_stderr else child_err, 2),
    ]
    # posix_spawn has no way to say where the child starts, so the runner goes there for that moment.
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(directory)
        pid = os.posix_spawn(
            arguments[0],
            list(arguments),
            dict(environment),
            file_actions=actions,
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGTERM, signal.SIGINT],
        )
    except (OSError, ValueError) as error:
        _close(stdin, stdout, stderr)
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AgentError(
            f'"{arguments[0]}" cannot be started: {reason}',
            fix="check that the agent's binary builds and is executable: bazel run it by hand",
        ) from None
    finally:
        os.fchdir(before)
        _close(before, child_in, child_out, child_err)
    for descriptor in (stdin, stdout, stderr):
        if descriptor >= 0:
            os.set_blocking(descriptor, False)
    _widen(stdin, stdout)
    return Process(pid, stdin, stdout, stderr)


def become_subreaper() -> bool:
    """Adopt the orphans of this process's descendants. False where the system cannot (not Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def descendants(root: int, *, skip: frozenset[int] = frozenset()) -> list[Leftover]:
    """Every living process below `root`, parents first, without the trees of `skip`."""
    found: list[Leftover] = []
    waiting = list(_children(root))
    while waiting:
        pid = waiting.pop(0)
        if pid in skip:
            continue
        waiting.extend(_children(pid))
        if _is_alive(pid):
            found.append(Leftover(pid, _command(pid)))
    return found


def end_all(root: int, grace_seconds: float, *, skip: frozenset[int] = frozenset()) -> list[Leftover]:
    """End every process below `root` and say which were there.

    Processes that are about to exit by themselves get `grace_seconds` and are not counted. The rest is killed,
    and looked for again until nothing is left, because a fork may race with the kill.
    """
    limit = time.monotonic() + grace_seconds
    left = descendants(root, skip=skip)
    while left and time.monotonic() < limit:
        time.sleep(_POLL_SECONDS)
        reap(skip)
        left = descendants(root, skip=skip)
    reported = list(left)
    give_up = time.monotonic() + 2.0
    while left and time.monotonic() < give_up:
        for one in left:
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(_POLL_SECONDS)
        reap(skip)
        left = descendants(root, skip=skip)
    return reported


def reap(skip: frozenset[int] = frozenset()) -> None:
    """Collect adopted orphans that ended, leaving the children of `skip` to whoever waits for them."""
    for pid in _children(os.getpid()):
        if pid in skip:
            continue
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def signal_name(number: int) -> str:
    """ "SIGSEGV" for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def describe_status(status: int) -> str:
    """ "exited with status 3", "was ended by SIGSEGV"."""
    return f"exited with status {status}" if status >= 0 else f"was ended by {signal_name(-status)}"


def _children(pid: int) -> Iterator[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                yield from map(int, file.read().split())
        except OSError:
            continue


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except OSError, IndexError:
        return False
    return state not in (b"Z", b"X")


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(400).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return "?"


def _open_pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except AttributeError, OSError:
        return -1


def _seal_descriptors() -> None:
    """Keep from the child what this process itself inherited; what Python opens is not inheritable anyway."""
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:
        return
    for descriptor in map(int, descriptors):
        if descriptor > _STDERR:
            try:
                os.set_inheritable(descriptor, False)
            except OSError:
                continue


def _widen(*pipes: int) -> None:
    """Ask for 1 MiB pipes: a 16 MiB line then takes 16 turns of the loop and not 256."""
    for pipe in pipes:
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
        except AttributeError, OSError:
            return


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)
