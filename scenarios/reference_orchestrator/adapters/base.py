"""What the orchestrator asks of a provider, whatever its protocol.

`open` waits for the handshake. Every other method returns when its frames are written, and what comes of them arrives as
provider events: a turn that could not start as TurnEnded, a steering that was refused as SteerRejected, a rollback as
ThreadRolledBack. So nobody waits for an answer while events wait for him. Events are handed to `emit` in the order of the
frames that they were made of; the last one is RuntimeExited, and it comes after `close` as well.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol, cast

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.providers import ProviderEvent
from scenarios.reference_orchestrator.services import Services

__all__ = [
    "ADAPTERS",
    "AdapterContext",
    "Answer",
    "Capabilities",
    "ProviderAdapter",
    "ProviderConfig",
    "Rollback",
    "TurnOptions",
    "adapter_for",
    "capabilities_of",
]

# Kind of a provider -> module and class. An adapter is imported when a thread first wants it.
ADAPTERS: Mapping[str, tuple[str, str]] = {
    "acp": ("scenarios.reference_orchestrator.adapters.acp", "AcpAdapter"),
    "claude": ("scenarios.reference_orchestrator.adapters.claude", "ClaudeAdapter"),
    "codex": ("scenarios.reference_orchestrator.adapters.codex", "CodexAdapter"),
    "cursor": ("scenarios.reference_orchestrator.adapters.cursor", "CursorAdapter"),
    "opencode": ("scenarios.reference_orchestrator.adapters.opencode", "OpencodeAdapter"),
}


class Capabilities(NamedTuple):
    """What the protocol can express. The orchestrator has a way around a missing `steer` only."""

    steer: bool = False
    interrupt: bool = True
    rollback: bool = False
    resume: bool = True
    approvals: bool = True
    questions: bool = False
    subagents: bool = False


class ProviderConfig(NamedTuple):
    """`kind` is a key of ADAPTERS. `command` starts the provider, or what a client library starts in its place.

    `environment` is the whole environment of the process. `settings` are the adapter's own, by its documentation.
    """

    kind: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    model: str | None = None
    settings: Mapping[str, str] = {}


class AdapterContext(NamedTuple):
    config: ProviderConfig
    workspace: str
    services: Services
    emit: Callable[[ProviderEvent], None]


class TurnOptions(NamedTuple):
    """`access`: what the agent may do without asking; `approval`: whether it may ask for more; `mode` "plan": no edits."""

    access: Literal["read_only", "workspace", "full"] = "workspace"
    approval: Literal["ask", "never"] = "ask"
    mode: Literal["build", "plan"] = "build"


class Answer(NamedTuple):
    """To an approval `option_id` ("" = cancelled), one of those offered; to questions the `answers` by question id."""

    option_id: str = ""
    answers: Mapping[str, Sequence[str]] = {}


class Rollback(NamedTuple):
    """Drop the last `turns` turns (at least 1). A provider that counts needs no more.

    `resume_point`: TurnEnded.resume_point of the last turn that stays ("" = none stays or it had none);
    `first_dropped`: provider_turn_id of the oldest turn that goes.
    """

    turns: int
    resume_point: str
    first_dropped: str


class ProviderAdapter(Protocol):
    """One session: a process or connection with one provider thread. Opened once, closed once."""

    capabilities: Capabilities

    async def open(self, resume: str | None) -> None:
        """Start the provider and open `resume`, or a new thread. Emits ThreadOpened. Raises ProviderError."""

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        """Begin a turn. Emits TurnStarted when the provider says that it runs."""

    async def steer(self, text: str) -> None:
        """Add `text` to the turn that runs. Called only after TurnStarted and with `capabilities.steer`."""

    async def interrupt(self) -> None:
        """Ask for the end of the turn that runs. Called only after TurnStarted; TurnEnded is what ends it."""

    async def answer(self, request_id: str, answer: Answer) -> None:
        """Answer an open request. Emits RequestResolved when the provider has it."""

    async def rollback(self, rollback: Rollback) -> None:
        """Drop turns. Called only between turns and with `capabilities.rollback`. Emits ThreadRolledBack."""

    async def close(self) -> None:
        """End the session and see that nothing of it is left running. May be called at any time, also twice."""


def adapter_for(context: AdapterContext) -> ProviderAdapter:
    """A new session, not yet open. Raises ProviderError for a kind that nobody knows."""
    make = cast(Callable[[AdapterContext], Any], adapter_class(context.config.kind))
    return cast(ProviderAdapter, make(context))


def capabilities_of(kind: str) -> Capabilities:
    """Raises ProviderError for a kind that nobody knows."""
    return cast(Capabilities, adapter_class(kind).capabilities)


def adapter_class(kind: str) -> Any:
    if kind not in ADAPTERS:
        raise ProviderError(f"provider kind {kind!r} is none of {', '.join(sorted(ADAPTERS))}")
    module, name = ADAPTERS[kind]
    return getattr(import_module(module), name)
