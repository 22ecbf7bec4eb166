"""Who holds a directory: the process that serves from it, by a lock that the kernel gives up when that process ends.

So there is no file with a process id that could be stale, or name a process that came later.
"""

import fcntl
import os
import select
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.remote.errors import RemoteError

# struct flock of 64-bit Linux: type, whence, start, length, process id.
FLOCK = "hhqqi"
STOP_S = 20


@contextmanager
def claimed(directory: Path) -> Iterator[int]:
    """One command at a time on a directory; a second one waits. Gives the descriptor that is the claim."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def hold(directory: Path) -> None:
    """Makes this process the holder of the directory until it ends."""
    descriptor = os.open(directory / "held", os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(directory: Path) -> int | None:
    """The process id of the directory's holder, as the kernel knows it; None without one."""
    try:
        descriptor = os.open(directory / "held", os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    if kind == fcntl.F_UNLCK:
        return None
    if pid <= 0:
        raise RemoteError(f"{directory}: it is served by a process of another container: stop it there")
    return int(pid)


def end(directory: Path) -> bool:
    """Ends the holder and waits until it is gone; False if there was none.

    The holder is the first process of a PID namespace: the kernel ends the others before it counts as ended.
    """
    pid = holder(directory)
    if pid is None:
        return False
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # The number may have passed to another process in between.
        if holder(directory) != pid:
            return False
        for number in (signal.SIGTERM, signal.SIGKILL):
            signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], STOP_S)[0]:
                return True
    finally:
        os.close(descriptor)
    raise RemoteError(f"{directory}: process {pid} does not end, though it was killed: look at it with ps")
