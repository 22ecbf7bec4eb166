"""An adapter of the reference orchestrator against the peer of its protocol: entries in, provider events out."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from replay.transport.host import Host
from replay.transport.peers.launch import write_launchers
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, Start, Transcript
from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    ProviderAdapter,
    ProviderConfig,
    adapter_for,
)
from scenarios.reference_orchestrator.providers import ProviderEvent
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock

PATIENCE_S = 20.0


class Case(NamedTuple):
    """What stands for a provider. `settings` and `model` are its configuration's."""

    kind: str
    protocol: str
    model: str | None = None
    settings: Mapping[str, str] = {}


class Session:
    """An adapter and everything it said."""

    def __init__(self) -> None:
        self.adapter: ProviderAdapter
        self.events: list[ProviderEvent] = []
        self._heard = asyncio.Event()

    def take(self, event: ProviderEvent) -> None:
        self.events.append(event)
        self._heard.set()

    async def until(self, kind: type, n: int = 1) -> Any:
        """The n-th event of that kind."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := self.of(kind)) < n:
                self._heard.clear()
                await self._heard.wait()
        return found[n - 1]

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def out(frame: dict[str, Any], match: str = "") -> ExpectOutbound:
    return ExpectOutbound(frame, match=match)


def inn(frame: dict[str, Any]) -> EmitInbound:
    return EmitInbound(frame)


def play(
    case: Case, directory: Path, entries: Sequence[Entry], act: Callable[[Session], Awaitable[None]]
) -> list[ProviderEvent]:
    """Let `act` use the adapter, close it, and see that the whole transcript was played."""
    for name in ("bin", "work"):
        (directory / name).mkdir()
    metadata = {
        "model": case.model,
        "cwdPolicy": "workspace",
        "capturedAt": "2026-01-31",
        "provenance": {"kind": "authored", "reason": "a test of the adapter"},
    }
    start = Start(case.kind, case.protocol, "1", "adapter", metadata)
    numbered = tuple(entry._replace(line=at) for at, entry in enumerate(entries, 2))
    transcript = Transcript(f"{case.kind}.transcript.ndjson", start, numbered)
    command = write_launchers(str(directory / "bin"), [case.kind])[case.kind]
    with Host([transcript], workspace=directory / "work") as host:
        environment = {"PATH": os.environ["PATH"], "AGENT_REPLAY_TRANSCRIPT": case.kind, **host.environment()}
        config = ProviderConfig(case.kind, (command,), environment, case.model, case.settings)
        events = asyncio.run(_act(config, directory / "work", act))
        (status,) = host.finish()
    assert (status.outcome, status.finding) == ("consumed", None)
    return events


async def _act(
    config: ProviderConfig, workspace: Path, act: Callable[[Session], Awaitable[None]]
) -> list[ProviderEvent]:
    session = Session()
    services = Services(VirtualClock(), SeededIds(1))
    session.adapter = adapter_for(AdapterContext(config, str(workspace), services, session.take))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await act(session)
    finally:
        async with asyncio.timeout(PATIENCE_S):
            await session.adapter.close()
    return session.events
