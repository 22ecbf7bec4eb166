"""What a client may ask for, and the receipt that it gets.

A command has an id of the client's choice. The same id again gives the same receipt and does nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from scenarios.reference_orchestrator.errors import OrchestratorError
from scenarios.reference_orchestrator.fields import JsonObject

__all__ = [
    "AnswerRequest",
    "Command",
    "CreateThread",
    "Interrupt",
    "QueueMessage",
    "Receipt",
    "RollbackThread",
    "StartTurn",
    "Steer",
    "StopSession",
    "SwitchProvider",
    "command_from_json",
    "command_to_json",
]


class CreateThread(NamedTuple):
    """`workspace` is an absolute path. `options` are TurnOptions by name, for every run that has none of its own."""

    command_id: str
    provider: str
    workspace: str
    title: str = ""
    options: Mapping[str, str] = {}


class StartTurn(NamedTuple):
    """Refused while a run is active or waits; QueueMessage is for then."""

    command_id: str
    thread_id: str
    text: str
    options: Mapping[str, str] = {}


class QueueMessage(NamedTuple):
    """A run that starts when those before it are over."""

    command_id: str
    thread_id: str
    text: str
    options: Mapping[str, str] = {}


class Steer(NamedTuple):
    """Change the course of the run that is active."""

    command_id: str
    thread_id: str
    text: str


class Interrupt(NamedTuple):
    """Ask for the end of the run that is active. It is over when the provider says so."""

    command_id: str
    thread_id: str


class AnswerRequest(NamedTuple):
    """`decision`: a kind of decision or an option's id, for an approval; `answers` by question id, for questions."""

    command_id: str
    thread_id: str
    request_id: str
    decision: str = ""
    answers: Mapping[str, Sequence[str]] = {}


class RollbackThread(NamedTuple):
    """Take back the last `turns` runs: the provider forgets them, the workspace is as it was before them."""

    command_id: str
    thread_id: str
    turns: int


class SwitchProvider(NamedTuple):
    """The next run is another provider's; it is told what was said meanwhile."""

    command_id: str
    thread_id: str
    provider: str


class StopSession(NamedTuple):
    """End the provider's session now, and the run in it if there is one."""

    command_id: str
    thread_id: str


Command = (
    CreateThread
    | StartTurn
    | QueueMessage
    | Steer
    | Interrupt
    | AnswerRequest
    | RollbackThread
    | SwitchProvider
    | StopSession
)


class Receipt(NamedTuple):
    """`sequence`: of the last event that was stored when the command had been decided. `reason` where it was rejected.

    `created_id`: the thread or run that the command made.
    """

    command_id: str
    status: Literal["accepted", "rejected"]
    thread_id: str
    sequence: int
    created_id: str = ""
    reason: str = ""


TYPES: Mapping[str, type[Any]] = {
    "answer_request": AnswerRequest,
    "create_thread": CreateThread,
    "interrupt": Interrupt,
    "queue_message": QueueMessage,
    "rollback": RollbackThread,
    "start_turn": StartTurn,
    "steer": Steer,
    "stop_session": StopSession,
    "switch_provider": SwitchProvider,
}
NAMES: Mapping[type[Any], str] = {kind: name for name, kind in TYPES.items()}


def command_to_json(command: Command) -> JsonObject:
    return {"type": NAMES[type(command)], **command._asdict()}


def command_from_json(raw: JsonObject) -> Command:
    """Raises OrchestratorError for a type, a field or a value that no command has."""
    kind = TYPES.get(raw.get("type", ""))
    if kind is None:
        raise OrchestratorError(f"command type {raw.get('type')!r} is none of {', '.join(TYPES)}")
    given = {name: value for name, value in raw.items() if name != "type"}
    unknown = sorted(set(given) - set(kind._fields))
    missing = sorted(set(kind._fields) - set(given) - set(kind._field_defaults))
    if unknown or missing:
        complaint = f"has no field {unknown[0]!r}" if unknown else f"needs a field {missing[0]!r}"
        raise OrchestratorError(f"command {raw['type']} {complaint}")
    for name, value in given.items():
        wanted = int if name == "turns" else dict if name in ("options", "answers") else str
        if type(value) is not wanted:
            raise OrchestratorError(f"command {raw['type']}: {name} is not of type {wanted.__name__}")
    command: Command = kind(**given)
    return command
