"""One session of a provider: its adapter from before it is open until it is gone."""

import asyncio
from collections.abc import Callable
from typing import Literal

from scenarios.reference_orchestrator.adapters.base import AdapterContext, ProviderConfig, adapter_for
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.projection import Thread
from scenarios.reference_orchestrator.providers import ProviderEvent, ThreadOpened
from scenarios.reference_orchestrator.recorder import Recorder
from scenarios.reference_orchestrator.services import Services

__all__ = ["ProviderSession"]

HANDSHAKE_MS = 60_000


class ProviderSession:
    """`provider_thread_id` is "" until it is open; `closing` is why it is being closed, None while it is wanted."""

    def __init__(
        self,
        session_id: str,
        thread: Thread,
        config: ProviderConfig,
        services: Services,
        on_event: Callable[[ProviderSession, ProviderEvent], None],
    ) -> None:
        self.session_id = session_id
        self.provider = thread.provider
        self.provider_thread_id = ""
        self.closing: Literal["idle", "stopped", "switched"] | None = None
        self.recorder = Recorder(thread, services.ids)
        self._clock = services.clock
        self._on_event = on_event
        self._opened: ThreadOpened | None = None
        self.adapter = adapter_for(AdapterContext(config, thread.workspace, services, self._emitted))

    async def open(self, resume: str | None) -> ThreadOpened:
        """Raises ProviderError if the provider does not come up in time; then nothing of it is left."""
        opening = asyncio.ensure_future(self.adapter.open(resume))
        deadline = asyncio.ensure_future(self._clock.sleep_until(self._clock.now_ms() + HANDSHAKE_MS))
        try:
            await asyncio.wait({opening, deadline}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                raise ProviderError(f"{self.provider} did not come up in {HANDSHAKE_MS // 1000} s")
            opening.result()
            if self._opened is None:
                raise ProviderError(f"{self.provider} opened no thread")
            self.provider_thread_id = self._opened.provider_thread_id
            return self._opened
        except BaseException:
            opening.cancel()
            await self.adapter.close()
            raise
        finally:
            deadline.cancel()

    def _emitted(self, event: ProviderEvent) -> None:
        if isinstance(event, ThreadOpened) and self._opened is None:
            self._opened = event
        else:
            self._on_event(self, event)
