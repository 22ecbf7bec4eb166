"""The Claude adapter against the peer, and against programs that are no CLI."""

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
from scenarios.reference_orchestrator.adapters.claude import ClaudeAdapter
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.providers import (
    RequestOpened,
    RequestResolved,
    RuntimeExited,
    ThreadOpened,
    ThreadRolledBack,
    TurnEnded,
    TurnStarted,
)
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from tests.reference_orchestrator.adapter_play import Case, Session, inn, out, play

CASE = Case("claude", "claude-agent-sdk.query", "some-model")
NEW = {"permissionMode": "acceptEdits", "model": "some-model", "sessionId": "{{capture:session}}"}


def opening(**options: Any) -> list[Entry]:
    given = options or NEW
    return [out({"type": "query.open", "options": given}), inn({"type": "query.opened", "response": {}})]


def offer(text: str = "hi", **fields: Any) -> Entry:
    message = {"role": "user", "content": text}
    return out(
        {
            "type": "prompt.offer",
            "message": {"type": "user", "message": message, "parent_tool_use_id": None, **fields},
        }
    )


def said(uuid: str = "u-1") -> Entry:
    message = {"id": uuid, "role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    return inn(
        {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": None,
            "session_id": "{{ref:session}}",
            "uuid": uuid,
        }
    )


def result(**fields: Any) -> Entry:
    return inn(
        {"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed"} | fields
    )


def aborted() -> Entry:
    return result(subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")


def permission(name: str, given: dict[str, Any], **options: Any) -> Entry:
    return inn(
        {
            "type": "permission.request",
            "toolName": name,
            "input": given,
            "options": {"toolUseID": "t"} | options,
        }
    )


def verdict(**fields: Any) -> Entry:
    return out({"type": "permission.response", "result": {**fields, "toolUseID": "t"}})


async def begin(session: Session) -> None:
    await session.adapter.open(None)
    await session.adapter.start_turn("hi", TurnOptions())


ASK = {
    "questions": [{"question": "Which?", "header": "V", "options": [{"label": "1"}], "multiSelect": False}]
}
RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}


@pytest.mark.parametrize(
    ("tool", "given", "answer", "wire", "decision"),
    [
        (
            "Bash",
            {"command": "ls"},
            Answer("allow"),
            {"behavior": "allow", "updatedInput": {"command": "ls"}},
            "allow_once",
        ),
        (
            "Bash",
            {"command": "ls"},
            Answer("allow_always"),
            {"behavior": "allow", "updatedInput": {"command": "ls"}, "updatedPermissions": [RULE]},
            "allow_always",
        ),
        (
            "Bash",
            {},
            Answer("deny"),
            {"behavior": "deny", "message": "The user did not allow this."},
            "reject_once",
        ),
        (
            "Bash",
            {},
            Answer(),
            {"behavior": "deny", "message": "The user did not allow this.", "interrupt": True},
            "cancelled",
        ),
        (
            "AskUserQuestion",
            ASK,
            Answer(answers={"Which?": ["1", "2"]}),
            {"behavior": "allow", "updatedInput": ASK | {"answers": {"Which?": "1, 2"}}},
            "answered",
        ),
        (
            "AskUserQuestion",
            ASK,
            Answer(),
            {"behavior": "deny", "message": "The user gave no answer."},
            "cancelled",
        ),
    ],
)
def test_request_is_answered(
    tool: str, given: dict[str, Any], answer: Answer, wire: dict[str, Any], decision: Any, tmp_path: Path
) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        request: RequestOpened = await session.until(RequestOpened)
        await session.adapter.answer(request.request_id, answer)
        # A second answer has nowhere to go.
        await session.adapter.answer(request.request_id, answer)
        await session.until(TurnEnded)

    entries = [*opening(), offer(), permission(tool, given, suggestions=[RULE]), verdict(**wire), result()]
    events = play(CASE, tmp_path, [*entries, RuntimeExit("success")], act)
    (resolved,) = [event for event in events if isinstance(event, RequestResolved)]
    assert resolved.decision == decision


