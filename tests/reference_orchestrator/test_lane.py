"""What happens to a thread when its provider or its orchestrator goes away. No scenario: a peer always answers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.projection import Run, Thread
from scenarios.reference_orchestrator.projector import project
from scenarios.reference_orchestrator.recovery import RecoveryPolicy
from scenarios.reference_orchestrator.session import HANDSHAKE_MS
from scenarios.reference_orchestrator.store import read_events
from tests.reference_orchestrator.orchestra import REFUSED, Orchestra, ScriptedAdapter, open_orchestra

DONE = (p.TurnEnded("TURN", "completed"),)
ASKS = (
    p.ItemStarted(p.Item("a", "command")),
    p.RequestOpened("0", "approval", (p.Option("yes", "allow_once"),), {}, "a"),
)


@pytest.fixture
def silent() -> Iterator[None]:
    ScriptedAdapter.is_silent = True
    yield
    ScriptedAdapter.is_silent = False


def only_thread(directory: Path) -> Thread:
    (thread,) = project(read_events(directory / "events.sqlite")).threads.values()
    return thread


def statuses(run: Run) -> list[tuple[str, str]]:
    return [(attempt.reason, attempt.status) for attempt in run.attempts]


@pytest.mark.parametrize(
    ("policy", "status", "attempts"),
    [
        ("restart", "completed", [("first", "interrupted"), ("recovery", "completed")]),
        ("interrupt", "interrupted", [("first", "interrupted")]),
    ],
)
def test_a_run_that_was_under_way_is_taken_up_by_the_next_life(
    tmp_path: Path, policy: RecoveryPolicy, status: str, attempts: list[tuple[str, str]]
) -> None:
    ScriptedAdapter.scripts = iter([ASKS, DONE])

    async def lives() -> None:
        async with open_orchestra(tmp_path) as first:
            thread_id = first.create_thread()
            first.dispatch("start_turn", thread_id=thread_id, text="hello")
            await first.until(lambda stored: isinstance(stored.event, e.RequestOpened))
        async with open_orchestra(tmp_path, recovery=policy) as second:
            await second.until(lambda stored: isinstance(stored.event, e.RunEnded))

    asyncio.run(lives())
    thread = only_thread(tmp_path)
    (run,) = thread.runs
    assert (run.status, statuses(run), thread.run_count) == (status, attempts, 1)
    assert [(kept.status, kept.decision) for kept in thread.requests.values()] == [("resolved", "cancelled")]
    assert [node.status for node in thread.nodes.values() if node.kind == "item"] == ["interrupted"]
    assert [session.resumed for session in thread.sessions] == [False, True][: len(attempts)]


def test_a_turn_of_somebody_else_ends_nothing(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([(p.TurnEnded("turn of nobody", "completed"),)])

    async def story() -> None:
        async with open_orchestra(tmp_path) as orchestra:
            thread_id = await start(orchestra)
            await orchestra.until(lambda stored: isinstance(stored.event, e.ProviderWarning))
            orchestra.dispatch("interrupt", thread_id=thread_id)
            await orchestra.until(lambda stored: isinstance(stored.event, e.RunEnded))

    asyncio.run(story())
    thread = only_thread(tmp_path)
    assert [run.status for run in thread.runs] == ["interrupted"]
    assert thread.warnings[1:-1] == ["turn turn of nobody ended and was not under way"]


def test_an_interrupt_of_a_turn_that_never_began_does_not_meet_the_next_one(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([(REFUSED,), DONE])

    async def story() -> None:
        async with open_orchestra(tmp_path) as orchestra:
            thread_id = orchestra.create_thread()
            orchestra.dispatch("start_turn", thread_id=thread_id, text="hello")
            orchestra.dispatch("interrupt", thread_id=thread_id)
            second = orchestra.dispatch("queue_message", thread_id=thread_id, text="again").created_id
            await orchestra.until(lambda stored: stored.event == e.RunEnded(second, "completed"))

    asyncio.run(story())
    thread = only_thread(tmp_path)
    assert [run.status for run in thread.runs] == ["failed", "completed"]
    assert not [warning for warning in thread.warnings if not warning.startswith("no checkpoint")]


async def start(orchestra: Orchestra) -> str:
    thread_id = orchestra.create_thread()
    orchestra.dispatch("start_turn", thread_id=thread_id, text="hello")
    await orchestra.until(lambda stored: isinstance(stored.event, e.AttemptStarted))
    return thread_id


@pytest.mark.usefixtures("silent")
def test_a_handshake_that_hangs_can_be_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_orchestra(tmp_path) as orchestra:
            thread_id = await start(orchestra)
            assert orchestra.dispatch("stop_session", thread_id=thread_id).status == "accepted"
            await orchestra.until(lambda stored: isinstance(stored.event, e.RunEnded))

    asyncio.run(story())
    (run,) = only_thread(tmp_path).runs
    assert (run.status, run.error) == ("failed", "it was closed before it came up")


@pytest.mark.usefixtures("silent")
def test_a_handshake_has_its_time_by_the_clock(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_orchestra(tmp_path) as orchestra:
            await start(orchestra)
            orchestra.clock.advance(HANDSHAKE_MS)
            await orchestra.until(lambda stored: isinstance(stored.event, e.RunEnded))

    asyncio.run(story())
    (run,) = only_thread(tmp_path).runs
    assert (run.status, run.error) == ("failed", "scripted did not come up in 60 s")


def test_an_idle_session_is_closed_and_its_thread_is_resumed(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([DONE, DONE])

    async def story() -> None:
        async with open_orchestra(tmp_path, idle_ms=1000) as orchestra:
            thread_id = await start(orchestra)
            await orchestra.until(lambda stored: isinstance(stored.event, e.RunEnded))
            orchestra.clock.advance(999)
            await asyncio.sleep(0)
            assert not [kept for kept in orchestra.store.events() if isinstance(kept.event, e.SessionClosed)]
            orchestra.clock.advance(1)
            await orchestra.until(lambda stored: isinstance(stored.event, e.SessionClosed))
            second = orchestra.dispatch("start_turn", thread_id=thread_id, text="again").created_id
            await orchestra.until(lambda stored: stored.event == e.RunEnded(second, "completed"))

    asyncio.run(story())
    closed = [(session.reason, session.resumed) for session in only_thread(tmp_path).sessions]
    assert closed == [("idle", False), ("shutdown", True)]


def test_the_feed_gives_everything_once_and_in_order(tmp_path: Path) -> None:
    ScriptedAdapter.scripts = iter([DONE])

    async def story() -> None:
        async with open_orchestra(tmp_path) as orchestra:
            thread_id = orchestra.create_thread()
            snapshot = orchestra.orchestrator.feed.snapshot()
            orchestra.dispatch("start_turn", thread_id=thread_id, text="hello")
            told: list[int] = []
            async for stored in orchestra.orchestrator.feed.stream(snapshot.sequence):
                told.append(stored.sequence)
                if isinstance(stored.event, e.RunEnded):
                    break
            assert told == list(range(snapshot.sequence + 1, told[-1] + 1))
            assert snapshot.state["threads"][thread_id]["runs"] == []

    asyncio.run(story())
