"""The OpenCode adapter against the peer, and against programs that are no server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from replay.transport.transcript import Entry, RuntimeExit
from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    ProviderConfig,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.adapters.opencode import ACCESS, OpencodeAdapter, rules_of
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
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from tests.reference_orchestrator.adapter_play import Case, Session, inn, out, play

CASE = Case("opencode", "opencode-sdk.sse", "openai/some-model")
FIRST = rules_of(ACCESS["workspace", "ask"])
MODEL = {"providerID": "openai", "modelID": "some-model"}


def ask(operation: str, **parameters: Any) -> Entry:
    return out({"type": operation, "input": parameters} if parameters else {"type": operation})


def tell(operation: str, data: object = None, **fields: Any) -> Entry:
    return inn({"type": "sdk.response", "operation": operation, **(fields or {"data": data})})


def event(kind: str, **properties: Any) -> Entry:
    return inn({"type": "sdk.event", "event": {"type": kind, "properties": {"sessionID": "s", **properties}}})


def opening() -> list[Entry]:
    created = tell("session.create", {"id": "s"})
    return [ask("event.subscribe"), ask("session.create", permission=FIRST), created]


def prompt(text: str = "hi", **fields: Any) -> list[Entry]:
    parts = [{"type": "text", "text": text}]
    return [
        ask("session.promptAsync", sessionID="s", parts=parts, model=MODEL, **fields),
        tell("session.promptAsync"),
    ]


def begun(name: str = "u") -> Entry:
    return event("message.updated", info={"id": name, "role": "user", "sessionID": "s"})


def idle() -> Entry:
    return event("session.status", status={"type": "idle"})


async def begin(session: Session) -> None:
    await session.adapter.open(None)
    await session.adapter.start_turn("hi", TurnOptions())
    await session.until(TurnStarted)


END = RuntimeExit("success")


def test_turn_is_prompted_steered_and_over_when_idle(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.adapter.steer("no, there")
        await session.until(TurnEnded)

    entries = [*opening(), *prompt(), begun(), *prompt("no, there"), begun("u2"), idle(), END]
    events = play(CASE, tmp_path, entries, act)
    assert events == [
        ThreadOpened("s", False),
        TurnStarted("u"),
        TurnEnded("u", "completed"),
        RuntimeExited("success"),
    ]


def test_steering_that_is_refused_is_rejected(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.adapter.steer("no, there")
        await session.until(SteerRejected)
        await session.until(TurnEnded)

    refused = tell("session.promptAsync", error={"data": {"message": "busy"}}, status=400)
    entries = [*opening(), *prompt(), begun(), prompt("no, there")[0], refused, idle(), END]
    assert SteerRejected("no, there", "busy") in play(CASE, tmp_path, entries, act)


@pytest.mark.parametrize("answer_first", [True, False])
def test_interrupt_ends_the_turn_when_it_is_idle(answer_first: bool, tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.adapter.interrupt()
        await session.until(TurnEnded)

    last = [tell("session.abort", data=True), idle()]
    entries = [
        *opening(),
        *prompt(),
        begun(),
        ask("session.abort", sessionID="s"),
        *last[:: 1 if answer_first else -1],
    ]
    assert TurnEnded("u", "interrupted") in play(CASE, tmp_path, [*entries, END], act)


def permission(reply: str) -> list[Entry]:
    return [
        event("permission.asked", id="r", permission="bash", patterns=["ls"], metadata={}, always=[]),
        ask("permission.reply", requestID="r", reply=reply),
        tell("permission.reply", data=True),
        event("permission.replied", requestID="r", reply=reply),
    ]


def questions(*last: Entry) -> list[Entry]:
    asked = [
        {"question": "Which?", "header": "V", "options": []},
        {"question": "Why?", "header": "W", "options": []},
    ]
    return [event("question.asked", id="r", questions=asked), *last]


@pytest.mark.parametrize(
    ("answer", "exchange", "decision"),
    [
        (Answer("always"), permission("always"), "allow_always"),
        (Answer(), permission("reject"), "reject_once"),
        (
            Answer(answers={"question-1": ["1.0"]}),
            questions(
                ask("question.reply", requestID="r", answers=[["1.0"], []]),
                tell("question.reply", data=True),
                event("question.replied", requestID="r", answers=[["1.0"], []]),
            ),
            "answered",
        ),
        (
            Answer(),
            questions(
                ask("question.reject", requestID="r"),
                tell("question.reject", data=True),
                event("question.rejected", requestID="r"),
            ),
            "cancelled",
        ),
    ],
)
def test_request_is_answered(answer: Answer, exchange: list[Entry], decision: Any, tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        request: RequestOpened = await session.until(RequestOpened)
        await session.adapter.answer(request.request_id, answer)
        await session.until(TurnEnded)

    events = play(CASE, tmp_path, [*opening(), *prompt(), begun(), *exchange, idle(), END], act)
    assert RequestResolved("r", decision) in events


def test_what_an_agent_may_do_is_updated_when_it_changes(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open(None)
        for turn in (1, 2):
            await session.adapter.start_turn("hi", TurnOptions("read_only", "never", "plan"))
            await session.until(TurnEnded, turn)

    rules = rules_of(ACCESS["read_only", "never"])
    update = [ask("session.update", sessionID="s", permission=rules), tell("session.update", data={})]
    turns = [*prompt(agent="plan"), begun("u1"), idle(), *prompt(agent="plan"), begun("u2"), idle()]
    play(CASE, tmp_path, [*opening(), *update, *turns, END], act)


def test_rollback_reverts_from_the_first_message_that_goes(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)
        await session.adapter.rollback(Rollback(1, "", "u"))
        await session.until(ThreadRolledBack)

    revert = [ask("session.revert", sessionID="s", messageID="u"), tell("session.revert", data={"id": "s"})]
    assert ThreadRolledBack() in play(
        CASE, tmp_path, [*opening(), *prompt(), begun(), idle(), *revert, END], act
    )


@pytest.mark.parametrize("is_lost", [False, True])
def test_session_is_taken_up_or_replaced_where_it_is_lost(is_lost: bool, tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open("s")

    found = [tell("session.get", data={"id": "s"})]
    if is_lost:
        found = [tell("session.get", error={"name": "NotFoundError"}, status=404), *opening()[1:]]
    entries = [ask("event.subscribe"), ask("session.get", sessionID="s"), *found, END]
    assert play(CASE, tmp_path, entries, act)[0] == ThreadOpened("s", not is_lost)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (RuntimeExit("error", code=3), "opencode ended with exit code 3"),
        (RuntimeExit("error", signal="SIGKILL"), "opencode was ended by SIGKILL"),
    ],
)
def test_server_that_ends_in_a_turn_says_how(ending: Entry, said: str, tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(RuntimeExited)

    exited = play(CASE, tmp_path, [*opening(), *prompt(), begun(), ending], act)[-1]
    assert isinstance(exited, RuntimeExited) and exited.error is not None and exited.error.startswith(said)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo no account >&2; exit 4", "opencode ended with exit code 4 before it listened: no account"),
        (
            "echo 'opencode server listening on http://127.0.0.1:1'; exec cat",
            "the connection to the server failed",
        ),
    ],
)
def test_program_that_is_no_server_is_refused_in_a_sentence(
    script: str, complaint: str, tmp_path: Path
) -> None:
    program = tmp_path / "opencode"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)

    async def act() -> None:
        services = Services(VirtualClock(), SeededIds(1))
        config = ProviderConfig("opencode", (str(program),), {"PATH": "/usr/bin:/bin"})
        adapter = OpencodeAdapter(AdapterContext(config, str(tmp_path), services, lambda event: None))
        try:
            await adapter.open(None)
        finally:
            await adapter.close()

    with pytest.raises(ProviderError, match=complaint):
        asyncio.run(asyncio.wait_for(act(), 20))
