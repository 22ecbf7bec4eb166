"""An agent that may only plan: it shows a plan, asks a question, waits for the answer and goes on with its plan."""

from typing import Any

from scenarios.transport.world import World

# Where the question is a call of a tool as well.
TOOLS = {"claude": "AskUserQuestion", "opencode": "question"}


async def play(world: World) -> None:
    thread_id = world.create_thread(mode="plan")
    run_id = world.send(thread_id, "Plan the release.")
    opened = await world.wait_for("request_opened")
    request = world.thread(thread_id).requests[opened.event._asdict()["request_id"]]
    (question,) = request.detail["questions"]
    assert (request.kind, request.status, request.run_id) == ("question", "open", run_id)
    assert (question["header"], question["question"]) == ("Version", "Which version?")
    assert [option["label"] for option in question["options"]] == ["1.0", "2.0"]
    run = world.thread(thread_id).run(run_id)
    assert (run.status, plan_of(run.plan)) == ("running", {"Build": "in_progress", "Publish": "pending"})
    asked, _ = await world.frames()

    answer: dict[str, Any] = {"thread_id": thread_id, "request_id": request.request_id}
    nothing = world.dispatch("answer_request", **answer)
    assert (nothing.status, nothing.reason) == ("rejected", f"question {question['id']!r} has no answer")
    assert (await world.frames())[0] == asked
    world.accepted("answer_request", **answer, answers={question["id"]: ["1.0"]})
    again = world.dispatch("answer_request", **answer, answers={question["id"]: ["2.0"]})
    assert (again.status, again.reason) == ("rejected", f"request {request.request_id!r} is not open")
    await world.wait_for("run_ended", run_id=run_id)
    assert (await world.frames())[0] == asked + 1
    await world.close()

    landmarks = ("plan_updated", "request_opened", "request_answered", "request_resolved")
    assert [stored.to_json()["type"] for stored in world.events(*landmarks)] == [
        "plan_updated",
        "request_opened",
        "request_answered",
        "request_resolved",
        "plan_updated",
    ]
    thread = world.thread(thread_id)
    run = thread.run(run_id)
    assert (run.status, run.options, thread.run_count) == ("completed", {"mode": "plan"}, 1)
    assert plan_of(run.plan) == {"Build": "completed", "Publish": "in_progress"}
    (request,) = thread.requests.values()
    assert (request.status, request.decision) == ("resolved", "answered")
    assert request.answers == {question["id"]: ["1.0"]}
    (attempt,) = run.attempts
    tool = TOOLS.get(world.places.variant)
    if tool is None:
        assert request.node_id is None
    else:
        node = thread.nodes[request.node_id or ""]
        assert (node.item_kind, node.status, node.parent_id) == (
            "tool_call",
            "completed",
            attempt.attempt_id,
        )
        assert (node.detail or {})["tool"] == tool
    said = [node for node in thread.nodes.values() if node.item_kind == "agent_message"]
    assert [(node.text, node.parent_id) for node in said] == [
        ("The plan for 1.0 is ready.", attempt.attempt_id)
    ]
    assert not thread.warnings


def plan_of(steps: list[dict[str, Any]]) -> dict[str, str]:
    return {step["text"]: step["status"] for step in steps}
