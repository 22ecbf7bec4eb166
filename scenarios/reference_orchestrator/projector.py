"""The fold of the events into the projection. It has no other input, so any prefix of a store can be projected.

Only what the events say is done here: whether an event may happen is decided before it is stored.
"""

from collections.abc import Iterable

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator.errors import StoreError
from scenarios.reference_orchestrator.projection import (
    Attempt,
    Checkpoint,
    Handoff,
    Node,
    Projection,
    ProviderThread,
    ProviderTurn,
    Request,
    Rollback,
    Run,
    Session,
    Thread,
)

__all__ = ["apply", "project"]


def project(events: Iterable[e.StoredEvent]) -> Projection:
    projection = Projection()
    for event in events:
        apply(projection, event)
    return projection


def apply(projection: Projection, stored: e.StoredEvent) -> None:
    """Raises StoreError unless the event is the next one."""
    if stored.sequence != projection.sequence + 1:
        raise StoreError(f"event {stored.sequence} does not follow event {projection.sequence}")
    projection.sequence = stored.sequence
    event = stored.event
    if isinstance(event, e.ThreadCreated):
        projection.threads[stored.thread_id] = Thread(stored.thread_id, *event)
        return
    thread = projection.threads[stored.thread_id]
    match event:
        case e.ProviderSwitched():
            thread.provider = event.provider
        case e.HandoffCreated():
            thread.handoffs.append(Handoff(*event))
            provider_thread(thread, event.provider_thread_id).seen.extend(event.ordinals)
        case e.SessionOpened() | e.ProviderThreadChanged() | e.SessionClosed():
            apply_session(thread, event)
        case e.ItemStarted() | e.ItemUpdated() | e.ItemDelta() | e.ItemCompleted():
            apply_item(thread, event)
        case e.SubagentStarted() | e.SubagentEnded():
            apply_subagent(thread, event)
        case e.RequestOpened() | e.RequestAnswered() | e.RequestResolved():
            apply_request(thread, event)
        case e.CheckpointCaptured():
            thread.checkpoints.append(Checkpoint(*event))
            # A nested scope is inside a run that is not over yet.
            if event.scope == "root" and event.ordinal > 0:
                thread.run_count += 1
        case e.RollbackRequested():
            thread.rollback = Rollback(*event)
        case e.RollbackEnded():
            apply_rollback(thread, event)
        case e.ProviderWarning():
            thread.warnings.append(event.what)
        case e.CheckpointFailed():
            thread.warnings.append(f"no checkpoint: {event.error}")
            if event.scope == "root" and event.ordinal > 0:
                thread.run_count += 1
        case e.CheckpointRestored():
            pass
        case _:
            apply_run(thread, event)


def apply_run(
    thread: Thread,
    event: e.RunCreated
    | e.AttemptStarted
    | e.TurnStarted
    | e.AttemptEnded
    | e.RunEnded
    | e.PlanUpdated
    | e.UsageUpdated
    | e.SteerRequested
    | e.SteerRejected
    | e.InterruptRequested,
) -> None:
    if isinstance(event, e.RunCreated):
        thread.runs.append(Run(*event))
        thread.nodes[event.run_id] = Node(event.run_id, None, "run", event.run_id, "queued")
        return
    run = thread.run(event.run_id)
    match event:
        case e.AttemptStarted():
            run.status = thread.nodes[run.run_id].status = "running"
            run.attempts.append(
                Attempt(event.attempt_id, event.number, event.provider, event.reason, event.text)
            )
            thread.nodes[event.attempt_id] = Node(
                event.attempt_id, run.run_id, "turn", run.run_id, "starting", title=event.reason
            )
        case e.TurnStarted():
            apply_turn(thread, run, event)
        case e.AttemptEnded():
            end_attempt(thread, run, event)
        case e.RunEnded():
            run.status = thread.nodes[run.run_id].status = event.status
            run.error = event.error
        case e.PlanUpdated():
            run.plan = event.steps
        case e.UsageUpdated():
            run.usage = event.usage
        case e.InterruptRequested():
            run.is_interrupt_requested = True
        case e.SteerRequested() | e.SteerRejected():
            pass


