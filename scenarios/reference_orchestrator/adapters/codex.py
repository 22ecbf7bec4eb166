"""codex app-server over stdio: the command of the provider's configuration, as a child process.

Settings: `rollback` = "count" for versions before 0.171, which drop a number of turns (`thread/rollback`) rather than all
from a turn on (`thread/revert`).
"""

import asyncio
from typing import Any

from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.adapters.process import JsonLineProcess, ending
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, text_at
from scenarios.reference_orchestrator.normalisers.codex import APPROVALS, QUESTIONS, CodexNormaliser
from scenarios.reference_orchestrator.providers import RuntimeExited, SteerRejected, TurnEnded, TurnStarted

__all__ = ["CodexAdapter"]

CLIENT = {"name": "reference_orchestrator", "title": "Reference orchestrator", "version": "1.0.0"}
SANDBOXES: dict[str, JsonObject] = {
    "read_only": {"type": "readOnly", "networkAccess": False},
    "workspace": {
        "type": "workspaceWrite",
        "writableRoots": [],
        "networkAccess": False,
        "excludeTmpdirEnvVar": False,
        "excludeSlashTmp": False,
    },
    "full": {"type": "dangerFullAccess"},
}
METHOD_NOT_FOUND = -32601


class CodexAdapter:
    capabilities = Capabilities(steer=True, rollback=True, questions=True, subagents=True)

    def __init__(self, context: AdapterContext) -> None:
        self._context = context
        self._normaliser = CodexNormaliser()
        self._process = JsonLineProcess(self._received, self._exited, context.services.clock)
        self._last_id = 0
        self._awaited: dict[int, asyncio.Future[JsonObject]] = {}
        self._requests: dict[str, tuple[object, str]] = {}
        self._turn_id = ""
        self._ending: str | None = None

    async def open(self, resume: str | None) -> None:
        config = self._context.config
        await self._process.start(config.command, cwd=self._context.workspace, environment=config.environment)
        await self._ask("initialize", {"clientInfo": CLIENT, "capabilities": {"experimentalApi": True}})
        await self._write({"method": "initialized"})
        place: JsonObject = {"cwd": self._context.workspace}
        if config.model is not None:
            place["model"] = config.model
        if resume is not None:
            try:
                await self._ask("thread/resume", {"threadId": resume} | place)
            except ProviderError:
                if self._ending is not None:
                    raise
            else:
                return
        await self._ask("thread/start", place)

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        params: JsonObject = {
            "threadId": self._normaliser.thread_id,
            "input": input_of(text),
            "cwd": self._context.workspace,
            "approvalPolicy": "on-request" if options.approval == "ask" else "never",
            "sandboxPolicy": SANDBOXES[options.access],
        }
        if options.mode == "plan":
            settings = {
                "model": self._context.config.model or "",
                "reasoning_effort": None,
                "developer_instructions": None,
            }
            params["collaborationMode"] = {"mode": "plan", "settings": settings}
        await self._send("turn/start", params)

    async def steer(self, text: str) -> None:
        if not self._turn_id:
            self._context.emit(SteerRejected(text, "the turn has ended"))
            return
        params = {"threadId": self._normaliser.thread_id, "input": input_of(text)}
        await self._send("turn/steer", params | {"expectedTurnId": self._turn_id})

    async def interrupt(self) -> None:
        # A turn that has ended meanwhile needs no interrupt.
        if not self._turn_id:
            return
        await self._send("turn/interrupt", {"threadId": self._normaliser.thread_id, "turnId": self._turn_id})

    async def answer(self, request_id: str, answer: Answer) -> None:
        # One that was answered before, or came from nobody.
        if request_id not in self._requests:
            return
        raw_id, method = self._requests.pop(request_id)
        if method in QUESTIONS:
            answers = {name: {"answers": list(chosen)} for name, chosen in answer.answers.items()}
            await self._write({"id": raw_id, "result": {"answers": answers}})
        else:
            await self._write({"id": raw_id, "result": {"decision": answer.option_id or "cancel"}})

    async def rollback(self, rollback: Rollback) -> None:
        params: dict[str, Any] = {"threadId": self._normaliser.thread_id}
        if self._context.config.settings.get("rollback") == "count":
            await self._send("thread/rollback", params | {"numTurns": rollback.turns})
        else:
            await self._send("thread/revert", params | {"beforeTurnId": rollback.first_dropped})

    async def close(self) -> None:
        await self._process.close()

    async def _ask(self, method: str, params: JsonObject) -> JsonObject:
        """Raises ProviderError for an error response and for a process that ends instead of answering."""
        request_id = self._last_id + 1
        future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._awaited[request_id] = future
        try:
            await self._send(method, params)
            response = await future
        finally:
            del self._awaited[request_id]
        if "error" in response:
            raise ProviderError(f"codex refused {method}: {text_at(response, 'error', 'message')}")
        return response

    async def _send(self, method: str, params: JsonObject) -> None:
        self._last_id += 1
        await self._write({"id": self._last_id, "method": method, "params": params})

    async def _write(self, frame: JsonObject) -> None:
        for event in self._normaliser.sent(frame):
            self._context.emit(event)
        await self._process.write(frame)

    def _received(self, frame: JsonObject) -> None:
        if "method" in frame and "id" in frame:
            self._asked(frame)
        for event in self._normaliser.received(frame):
            if isinstance(event, TurnStarted):
                self._turn_id = event.provider_turn_id
            elif isinstance(event, TurnEnded):
                self._turn_id = ""
            self._context.emit(event)
        future = self._awaited.get(frame["id"]) if "id" in frame and "method" not in frame else None
        if future is not None and not future.done():
            future.set_result(frame)

    def _asked(self, frame: JsonObject) -> None:
        if frame["method"] in APPROVALS or frame["method"] in QUESTIONS:
            self._requests[str(frame["id"])] = (frame["id"], frame["method"])
        else:
            error = {"code": METHOD_NOT_FOUND, "message": f"{frame['method']} is not supported"}
            self._process.write_soon({"id": frame["id"], "error": error})

    def _exited(self, code: int, stderr: str) -> None:
        status, self._ending = ending("codex app-server", code, stderr)
        for future in self._awaited.values():
            if not future.done():
                future.set_exception(ProviderError(self._ending or "codex app-server ended"))
        self._context.emit(RuntimeExited(status, self._ending))


def input_of(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}]
