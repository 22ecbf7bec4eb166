"""Running a program in a process group of its own, and ending all of it.

The group is ended on every way out: return, timeout, cancel; nothing of it is alive when `run_process` is left. What
left the group on purpose is not followed.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessResult", "run_process"]

TERM_GRACE_SECONDS = 0.5
DRAIN_SECONDS = 1.0
# For one that the kernel holds on to, on a disk that does not answer.
DEATH_SECONDS = 5.0
READ_BYTES = 64 * 1024


class ProcessResult(NamedTuple):
    """`exit_code` as a shell says it: 128 + n for a program that signal n ended."""

    exit_code: int
    timed_out: bool


async def run_process(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_ms: int,
    on_output: Callable[[bytes], None],
    stdin: bytes = b"",
) -> ProcessResult:
    """Run `command`, its stdout and stderr as one stream. Raises OSError if it cannot be started."""
    # Our own pipe rather than asyncio's: its wait() lingers while a grandchild holds the pipe open.
    read_end, write_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            start_new_session=True,
        )
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    pump = asyncio.create_task(pump_output(read_end, on_output))
    timed_out = False
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await feed(process, stdin)
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await end_group(process)
        await asyncio.wait({pump}, timeout=DRAIN_SECONDS)
        pump.cancel()
        await asyncio.wait({pump})
    code = process.returncode or 0
    return ProcessResult(128 - code if code < 0 else code, timed_out)


async def feed(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(ConnectionError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def pump_output(read_end: int, on_output: Callable[[bytes], None]) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        while data := await reader.read(READ_BYTES):
            on_output(data)
    finally:
        transport.close()


async def end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the group to end if its leader still runs, then make it, and see that it did."""
    if process.returncode is None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), TERM_GRACE_SECONDS)
    has_members = signal_group(process.pid, signal.SIGKILL)
    await process.wait()
    if has_members:
        await wait_for_death(process.pid)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Whether there was anybody to signal."""
    try:
        os.killpg(group, number)
    except ProcessLookupError, PermissionError:
        return False
    return True


async def wait_for_death(group: int) -> None:
    """SIGKILL is only on its way when killpg returns: wait until it has reached every member.

    Who is about to die of it cannot fork any more, so one look at who there is will do. Only Linux tells of the end
    of processes that are not our children.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DEATH_SECONDS):
            for member in living_members(group):
                with contextlib.suppress(ProcessLookupError):
                    await readable(os.pidfd_open(member))


def living_members(group: int) -> Iterator[int]:
    """Process ids; one that is dead and not yet asked about by its parent is not alive."""
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The command's name comes before these fields and may hold anything, ")" too.
            state, _, its_group = (directory / "stat").read_bytes().rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state not in (b"Z", b"X"):
                yield int(directory.name)


async def readable(descriptor: int) -> None:
    """Wait until the descriptor, which is ours to close, can be read."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