def apply_turn(thread: Thread, run: Run, event: e.TurnStarted) -> None:
    attempt = run.attempts[-1]
    attempt.status = thread.nodes[attempt.attempt_id].status = "running"
    attempt.provider_turn_id = event.provider_turn_id
    session = thread.session()
    if session is not None:
        known = provider_thread(thread, session.provider_thread_id)
        known.turns.append(ProviderTurn(event.provider_turn_id, run.ordinal))
        if run.ordinal not in known.seen:
            known.seen.append(run.ordinal)


def end_attempt(thread: Thread, run: Run, event: e.AttemptEnded) -> None:
    attempt = next(kept for kept in run.attempts if kept.attempt_id == event.attempt_id)
    attempt.status = thread.nodes[attempt.attempt_id].status = event.status
    attempt.error = event.error
    for kept in thread.provider_threads:
        for turn in kept.turns:
            if turn.provider_turn_id == attempt.provider_turn_id and turn.status == "running":
                turn.status = event.status
                turn.resume_point = event.resume_point
    # A turn that is completed may leave subagents at work; one that broke off leaves nothing.
    if event.status != "completed":
        for node in thread.nodes.values():
            if node.run_id == run.run_id and node.kind in ("item", "subagent") and node.status == "running":
                node.status = event.status


def apply_session(thread: Thread, event: e.SessionOpened | e.ProviderThreadChanged | e.SessionClosed) -> None:
    if isinstance(event, e.SessionOpened):
        thread.sessions.append(Session(*event))
        if all(kept.provider_thread_id != event.provider_thread_id for kept in thread.provider_threads):
            thread.provider_threads.append(ProviderThread(event.provider, event.provider_thread_id))
        return
    session = next(kept for kept in thread.sessions if kept.session_id == event.session_id)
    if isinstance(event, e.ProviderThreadChanged):
        known = provider_thread(thread, session.provider_thread_id)
        known.provider_thread_id = session.provider_thread_id = event.provider_thread_id
        return
    session.status, session.reason, session.error = "closed", event.reason, event.error


def apply_item(thread: Thread, event: e.ItemStarted | e.ItemUpdated | e.ItemDelta | e.ItemCompleted) -> None:
    if isinstance(event, e.ItemStarted):
        thread.nodes[event.node_id] = Node(
            node_id=event.node_id,
            parent_id=event.parent_id,
            kind="subagent" if event.kind == "subagent" else "item",
            run_id=event.run_id,
            item_id=event.item_id,
            item_kind=event.kind,
            title=event.title,
            text=event.text or "",
            provider_status=event.status,
            detail=event.detail,
        )
        return
    node = thread.nodes[event.node_id]
    if isinstance(event, e.ItemDelta):
        node.text += event.text
        return
    node.title = node.title if event.title is None else event.title
    node.text = node.text if event.text is None else event.text
    node.provider_status = node.provider_status if event.status is None else event.status
    node.detail = node.detail if event.detail is None else event.detail
    if isinstance(event, e.ItemCompleted):
        node.status = "completed"


def apply_subagent(thread: Thread, event: e.SubagentStarted | e.SubagentEnded) -> None:
    node = thread.nodes[event.node_id]
    if isinstance(event, e.SubagentStarted):
        node.status, node.child_thread_id = "running", event.child_thread_id
    else:
        node.status = event.status


def apply_request(thread: Thread, event: e.RequestOpened | e.RequestAnswered | e.RequestResolved) -> None:
    match event:
        case e.RequestOpened():
            thread.requests[event.request_id] = Request(*event)
        case e.RequestAnswered():
            request = thread.requests[event.request_id]
            request.status, request.option_id, request.answers = "answered", event.option_id, event.answers
        case e.RequestResolved():
            request = thread.requests[event.request_id]
            request.status, request.decision = "resolved", event.decision


def apply_rollback(thread: Thread, event: e.RollbackEnded) -> None:
    thread.rollback = None
    if event.status == "failed":
        return
    for run in thread.runs:
        if run.run_id not in event.run_ids:
            continue
        run.status = thread.nodes[run.run_id].status = "rolled_back"
        thread.run_count -= 1
        for kept in thread.provider_threads:
            kept.seen = [ordinal for ordinal in kept.seen if ordinal != run.ordinal]
            for turn in kept.turns:
                if turn.ordinal == run.ordinal:
                    turn.status = "rolled_back"


def provider_thread(thread: Thread, provider_thread_id: str) -> ProviderThread:
    return next(kept for kept in thread.provider_threads if kept.provider_thread_id == provider_thread_id)
