"""An agent asks before it runs a command, and runs it when a person has allowed it once."""

from typing import Any

from scenarios.transport.world import World

COMMAND = "printf approved > approved.txt"


async def play(world: World) -> None:
    thread_id = world.create_thread()
    run_id = world.send(thread_id, "Write approved.txt.")
    opened = await world.wait_for("request_opened")
    thread = world.thread(thread_id)
    request = thread.requests[opened.event._asdict()["request_id"]]
    assert (request.kind, request.status, request.run_id) == ("approval", "open", run_id)
    assert "allow_once" in [option["kind"] for option in request.options]
    node = thread.nodes[request.node_id or ""]
    assert (node.item_kind, node.status) == ("command", "running")
    assert COMMAND in str((node.title, node.detail))
    assert thread.run(run_id).status == "running"
    asked, _ = await world.frames()

    answer: dict[str, Any] = {"thread_id": thread_id, "request_id": request.request_id}
    unknown = world.dispatch("answer_request", **answer, decision="perhaps")
    assert (unknown.status, unknown.reason.partition(" is none of ")[0]) == ("rejected", "decision 'perhaps'")
    assert (await world.frames())[0] == asked
    world.accepted("answer_request", **answer, decision="allow_once")
    again = world.dispatch("answer_request", **answer, decision="reject_once")
    assert (again.status, again.reason) == ("rejected", f"request {request.request_id!r} is not open")
    await world.wait_for("run_ended", run_id=run_id)
    assert (await world.frames())[0] == asked + 1
    await world.close()

    landmarks = ("request_opened", "request_answered", "request_resolved", "attempt_ended", "run_ended")
    assert [stored.to_json()["type"] for stored in world.events(*landmarks)] == list(landmarks)
    (resolved,) = world.events("request_resolved")
    (ran,) = (
        stored
        for stored in world.events("item_completed")
        if stored.event._asdict()["node_id"] == node.node_id
    )
    assert resolved.sequence < ran.sequence
    thread = world.thread(thread_id)
    run = thread.run(run_id)
    assert (run.status, thread.run_count) == ("completed", 1)
    (request,) = thread.requests.values()
    assert (request.status, request.decision) == ("resolved", "allow_once")
    (chosen,) = (option for option in request.options if option["option_id"] == request.option_id)
    assert chosen["kind"] == "allow_once"
    (attempt,) = run.attempts
    node = thread.nodes[node.node_id]
    assert (node.status, node.provider_status, node.parent_id) == (
        "completed",
        "completed",
        attempt.attempt_id,
    )
    answers = [node.text for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert answers[-1] == "approved.txt is there."
    assert not thread.warnings
