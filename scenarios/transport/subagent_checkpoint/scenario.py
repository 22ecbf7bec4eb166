"""A helper writes a file inside a run. Its end is a checkpoint in a scope of its own, nested in the run, which it does not
count as: what the run's own checkpoint holds is what the parent left after that, and a rollback would go to no other.

The files are the test's, in the place of the agent's hands: `written` holds the helper's tool, `parent` what follows its end.
"""

from scenarios.reference_orchestrator.checkpoint import Git
from scenarios.reference_orchestrator.projection import Checkpoint
from scenarios.transport.world import World

BY_THE_HELPER, BY_THE_PARENT = "buy milk\n", "buy milk\nbuy bread\n"


async def play(world: World) -> None:
    notes = world.places.workspace / "notes.txt"
    thread_id = world.create_thread()
    first = world.send(thread_id, "Let a helper write notes.txt.")
    started = await world.wait_for("subagent_started")
    notes.write_text(BY_THE_HELPER)
    await world.release("written")
    nested = await world.wait_for("checkpoint_captured", scope="subagent")

    thread = world.thread(thread_id)
    run = thread.run(first)
    assert (run.status, run.attempts[-1].status, thread.run_count) == ("running", "running", 0)
    assert [(kept.scope, kept.ordinal) for kept in thread.checkpoints] == [("root", 0), ("subagent", 1)]
    assert thread.checkpoint_after(1) is None
    notes.write_text(BY_THE_PARENT)
    await world.release("parent")
    await world.wait_for("run_ended", run_id=first)
    assert world.thread(thread_id).run_count == 1
    second = world.send(thread_id, "Thank you.")
    await world.wait_for("run_ended", run_id=second)
    await world.close()

    (ended,) = world.events("subagent_ended")
    (attempt_ended, _) = world.events("attempt_ended")
    assert started.sequence < ended.sequence < nested.sequence < attempt_ended.sequence
    thread = world.thread(thread_id)
    child = thread.nodes[ended.event._asdict()["node_id"]]
    assert (child.kind, child.run_id, child.parent_id) == ("subagent", first, run.attempts[0].attempt_id)
    assert [(kept.scope, kept.ordinal, kept.run_id, kept.node_id) for kept in thread.checkpoints] == [
        ("root", 0, first, None),
        ("subagent", 1, first, child.node_id),
        ("root", 1, first, None),
        ("root", 2, second, None),
    ]
    assert [(run.ordinal, run.status) for run in thread.runs] == [(1, "completed"), (2, "completed")]
    assert thread.run_count == 2 and thread.checkpoint_after(1) == thread.checkpoints[2]
    held = [await notes_of(world, kept) for kept in thread.checkpoints]
    assert held == ["", BY_THE_HELPER, BY_THE_PARENT, BY_THE_PARENT]
    assert not thread.warnings


async def notes_of(world: World, checkpoint: Checkpoint) -> str:
    """What notes.txt says in a checkpoint; "" where there is none."""
    git = Git(str(world.places.workspace), world.places.environment)
    if not await git.run("ls-tree", "--name-only", checkpoint.commit, "notes.txt"):
        return ""
    return await git.run("show", f"{checkpoint.commit}:notes.txt") + "\n"
