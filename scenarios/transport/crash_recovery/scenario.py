"""The orchestrator is killed in the middle of a run, while the provider waits for a permission. Another life of it starts
on the same store, gives up what died with the first, and takes the run up again on the provider's thread.
"""

from scenarios.transport.world import World

CAUSE = "the orchestrator was restarted"
SECOND = "Which number was it?"
# The SDK runs its agent without questions to whoever drives it.
ASKS_NOTHING = "cursor"


async def play(world: World) -> None:
    asks = world.places.variant != ASKS_NOTHING
    orchestrator = await world.spawn()
    created = await orchestrator.accepted(
        "create_thread", provider=next(iter(world.settings.providers)), workspace=str(world.places.workspace)
    )
    thread_id = created.created_id
    first = await orchestrator.accepted("start_turn", thread_id=thread_id, text="Remember the number 7.")
    await orchestrator.wait_for("run_ended", run_id=first.created_id)
    second = await orchestrator.accepted("start_turn", thread_id=thread_id, text=SECOND)
    command = await orchestrator.wait_for("item_started", kind="command")
    if asks:
        await orchestrator.wait_for("request_opened")
    await orchestrator.kill()

    left = world.thread(thread_id)
    assert (left.run(second.created_id).status, left.run_count) == ("running", 1)
    assert [request.status for request in left.requests.values()] == ["open"] * asks
    last = world.projection.sequence
    asked, _ = await world.frames()

    world.start()
    # Commands are remembered over the death, and what died with the process can be answered no more.
    again = world.dispatch("start_turn", command_id=second.command_id, thread_id=thread_id, text=SECOND)
    assert again == second
    await world.wait_for("attempt_started", reason="recovery")
    for request_id in left.requests:
        late = world.dispatch(
            "answer_request", thread_id=thread_id, request_id=request_id, decision="allow_once"
        )
        assert (late.status, late.reason) == ("rejected", f"request {request_id!r} is not open")
    await world.wait_for("run_ended", run_id=second.created_id)
    assert (await world.frames())[0] > asked
    await world.close()

    cancelled = ["request_resolved"] * asks
    told = [stored.to_json()["type"] for stored in world.events() if stored.sequence > last]
    assert told[: 4 + asks] == [
        "session_closed",
        *cancelled,
        "attempt_ended",
        "attempt_started",
        "session_opened",
    ]
    assert told.count("turn_started") == told.count("run_ended") == told.count("checkpoint_captured") == 1
    check_thread(world, thread_id, first.created_id, second.created_id)
    node = world.thread(thread_id).nodes[command["node_id"]]
    interrupted = world.thread(thread_id).run(second.created_id).attempts[0]
    assert (node.parent_id, node.title, node.status) == (
        interrupted.attempt_id,
        "cat number.txt" if world.places.variant != "opencode" else "bash",
        "interrupted",
    )


def check_thread(world: World, thread_id: str, first: str, second: str) -> None:
    thread = world.thread(thread_id)
    assert [(run.run_id, run.ordinal, run.status, run.error) for run in thread.runs] == [
        (first, 1, "completed", None),
        (second, 2, "completed", None),
    ]
    attempts = [
        [(attempt.number, attempt.reason, attempt.status, attempt.error) for attempt in run.attempts]
        for run in thread.runs
    ]
    assert attempts == [
        [(1, "first", "completed", None)],
        [(1, "first", "interrupted", CAUSE), (2, "recovery", "completed", None)],
    ]
    (known,) = thread.provider_threads
    assert [
        (kept.provider_thread_id, kept.resumed, kept.status, kept.reason, kept.error)
        for kept in thread.sessions
    ] == [
        (known.provider_thread_id, False, "closed", "restart", None),
        (known.provider_thread_id, True, "closed", "shutdown", None),
    ]
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [
        (1, "completed"),
        (2, "interrupted"),
        (2, "completed"),
    ]
    assert known.seen == [1, 2]
    assert [request.decision for request in thread.requests.values()] == ["cancelled"] * len(thread.requests)
    assert (thread.run_count, [kept.ordinal for kept in thread.checkpoints]) == (2, [0, 1, 2])
    said = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert said == ["I will remember 7.", "I look it up.", "It was 7."]
    assert not thread.handoffs and not thread.warnings
