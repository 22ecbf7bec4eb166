"""What holds of every thread, whatever providers say and users ask: few properties over many made-up runs."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.projection import Projection, Thread
from scenarios.reference_orchestrator.projector import apply, project
from scenarios.reference_orchestrator.store import read_events
from tests.reference_orchestrator.orchestra import Orchestra, ScriptedAdapter, open_orchestra

ITEM_IDS = st.sampled_from(["a", "b", "c", "child"])
KINDS: st.SearchStrategy[p.ItemKind] = st.sampled_from(["agent_message", "command", "subagent", "reasoning"])
TEXTS = st.sampled_from(["", "hello", "ü"])
WORDS = st.none() | TEXTS
ITEMS = st.builds(p.Item, ITEM_IDS, KINDS, st.none() | ITEM_IDS, WORDS, WORDS, WORDS, st.none())
REQUEST_IDS = st.sampled_from(["0", "1"])
# Anything but the end of the turn, in any order, whether it makes sense or not.
INNER: st.SearchStrategy[p.ProviderEvent] = st.one_of(
    st.builds(p.ItemStarted, ITEMS),
    st.builds(p.ItemUpdated, ITEMS),
    st.builds(p.ItemDelta, ITEM_IDS, TEXTS),
    st.builds(p.ItemCompleted, ITEMS),
    st.builds(p.SubagentStarted, ITEM_IDS, st.just("child-thread"), st.none() | ITEM_IDS),
    st.builds(p.SubagentEnded, ITEM_IDS, st.sampled_from(["completed", "failed"])),
    st.builds(
        p.RequestOpened, REQUEST_IDS, st.just("approval"), st.just(()), st.just({}), st.none() | ITEM_IDS
    ),
    st.builds(p.RequestResolved, REQUEST_IDS, st.just("allow_once")),
    st.just(p.TurnEnded("turn of nobody", "completed")),
    st.just(p.ThreadRolledBack(1)),
)
ENDS: st.SearchStrategy[p.ProviderEvent] = st.sampled_from(
    [
        p.TurnEnded("TURN", "completed"),
        p.TurnEnded("TURN", "interrupted"),
        p.TurnEnded("TURN", "failed", "it failed"),
        p.RuntimeExited("error", "it crashed"),
    ]
)
# Between turns a turn that starts cannot be told from the one that was asked for.
STRAY = st.just(p.TurnStarted("turn of nobody"))
SCRIPTS = st.tuples(st.lists(INNER | STRAY, max_size=8), st.none() | ENDS, st.lists(INNER, max_size=2)).map(
    lambda parts: (*parts[0], *([parts[1]] if parts[1] else []), *parts[2])
)
COMMANDS = st.lists(
    st.sampled_from(
        ["start_turn", "queue_message", "steer", "interrupt", "rollback", "switch_provider", "stop_session"]
    ),
    min_size=1,
    max_size=8,
)


FIELDS: dict[str, dict[str, Any]] = {
    "rollback": {"turns": 1},
    "switch_provider": {"provider": "other"},
    "interrupt": {},
    "stop_session": {},
}


async def play(
    directory: Path, commands: Sequence[str], scripts: Sequence[Sequence[p.ProviderEvent]]
) -> Projection:
    """Dispatch the commands as fast as they come, then stop whatever hangs and see every run to its end."""
    ending = [p.TurnEnded("TURN", "completed")]
    ScriptedAdapter.scripts = iter([*scripts, *([ending] * 50)])
    async with open_orchestra(directory) as orchestra:
        thread_id = orchestra.create_thread()
        for command in commands:
            more = FIELDS.get(command, {"text": "hello"})
            orchestra.dispatch(command, thread_id=thread_id, **more)
            await asyncio.sleep(0)
        await finish(orchestra, thread_id)
        return project(orchestra.store.events())


async def finish(orchestra: Orchestra, thread_id: str) -> None:
    """Interrupt every turn, since a script without an end hangs, until no run is left."""
    orchestra.dispatch("queue_message", thread_id=thread_id, text="the last")
    async with asyncio.timeout(60):
        async for stored in orchestra.orchestrator.feed.stream():
            if isinstance(stored.event, e.TurnStarted):
                orchestra.dispatch("interrupt", thread_id=thread_id)
            elif isinstance(stored.event, e.RunEnded):
                runs = orchestra.orchestrator.feed.snapshot().state["threads"][thread_id]["runs"]
                if all(run["status"] not in ("queued", "running") for run in runs):
                    return


@settings(max_examples=40, deadline=None)
@given(COMMANDS, st.lists(SCRIPTS, max_size=4))
def test_whatever_happens_the_events_make_sense(
    commands: list[str], scripts: list[tuple[p.ProviderEvent, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        live = asyncio.run(play(Path(name), commands, scripts))
        stored = read_events(Path(name) / "events.sqlite")
    assert [event.sequence for event in stored] == list(range(1, len(stored) + 1))
    projection = Projection()
    for event in stored:
        before = counts(projection)
        apply(projection, event)
        for thread in projection.threads.values():
            check(thread)
        # A child, its checkpoint included, says nothing of the run that it is in.
        if isinstance(event.event, e.SubagentStarted | e.SubagentEnded) or (
            isinstance(event.event, e.CheckpointFailed) and event.event.scope == "subagent"
        ):
            assert counts(projection) == before
    assert project(stored[: live.sequence]).to_json() == live.to_json()
    resolved = [event.event.request_id for event in stored if isinstance(event.event, e.RequestResolved)]
    assert len(resolved) == len(set(resolved))
    ended = [event.event.run_id for event in stored if isinstance(event.event, e.RunEnded)]
    assert sorted(ended) == sorted(
        run.run_id for thread in projection.threads.values() for run in thread.runs
    )


def counts(projection: Projection) -> list[tuple[int, list[str]]]:
    return [(thread.run_count, [run.status for run in thread.runs]) for thread in projection.threads.values()]


def check(thread: Thread) -> None:
    """At every moment of the thread's life."""
    running = [run for run in thread.runs if run.status == "running"]
    assert len(running) <= 1
    assert [run.ordinal for run in thread.runs] == list(range(1, len(thread.runs) + 1))
    for run in thread.runs:
        assert [attempt.number for attempt in run.attempts] == list(range(1, len(run.attempts) + 1))
        active = [attempt for attempt in run.attempts if attempt.status in ("starting", "running")]
        assert len(active) <= (1 if run.status == "running" else 0)
    for node in thread.nodes.values():
        parents = {"run": ("",), "turn": ("run",)}.get(node.kind, ("turn", "item", "subagent"))
        parent = "" if node.parent_id is None else thread.nodes[node.parent_id].kind
        assert parent in parents
        assert depth(thread, node.node_id) < len(thread.nodes) + 1
    sessions = [session.status for session in thread.sessions]
    assert "open" not in sessions[:-1]


def depth(thread: Thread, node_id: str) -> int:
    steps, at = 0, thread.nodes[node_id].parent_id
    while at is not None and steps <= len(thread.nodes):
        steps, at = steps + 1, thread.nodes[at].parent_id
    return steps
