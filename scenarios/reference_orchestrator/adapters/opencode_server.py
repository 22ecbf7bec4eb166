"""`opencode serve` as a child process: where it listens, and how it ends."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence

from scenarios.reference_orchestrator.adapters.process import CLOSE_GRACE_MS, read_tail
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.services import Clock

__all__ = ["OpencodeServer"]

_LISTENING = re.compile(rb"^opencode server listening on http://([^\s:/]+):([0-9]{1,5})\s*$")


class OpencodeServer:
    """One server. The process leads a group of its own, so that what it started ends with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[str]] = []

    async def start(
        self, command: Sequence[str], *, cwd: str, environment: Mapping[str, str]
    ) -> tuple[str, int]:
        """Host and port, when it listens. Raises ProviderError if it does not start."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                *("serve", "--hostname", "127.0.0.1", "--port", "0"),
                cwd=cwd,
                env=environment,
                # A server that minds its stdin ends with us, however we end.
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ProviderError(f"cannot start {command[0]}: {error.strerror}") from error
        assert self._process.stdout is not None and self._process.stderr is not None
        self._readers = [asyncio.create_task(read_tail(self._process.stderr))]
        async for line in self._process.stdout:
            found = _LISTENING.match(line)
            if found is not None:
                self._readers.append(asyncio.create_task(read_tail(self._process.stdout)))
                return found[1].decode(), int(found[2])
        code, stderr = await self.ended()
        last = stderr.splitlines()[-1] if stderr else "it said nothing"
        raise ProviderError(f"opencode ended with exit code {code} before it listened: {last}")

    async def ended(self) -> tuple[int, str]:
        """Wait for its end: the exit code, negative for a signal, and the end of stderr."""
        assert self._process is not None
        code = await self._process.wait()
        # Whatever it started holds its stderr open.
        self._signal(signal.SIGKILL)
        return code, (await self._readers[0]).strip()

    async def ends_soon(self) -> bool:
        """Whether it ends by itself within a while."""
        assert self._process is not None
        end = asyncio.ensure_future(self._process.wait())
        deadline = asyncio.ensure_future(self._clock.sleep_until(self._clock.now_ms() + CLOSE_GRACE_MS))
        await asyncio.wait({end, deadline}, return_when=asyncio.FIRST_COMPLETED)
        deadline.cancel()
        if end.done():
            return True
        end.cancel()
        return False

    async def close(self) -> None:
        """Ask it to end, and after a while make it end."""
        if self._process is None or self._process.returncode is not None:
            return
        self._signal(signal.SIGTERM)
        if not await self.ends_soon():
            self.kill()
            await self._process.wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
