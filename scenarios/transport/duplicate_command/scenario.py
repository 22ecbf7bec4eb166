"""A command that is sent again gets the receipt that it got, in this life of the orchestrator and in the next one: nothing
is stored for it and the provider hears nothing.
"""

from scenarios.reference_orchestrator.errors import OrchestratorError
from scenarios.transport.world import World


async def play(world: World) -> None:
    create = {
        "command_id": "create",
        "provider": world.places.variant,
        "workspace": str(world.places.workspace),
    }
    created = world.accepted("create_thread", **create)
    assert world.dispatch("create_thread", **create) == created
    thread_id = created.created_id
    start = {"command_id": "start", "thread_id": thread_id, "text": "Say hello."}
    started = world.accepted("start_turn", **start)
    assert world.dispatch("start_turn", **start) == started
    refused = world.dispatch("start_turn", **{**start, "command_id": "refused"})
    assert (refused.status, refused.reason) == ("rejected", "run 1 is queued")
    await world.wait_for("run_ended", run_id=started.created_id)

    frames, stored = await world.frames(), world.events()
    assert world.dispatch("create_thread", **create) == created
    assert world.dispatch("start_turn", **start) == started
    # It could be carried out by now. It was refused, and stays so.
    assert world.dispatch("start_turn", **{**start, "command_id": "refused"}) == refused
    try:
        world.dispatch("start_turn", **{**start, "text": "Say goodbye."})
    except OrchestratorError as error:
        assert str(error) == "command id 'start' was used for another command"
    else:
        raise AssertionError("another command was taken under an id that is used")
    # One that is new shows that those before it are done with.
    refused_too = world.dispatch("interrupt", thread_id=thread_id)
    assert (refused_too.status, refused_too.reason) == ("rejected", "no run is active")
    assert (await world.frames(), world.events()) == (frames, stored)
    await world.close()
    if world.places.variant == "cursor":
        await world.played("agent.close")

    frames, stored = await world.frames(), world.events()
    assert world.dispatch("start_turn", **start) == started
    await world.close()
    assert (await world.frames(), world.events()) == (frames, stored)
    assert [(receipt.sequence, receipt.thread_id) for receipt in (created, started)] == [
        (1, thread_id),
        (2, thread_id),
    ]
    thread = world.thread(thread_id)
    assert list(world.projection.threads) == [thread_id]
    (run,) = thread.runs
    assert (run.run_id, run.status, len(run.attempts)) == (started.created_id, "completed", 1)
    assert (len(thread.sessions), thread.run_count) == (1, 1)
    messages = [node.text for node in thread.nodes.values() if node.item_kind == "user_message"]
    assert messages == ["Say hello."]
    assert not thread.warnings
