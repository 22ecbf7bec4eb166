"""Closes sessions that nobody used for a while; the next message opens them again where they were."""

import asyncio
from collections.abc import Callable

from scenarios.reference_orchestrator.services import Clock

__all__ = ["SessionReaper"]


class SessionReaper:
    """`idle_ms`: how long a session may be idle; 0 keeps it for ever."""

    def __init__(self, clock: Clock, idle_ms: int) -> None:
        self._clock = clock
        self._idle_ms = idle_ms
        self._watches: dict[str, asyncio.Task[None]] = {}

    def watch(self, session_id: str, reap: Callable[[], None]) -> None:
        """The session is idle from now on. `reap` is called unless it is spared or watched anew before its time."""
        self.spare(session_id)
        if self._idle_ms > 0:
            due_ms = self._clock.now_ms() + self._idle_ms
            self._watches[session_id] = asyncio.create_task(self._wait(session_id, due_ms, reap))

    def spare(self, session_id: str) -> None:
        """The session is used, or gone."""
        watch = self._watches.pop(session_id, None)
        if watch is not None:
            watch.cancel()

    def close(self) -> None:
        for session_id in list(self._watches):
            self.spare(session_id)

    async def _wait(self, session_id: str, due_ms: int, reap: Callable[[], None]) -> None:
        await self._clock.sleep_until(due_ms)
        del self._watches[session_id]
        reap()
