"""The one way by which something becomes known: stored, projected and published, in this order."""

from scenarios.reference_orchestrator.commands import Command, Receipt
from scenarios.reference_orchestrator.events import Event
from scenarios.reference_orchestrator.feed import Feed
from scenarios.reference_orchestrator.projection import Projection, Thread
from scenarios.reference_orchestrator.projector import apply, project
from scenarios.reference_orchestrator.services import Services
from scenarios.reference_orchestrator.store import EventStore

__all__ = ["Journal"]


class Journal:
    def __init__(self, store: EventStore, services: Services) -> None:
        self._store = store
        self.services = services
        self.projection: Projection = project(store.events())
        self.feed = Feed(store, self.projection)

    def thread(self, thread_id: str) -> Thread:
        return self.projection.threads[thread_id]

    def record(self, thread_id: str, *events: Event) -> None:
        self._append(thread_id, events, None, None)

    def decide(
        self, thread_id: str, events: tuple[Event, ...], command: Command, receipt: Receipt
    ) -> Receipt:
        """The events of a command and its receipt, both or neither."""
        receipt = receipt._replace(sequence=self._store.last_sequence + len(events))
        self._append(thread_id, events, command, receipt)
        return receipt

    def receipt_of(self, command: Command) -> Receipt | None:
        return self._store.receipt_of(command)

    def _append(
        self, thread_id: str, events: tuple[Event, ...], command: Command | None, receipt: Receipt | None
    ) -> None:
        now_ms = self.services.clock.now_ms()
        for stored in self._store.append(thread_id, events, now_ms, command, receipt):
            apply(self.projection, stored)
        self.feed.publish()
