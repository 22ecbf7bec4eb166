"""What is stored: one class an event. Their fields are plain JSON, so that an event is its data.

Everything that readers see is a fold of these. A class is never changed in a way that an old store could not be read with;
a new field has a default.
"""

import re
from typing import Any, Literal, NamedTuple

from scenarios.reference_orchestrator.errors import StoreError
from scenarios.reference_orchestrator.fields import JsonObject

__all__ = [
    "AttemptEnded",
    "AttemptStarted",
    "CheckpointCaptured",
    "CheckpointFailed",
    "CheckpointRestored",
    "Event",
    "HandoffCreated",
    "InterruptRequested",
    "ItemCompleted",
    "ItemDelta",
    "ItemStarted",
    "ItemUpdated",
    "PlanUpdated",
    "ProviderSwitched",
    "ProviderThreadChanged",
    "ProviderWarning",
    "RequestAnswered",
    "RequestOpened",
    "RequestResolved",
    "RollbackEnded",
    "RollbackRequested",
    "RunCreated",
    "RunEnded",
    "SessionClosed",
    "SessionOpened",
    "SteerRejected",
    "SteerRequested",
    "StoredEvent",
    "SubagentEnded",
    "SubagentStarted",
    "ThreadCreated",
    "TurnStarted",
    "UsageUpdated",
    "event_from_data",
    "type_of",
]


class ThreadCreated(NamedTuple):
    provider: str
    workspace: str
    title: str
    options: JsonObject


class ProviderSwitched(NamedTuple):
    provider: str
    previous: str


class RunCreated(NamedTuple):
    """`ordinal` counts from 1 and is never given twice."""

    run_id: str
    ordinal: int
    text: str
    options: JsonObject


class AttemptStarted(NamedTuple):
    """`text` is what the provider is asked, without a handoff."""

    attempt_id: str
    run_id: str
    number: int
    provider: str
    reason: Literal["first", "steer", "recovery"]
    text: str


class SessionOpened(NamedTuple):
    session_id: str
    provider: str
    provider_thread_id: str
    resumed: bool


class ProviderThreadChanged(NamedTuple):
    """The session goes on with another thread of the provider, which knows what the one before knew."""

    session_id: str
    provider_thread_id: str


class SessionClosed(NamedTuple):
    session_id: str
    reason: Literal["idle", "stopped", "switched", "exited", "shutdown", "restart"]
    error: str | None = None


class HandoffCreated(NamedTuple):
    """What `provider_thread_id` is told before a run: the runs `ordinals`, which it has not seen."""

    handoff_id: str
    run_id: str
    kind: Literal["full", "delta"]
    provider: str
    provider_thread_id: str
    ordinals: list[int]
    text: str


class TurnStarted(NamedTuple):
    attempt_id: str
    run_id: str
    provider_turn_id: str


class AttemptEnded(NamedTuple):
    attempt_id: str
    run_id: str
    status: Literal["completed", "interrupted", "failed"]
    error: str | None = None
    resume_point: str | None = None


class RunEnded(NamedTuple):
    run_id: str
    status: Literal["completed", "interrupted", "failed"]
    error: str | None = None


class ItemStarted(NamedTuple):
    """`parent_id` is a node: the attempt that it happened in, or the subagent."""

    node_id: str
    parent_id: str
    run_id: str
    item_id: str
    kind: str
    title: str | None
    text: str | None
    status: str | None
    detail: JsonObject | None


class ItemUpdated(NamedTuple):
    """None: as it was."""

    node_id: str
    title: str | None
    text: str | None
    status: str | None
    detail: JsonObject | None


class ItemDelta(NamedTuple):
    node_id: str
    text: str


class ItemCompleted(NamedTuple):
    """None: as it was."""

    node_id: str
    title: str | None
    text: str | None
    status: str | None
    detail: JsonObject | None


class SubagentStarted(NamedTuple):
    node_id: str
    child_thread_id: str


class SubagentEnded(NamedTuple):
    node_id: str
    status: str


class PlanUpdated(NamedTuple):
    run_id: str
    steps: list[JsonObject]


class UsageUpdated(NamedTuple):
    run_id: str
    usage: JsonObject


class RequestOpened(NamedTuple):
    request_id: str
    provider_request_id: str
    run_id: str
    node_id: str | None
    kind: str
    options: list[JsonObject]
    detail: JsonObject


class RequestAnswered(NamedTuple):
    """`option_id` is the provider's; "" for questions and for a request that is cancelled."""

    request_id: str
    option_id: str
    answers: dict[str, list[str]]


class RequestResolved(NamedTuple):
    request_id: str
    decision: str


class SteerRequested(NamedTuple):
    run_id: str
    text: str
    mode: Literal["native", "restart"]


class SteerRejected(NamedTuple):
    """The text goes to a run of its own instead, unless this one is interrupted."""

    run_id: str
    text: str
    error: str


class InterruptRequested(NamedTuple):
    run_id: str


class CheckpointCaptured(NamedTuple):
    """The workspace after a run (`scope` "root"; ordinal 0 is before the first), or after a subagent within one."""

    checkpoint_id: str
    scope: Literal["root", "subagent"]
    ordinal: int
    run_id: str
    node_id: str | None
    commit: str


class CheckpointFailed(NamedTuple):
    scope: Literal["root", "subagent"]
    ordinal: int
    run_id: str
    node_id: str | None
    error: str


class CheckpointRestored(NamedTuple):
    checkpoint_id: str


class RollbackRequested(NamedTuple):
    rollback_id: str
    run_ids: list[str]


class RollbackEnded(NamedTuple):
    rollback_id: str
    status: Literal["completed", "failed"]
    run_ids: list[str]
    error: str | None = None


class ProviderWarning(NamedTuple):
    """The provider said what does not fit: about a turn or an item that nobody knows."""

    what: str


Event = (
    ThreadCreated
    | ProviderSwitched
    | RunCreated
    | AttemptStarted
    | SessionOpened
    | ProviderThreadChanged
    | SessionClosed
    | HandoffCreated
    | TurnStarted
    | AttemptEnded
    | RunEnded
    | ItemStarted
    | ItemUpdated
    | ItemDelta
    | ItemCompleted
    | SubagentStarted
    | SubagentEnded
    | PlanUpdated
    | UsageUpdated
    | RequestOpened
    | RequestAnswered
    | RequestResolved
    | SteerRequested
    | SteerRejected
    | InterruptRequested
    | CheckpointCaptured
    | CheckpointFailed
    | CheckpointRestored
    | RollbackRequested
    | RollbackEnded
    | ProviderWarning
)


class StoredEvent(NamedTuple):
    """`sequence` counts from 1 over all threads, without a gap."""

    sequence: int
    thread_id: str
    occurred_at_ms: int
    event: Event

    def to_json(self) -> JsonObject:
        return {
            "sequence": self.sequence,
            "thread_id": self.thread_id,
            "occurred_at_ms": self.occurred_at_ms,
            "type": type_of(self.event),
            "data": self.event._asdict(),
        }


def spelled(kind: type[Any]) -> str:
    """RunCreated -> run_created."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


NAMES: dict[type[Any], str] = {kind: spelled(kind) for kind in Event.__args__}
TYPES: dict[str, type[Any]] = {name: kind for kind, name in NAMES.items()}


def type_of(event: Event) -> str:
    return NAMES[type(event)]


def event_from_data(name: str, data: JsonObject) -> Event:
    """Raises StoreError for an event of a version to come."""
    try:
        event: Event = TYPES[name](**data)
    except (KeyError, TypeError) as error:
        raise StoreError(f"event {name!r} cannot be read by this version: {error}") from error
    return event
