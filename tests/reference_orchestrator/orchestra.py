"""An orchestrator for unit tests: everything of it but the provider, whose turns are scripts.

Why not a peer: what a provider may say is more than any recording holds, and hypothesis makes it up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    ProviderConfig,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.commands import Receipt, command_from_json
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.events import StoredEvent
from scenarios.reference_orchestrator.orchestrator import Orchestrator, Settings
from scenarios.reference_orchestrator.recovery import RecoveryPolicy
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from scenarios.reference_orchestrator.store import EventStore

__all__ = ["REFUSED", "Orchestra", "ScriptedAdapter", "open_orchestra"]


# In a script: the provider would not begin.
REFUSED = p.TurnEnded("", "failed", "it was refused")


class ScriptedAdapter:
    """Each turn plays the next script: events, in which "TURN" stands for the turn's id. `is_silent`: never comes up."""

    capabilities = Capabilities(steer=False, rollback=True, questions=True, subagents=True)
    scripts: ClassVar[Iterator[Sequence[p.ProviderEvent]]] = iter(())
    is_silent: ClassVar[bool] = False

    def __init__(self, context: AdapterContext) -> None:
        self._emit = context.emit
        self._ids = context.services.ids
        self._turn_id = ""
        self._is_over = False
        self._closed = asyncio.Event()

    async def open(self, resume: str | None) -> None:
        if self.is_silent:
            await self._closed.wait()
            raise ProviderError("it was closed before it came up")
        self._emit(p.ThreadOpened(resume or self._ids.new("native"), resume is not None))

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        self._turn_id = self._ids.new("turn")
        script = next(self.scripts)
        if REFUSED not in script:
            self._emit(p.TurnStarted(self._turn_id))
        for event in script:
            if isinstance(event, p.TurnEnded):
                self._emit(
                    event._replace(provider_turn_id=event.provider_turn_id.replace("TURN", self._turn_id))
                )
            else:
                self._say(event)

    async def steer(self, text: str) -> None:
        raise AssertionError("a provider that cannot steer was asked to")

    async def interrupt(self) -> None:
        self._emit(p.TurnEnded(self._turn_id, "interrupted"))

    async def answer(self, request_id: str, answer: Answer) -> None:
        self._emit(p.RequestResolved(request_id, "allow_once"))

    async def rollback(self, rollback: Rollback) -> None:
        self._emit(p.ThreadRolledBack(rollback.turns))

    async def close(self) -> None:
        self._closed.set()
        self._say(p.RuntimeExited("success"))

    def _say(self, event: p.ProviderEvent) -> None:
        if not self._is_over:
            self._is_over = isinstance(event, p.RuntimeExited)
            self._emit(event)


class Orchestra:
    def __init__(
        self, orchestrator: Orchestrator, store: EventStore, workspace: Path, clock: VirtualClock
    ) -> None:
        self.orchestrator = orchestrator
        self.store = store
        self.workspace = workspace
        self.clock = clock
        self._commands = 0

    def dispatch(self, command_type: str, **fields: object) -> Receipt:
        self._commands += 1
        raw = {"type": command_type, "command_id": f"c{self._commands}", **fields}
        return self.orchestrator.dispatch(command_from_json(raw))

    def create_thread(self) -> str:
        return self.dispatch("create_thread", provider="scripted", workspace=str(self.workspace)).created_id

    async def until(self, is_it: Callable[[StoredEvent], bool]) -> StoredEvent:
        """The first stored event that is it. Raises TimeoutError after ten seconds."""
        async with asyncio.timeout(10):
            async for stored in self.orchestrator.feed.stream():
                if is_it(stored):
                    return stored
        raise AssertionError("the orchestrator was closed")


@asynccontextmanager
async def open_orchestra(
    directory: Path, idle_ms: int = 0, recovery: RecoveryPolicy = "restart"
) -> AsyncIterator[Orchestra]:
    """The workspace is no repository unless the test makes it one: then no checkpoint is taken, and that is told."""
    (directory / "workspace").mkdir(exist_ok=True)
    store = EventStore(directory / "events.sqlite")
    clock = VirtualClock(1_000_000)
    config = ProviderConfig("scripted")
    settings = Settings({"scripted": config, "other": config}, {"PATH": "/usr/bin:/bin"}, idle_ms, recovery)
    services = Services(clock, SeededIds(1, store.last_sequence))
    orchestrator = Orchestrator(store, directory, settings, services)
    try:
        orchestrator.start()
        yield Orchestra(orchestrator, store, directory / "workspace", clock)
        if orchestrator.failure.done():
            orchestrator.failure.result()
    finally:
        await orchestrator.close()
        store.close()
