"""What readers get: the state as of a sequence number, and every event after it, once and in order.

A reader that asks for a snapshot and streams after its sequence number misses nothing, however long it takes in between.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from scenarios.reference_orchestrator.events import StoredEvent
from scenarios.reference_orchestrator.projection import Projection
from scenarios.reference_orchestrator.store import EventStore

__all__ = ["Feed", "Snapshot"]


class Snapshot(NamedTuple):
    sequence: int
    state: dict[str, Any]


class Feed:
    def __init__(self, store: EventStore, projection: Projection) -> None:
        self._store = store
        self._projection = projection
        self._published = asyncio.Event()
        self._is_closed = False

    def snapshot(self) -> Snapshot:
        return Snapshot(self._projection.sequence, self._projection.to_json())

    async def stream(self, after: int = 0) -> AsyncIterator[StoredEvent]:
        """Ends when the feed is closed and everything was told."""
        while True:
            published = self._published
            for event in self._store.events(after):
                after = event.sequence
                yield event
            if self._is_closed and published is self._published:
                return
            await published.wait()

    def publish(self) -> None:
        """Something was stored."""
        self._published.set()
        self._published = asyncio.Event()

    def close(self) -> None:
        self._is_closed = True
        self._published.set()
