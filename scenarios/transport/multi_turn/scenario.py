"""Two messages, one after the other, on one thread of the provider and in one session."""

from scenarios.transport.world import World

ANSWERS = ["I will remember 7.", "It was 7."]


async def play(world: World) -> None:
    thread_id = world.create_thread()
    first = world.send(thread_id, "Remember the number 7.")
    early = world.dispatch("start_turn", thread_id=thread_id, text="Which number was it?")
    assert (early.status, early.reason) == ("rejected", "run 1 is queued")
    await world.wait_for("run_ended", run_id=first)
    # Or it would be taken for an answer to the next one.
    await world.wait_for_answer(thread_id, ANSWERS[0])
    second = world.send(thread_id, "Which number was it?")
    await world.wait_for("run_ended", run_id=second)
    await world.wait_for_answer(thread_id, ANSWERS[1])
    await world.close()

    thread = world.thread(thread_id)
    assert [(run.run_id, run.ordinal, run.status) for run in thread.runs] == [
        (first, 1, "completed"),
        (second, 2, "completed"),
    ]
    assert (len(thread.sessions), thread.run_count) == (1, 2)
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1, 2]
    (known,) = thread.provider_threads
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [(1, "completed"), (2, "completed")]
    assert known.seen == [1, 2]
    answers = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert answers == ANSWERS
    assert not thread.handoffs and not thread.warnings
