"""A turn: from a prompt to the reply that asks for nothing more. A step is one reply and its tool calls."""

import asyncio
import logging
import uuid
from typing import Any, Literal

from scenarios.reference_agent.call import Caller
from scenarios.reference_agent.dispatch import Dispatch
from scenarios.reference_agent.editor import Editor
from scenarios.reference_agent.model import ModelError, ModelRequest
from scenarios.reference_agent.prompt import CONTINUE, system_prompt
from scenarios.reference_agent.services import Services
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.tools import ToolError

__all__ = ["StopReason", "Turn"]

type StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal"]

REASON_KIND: dict[StopReason, str] = {
    "end_turn": "completed",
    "max_tokens": "max-tokens",
    "max_turn_requests": "max-steps",
    "refusal": "refusal",
}


class Turn:
    """Made and begun in one go; `run` follows. Whatever happens, the log gets the end of what it began."""

    def __init__(
        self, services: Services, session: Session, editor: Editor, content: list[dict[str, Any]]
    ) -> None:
        self.services = services
        self.session = session
        self.editor = editor
        can_delegate = session.header.depth < session.config.subagents.max_depth
        self.tools = services.toolbox(can_ask=editor.can_ask, can_delegate=can_delegate)
        self.caller = Caller(services, session, editor)
        self.dispatch = Dispatch(services, session, editor, self.tools, self.delegate)
        session.abort_kind = "user"
        session.record("turn/start", {"turn": session.state.turn + 1})
        self.hear(content, "user")

    async def run(self) -> StopReason:
        """Raises ModelError when the model cannot be had, CancelledError when the turn was cancelled."""
        try:
            stop = await self.steps()
        except asyncio.CancelledError:
            self.end({"kind": "aborted", "reason": {"kind": self.session.why_aborted()}})
            raise
        except ModelError as error:
            self.end({"kind": "error", "error": {"message": error.message, "code": error.code}})
            raise
        except Exception as error:
            self.end(
                {
                    "kind": "error",
                    "error": {"message": f"{type(error).__name__}: {error}", "code": "INTERNAL"},
                }
            )
            raise
        self.end({"kind": REASON_KIND[stop]})
        return stop

    async def steps(self) -> StopReason:
        limits = self.session.config.limits
        continuations = 0
        for _ in range(limits.max_steps):
            state = self.session.state
            self.session.record("step/start", {"turn": state.turn, "step": state.step + 1})
            try:
                self.describe_request()
                reply = await self.caller.reply(self.request())
                if calls := reply.tool_calls():
                    await self.dispatch.run(calls)
            finally:
                self.session.record("step/end", {"turn": state.turn, "step": state.step})
            if reply.refused:
                return "refusal"
            if calls:
                continue
            if not reply.hit_limit:
                return "end_turn"
            if continuations == limits.max_continuations:
                return "max_tokens"
            continuations += 1
            self.hear([{"type": "text", "text": CONTINUE}], "agent")
        return "max_turn_requests"

    def hear(self, content: list[dict[str, Any]], source: str) -> None:
        message = {"content": content, "source": {"kind": source}, "role": "user", "id": str(uuid.uuid4())}
        self.session.record("user/message", message)

    def end(self, reason: dict[str, Any]) -> None:
        self.session.record("turn/end", {"turn": self.session.state.turn, "reason": reason})
        self.session.journal.flush()

    def describe_request(self) -> None:
        """Log what goes along with the conversation: at a session's first call, and whenever it changes."""
        session, model = self.session, self.session.config.model
        header = {
            "config": {
                "provider": model.provider,
                "model": model.name,
                "maxOutputTokens": model.max_output_tokens,
            },
            "system": system_prompt(session),
            "tools": [tool.schema() for tool in self.tools.values()],
        }
        if header != session.state.header or session.header_reason != "change":
            session.record("request/header", {"header": header, "reason": session.header_reason})
            session.header_reason = "change"
        context = {"provider": model.provider, "model": model.name, "mode": session.state.mode}
        if context != session.state.context:
            session.record("request/context", context)

    def request(self) -> ModelRequest:
        session = self.session
        assert session.state.header is not None
        return ModelRequest(
            session=session.id,
            parent=session.header.parent,
            cwd=str(session.cwd),
            system=session.state.header["system"],
            tools=session.state.header["tools"],
            messages=session.state.messages,
        )

    async def delegate(self, call_id: str, prompt: str, mode: str) -> str:
        """A turn of a new child session, and what it said in the end.

        Everything up to the first await happens in the order of the calls, so children have an order too.
        """
        child = self.services.store.create(
            self.session.config, self.session.cwd, self.session, fork=mode == "fork"
        )
        child.parent = self.session
        if child.state.mode != self.session.state.mode:
            child.record("mode/change", {"mode": self.session.state.mode})
        child.state.always_allowed = self.session.state.always_allowed
        place = {"turn": self.session.state.turn, "step": self.session.state.step, "callId": call_id}
        self.session.record("subagent/start", place | {"sessionId": child.id, "mode": mode})
        turn = Turn(self.services, child, self.editor.for_child(), [{"type": "text", "text": prompt}])
        try:
            stop = await turn.run()
        except ModelError as error:
            raise ToolError(f"the subagent failed: {error.message}") from error
        except Exception as error:
            logging.exception("subagent %s failed", child.id)
            raise ToolError(f"the subagent failed: {type(error).__name__}: {error}") from error
        finally:
            await child.close()
        if stop != "end_turn":
            raise ToolError(f"the subagent stopped early ({REASON_KIND[stop]}): {last_words(child)}")
        return last_words(child)


def last_words(session: Session) -> str:
    for message in reversed(session.state.messages):
        if message["role"] == "assistant":
            return (
                "".join(block["text"] for block in message["content"] if block["type"] == "text")
                or "(no text)"
            )
    return "(no reply)"
