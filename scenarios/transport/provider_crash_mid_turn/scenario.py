"""The provider dies while its command runs. The run failed and says why, what was under way failed with it, and the
message that waited goes to a new session, on the thread that the provider kept.
"""

from scenarios.transport.world import World

# What says last that the command runs.
RUNNING = {"acp": "item_updated", "opencode": "item_updated"}
# How each provider dies, in the orchestrator's words.
DEATHS = {
    "acp": "the agent ended with exit code 3: ",
    "claude": "claude ended with exit code 1: ",
    "codex": "codex app-server was ended by SIGKILL: ",
    "cursor": "cursor lost its run: ",
    "opencode": "opencode ended with exit code 134: ",
}


async def play(world: World) -> None:
    variant = world.places.variant
    await world.hold("crash")
    thread_id = world.create_thread()
    first = world.send(thread_id, "Run the long job.")
    command = await world.wait_for("item_started", kind="command")
    node_id = command.event._asdict()["node_id"]
    await world.wait_for(RUNNING.get(variant, "item_started"), node_id=node_id)
    second = world.queue(thread_id, "Did it finish?")
    assert [run.status for run in world.thread(thread_id).runs] == ["running", "queued"]
    await world.release("crash")
    await world.wait_for("run_ended", run_id=second)
    await world.close()

    landmarks = ("session_opened", "session_closed", "attempt_ended", "checkpoint_captured", "run_ended")
    assert [stored.to_json()["type"] for stored in world.events(*landmarks)] == [
        "checkpoint_captured",
        "session_opened",
        *("session_closed", "attempt_ended", "checkpoint_captured", "run_ended"),
        *("session_opened", "attempt_ended", "checkpoint_captured", "run_ended", "session_closed"),
    ]
    thread = world.thread(thread_id)
    died, went_on = (thread.run(run_id) for run_id in (first, second))
    assert (died.ordinal, died.status) == (1, "failed")
    assert (went_on.ordinal, went_on.status, went_on.error) == (2, "completed", None)
    assert died.error is not None and died.error.startswith(DEATHS[variant])
    assert died.error.endswith("ran out of memory")
    (attempt,) = died.attempts
    assert (attempt.status, attempt.error) == ("failed", died.error)
    # It had said its word; the command was under way.
    (said,) = (node for node in thread.nodes.values() if node.text == "I start it.")
    assert (said.status, thread.nodes[node_id].status) == ("completed", "failed")
    assert (thread.nodes[node_id].parent_id, thread.nodes[first].status) == (attempt.attempt_id, "failed")

    (known,) = thread.provider_threads
    assert [(kept.provider_thread_id, kept.resumed, kept.reason, kept.error) for kept in thread.sessions] == [
        (known.provider_thread_id, False, "exited", died.error),
        (known.provider_thread_id, True, "shutdown", None),
    ]
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [(1, "failed"), (2, "completed")]
    assert (thread.run_count, [kept.ordinal for kept in thread.checkpoints]) == (2, [0, 1, 2])
    answers = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert answers == ["I start it.", "No, it was cut off."]
    assert not thread.handoffs and not thread.warnings
