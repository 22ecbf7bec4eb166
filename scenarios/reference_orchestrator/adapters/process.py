"""A provider that is a child process speaking lines of JSON, and the whole of its life.

The process leads a group of its own, so that what it started ends with it. Its stderr is read to the end, and the last of
it is kept to say why the process failed.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence

import orjson

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.providers import ExitStatus
from scenarios.reference_orchestrator.services import Clock

__all__ = ["JsonLineProcess", "ending"]

# One line of a provider: a frame that carries an image or a large diff.
MAX_LINE_BYTES = 64 * 1024 * 1024
STDERR_KEPT_BYTES = 4096
CLOSE_GRACE_MS = 5000


class JsonLineProcess:
    """`on_frame` gets each frame in order, then `on_exit` once: the exit code and the end of stderr.

    The exit code is negative for a signal, as asyncio has it. Both run inside the event loop and must not block.
    """

    def __init__(
        self,
        on_frame: Callable[[JsonObject], None],
        on_exit: Callable[[int, str], None],
        clock: Clock,
    ) -> None:
        self._on_frame = on_frame
        self._on_exit = on_exit
        self._clock = clock
        self._process: asyncio.subprocess.Process | None = None
        self._pump: asyncio.Task[None] | None = None

    async def start(self, command: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> None:
        """Raises ProviderError if there is no such program."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                cwd=cwd,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise ProviderError(f"cannot start {command[0]}: {error.strerror}") from error
        self._pump = asyncio.create_task(self._run(self._process))

    async def write(self, frame: JsonObject) -> None:
        """A frame for a process that is gone is dropped: its end is reported by `on_exit`."""
        self.write_soon(frame)
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.drain()

    def write_soon(self, frame: JsonObject) -> None:
        """`write` for a caller that cannot wait, in the same order."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(orjson.dumps(frame) + b"\n")

    async def close(self) -> None:
        """Close its stdin, wait for its end, and after a while make it end. Returns when `on_exit` was called."""
        if self._process is None or self._pump is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        deadline = asyncio.ensure_future(self._clock.sleep_until(self._clock.now_ms() + CLOSE_GRACE_MS))
        await asyncio.wait({self._pump, deadline}, return_when=asyncio.FIRST_COMPLETED)
        deadline.cancel()
        self.kill()
        await self._pump

    def kill(self) -> None:
        """End the group at once; `on_exit` follows."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _run(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None and process.stderr is not None
        stderr = asyncio.create_task(read_tail(process.stderr))
        complaint = ""
        try:
            async for line in process.stdout:
                if line.strip():
                    self._on_frame(frame_of(line))
        except (ProviderError, ValueError) as error:
            complaint = f"it broke the protocol: {error}"
            self.kill()
        code = await process.wait()
        # Whatever it started holds its stderr open.
        self.kill()
        self._on_exit(code, complaint or (await stderr).strip())


def ending(name: str, code: int, stderr: str) -> tuple[ExitStatus, str | None]:
    """How a provider ended, and the sentence for it unless it ended well."""
    if code == 0:
        return "success", None
    last = stderr.splitlines()[-1] if stderr else "it said nothing"
    if code < 0:
        status: ExitStatus = "cancelled" if -code == signal.SIGTERM else "error"
        return status, f"{name} was ended by {signal.Signals(-code).name}: {last}"
    return "error", f"{name} ended with exit code {code}: {last}"


def frame_of(line: bytes) -> JsonObject:
    """Raises ProviderError for what is no JSON object."""
    try:
        frame = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ProviderError(f"{error}: {line[:80].decode(errors='replace')}") from error
    if not isinstance(frame, dict):
        raise ProviderError(f"not an object: {line[:80].decode(errors='replace')}")
    return frame


async def read_tail(stream: asyncio.StreamReader) -> str:
    """All of the stream is read, the last of it returned."""
    tail = b""
    while data := await stream.read(64 * 1024):
        tail = (tail + data)[-STDERR_KEPT_BYTES:]
    return tail.decode(errors="replace")
