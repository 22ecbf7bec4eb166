"""A message changes the course of the turn that runs: the provider takes it in, and it stays one turn of one run."""

from scenarios.transport.world import World


async def play(world: World) -> None:
    thread_id = world.create_thread()
    early = world.dispatch("steer", thread_id=thread_id, text="Stop at three.")
    assert (early.status, early.reason) == ("rejected", "no run is active")
    run_id = world.send(thread_id, "Count to ten.")
    # The message that was sent, then the first thing that is said.
    await world.wait_for("item_completed", n=2)
    asked, _ = await world.frames()

    world.accepted("steer", thread_id=thread_id, text="Stop at three.")
    await world.wait_for("run_ended", run_id=run_id)
    assert (await world.frames())[0] == asked + 1
    await world.close()

    (requested,) = world.events("steer_requested")
    assert requested.event._asdict() == {"run_id": run_id, "text": "Stop at three.", "mode": "native"}
    assert not world.events("steer_rejected", "interrupt_requested")
    assert [len(world.events(name)) for name in ("turn_started", "attempt_ended", "run_ended")] == [1, 1, 1]
    thread = world.thread(thread_id)
    (run,) = thread.runs
    assert (run.status, run.text, thread.run_count) == ("completed", "Count to ten.", 1)
    (attempt,) = run.attempts
    assert (attempt.number, attempt.reason, attempt.status) == (1, "first", "completed")
    said = [node for node in thread.nodes.values() if node.kind == "item"]
    assert [(node.item_kind, node.text) for node in said] == [
        ("user_message", "Count to ten."),
        ("agent_message", "One,"),
        ("user_message", "Stop at three."),
        ("agent_message", "One, two, three."),
    ]
    assert {(node.parent_id, node.status) for node in said} == {(attempt.attempt_id, "completed")}
    (steered,) = (
        stored.sequence
        for stored in world.events("item_started")
        if stored.event._asdict()["node_id"] == said[2].node_id
    )
    assert requested.sequence < steered
    (known,) = thread.provider_threads
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [(1, "completed")]
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1]
    assert not thread.warnings
