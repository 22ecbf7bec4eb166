"""The Cursor adapter with the peer's client, and with clients that break."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from replay.transport.transcript import Entry, RuntimeExit
from scenarios.reference_orchestrator.adapters.base import AdapterContext, ProviderConfig, TurnOptions
from scenarios.reference_orchestrator.adapters.cursor import CursorAdapter
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.providers import (
    ItemDelta,
    ProviderEvent,
    RuntimeExited,
    ThreadOpened,
    TurnEnded,
    TurnStarted,
)
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from tests.reference_orchestrator.adapter_play import Case, Session, inn, out, play

CASE = Case("cursor", "cursor-agent-sdk.local", "m", {"client": "scenarios.transport.cursor_client:connect"})
OPTIONS = {"mode": "agent", "local": {"cwd": "{{workspace}}"}, "model": {"id": "m"}}


def opening(**resume: str) -> list[Entry]:
    asked = {
        "type": "agent.open",
        "operation": "resume" if resume else "create",
        **resume,
        "options": OPTIONS,
    }
    return [out(asked), inn({"type": "agent.opened", "agentId": "a"})]


def starting(mode: str = "agent") -> list[Entry]:
    options = {"mode": mode, "model": {"id": "m"}}
    asked = {"type": "run.start", "agentId": "a", "message": "hi", "options": options}
    return [out(asked), inn({"type": "run.started", "runId": "r", "agentId": "a"})]


def update(kind: str, **fields: Any) -> Entry:
    return inn({"type": "interaction.update", "runId": "r", "update": {"type": kind, **fields}})


def completed(status: str = "finished") -> Entry:
    return inn({"type": "run.completed", "result": {"id": "r", "status": status}})


CLOSING: list[Entry] = [out({"type": "agent.close", "agentId": "a"}), RuntimeExit("success")]


async def begin(session: Session) -> None:
    await session.adapter.open(None)
    await session.adapter.start_turn("hi", TurnOptions())


def test_run_is_a_turn(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open(None)
        await session.adapter.start_turn("hi", TurnOptions(mode="plan"))
        await session.until(TurnEnded)

    entries = [*opening(), *starting("plan"), update("text-delta", text="yes"), completed(), *CLOSING]
    events = play(CASE, tmp_path, entries, act)
    assert events[0] == ThreadOpened("a", False)
    assert ItemDelta("message-1", "yes") in events
    assert events[-2:] == [TurnEnded("r", "completed"), RuntimeExited("success")]


def test_interrupt_cancels_the_run_and_its_end_is_the_turns(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnStarted)
        await session.adapter.interrupt()
        await session.until(TurnEnded)
        # A run that is over needs no interrupt.
        await session.adapter.interrupt()

    cancel = out({"type": "run.cancel", "runId": "r"})
    entries = [*opening(), *starting(), cancel, completed("cancelled"), *CLOSING]
    assert TurnEnded("r", "interrupted") in play(CASE, tmp_path, entries, act)


def test_agent_is_taken_up(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open("a")

    assert play(CASE, tmp_path, [*opening(agentId="a"), *CLOSING], act)[0] == ThreadOpened("a", True)


def test_agent_that_is_lost_is_replaced(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open("old")

    asked = {"type": "agent.open", "operation": "resume", "agentId": "old", "options": OPTIONS}
    gone = inn({"type": "sdk.error", "operation": "agent.open", "error": {"message": "no such agent"}})
    assert play(CASE, tmp_path, [out(asked), gone, *opening(), *CLOSING], act)[0] == ThreadOpened("a", False)


def test_message_that_is_refused_is_a_turn_that_failed(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)

    refused = inn({"type": "sdk.error", "operation": "run.start", "error": {"message": "no credit"}})
    entries = [*opening(), starting()[0], refused, *CLOSING]
    assert TurnEnded("", "failed", "no credit") in play(CASE, tmp_path, entries, act)


def test_run_that_is_lost_ends_the_session(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(RuntimeExited)

    entries = [*opening(), *starting(), RuntimeExit("error", error="the bridge died")]
    assert play(CASE, tmp_path, entries, act)[-1] == RuntimeExited(
        "error", "cursor lost its run: the bridge died"
    )


class Records:
    """A client that hands out records, as the provider's own SDK does, and not JSON."""

    id = "r"
    agent_id = "a"

    async def create_agent(self, options: Mapping[str, Any]) -> Records:
        return self

    async def resume_agent(self, agent_id: str, options: Mapping[str, Any]) -> Records:
        return self

    async def send(self, message: str, options: Mapping[str, Any]) -> Records:
        return self

    async def __aiter__(self) -> AsyncIterator[object]:
        yield SimpleNamespace(kind="sdk_message", interaction_update=None)
        call = SimpleNamespace(type="tool-call-started", call_id="t", tool_call={"type": "shell", "args": {}})
        yield SimpleNamespace(kind="interaction_update", interaction_update=call)

    async def wait(self) -> object:
        return SimpleNamespace(id="r", status="error", error_message="no credit")

    async def cancel(self) -> None:
        raise RuntimeError("the run is over")

    async def close(self) -> None:
        raise RuntimeError("the agent is gone")

    async def aclose(self) -> None:
        return None


def context(emit: Callable[[ProviderEvent], None], settings: dict[str, str]) -> AdapterContext:
    config = ProviderConfig("cursor", settings=settings)
    return AdapterContext(config, "/w", Services(VirtualClock(), SeededIds(1)), emit)


def test_records_of_the_sdk_are_understood() -> None:
    async def client(config: ProviderConfig) -> Records:
        return Records()

    async def act() -> list[ProviderEvent]:
        session = Session()
        session.adapter = CursorAdapter(context(session.take, {}), client)
        await begin(session)
        await session.until(TurnEnded)
        await session.adapter.close()
        return session.events

    events = asyncio.run(act())
    assert [type(event).__name__ for event in events] == [
        "ThreadOpened",
        "TurnStarted",
        "ItemStarted",
        "ItemCompleted",
        "ItemStarted",
        "TurnEnded",
        "RuntimeExited",
    ]
    assert TurnEnded("r", "failed", "no credit") in events


@pytest.mark.parametrize("name", ["", "no.such.module:connect", "json:connect"])
def test_client_that_is_not_there_is_told_in_a_sentence(name: str) -> None:
    with pytest.raises(ProviderError, match="is no module:function"):
        CursorAdapter(context(lambda event: None, {"client": name}))
