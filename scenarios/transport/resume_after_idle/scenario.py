"""A session that nobody uses is closed after a while, and the next message opens the provider's thread again. A run that
takes longer than that is no idleness, and a message in time begins the while anew. The time is the virtual clock's.
"""

from scenarios.transport.world import START_MS, World

IDLE_MS = 60_000


async def play(world: World) -> None:
    world.settings = world.settings._replace(idle_ms=IDLE_MS)
    thread_id = world.create_thread()
    runs = [world.send(thread_id, "Remember the number 7.")]
    await world.wait_for("run_ended", run_id=runs[0])
    world.advance(IDLE_MS - 1)
    await still_open(world, thread_id)

    # In time; and what was due before it is due no more.
    runs.append(world.send(thread_id, "Which number was it?"))
    await world.wait_for("run_ended", run_id=runs[1])
    world.advance(1)
    await still_open(world, thread_id)
    runs.append(world.send(thread_id, "Is that right?"))
    # All messages and two answers: then the provider is silent until the gate is released.
    await world.wait_for("item_completed", n=5)
    world.advance(2 * IDLE_MS)
    await still_open(world, thread_id)
    await world.release("answer")
    await world.wait_for("run_ended", run_id=runs[2])

    world.advance(IDLE_MS - 1)
    await still_open(world, thread_id)
    world.advance(1)
    closed = await world.wait_for("session_closed")
    assert closed.event._asdict()["reason"] == "idle"
    assert closed.occurred_at_ms == START_MS + 4 * IDLE_MS
    asked, _ = await world.frames()

    world.advance(10 * IDLE_MS)
    runs.append(world.send(thread_id, "Thank you."))
    await world.wait_for("run_ended", run_id=runs[3])
    assert (await world.frames())[0] > asked
    await world.close()

    thread = world.thread(thread_id)
    assert [(run.run_id, run.ordinal, run.status) for run in thread.runs] == [
        (run_id, ordinal, "completed") for ordinal, run_id in enumerate(runs, 1)
    ]
    (known,) = thread.provider_threads
    assert [
        (kept.provider_thread_id, kept.resumed, kept.status, kept.reason, kept.error)
        for kept in thread.sessions
    ] == [
        (known.provider_thread_id, False, "closed", "idle", None),
        (known.provider_thread_id, True, "closed", "shutdown", None),
    ]
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [
        (1, "completed"),
        (2, "completed"),
        (3, "completed"),
        (4, "completed"),
    ]
    assert (known.seen, thread.run_count) == ([1, 2, 3, 4], 4)
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1, 2, 3, 4]
    reopened = world.events("session_opened")[1]
    (fourth,) = (
        kept for kept in world.events("attempt_started") if kept.event._asdict()["run_id"] == runs[3]
    )
    assert closed.sequence < fourth.sequence < reopened.sequence
    said = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert said == ["I will remember 7.", "It was 7.", "Yes, it is.", "You are welcome."]
    assert not thread.handoffs and not thread.warnings


async def still_open(world: World, thread_id: str) -> None:
    # A look at the transcripts goes over a socket, so whatever was due has happened when it is back.
    await world.frames()
    session = world.thread(thread_id).session()
    assert session is not None and not world.events("session_closed")
