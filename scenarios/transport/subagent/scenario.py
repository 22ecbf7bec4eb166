"""A helper works inside a run and is done before it. The helper's end ends nothing of its parent: the gate `parent` holds
whatever the provider says after that end until the test has looked.
"""

from scenarios.reference_orchestrator.projection import Thread
from scenarios.transport.world import World

ASKED = "Ask a helper what is in notes.txt."
TASK = "Read notes.txt and say what is in it."
FOUND = "It says: buy milk."
ANSWER = "The helper says: buy milk."
# The helper's own tool, by the provider's names for it.
TOOLS = {"codex": ("command", "cat notes.txt"), "opencode": ("tool_call", "notes.txt")}
# A task of Cursor tells the steps of its helper when it is done, without the message that it began with.
TOLD_AFTERWARDS = "cursor"


async def play(world: World) -> None:
    thread_id = world.create_thread()
    run_id = world.send(thread_id, ASKED)
    started = await world.wait_for("subagent_started")
    child_id = started.event._asdict()["node_id"]
    ended = await world.wait_for("subagent_ended", node_id=child_id)

    thread = world.thread(thread_id)
    run = thread.run(run_id)
    assert (run.status, run.attempts[-1].status, thread.run_count) == ("running", "running", 0)
    assert (thread.nodes[child_id].status, thread.nodes[run_id].status) == ("completed", "running")
    early = world.dispatch("start_turn", thread_id=thread_id, text="Thank you.")
    assert (early.status, early.reason) == ("rejected", "run 1 is running")
    asked, _ = await world.frames()

    await world.release("parent")
    await world.wait_for("run_ended", run_id=run_id)
    assert (await world.frames())[0] == asked
    await world.close()

    (attempt_ended,) = world.events("attempt_ended")
    assert started.sequence < ended.sequence < attempt_ended.sequence
    thread = world.thread(thread_id)
    (run,) = thread.runs
    (attempt,) = run.attempts
    assert (run.status, attempt.status, thread.run_count) == ("completed", "completed", 1)
    assert [turn.status for turn in thread.provider_threads[0].turns] == ["completed"]
    assert len(thread.provider_threads) == len(thread.sessions) == 1
    check_tree(thread, world.places.variant, attempt.attempt_id, child_id)
    assert run.usage and not thread.requests and not thread.handoffs and not thread.warnings


def check_tree(thread: Thread, variant: str, attempt_id: str, child_id: str) -> None:
    """Who did what: the helper is in the turn, and all that the helper did is in the helper."""
    child = thread.nodes[child_id]
    assert (child.kind, child.parent_id, child.status) == ("subagent", attempt_id, "completed")
    assert child.child_thread_id not in (None, thread.provider_threads[0].provider_thread_id)
    inside = [node for node in thread.nodes.values() if node.parent_id == child_id]
    own_tool = TOOLS.get(variant, ("tool_call", f"{thread.workspace}/notes.txt"))
    told = [("user_message", None, TASK)] if variant != TOLD_AFTERWARDS else []
    assert [(node.item_kind, node.title, node.text) for node in inside] == [
        *told,
        (*own_tool, inside[-2].text),
        ("agent_message", None, FOUND),
    ]
    assert {(node.kind, node.run_id, node.status) for node in inside} == {("item", child.run_id, "completed")}
    outside = [node for node in thread.nodes.values() if node.parent_id == attempt_id]
    said = [node.text for node in outside if node.item_kind in ("user_message", "agent_message")]
    assert said == [ASKED, ANSWER]
    assert {node.run_id for node in thread.nodes.values()} == {thread.runs[0].run_id}
    assert {node.status for node in thread.nodes.values()} == {"completed"}
