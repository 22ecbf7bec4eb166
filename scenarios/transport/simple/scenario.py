"""One message, one turn, one answer."""

from scenarios.transport.world import World


async def play(world: World) -> None:
    thread_id = world.create_thread()
    run_id = world.send(thread_id, "Say hello.")
    await world.wait_for("run_ended", run_id=run_id)
    await world.wait_for_answer(thread_id)
    await world.close()

    thread = world.thread(thread_id)
    run = thread.run(run_id)
    assert (run.ordinal, run.status, thread.run_count) == (1, "completed", 1)
    assert [attempt.status for attempt in run.attempts] == ["completed"]
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1]
    said = [node for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert [(node.text[:5], node.status) for node in said] == [("Hello", "completed")]
    assert [thread.nodes[node.parent_id or ""].kind for node in said] == ["turn"]
    assert not thread.warnings
