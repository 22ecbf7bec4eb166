"""Whether a call that changes something may run: the session's mode, and the person where the mode says so.

ask         the person decides about each call, or once for a tool in this session
auto        everything runs
read-only   nothing that changes anything runs, and nobody is asked
"""

import asyncio
from typing import Any

from acp.schema import SessionMode, SessionModeState

from scenarios.reference_agent.editor import Editor
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.tools import Tool, ToolError

__all__ = ["MODES", "decide", "mode_state"]

MODES = (
    SessionMode(id="ask", name="Ask", description="Ask before changing files or running commands"),
    SessionMode(id="auto", name="Auto", description="Change files and run commands without asking"),
    SessionMode(id="read-only", name="Read only", description="Look, change nothing"),
)


def mode_state(session: Session) -> SessionModeState:
    return SessionModeState(current_mode_id=session.state.mode, available_modes=list(MODES))


async def decide(
    session: Session, editor: Editor, tool: Tool, call_id: str, title: str, raw_input: Any
) -> str | None:
    """Why the call may not run, None if it may. Raises CancelledError if the person ended the turn instead."""
    if session.state.mode == "read-only":
        return f"{tool.name} is not allowed in read-only mode"
    if session.state.mode == "auto" or tool.name in session.state.always_allowed:
        return None
    place = {"turn": session.state.turn, "step": session.state.step, "callId": call_id, "toolName": tool.name}
    session.record("permission/asked", place)
    problem = "the user rejected this call"
    try:
        outcome = await editor.permission(call_id, title, tool.kind, raw_input)
    except asyncio.CancelledError:
        session.record("permission/decided", place | {"outcome": "cancelled"})
        raise
    except ToolError as error:
        outcome, problem = "failed", str(error)
    session.record("permission/decided", place | {"outcome": outcome})
    if outcome == "cancelled":
        await session.give_up()
    return None if outcome in ("allow_once", "allow_always") else problem
