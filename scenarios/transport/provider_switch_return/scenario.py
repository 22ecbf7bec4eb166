"""A conversation goes from one provider to another and back. The other one is told all of it; the first one goes on with
its own thread and is told only what it has missed. A variant is named by the two, the one that begins first.
"""

from scenarios.reference_orchestrator.handoff import OPENINGS
from scenarios.reference_orchestrator.projection import Thread
from scenarios.transport.world import World

FIRST = ("Remember the number 7.", "I will remember 7.")
SECOND = ("Which number was it?", "It was 7.")
THIRD = ("Is that right?", "Yes.")


async def play(world: World) -> None:
    one, other = world.places.variant.split("_")
    thread_id = world.create_thread(one)
    runs = [await spoken(world, thread_id, FIRST[0])]
    asked_one, _ = await world.frames(one)
    assert await world.frames(other) == (0, 0)

    await switched(world, thread_id, other, n=1)
    same = world.dispatch("switch_provider", thread_id=thread_id, provider=other)
    assert (same.status, same.reason) == ("rejected", f"the provider is {other} already")
    anothers = world.dispatch("rollback", thread_id=thread_id, turns=1)
    assert (anothers.status, anothers.reason) == (
        "rejected",
        "run 1 was another provider's: switch back first",
    )
    runs.append(await spoken(world, thread_id, SECOND[0]))
    away, _ = await world.frames(one)
    # At most the word of goodbye that its protocol has.
    assert away - asked_one in (0, 1)
    asked_other, _ = await world.frames(other)

    await switched(world, thread_id, one, n=2)
    runs.append(await spoken(world, thread_id, THIRD[0]))
    assert (await world.frames(other))[0] - asked_other in (0, 1)
    await world.close()

    thread = world.thread(thread_id)
    assert [(run.run_id, run.ordinal, run.status) for run in thread.runs] == [
        (run_id, ordinal, "completed") for ordinal, run_id in enumerate(runs, 1)
    ]
    assert [[attempt.provider for attempt in run.attempts] for run in thread.runs] == [[one], [other], [one]]
    assert (thread.provider, thread.run_count) == (one, 3)
    assert [kept.ordinal for kept in thread.checkpoints] == [0, 1, 2, 3]
    check_handoffs(world, thread, one, other)
    said = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert said == [FIRST[1], SECOND[1], THIRD[1]]
    assert not thread.warnings


async def spoken(world: World, thread_id: str, text: str) -> str:
    run_id = world.send(thread_id, text)
    await world.wait_for("run_ended", run_id=run_id)
    return run_id


async def switched(world: World, thread_id: str, provider: str, n: int) -> None:
    world.accepted("switch_provider", thread_id=thread_id, provider=provider)
    await world.wait_for("session_closed", n=n)


def check_handoffs(world: World, thread: Thread, one: str, other: str) -> None:
    mine, others = thread.provider_threads
    assert [(kept.provider, kept.seen) for kept in (mine, others)] == [(one, [1, 2, 3]), (other, [1, 2])]
    assert [[turn.ordinal for turn in kept.turns] for kept in (mine, others)] == [[1, 3], [2]]
    assert [
        (kept.provider, kept.provider_thread_id, kept.resumed, kept.reason) for kept in thread.sessions
    ] == [
        (one, mine.provider_thread_id, False, "switched"),
        (other, others.provider_thread_id, False, "switched"),
        (one, mine.provider_thread_id, True, "shutdown"),
    ]
    full, delta = thread.handoffs
    assert (full.kind, full.run_id, full.provider_thread_id, full.ordinals, full.text) == (
        "full",
        thread.runs[1].run_id,
        others.provider_thread_id,
        [1],
        told("full", FIRST),
    )
    assert (delta.kind, delta.run_id, delta.provider_thread_id, delta.ordinals, delta.text) == (
        "delta",
        thread.runs[2].run_id,
        mine.provider_thread_id,
        [2],
        told("delta", SECOND),
    )
    # What was handed over was said to the provider, in the same message as the user's own words.
    prompts = [node.text for node in thread.nodes.values() if node.item_kind == "user_message"]
    assert prompts == [FIRST[0], full.text + SECOND[0], delta.text + THIRD[0]]
    switches = [stored.event._asdict() for stored in world.events("provider_switched")]
    assert switches == [{"provider": other, "previous": one}, {"provider": one, "previous": other}]


def told(kind: str, run: tuple[str, str]) -> str:
    return "\n\n".join(
        (OPENINGS[kind], f"User: {run[0]}\n\nAssistant: {run[1]}", "The user's next message:", "")
    )
