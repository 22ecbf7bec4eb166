"""The codex adapter against the peer: what scenarios do not reach, such as requests that nobody can answer."""

from pathlib import Path
from typing import Any

import pytest

from replay.transport.transcript import Entry, RuntimeExit
from scenarios.reference_orchestrator.adapters.base import Answer, Rollback, TurnOptions
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.providers import (
    RequestOpened,
    RequestResolved,
    RuntimeExited,
    SteerRejected,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
)
from tests.reference_orchestrator.adapter_play import Case, Session, inn, out, play

CASE = Case("codex", "codex.app-server")
TURN: dict[str, Any] = {"id": "t", "status": "inProgress", "error": None}


def ask(number: int, method: str, **params: Any) -> Entry:
    return out({"id": number, "method": method, "params": params}, "subset")


def tell(number: int, **fields: Any) -> Entry:
    return inn({"id": number, **fields})


def told(method: str, **params: Any) -> Entry:
    return inn({"method": method, "params": {"threadId": "root", **params}})


def greeting() -> list[Entry]:
    return [ask(1, "initialize"), tell(1, result={}), out({"method": "initialized"})]


def opening() -> list[Entry]:
    thread = {"result": {"thread": {"id": "root"}}}
    return [*greeting(), ask(2, "thread/start", cwd="{{workspace}}"), tell(2, **thread)]


def beginning() -> list[Entry]:
    start = ask(3, "turn/start", threadId="root", input=[{"type": "text", "text": "hi"}])
    return [*opening(), start, told("turn/started", turn=TURN), tell(3, result={"turn": TURN})]


def ending() -> Entry:
    return told("turn/completed", turn=TURN | {"status": "completed"})


async def begin(session: Session) -> None:
    await session.adapter.open(None)
    await session.adapter.start_turn("hi", TurnOptions())
    await session.until(TurnStarted)


def test_a_request_that_nobody_knows_is_refused_and_the_turn_goes_on(tmp_path: Path) -> None:
    refusal = {"code": -32601, "message": "item/tool/call is not supported"}
    entries = [
        *beginning(),
        inn({"id": 0, "method": "item/tool/call", "params": {"threadId": "root", "tool": "x"}}),
        out({"id": 0, "error": refusal}),
        ending(),
        RuntimeExit("success"),
    ]

    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)

    events = play(CASE, tmp_path, entries, act)
    assert not [event for event in events if isinstance(event, RequestOpened)]
    assert events[-1] == RuntimeExited("success")


def test_an_approval_is_answered_once(tmp_path: Path) -> None:
    entries = [
        *beginning(),
        inn(
            {
                "id": 0,
                "method": "item/fileChange/requestApproval",
                "params": {"threadId": "root", "itemId": "i"},
            }
        ),
        out({"id": 0, "result": {"decision": "cancel"}}),
        told("serverRequest/resolved", requestId=0),
        ending(),
        RuntimeExit("success"),
    ]

    async def act(session: Session) -> None:
        await begin(session)
        request: RequestOpened = await session.until(RequestOpened)
        for _ in range(2):
            await session.adapter.answer(request.request_id, Answer())
        await session.until(TurnEnded)

    events = play(CASE, tmp_path, entries, act)
    assert RequestResolved("0", "cancelled") in events


def test_steering_and_interrupting_a_turn_that_is_over_send_nothing(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)
        await session.adapter.steer("left")
        await session.adapter.interrupt()

    events = play(CASE, tmp_path, [*beginning(), ending(), RuntimeExit("success")], act)
    assert SteerRejected("left", "the turn has ended") in events


def test_a_thread_that_is_lost_is_replaced(tmp_path: Path) -> None:
    lost = {"error": {"code": -32600, "message": "no rollout found"}}
    entries = [
        *greeting(),
        ask(2, "thread/resume", threadId="old"),
        tell(2, **lost),
        ask(3, "thread/start", cwd="{{workspace}}"),
        tell(3, result={"thread": {"id": "new"}}),
        RuntimeExit("success"),
    ]

    async def act(session: Session) -> None:
        await session.adapter.open("old")

    assert play(CASE, tmp_path, entries, act) == [ThreadOpened("new", False), RuntimeExited("success")]


@pytest.mark.parametrize(
    ("settings", "method", "params"),
    [
        ({}, "thread/revert", {"beforeTurnId": "first"}),
        ({"rollback": "count"}, "thread/rollback", {"numTurns": 2}),
    ],
)
def test_rollback_in_the_server_s_own_way(
    tmp_path: Path, settings: dict[str, str], method: str, params: dict[str, Any]
) -> None:
    entries = [
        *opening(),
        out({"id": 3, "method": method, "params": {"threadId": "root", **params}}),
        tell(3, result={"thread": {"id": "root"}}),
        RuntimeExit("success"),
    ]

    async def act(session: Session) -> None:
        await session.adapter.open(None)
        await session.adapter.rollback(Rollback(2, "", "first"))
        await session.until(ThreadRolledBack)

    play(CASE._replace(settings=settings), tmp_path, entries, act)


@pytest.mark.parametrize(
    ("exit_entry", "status", "said"),
    [
        (RuntimeExit("error", code=3), "error", "ended with exit code 3"),
        (RuntimeExit("error", signal="SIGKILL"), "error", "was ended by SIGKILL"),
        (RuntimeExit("cancelled"), "cancelled", "was ended by SIGTERM"),
    ],
)
def test_a_server_that_dies_in_the_handshake_opens_no_thread(
    tmp_path: Path, exit_entry: RuntimeExit, status: str, said: str
) -> None:
    async def act(session: Session) -> None:
        with pytest.raises(ProviderError, match=said):
            await session.adapter.open("old")

    entries = [*greeting(), ask(2, "thread/resume", threadId="old"), exit_entry]
    (exited,) = play(CASE, tmp_path, entries, act)
    assert isinstance(exited, RuntimeExited)
    assert (exited.status, said in (exited.error or "")) == (status, True)
