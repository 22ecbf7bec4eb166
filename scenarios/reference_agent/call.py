"""One reply of the model: the call, its marks in the log, and its retries."""

import asyncio
import contextlib
import uuid
from typing import Any

from scenarios.reference_agent.assembly import Assembly
from scenarios.reference_agent.editor import Editor
from scenarios.reference_agent.model import ModelError, ModelRequest
from scenarios.reference_agent.services import Services
from scenarios.reference_agent.session import Session

__all__ = ["Caller"]


class Caller:
    """Calls the model for one session."""

    def __init__(self, services: Services, session: Session, editor: Editor) -> None:
        self.services = services
        self.session = session
        self.editor = editor

    async def reply(self, request: ModelRequest) -> Assembly:
        """The first good reply. Raises ModelError when retries cannot help or are used up."""
        retry = self.session.config.retry
        for attempt in range(retry.max_retries + 1):
            try:
                return await self.attempt(request)
            except ModelError as error:
                if error.code not in retry.codes or attempt == retry.max_retries:
                    raise
                await self.pause(error, attempt + 1)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def attempt(self, request: ModelRequest) -> Assembly:
        call = self.place() | {"call": self.session.state.call + 1}
        self.session.record("call/start", call)
        reply, message_id = Assembly(), str(uuid.uuid4())
        try:
            await self.listen(request, reply, message_id)
        except asyncio.CancelledError:
            self.session.record("call/end", call | {"outcome": {"kind": "cancelled"}})
            if reply.spoken():
                self.keep(reply, reply.spoken(), message_id, interrupted=True)
            raise
        except ModelError as error:
            outcome = {"kind": "failed", "message": error.message, "code": error.code}
            self.session.record("call/end", call | {"outcome": outcome})
            raise
        self.session.record("call/end", call | {"outcome": {"kind": "completed"}})
        if failure := reply.failure():
            raise failure
        if reply.content():
            self.keep(reply, reply.content(), message_id)
        return reply

    async def listen(self, request: ModelRequest, reply: Assembly, message_id: str) -> None:
        async with contextlib.aclosing(self.services.model.stream(request)) as chunks:
            async for chunk in chunks:
                self.session.record("assistant/chunk", self.place() | {"chunk": chunk})
                said = reply.add(chunk)
                if said and said.kind == "text":
                    await self.editor.say(said.text, message_id)
                elif said:
                    await self.editor.think(said.text, message_id)
        if reply.finish is None:
            raise ModelError("the stream ended without saying why", "TRANSPORT")

    def keep(
        self, reply: Assembly, content: list[dict[str, Any]], message_id: str, *, interrupted: bool = False
    ) -> None:
        """Make the reply part of the conversation."""
        model = self.session.config.model
        source = {"kind": "model", "provider": model.provider, "model": model.name}
        message = {"role": "assistant", "content": content, "source": source, "id": message_id}
        data: dict[str, Any] = self.place() | {"message": message}
        if reply.usage is not None:
            data["usage"] = reply.usage
        if interrupted:
            data["interrupted"] = True
        self.session.record("assistant/message", data)

    async def pause(self, error: ModelError, retry: int) -> None:
        settings = self.session.config.retry
        delay_ms = max(settings.backoff_ms * 2 ** (retry - 1), error.retry_after_ms)
        self.session.record(
            "llm/retry",
            self.place()
            | {
                "retry": retry,
                "maxRetries": settings.max_retries,
                "delayMs": delay_ms,
                "failure": {"message": error.message, "code": error.code},
            },
        )
        await self.services.sleep_ms(delay_ms)

    def place(self) -> dict[str, Any]:
        return {"turn": self.session.state.turn, "step": self.session.state.step}
