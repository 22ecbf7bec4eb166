"""What is true of a thread when the life of the orchestrator that worked on it is over, whichever way it ended.

No session of that life is alive, so every attempt that was under way is over, and so is every request that waited for a
person. Pure: the state in, events out. Whether the run goes on is policy.
"""

from typing import Literal

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator.projection import Thread

__all__ = ["RecoveryPolicy", "aftermath"]

RecoveryPolicy = Literal["restart", "interrupt"]


def aftermath(thread: Thread, reason: Literal["restart", "shutdown"], cause: str) -> list[e.Event]:
    """`cause` is the sentence for what was under way. No events where nothing was."""
    events: list[e.Event] = []
    session = thread.session()
    if session is not None:
        events.append(e.SessionClosed(session.session_id, reason))
    for request in thread.requests.values():
        if request.status != "resolved":
            events.append(e.RequestResolved(request.request_id, "cancelled"))
    run = thread.active_run()
    if run is not None and run.attempts[-1].status in ("starting", "running"):
        events.append(e.AttemptEnded(run.attempts[-1].attempt_id, run.run_id, "interrupted", cause))
    if thread.rollback is not None:
        events.append(e.RollbackEnded(thread.rollback.rollback_id, "failed", [], cause))
    return events
