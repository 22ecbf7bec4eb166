"""A message that comes while a run is active waits for the end of it, and then starts by itself."""

from typing import NamedTuple

from scenarios.transport.world import World


class Ending(NamedTuple):
    """`entry` ends the provider's turn; `event`, the n-th of its kind, is the last one before."""

    entry: str
    event: str
    n: int = 1


ENDINGS = {
    "acp": Ending("prompt.done", "item_delta"),
    "claude": Ending("result", "item_completed", 2),
    "codex": Ending("turn/completed", "usage_updated"),
    "cursor": Ending("run.completed", "usage_updated"),
    "opencode": Ending("status.idle", "usage_updated"),
}


async def play(world: World) -> None:
    ending = ENDINGS[world.places.variant]
    await world.hold(ending.entry)
    thread_id = world.create_thread()
    first = world.send(thread_id, "Remember the number 7.")
    await world.wait_for(ending.event, n=ending.n)
    asked, _ = await world.frames()

    second = world.queue(thread_id, "Which number was it?")
    refused = world.dispatch("start_turn", thread_id=thread_id, text="Which number was it?")
    assert (refused.status, refused.reason) == ("rejected", "run 1 is running")
    thread = world.thread(thread_id)
    assert [(run.run_id, run.status) for run in thread.runs] == [(first, "running"), (second, "queued")]
    assert not thread.run(second).attempts
    assert (await world.frames())[0] == asked

    await world.release(ending.entry)
    await world.wait_for("run_ended", run_id=second)
    assert (await world.frames())[0] == asked + 1
    await world.close()

    landmarks = ("run_created", "attempt_started", "attempt_ended", "checkpoint_captured", "run_ended")
    landmarks_of = [
        (stored.to_json()["type"], stored.event._asdict()["run_id"]) for stored in world.events(*landmarks)
    ]
    assert landmarks_of == [
        ("run_created", first),
        ("checkpoint_captured", first),
        ("attempt_started", first),
        ("run_created", second),
        ("attempt_ended", first),
        ("checkpoint_captured", first),
        ("run_ended", first),
        ("attempt_started", second),
        ("attempt_ended", second),
        ("checkpoint_captured", second),
        ("run_ended", second),
    ]
    thread = world.thread(thread_id)
    assert [(run.ordinal, run.status, len(run.attempts)) for run in thread.runs] == [
        (1, "completed", 1),
        (2, "completed", 1),
    ]
    assert (len(thread.sessions), thread.run_count) == (1, 2)
    (known,) = thread.provider_threads
    assert [(turn.ordinal, turn.status) for turn in known.turns] == [(1, "completed"), (2, "completed")]
    answers = [node for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert [(node.run_id, node.text) for node in answers] == [
        (first, "I will remember 7."),
        (second, "It was 7."),
    ]
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1, 2]
    assert not thread.handoffs and not thread.warnings
