"""Running a program in a process group of its own, and ending all of it.

The group is ended on every way out: return, timeout, cancel. What left the group on purpose is not followed.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessResult", "run_process"]

TERM_GRACE_SECONDS = 0.5
DRAIN_SECONDS = 1.0
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
    """Ask the group to end if its leader still runs, then make it."""
    if process.returncode is None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), TERM_GRACE_SECONDS)
    signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
