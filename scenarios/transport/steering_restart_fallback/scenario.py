"""A provider that takes no message while a turn runs is steered by a restart: the turn is interrupted, and the message
starts a second attempt of the same run. Between the two nothing ends but the attempt.
"""

from scenarios.transport.world import World


async def play(world: World) -> None:
    thread_id = world.create_thread()
    run_id = world.send(thread_id, "Count to ten.")
    await world.wait_for("item_delta")
    asked, _ = await world.frames()

    world.accepted("steer", thread_id=thread_id, text="Stop at three.")
    second = await world.wait_for("attempt_started", number=2)
    assert not world.events("run_ended")
    await world.wait_for("run_ended", run_id=run_id)
    # The cancellation and the second message.
    assert (await world.frames())[0] == asked + 2
    await world.close()

    assert second.event._asdict()["reason"] == "steer"
    (requested,) = world.events("steer_requested")
    assert requested.event._asdict() == {"run_id": run_id, "text": "Stop at three.", "mode": "restart"}
    landmarks = (
        *("attempt_started", "turn_started", "steer_requested", "steer_rejected", "interrupt_requested"),
        *("attempt_ended", "checkpoint_captured", "run_ended"),
    )
    assert [stored.to_json()["type"] for stored in world.events(*landmarks)] == [
        "checkpoint_captured",
        "attempt_started",
        "turn_started",
        "steer_requested",
        "attempt_ended",
        "attempt_started",
        "turn_started",
        "attempt_ended",
        "checkpoint_captured",
        "run_ended",
    ]
    thread = world.thread(thread_id)
    (run,) = thread.runs
    assert (run.status, run.is_interrupt_requested, thread.run_count) == ("completed", False, 1)
    assert [(kept.number, kept.reason, kept.text, kept.status) for kept in run.attempts] == [
        (1, "first", "Count to ten.", "interrupted"),
        (2, "steer", "Stop at three.", "completed"),
    ]
    first, last = run.attempts
    assert first.provider_turn_id != last.provider_turn_id
    assert [thread.nodes[kept.attempt_id].parent_id for kept in run.attempts] == [run_id, run_id]
    said = [node for node in thread.nodes.values() if node.kind == "item"]
    assert [(node.parent_id, node.item_kind, node.text, node.status) for node in said] == [
        (first.attempt_id, "user_message", "Count to ten.", "completed"),
        (first.attempt_id, "agent_message", "One,", "completed"),
        (last.attempt_id, "user_message", "Stop at three.", "completed"),
        (last.attempt_id, "agent_message", "One, two, three.", "completed"),
    ]
    (known,) = thread.provider_threads
    assert [(turn.provider_turn_id, turn.ordinal, turn.status) for turn in known.turns] == [
        (first.provider_turn_id, 1, "interrupted"),
        (last.provider_turn_id, 1, "completed"),
    ]
    # Its own session goes on, so nothing is handed over.
    assert (len(thread.sessions), thread.handoffs) == (1, [])
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1]
    assert not thread.warnings
