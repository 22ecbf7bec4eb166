"""A run is interrupted. The provider acknowledges it and cleans up, and all the time the run is active: what ends it is
the provider's terminal event, which the gate `terminal` holds until the test has looked.
"""

from scenarios.transport.world import World

# The answer to the request to interrupt, where the protocol has one.
ACKNOWLEDGEMENTS = {
    "claude": "query.interrupted",
    "codex": "turn/interrupt.response",
    "opencode": "session.abort.response",
}
# What says last that the command runs.
RUNNING = {"acp": "item_updated", "opencode": "item_updated"}


async def play(world: World) -> None:
    variant = world.places.variant
    thread_id = world.create_thread()
    run_id = world.send(thread_id, "Run the long job.")
    command = await world.wait_for("item_started", kind="command")
    node_id = command.event._asdict()["node_id"]
    await world.wait_for(RUNNING.get(variant, "item_started"), node_id=node_id)
    asked, _ = await world.frames()

    world.accepted("interrupt", thread_id=thread_id)
    world.accepted("interrupt", thread_id=thread_id)
    refused = world.dispatch("steer", thread_id=thread_id, text="Hurry up.")
    assert (refused.status, refused.reason) == ("rejected", "the run is being interrupted")
    if variant in ACKNOWLEDGEMENTS:
        await world.played(ACKNOWLEDGEMENTS[variant])
    cleaned_up = await world.wait_for("item_completed", node_id=node_id)
    run = world.thread(thread_id).run(run_id)
    assert (run.status, run.is_interrupt_requested) == ("running", True)
    assert [attempt.status for attempt in run.attempts] == ["running"]
    # However often it is asked for, the provider hears of it once.
    assert (await world.frames())[0] == asked + 1

    await world.release("terminal")
    ended = await world.wait_for("attempt_ended")
    await world.wait_for("run_ended", run_id=run_id)
    late = world.dispatch("interrupt", thread_id=thread_id)
    assert (late.status, late.reason) == ("rejected", "no run is active")
    await world.close()

    assert cleaned_up.sequence < ended.sequence
    landmarks = ("interrupt_requested", "attempt_ended", "checkpoint_captured", "run_ended")
    assert [stored.to_json()["type"] for stored in world.events(*landmarks)] == [
        "checkpoint_captured",
        "interrupt_requested",
        "interrupt_requested",
        "attempt_ended",
        "checkpoint_captured",
        "run_ended",
    ]
    thread = world.thread(thread_id)
    run = thread.run(run_id)
    assert (run.status, run.error, thread.run_count) == ("interrupted", None, 1)
    (attempt,) = run.attempts
    assert (attempt.status, thread.nodes[attempt.attempt_id].status) == ("interrupted", "interrupted")
    (known,) = thread.provider_threads
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [(1, "interrupted")]
    node = thread.nodes[node_id]
    assert (node.parent_id, node.run_id, node.status) == (attempt.attempt_id, run_id, "completed")
    assert node.provider_status in ("failed", "error")
    # What the run left in the workspace is kept all the same.
    assert [(kept.scope, kept.ordinal) for kept in thread.checkpoints] == [("root", 0), ("root", 1)]
    assert not thread.warnings
