"""What providers say, in the orchestrator's words: the events that every normaliser produces and nothing else reads.

A provider's frames become these events in `normalisers/`; the lane of a thread turns them into stored events. Ids are the
provider's own and mean nothing outside the session that they came from.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = [
    "Decision",
    "ExitStatus",
    "Item",
    "ItemCompleted",
    "ItemDelta",
    "ItemKind",
    "ItemStarted",
    "ItemUpdated",
    "Option",
    "PlanStatus",
    "PlanStep",
    "PlanUpdated",
    "ProviderEvent",
    "RequestKind",
    "RequestOpened",
    "RequestResolved",
    "RuntimeExited",
    "SteerRejected",
    "SubagentEnded",
    "SubagentStarted",
    "ThreadOpened",
    "ThreadRolledBack",
    "TurnEnded",
    "TurnStarted",
    "TurnStatus",
    "UsageUpdated",
]

TurnStatus = Literal["completed", "interrupted", "failed"]
ItemKind = Literal[
    "user_message",
    "agent_message",
    "reasoning",
    "command",
    "file_change",
    "tool_call",
    "plan",
    "subagent",
    "error",
]
RequestKind = Literal["approval", "question"]
Decision = Literal["allow_once", "allow_always", "reject_once", "reject_always", "cancelled", "answered"]
PlanStatus = Literal["pending", "in_progress", "completed"]
ExitStatus = Literal["success", "error", "cancelled"]


class Item(NamedTuple):
    """One thing that happens in a turn. `parent_item_id` is the subagent's item that it happened in.

    `text` is the whole text so far (None: not said here); `status` is the provider's word; `detail` is JSON that is kept
    for people and for other tools, and decides nothing.
    """

    item_id: str
    kind: ItemKind
    parent_item_id: str | None = None
    title: str | None = None
    text: str | None = None
    status: str | None = None
    detail: Mapping[str, Any] | None = None


class Option(NamedTuple):
    """An answer that the provider offers; `option_id` is what it wants to hear."""

    option_id: str
    kind: Decision
    label: str = ""


class PlanStep(NamedTuple):
    text: str
    status: PlanStatus


class ThreadOpened(NamedTuple):
    """The session is ready for turns. `resumed` is False where a wanted thread was lost and a new one stands in."""

    provider_thread_id: str
    resumed: bool


class TurnStarted(NamedTuple):
    provider_turn_id: str


class TurnEnded(NamedTuple):
    """The provider's last word on a turn. `provider_turn_id` is "" where it failed before it had an id.

    `resume_point`: what the provider wants to hear in order to go back to the end of this turn, where that is not a count.
    """

    provider_turn_id: str
    status: TurnStatus
    error: str | None = None
    resume_point: str | None = None


class ItemStarted(NamedTuple):
    item: Item


class ItemUpdated(NamedTuple):
    """What is None in the item stays as it was."""

    item: Item


class ItemDelta(NamedTuple):
    item_id: str
    text: str


class ItemCompleted(NamedTuple):
    """What is None in the item stays as it was."""

    item: Item


class PlanUpdated(NamedTuple):
    steps: tuple[PlanStep, ...]


class RequestOpened(NamedTuple):
    """The provider waits for a person. A question's `detail` is {"questions": [{"id", "question", "header"?,
    "options": [{"label", "description"?}]}]}, whatever the provider's own form is."""

    request_id: str
    kind: RequestKind
    options: tuple[Option, ...]
    detail: Mapping[str, Any]
    item_id: str | None = None


class RequestResolved(NamedTuple):
    """The provider waits no longer. Where its protocol does not say so, the normaliser says it of the answer sent."""

    request_id: str
    decision: Decision


class SubagentStarted(NamedTuple):
    """`item_id` is the item of kind "subagent" that was started before and stands for the child in its parent."""

    item_id: str
    child_thread_id: str
    parent_item_id: str | None = None


class SubagentEnded(NamedTuple):
    """A child is done. It says nothing of the turn that it ran in."""

    item_id: str
    status: TurnStatus


class UsageUpdated(NamedTuple):
    usage: Mapping[str, Any]


class SteerRejected(NamedTuple):
    """The provider would not take `text` into the turn that runs."""

    text: str
    error: str


class ThreadRolledBack(NamedTuple):
    """The answer to a rollback; `turns` where the provider counts. After an `error` nothing was dropped."""

    turns: int | None = None
    error: str | None = None


class RuntimeExited(NamedTuple):
    """The provider's process or connection is gone. Nothing follows it."""

    status: ExitStatus
    error: str | None = None


ProviderEvent = (
    ThreadOpened
    | TurnStarted
    | TurnEnded
    | ItemStarted
    | ItemUpdated
    | ItemDelta
    | ItemCompleted
    | PlanUpdated
    | RequestOpened
    | RequestResolved
    | SubagentStarted
    | SubagentEnded
    | UsageUpdated
    | SteerRejected
    | ThreadRolledBack
    | RuntimeExited
)
