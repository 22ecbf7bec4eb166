"""The ACP adapter against the peer, and against programs that are no agent."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from replay.transport.transcript import Entry, RuntimeExit
from scenarios.reference_orchestrator.adapters.acp import AcpAdapter
from scenarios.reference_orchestrator.adapters.base import AdapterContext, Answer, ProviderConfig, TurnOptions
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.providers import (
    ItemCompleted,
    RequestOpened,
    RequestResolved,
    RuntimeExited,
    ThreadOpened,
    TurnEnded,
)
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from tests.reference_orchestrator.adapter_play import Case, Session, inn, out, play

CASE = Case("acp", "acp.ndjson-jsonrpc")
PERMISSION = {
    "sessionId": "s",
    "toolCall": {"toolCallId": "t", "title": "ls", "kind": "execute"},
    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
}
RESUMING: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}


def ask(number: int, method: str, **params: Any) -> Entry:
    return out({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def tell(number: int, **fields: Any) -> Entry:
    return inn({"jsonrpc": "2.0", "id": number, **fields})


def asked(number: int, method: str, **params: Any) -> Entry:
    return inn({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def answer(number: int, **fields: Any) -> Entry:
    return out({"jsonrpc": "2.0", "id": number, **fields})


def hello(**capabilities: Any) -> list[Entry]:
    request = {"protocolVersion": 1}
    first = out({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": request}, "subset")
    return [first, tell(1, result={"protocolVersion": 1, "agentCapabilities": capabilities})]


def opening() -> list[Entry]:
    place = {"cwd": "{{workspace}}", "mcpServers": []}
    return [*hello(), ask(2, "session/new", **place), tell(2, result={"sessionId": "s"})]


def prompting() -> Entry:
    return ask(3, "session/prompt", sessionId="s", prompt=[{"type": "text", "text": "hi"}])


def ended(reason: str = "end_turn") -> Entry:
    return tell(3, result={"stopReason": reason})


async def begin(session: Session) -> None:
    await session.adapter.open(None)
    await session.adapter.start_turn("hi", TurnOptions())


def test_permission_is_answered_and_the_session_closed(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        request: RequestOpened = await session.until(RequestOpened)
        await session.adapter.answer(request.request_id, Answer("y"))
        # A second answer has nowhere to go.
        await session.adapter.answer(request.request_id, Answer("y"))
        await session.until(TurnEnded)

    chosen = {"outcome": {"outcome": "selected", "optionId": "y"}}
    entries = [
        *opening(),
        prompting(),
        asked(0, "session/request_permission", **PERMISSION),
        answer(0, result=chosen),
        ended(),
        RuntimeExit("success"),
    ]
    events = play(CASE, tmp_path, entries, act)
    assert events[-3:] == [
        RequestResolved("0", "allow_once"),
        TurnEnded("turn-1", "completed"),
        RuntimeExited("success"),
    ]


def test_interrupt_also_answers_what_the_agent_waits_for(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(RequestOpened)
        await session.adapter.interrupt()
        await session.until(TurnEnded)

    entries = [
        *opening(),
        prompting(),
        asked(0, "session/request_permission", **PERMISSION),
        out({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}),
        answer(0, result={"outcome": {"outcome": "cancelled"}}),
        ended("cancelled"),
        RuntimeExit("success"),
    ]
    events = play(CASE, tmp_path, entries, act)
    assert events[-3:-1] == [RequestResolved("0", "cancelled"), TurnEnded("turn-1", "interrupted")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Answer(answers={"v": ["2"]}), {"action": "accept", "content": {"v": "2"}}),
        (Answer(), {"action": "cancel"}),
    ],
)
def test_form_is_filled_in(given: Answer, said: dict[str, Any], tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        request: RequestOpened = await session.until(RequestOpened)
        await session.adapter.answer(request.request_id, given)
        await session.until(TurnEnded)

    schema = {"type": "object", "properties": {"v": {"type": "string", "enum": ["1", "2"]}}}
    form = {"sessionId": "s", "mode": "form", "message": "Which?", "requestedSchema": schema}
    entries = [
        *opening(),
        prompting(),
        asked(0, "elicitation/create", **form),
        answer(0, result=said),
        ended(),
        RuntimeExit("success"),
    ]
    play(CASE, tmp_path, entries, act)


def test_request_that_is_not_offered_gets_an_error(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)

    refusal = {"code": -32601, "message": "fs/read_text_file is not supported"}
    entries = [
        *opening(),
        prompting(),
        asked(0, "fs/read_text_file", sessionId="s", path="/a"),
        answer(0, error=refusal),
        ended(),
        RuntimeExit("success"),
    ]
    items = [event.item for event in play(CASE, tmp_path, entries, act) if isinstance(event, ItemCompleted)]
    assert [item.title for item in items][1:] == ["fs/read_text_file"]


def test_mode_is_set_where_the_agent_has_it_and_only_once(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open(None)
        for turn in (1, 2):
            await session.adapter.start_turn("hi", TurnOptions(mode="plan"))
            await session.until(TurnEnded, turn)

    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}
    entries = [
        *opening(),
        ask(3, "session/set_mode", sessionId="s", modeId="architect"),
        tell(3, result={}),
        ask(4, "session/prompt", **prompt),
        tell(4, result={"stopReason": "end_turn"}),
        ask(5, "session/prompt", **prompt),
        tell(5, result={"stopReason": "end_turn"}),
        RuntimeExit("success"),
    ]
    play(CASE._replace(settings={"plan_mode": "architect"}), tmp_path, entries, act)


@pytest.mark.parametrize(
    ("capabilities", "method"), [(RESUMING, "session/resume"), ({"loadSession": True}, "session/load")]
)
@pytest.mark.parametrize("is_lost", [False, True])
def test_thread_is_taken_up_or_replaced_where_it_is_lost(
    capabilities: dict[str, Any], method: str, is_lost: bool, tmp_path: Path
) -> None:
    place = {"cwd": "{{workspace}}", "mcpServers": []}
    back = [ask(2, method, sessionId="old", **place), tell(2, result={})]
    if is_lost:
        back = [back[0], tell(2, error={"code": -32602, "message": "unknown session"})]
        back += [ask(3, "session/new", **place), tell(3, result={"sessionId": "s"})]

    async def act(session: Session) -> None:
        await session.adapter.open("old")

    events = play(CASE, tmp_path, [*hello(**capabilities), *back, RuntimeExit("success")], act)
    assert events[0] == (ThreadOpened("s", False) if is_lost else ThreadOpened("old", True))


def test_agent_without_a_way_back_gets_a_new_session(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open("old")

    assert play(CASE, tmp_path, [*opening(), RuntimeExit("success")], act)[0] == ThreadOpened("s", False)


def test_agent_that_ends_in_a_turn_says_how(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(RuntimeExited)

    entries = [*opening(), prompting(), RuntimeExit("error", code=3)]
    exited = play(CASE, tmp_path, entries, act)[-1]
    assert isinstance(exited, RuntimeExited) and exited.status == "error"
    assert exited.error is not None and exited.error.startswith("the agent ended with exit code 3")


def opened_by(command: tuple[str, ...], workspace: Path) -> tuple[str, list[object]]:
    """What `open` says of a program, and what it emitted."""
    events: list[object] = []

    async def act() -> str:
        services = Services(VirtualClock(), SeededIds(1))
        config = ProviderConfig("acp", command, {"PATH": "/usr/bin:/bin"})
        adapter = AcpAdapter(AdapterContext(config, str(workspace), services, events.append))
        try:
            async with asyncio.timeout(20):
                await adapter.open(None)
        except ProviderError as error:
            return str(error)
        finally:
            await adapter.close()
        return "it opened"

    return asyncio.run(act()), events


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo no account >&2; exit 4", "the agent ended with exit code 4: no account"),
        ("echo hello; cat", "it broke the protocol: "),
        ("echo '[]'; cat", "it broke the protocol: not an object: []"),
        ("""echo '{"jsonrpc":"2.0","id":9,"result":{}}'; cat""", "never sent"),
        (
            """read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'; cat""",
            "speaks version 2 of ACP",
        ),
        (
            """read x; echo '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'; cat""",
            "refused initialize: no",
        ),
    ],
)
def test_program_that_is_no_agent_is_refused_in_a_sentence(
    script: str, complaint: str, tmp_path: Path
) -> None:
    said, events = opened_by(("sh", "-c", script), tmp_path)
    assert complaint in said
    assert [type(event) for event in events] == [RuntimeExited]


def test_program_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    said, events = opened_by((str(tmp_path / "none"),), tmp_path)
    assert (said, events) == (f"cannot start {tmp_path / 'none'}: No such file or directory", [])
