"""What is known of every thread: the state that the events add up to. How they do is projector.py's work."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from scenarios.reference_orchestrator.fields import JsonObject

__all__ = [
    "Attempt",
    "Checkpoint",
    "Handoff",
    "Node",
    "Projection",
    "ProviderThread",
    "ProviderTurn",
    "Request",
    "Rollback",
    "Run",
    "Session",
    "Thread",
]


@dataclass(slots=True)
class Attempt:
    """`status`: starting, running, completed, interrupted, failed."""

    attempt_id: str
    number: int
    provider: str
    reason: str
    text: str
    status: str = "starting"
    provider_turn_id: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Run:
    """`status`: queued, running, completed, interrupted, failed, rolled_back."""

    run_id: str
    ordinal: int
    text: str
    options: JsonObject
    status: str = "queued"
    error: str | None = None
    is_interrupt_requested: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    plan: list[JsonObject] = field(default_factory=list)
    usage: JsonObject = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    """A node of the execution tree; `kind`: run, turn, item, subagent. A run's parent is the thread, None here.

    `status` of an item: running, completed, or how the attempt ended that left it unfinished.
    """

    node_id: str
    parent_id: str | None
    kind: str
    run_id: str
    status: str = "running"
    item_id: str | None = None
    item_kind: str | None = None
    title: str | None = None
    text: str = ""
    provider_status: str | None = None
    detail: JsonObject | None = None
    child_thread_id: str | None = None


@dataclass(slots=True)
class ProviderTurn:
    provider_turn_id: str
    ordinal: int
    status: str = "running"
    resume_point: str | None = None


@dataclass(slots=True)
class ProviderThread:
    """`seen`: ordinals of the runs that the provider knows of, its own and those handed over."""

    provider: str
    provider_thread_id: str
    turns: list[ProviderTurn] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Session:
    session_id: str
    provider: str
    provider_thread_id: str
    resumed: bool
    status: str = "open"
    reason: str | None = None
    error: str | None = None


@dataclass(slots=True)
class Request:
    """`status`: open, answered, resolved."""

    request_id: str
    provider_request_id: str
    run_id: str
    node_id: str | None
    kind: str
    options: list[JsonObject]
    detail: JsonObject
    status: str = "open"
    decision: str | None = None
    option_id: str | None = None
    answers: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Rollback:
    """One that is under way."""

    rollback_id: str
    run_ids: list[str]


@dataclass(slots=True)
class Checkpoint:
    checkpoint_id: str
    scope: str
    ordinal: int
    run_id: str
    node_id: str | None
    commit: str


@dataclass(slots=True)
class Handoff:
    handoff_id: str
    run_id: str
    kind: str
    provider: str
    provider_thread_id: str
    ordinals: list[int]
    text: str


@dataclass(slots=True)
class Thread:
    """`run_count`: runs that are over and stand; the workspace is as the last of them left it."""

    thread_id: str
    provider: str
    workspace: str
    title: str
    options: JsonObject
    run_count: int = 0
    rollback: Rollback | None = None
    runs: list[Run] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    provider_threads: list[ProviderThread] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    requests: dict[str, Request] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    handoffs: list[Handoff] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(self, run_id: str) -> Run:
        return next(run for run in self.runs if run.run_id == run_id)

    def active_run(self) -> Run | None:
        """The run that a provider works on."""
        return next((run for run in self.runs if run.status == "running"), None)

    def next_run(self) -> Run | None:
        return next((run for run in self.runs if run.status == "queued"), None)

    def standing_runs(self) -> list[Run]:
        """Those that are over and not taken back, oldest first."""
        return [run for run in self.runs if run.status in ("completed", "interrupted", "failed")]

    def session(self) -> Session | None:
        return self.sessions[-1] if self.sessions and self.sessions[-1].status == "open" else None

    def provider_thread(self, provider: str) -> ProviderThread | None:
        """The one that a new session of the provider would resume."""
        return next((kept for kept in reversed(self.provider_threads) if kept.provider == provider), None)

    def checkpoint_after(self, ordinal: int) -> Checkpoint | None:
        """The workspace after the run `ordinal`; 0 is before the first."""
        found = [kept for kept in self.checkpoints if kept.scope == "root" and kept.ordinal == ordinal]
        return found[-1] if found else None


@dataclass(slots=True)
class Projection:
    """`sequence`: of the last event in it."""

    sequence: int = 0
    threads: dict[str, Thread] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
