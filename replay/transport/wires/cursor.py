"""The frames of a Cursor agent, as its SDK's calls and callbacks make them: open, send, updates, result. Pure.

    out  {"type": "agent.open", "operation": "create" | "resume", "agentId"?, "options"}
         {"type": "run.start", "agentId", "message", "options"?}     {"type": "run.cancel", "runId"}
         {"type": "agent.messages.list", "agentId"}                  {"type": "agent.close", "agentId"}
    in   {"type": "agent.opened", "agentId"}                         {"type": "run.started", "runId", "agentId"}
         {"type": "interaction.update", "runId", "update"}           {"type": "run.completed", "result": {"id", "status", …}}
         {"type": "agent.messages", "agentId", "messages"}           {"type": "sdk.error", "operation", "error": {"message", …}}

`sdk.error` answers whichever call `operation` names. Cancelling and closing have no answer: the run's end has one.
"""

from collections.abc import Mapping
from typing import Any

from replay.errors import DivergenceError

__all__ = [
    "ANSWERS",
    "PROTOCOL",
    "cancel_frame",
    "close_frame",
    "messages_frame",
    "open_frame",
    "run_of",
    "start_frame",
]

PROTOCOL = "cursor-agent-sdk.local"

ANSWERS: Mapping[str, str] = {
    "agent.open": "agent.opened",
    "agent.messages.list": "agent.messages",
    "run.start": "run.started",
}
"""Call -> the frame that answers it. sdk.error answers any."""


def open_frame(options: Mapping[str, Any], resume: str = "") -> dict[str, Any]:
    """Opening an agent. resume: the id of one that was there before."""
    if resume:
        return {"type": "agent.open", "operation": "resume", "agentId": resume, "options": dict(options)}
    return {"type": "agent.open", "operation": "create", "options": dict(options)}


def start_frame(
    agent_id: str, message: str | Mapping[str, Any], options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Sending a message to an agent. message: its text, or an object with text and images."""
    frame: dict[str, Any] = {"type": "run.start", "agentId": agent_id, "message": message}
    if options is not None:
        frame["options"] = dict(options)
    return frame


def cancel_frame(run_id: str) -> dict[str, Any]:
    """Asking a run to end."""
    return {"type": "run.cancel", "runId": run_id}


def messages_frame(agent_id: str) -> dict[str, Any]:
    """Asking for the messages of an agent so far."""
    return {"type": "agent.messages.list", "agentId": agent_id}


def close_frame(agent_id: str) -> dict[str, Any]:
    """Closing an agent; it may be resumed."""
    return {"type": "agent.close", "agentId": agent_id}


def run_of(frame: Mapping[str, Any]) -> str:
    """The run that an update or a result belongs to. Raises DivergenceError where the frame names none."""
    named = frame.get("runId")
    if frame.get("type") == "run.completed":
        result = frame.get("result")
        named = result.get("id") if isinstance(result, dict) else None
    if not isinstance(named, str):
        raise DivergenceError(f"the transcript has an inbound {frame.get('type')} that names no run")
    return named