def test_steering_is_a_message_at_once(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.adapter.steer("no, there")
        await session.until(TurnEnded)

    entries = [*opening(), offer(), offer("no, there", priority="now"), aborted(), said(), result()]
    events = play(CASE, tmp_path, [*entries, RuntimeExit("success")], act)
    assert [event for event in events if isinstance(event, TurnEnded)] == [
        TurnEnded("turn-1", "completed", None, "u-1")
    ]


def test_interrupt_is_asked_for_and_answered(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.adapter.interrupt()
        await session.until(TurnEnded)

    done = inn({"type": "control.response", "operation": "query.interrupt", "response": {}})
    entries = [*opening(), offer(), out({"type": "query.interrupt"}), done, aborted(), RuntimeExit("success")]
    assert play(CASE, tmp_path, entries, act)[-2] == TurnEnded("turn-1", "interrupted")


def test_what_an_agent_may_do_is_a_mode_that_is_set_when_it_changes(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await session.adapter.open(None)
        for turn, options in enumerate(
            (TurnOptions(), TurnOptions("read_only"), TurnOptions("read_only")), 1
        ):
            await session.adapter.start_turn("hi", options)
            await session.until(TurnEnded, turn)

    mode = out({"type": "query.set_permission_mode", "mode": "default"})
    turn = [offer(), result()]
    play(CASE, tmp_path, [*opening(), *turn, mode, *turn, *turn, RuntimeExit("success")], act)


def test_request_that_nobody_here_can_answer_gets_an_error(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)

    asked = inn({"type": "control.request", "request": {"subtype": "hook_callback", "callback_id": "h"}})
    refused = out(
        {"type": "control.response", "operation": "hook_callback", "error": "hook_callback is not supported"}
    )
    play(CASE, tmp_path, [*opening(), offer(), asked, refused, result(), RuntimeExit("success")], act)


def test_rollback_takes_the_session_up_where_the_turn_ended(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        kept: TurnEnded = await session.until(TurnEnded)
        await session.adapter.start_turn("hi", TurnOptions())
        await session.until(TurnEnded, 2)
        await session.adapter.rollback(Rollback(1, kept.resume_point or "", "turn-2"))
        await session.until(ThreadRolledBack)
        await session.adapter.start_turn("hi", TurnOptions())
        await session.until(TurnEnded, 3)

    again = NEW | {"resume": "{{ref:session}}", "resumeSessionAt": "u-1"}
    del again["sessionId"]
    entries = [
        *opening(),
        offer(),
        said("u-1"),
        result(),
        offer(),
        said("u-2"),
        result(),
        RuntimeExit("success"),
    ]
    entries += [*opening(**again), offer(), said("u-3"), result(), RuntimeExit("success")]
    events = play(CASE, tmp_path, entries, act)
    turns = [event.provider_turn_id for event in events if isinstance(event, TurnStarted)]
    assert turns == ["turn-1", "turn-2", "turn-3"]
    assert [event for event in events if isinstance(event, (ThreadRolledBack, RuntimeExited))] == [
        ThreadRolledBack(1),
        RuntimeExited("success"),
    ]


def test_rollback_of_everything_is_a_new_session(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)
        await session.adapter.rollback(Rollback(1, "", "turn-1"))
        await session.until(ThreadRolledBack)

    entries = [*opening(), offer(), said(), result(), RuntimeExit("success")]
    other = NEW | {"sessionId": "{{capture:other}}"}
    events = play(CASE, tmp_path, [*entries, *opening(**other), RuntimeExit("success")], act)
    first, second = [event.provider_thread_id for event in events if isinstance(event, ThreadOpened)]
    assert first != second


def test_rollback_that_the_cli_refuses_is_told_before_its_end(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(TurnEnded)
        await session.adapter.rollback(Rollback(1, "u-0", "turn-1"))
        await session.until(RuntimeExited)

    again = {
        "permissionMode": "acceptEdits",
        "model": "some-model",
        "resume": "{{ref:session}}",
        "resumeSessionAt": "u-0",
    }
    refused: list[Entry] = [
        out({"type": "query.open", "options": again}),
        RuntimeExit("error", code=1, error="No message found"),
    ]
    entries = [*opening(), offer(), said(), result(), RuntimeExit("success"), *refused]
    rolled_back, exited = play(CASE, tmp_path, entries, act)[-2:]
    assert isinstance(rolled_back, ThreadRolledBack) and rolled_back.error is not None
    assert rolled_back.error.startswith("claude ended with exit code 1")
    assert isinstance(exited, RuntimeExited)


def test_cli_that_ends_in_a_turn_says_how(tmp_path: Path) -> None:
    async def act(session: Session) -> None:
        await begin(session)
        await session.until(RuntimeExited)

    entries = [*opening(), offer(), RuntimeExit("error", signal="SIGKILL")]
    exited = play(CASE, tmp_path, entries, act)[-1]
    assert isinstance(exited, RuntimeExited) and exited.error is not None
    assert exited.error.startswith("claude was ended by SIGKILL")


def opened_by(script: str, workspace: Path, resume: str | None) -> tuple[str, list[object]]:
    """What `open` says of a program, and what it emitted."""
    program = workspace / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    events: list[object] = []

    async def act() -> str:
        services = Services(VirtualClock(), SeededIds(1))
        config = ProviderConfig("claude", (str(program),), {"PATH": "/usr/bin:/bin"})
        adapter = ClaudeAdapter(AdapterContext(config, str(workspace), services, events.append))
        try:
            async with asyncio.timeout(20):
                await adapter.open(resume)
        except ProviderError as error:
            return str(error)
        finally:
            await adapter.close()
        return "it opened"

    return asyncio.run(act()), events


ANSWER = """echo '{"type":"control_response","response":{"subtype":"success","request_id":"request-%d"}}'"""
LOST = f"""
case "$*" in *--resume=*) echo 'No conversation found with session ID: old' >&2; exit 1;; esac
read x; {ANSWER % 2}; cat > /dev/null"""


def test_session_that_is_lost_is_replaced(tmp_path: Path) -> None:
    said, events = opened_by(LOST, tmp_path, "old")
    assert said == "it opened"
    opened, exited = events
    assert isinstance(opened, ThreadOpened) and not opened.resumed and opened.provider_thread_id != "old"
    assert exited == RuntimeExited("success")


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo 'Invalid API key' >&2; exit 1", "claude ended with exit code 1: Invalid API key"),
        ("echo hello; cat", "it broke the protocol"),
        (ANSWER % 9 + "; cat", "a control request that was never sent"),
        (
            """read x; echo '{"type":"control_response","response":"""
            """{"subtype":"error","request_id":"request-1","error":"too old"}}'; cat > /dev/null""",
            "claude refused the handshake: too old",
        ),
    ],
)
def test_program_that_is_no_cli_is_refused_in_a_sentence(script: str, complaint: str, tmp_path: Path) -> None:
    said, events = opened_by(script, tmp_path, None)
    assert complaint in said
    assert [type(event) for event in events] == [RuntimeExited]
