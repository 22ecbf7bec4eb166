"""The orchestrator: commands in, receipts out, and a lane for every thread that has something to do."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scenarios.reference_orchestrator.adapters.base import Capabilities, ProviderConfig, capabilities_of
from scenarios.reference_orchestrator.checkpoint import Snapshots
from scenarios.reference_orchestrator.checkpoint_policy import CheckpointPolicy
from scenarios.reference_orchestrator.commands import Command, CreateThread, Receipt
from scenarios.reference_orchestrator.decide import Context, Rejected, decide
from scenarios.reference_orchestrator.feed import Feed
from scenarios.reference_orchestrator.journal import Journal
from scenarios.reference_orchestrator.lane import Household, Lane, Recover
from scenarios.reference_orchestrator.reaper import SessionReaper
from scenarios.reference_orchestrator.recovery import RecoveryPolicy
from scenarios.reference_orchestrator.services import Services
from scenarios.reference_orchestrator.store import EventStore

__all__ = ["Orchestrator", "Settings"]


class Settings(NamedTuple):
    """`environment` is what git runs with; a provider has its own. `idle_ms` 0: sessions are kept for ever."""

    providers: Mapping[str, ProviderConfig]
    environment: Mapping[str, str]
    idle_ms: int = 15 * 60 * 1000
    recovery: RecoveryPolicy = "restart"


class Orchestrator:
    """Made inside the event loop that it lives in. The store is the caller's to open and to close.

    `failure` is done when something broke that should not: the store refused an event, or a fault of ours.
    """

    def __init__(self, store: EventStore, scratch: Path, settings: Settings, services: Services) -> None:
        self._journal = Journal(store, services)
        self._settings = settings
        self._services = services
        self._reaper = SessionReaper(services.clock, settings.idle_ms)
        self._household = Household(
            self._journal,
            CheckpointPolicy(self._journal, Snapshots(scratch, settings.environment, services.clock)),
            self._reaper,
            settings.providers,
            settings.recovery,
        )
        self._lanes: dict[str, tuple[Lane, asyncio.Task[None]]] = {}
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def feed(self) -> Feed:
        return self._journal.feed

    def start(self) -> None:
        """Take up every thread where the last life of the orchestrator left it."""
        for thread in self._journal.projection.threads.values():
            is_open = thread.session() is not None or thread.rollback is not None
            if is_open or thread.active_run() is not None or thread.next_run() is not None:
                self._lane(thread.thread_id).post(Recover())

    def dispatch(self, command: Command) -> Receipt:
        """Decide, store, and let the thread's lane do the rest. Raises OrchestratorError for an id used twice."""
        kept = self._journal.receipt_of(command)
        if kept is not None:
            return kept
        thread_id = "" if isinstance(command, CreateThread) else command.thread_id
        thread = self._journal.projection.threads.get(thread_id)
        decision = decide(thread, command, Context(self._capabilities, self._services.ids))
        if isinstance(decision, Rejected):
            receipt = Receipt(command.command_id, "rejected", thread_id, 0, reason=decision.reason)
            return self._journal.decide(thread_id, (), command, receipt)
        thread_id = thread_id or decision.created_id
        receipt = Receipt(command.command_id, "accepted", thread_id, 0, decision.created_id)
        receipt = self._journal.decide(thread_id, decision.events, command, receipt)
        self._lane(thread_id).post(command)
        return receipt

    async def close(self) -> None:
        """End every session. Runs that were active are taken up by the next start."""
        self._reaper.close()
        for _, task in self._lanes.values():
            task.cancel()
        await asyncio.gather(*(task for _, task in self._lanes.values()), return_exceptions=True)
        await asyncio.gather(*(lane.close() for lane, _ in self._lanes.values()))
        self.feed.close()

    def _capabilities(self, provider: str) -> Capabilities | None:
        config = self._settings.providers.get(provider)
        return None if config is None else capabilities_of(config.kind)

    def _lane(self, thread_id: str) -> Lane:
        if thread_id not in self._lanes:
            lane = Lane(thread_id, self._household)
            task = asyncio.create_task(lane.run())
            task.add_done_callback(self._lane_ended)
            self._lanes[thread_id] = (lane, task)
        return self._lanes[thread_id][0]

    def _lane_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self.failure.done():
            self.failure.set_exception(error)
