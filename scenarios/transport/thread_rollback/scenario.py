"""The last of two runs is taken back: the provider forgets its turn, the workspace is what the first run left, and the
next run goes on from there under an ordinal that was never given before.

The files are the test's, in the place of the agent's hands, while the gates `first` and `second` hold its answers.
"""

from pathlib import Path

from scenarios.transport.world import World


async def play(world: World) -> None:
    workspace = world.places.workspace
    thread_id = world.create_thread()
    none = world.dispatch("rollback", thread_id=thread_id, turns=1)
    assert (none.status, none.reason) == ("rejected", "1 runs cannot be taken back, 0 stand")
    first = world.send(thread_id, "Write 7 to number.txt.")
    await world.wait_for("turn_started", run_id=first)
    (workspace / "number.txt").write_text("7\n")
    await world.release("first")
    await world.wait_for("run_ended", run_id=first)

    second = world.send(thread_id, "Write 8 instead.")
    await world.wait_for("turn_started", run_id=second)
    (workspace / "number.txt").write_text("8\n")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "why.txt").write_text("8 is more\n")
    busy = world.dispatch("rollback", thread_id=thread_id, turns=1)
    assert (busy.status, busy.reason) == ("rejected", "run 2 is running")
    await world.release("second")
    await world.wait_for("run_ended", run_id=second)
    asked, _ = await world.frames()

    many = world.dispatch("rollback", thread_id=thread_id, turns=3)
    assert (many.status, many.reason) == ("rejected", "3 runs cannot be taken back, 2 stand")
    wanted = world.accepted("rollback", command_id="back", thread_id=thread_id, turns=1)
    meanwhile = world.dispatch("start_turn", thread_id=thread_id, text="Which number is it?")
    assert (meanwhile.status, meanwhile.reason) == ("rejected", "a rollback is under way")
    await world.wait_for("rollback_ended", rollback_id=wanted.created_id)
    # However often it is asked for by that id, it is the same rollback.
    assert world.dispatch("rollback", command_id="back", thread_id=thread_id, turns=1) == wanted
    assert (await world.frames())[0] == asked + 1
    assert files_of(workspace) == {"number.txt": "7\n"}
    assert world.thread(thread_id).run_count == 1

    third = world.send(thread_id, "Which number is it?")
    await world.wait_for("run_ended", run_id=third)
    await world.close()
    check_thread(world, thread_id, [first, second, third])


def check_thread(world: World, thread_id: str, run_ids: list[str]) -> None:
    thread = world.thread(thread_id)
    assert [(run.run_id, run.ordinal, run.status) for run in thread.runs] == [
        (run_ids[0], 1, "completed"),
        (run_ids[1], 2, "rolled_back"),
        (run_ids[2], 3, "completed"),
    ]
    assert (thread.run_count, thread.rollback, len(thread.sessions)) == (2, None, 1)
    assert thread.nodes[run_ids[1]].status == "rolled_back"
    (known,) = thread.provider_threads
    assert [turn.status for turn in known.turns] == ["completed", "rolled_back", "completed"]
    assert known.seen == [1, 3]
    requested, ended = world.events("rollback_requested", "rollback_ended")
    (restored,) = world.events("checkpoint_restored")
    assert requested.sequence < restored.sequence < ended.sequence
    assert requested.event._asdict()["run_ids"] == ended.event._asdict()["run_ids"] == [run_ids[1]]
    assert ended.event._asdict()["status"] == "completed"
    kept = {checkpoint.ordinal: checkpoint for checkpoint in thread.checkpoints}
    assert list(kept) == [0, 1, 2, 3]
    assert restored.event._asdict()["checkpoint_id"] == kept[1].checkpoint_id
    said = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert said == ["number.txt says 7.", "number.txt says 8.", "It is 7."]
    assert files_of(world.places.workspace) == {"number.txt": "7\n"}
    assert not thread.handoffs and not thread.warnings


def files_of(workspace: Path) -> dict[str, str]:
    """Every file but git's own, and the empty directories, by path."""
    found = (path for path in workspace.rglob("*") if ".git" not in path.relative_to(workspace).parts)
    return {
        str(path.relative_to(workspace)): path.read_text() if path.is_file() else "/"
        for path in sorted(found)
    }
