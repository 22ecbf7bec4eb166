"""Commands: one effect for one id, a reason for every refusal."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.commands import command_from_json
from scenarios.reference_orchestrator.errors import OrchestratorError
from scenarios.reference_orchestrator.events import RunEnded, TurnStarted, type_of
from tests.reference_orchestrator.orchestra import Orchestra, ScriptedAdapter, open_orchestra

DONE = (p.TurnEnded("TURN", "completed"),)
HANGS = (p.ItemStarted(p.Item("a", "agent_message")),)


def played(directory: Path, story: Callable[[Orchestra], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        async with open_orchestra(directory) as orchestra:
            await story(orchestra)

    asyncio.run(play())


def test_a_command_sent_again_gets_its_receipt_and_has_no_effect(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([DONE])

    async def story(orchestra: Orchestra) -> None:
        thread_id = orchestra.create_thread()
        first = orchestra.dispatch("start_turn", command_id="once", thread_id=thread_id, text="hello")
        await orchestra.until(lambda stored: isinstance(stored.event, RunEnded))
        before = orchestra.store.last_sequence
        again = orchestra.dispatch("start_turn", command_id="once", thread_id=thread_id, text="hello")
        assert (again, orchestra.store.last_sequence) == (first, before)
        with pytest.raises(OrchestratorError, match="used for another command"):
            orchestra.dispatch("start_turn", command_id="once", thread_id=thread_id, text="goodbye")

    played(tmp_path, story)


def test_a_refused_command_stays_refused(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([HANGS])

    async def story(orchestra: Orchestra) -> None:
        thread_id = orchestra.create_thread()
        orchestra.dispatch("start_turn", thread_id=thread_id, text="hello")
        refused = orchestra.dispatch("start_turn", command_id="early", thread_id=thread_id, text="more")
        assert (refused.status, refused.reason) == ("rejected", "run 1 is queued")
        await orchestra.until(lambda stored: isinstance(stored.event, TurnStarted))
        orchestra.dispatch("interrupt", thread_id=thread_id)
        await orchestra.until(lambda stored: isinstance(stored.event, RunEnded))
        assert (
            orchestra.dispatch("start_turn", command_id="early", thread_id=thread_id, text="more") == refused
        )

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("command_type", "fields", "reason"),
    [
        ("start_turn", {"text": ""}, "the message is empty"),
        ("start_turn", {"text": "x", "options": {"mode": "dance"}}, "option mode is none of build, plan"),
        ("start_turn", {"text": "x", "options": {"mood": "good"}}, "there is no option 'mood'"),
        ("steer", {"text": "x"}, "no run is active"),
        ("interrupt", {}, "no run is active"),
        ("answer_request", {"request_id": "r", "decision": "allow_once"}, "request 'r' is not open"),
        ("rollback", {"turns": 1}, "1 runs cannot be taken back, 0 stand"),
        ("switch_provider", {"provider": "nobody"}, "there is no provider 'nobody'"),
        ("switch_provider", {"provider": "scripted"}, "the provider is scripted already"),
        ("stop_session", {}, "no session is open"),
    ],
)
def test_a_refusal_says_why_and_stores_no_event(
    tmp_path: Path, command_type: str, fields: dict[str, object], reason: str
) -> None:
    async def story(orchestra: Orchestra) -> None:
        thread_id = orchestra.create_thread()
        receipt = orchestra.dispatch(command_type, thread_id=thread_id, **fields)
        assert (receipt.status, receipt.reason) == ("rejected", reason)
        assert [type_of(stored.event) for stored in orchestra.store.events()] == ["thread_created"]
        lost = orchestra.dispatch(command_type, **{"thread_id": "nowhere", **fields})
        assert lost.reason == "there is no thread 'nowhere'"

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ({}, "command type None is none of"),
        ({"type": "start_turn", "command_id": "c", "thread_id": "t"}, "needs a field 'text'"),
        ({"type": "interrupt", "command_id": "c", "thread_id": "t", "now": "x"}, "has no field 'now'"),
        (
            {"type": "rollback", "command_id": "c", "thread_id": "t", "turns": True},
            "turns is not of type int",
        ),
        ({"type": "interrupt", "command_id": 7, "thread_id": "t"}, "command_id is not of type str"),
    ],
)
def test_what_is_no_command_is_refused_by_name(raw: dict[str, object], complaint: str) -> None:
    with pytest.raises(OrchestratorError, match=complaint):
        command_from_json(raw)
