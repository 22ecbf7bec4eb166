"""An agent of the Agent Client Protocol over stdio: the command of the provider's configuration, as a child process.

The client offers no files and no terminals: the agent works in the workspace with its own. What an agent may do without
asking is the agent's own setting. Settings: `auth_method` = id of the method to authenticate with; `plan_mode` and
`build_mode` = ids of the agent's modes for TurnOptions.mode, where it has any.
"""

import asyncio

from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.adapters.process import JsonLineProcess, ending
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, object_at, text_at, value_at
from scenarios.reference_orchestrator.normalisers.acp import (
    FORM,
    AcpNormaliser,
    is_answerable,
    request_id_of,
)
from scenarios.reference_orchestrator.normalisers.acp_form import content_of
from scenarios.reference_orchestrator.providers import RequestResolved, RuntimeExited

__all__ = ["AcpAdapter"]

PROTOCOL_VERSION = 1
CLIENT = {"name": "reference_orchestrator", "title": "Reference orchestrator", "version": "1.0.0"}
CLIENT_CAPABILITIES: JsonObject = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    "elicitation": {"form": {}},
}
METHOD_NOT_FOUND = -32601


class AcpAdapter:
    capabilities = Capabilities(questions=True)

    def __init__(self, context: AdapterContext) -> None:
        self._context = context
        self._normaliser = AcpNormaliser()
        self._process = JsonLineProcess(self._received, self._exited, context.services.clock)
        self._last_id = 0
        self._awaited: dict[int, asyncio.Future[JsonObject]] = {}
        self._requests: dict[str, JsonObject] = {}
        self._mode: str | None = None
        self._ending: str | None = None

    async def open(self, resume: str | None) -> None:
        config = self._context.config
        await self._process.start(config.command, cwd=self._context.workspace, environment=config.environment)
        agent = await self._initialize()
        place: JsonObject = {"cwd": self._context.workspace, "mcpServers": []}
        method = _way_back(agent)
        if resume is not None and method is not None:
            try:
                await self._ask(method, {"sessionId": resume} | place)
            except ProviderError:
                if self._ending is not None:
                    raise
            else:
                return
        await self._ask("session/new", place)

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        mode = self._context.config.settings.get(f"{options.mode}_mode")
        if mode is not None and mode != self._mode:
            self._mode = mode
            await self._send("session/set_mode", {"sessionId": self._normaliser.session_id, "modeId": mode})
        prompt = [{"type": "text", "text": text}]
        await self._send("session/prompt", {"sessionId": self._normaliser.session_id, "prompt": prompt})

    async def steer(self, text: str) -> None:
        raise ProviderError("the Agent Client Protocol has no way to steer a turn")

    async def interrupt(self) -> None:
        params = {"sessionId": self._normaliser.session_id}
        await self._write({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
        # The protocol wants an answer to whatever the agent still waits for.
        for request_id in tuple(self._requests):
            await self.answer(request_id, Answer())

    async def answer(self, request_id: str, answer: Answer) -> None:
        """An answer to a request that the agent has withdrawn meanwhile goes nowhere."""
        request = self._requests.pop(request_id, None)
        if request is None:
            return
        result = _form_answer(request, answer) if request["method"] == FORM else _permission_answer(answer)
        await self._write({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def rollback(self, rollback: Rollback) -> None:
        raise ProviderError("the Agent Client Protocol has no way to drop turns")

    async def close(self) -> None:
        await self._process.close()

    async def _initialize(self) -> JsonObject:
        offer: JsonObject = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": CLIENT_CAPABILITIES}
        response = await self._ask("initialize", offer | {"clientInfo": CLIENT})
        version = value_at(response, "result", "protocolVersion")
        if version != PROTOCOL_VERSION:
            raise ProviderError(f"the agent speaks version {version!r} of ACP, not {PROTOCOL_VERSION}")
        method = self._context.config.settings.get("auth_method")
        if method is not None:
            await self._ask("authenticate", {"methodId": method})
        return object_at(response, "result", "agentCapabilities")

    async def _ask(self, method: str, params: JsonObject) -> JsonObject:
        """Raises ProviderError for an error response and for a process that ends instead of answering."""
        request_id = self._last_id + 1
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._awaited[request_id] = answer
        await self._send(method, params)
        try:
            response = await answer
        finally:
            del self._awaited[request_id]
        if "error" in response:
            raise ProviderError(f"the agent refused {method}: {text_at(response, 'error', 'message')}")
        return response

    async def _send(self, method: str, params: JsonObject) -> None:
        self._last_id += 1
        await self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})

    async def _write(self, frame: JsonObject) -> None:
        for event in self._normaliser.sent(frame):
            self._context.emit(event)
        await self._process.write(frame)

    def _received(self, frame: JsonObject) -> None:
        for event in self._normaliser.received(frame):
            if isinstance(event, RequestResolved):
                self._requests.pop(event.request_id, None)
            self._context.emit(event)
        if "method" in frame and "id" in frame:
            self._asked(frame)
        elif "method" not in frame:
            future = self._awaited.get(frame["id"])
            if future is not None and not future.done():
                future.set_result(frame)

    def _asked(self, frame: JsonObject) -> None:
        if is_answerable(frame):
            self._requests[request_id_of(frame)] = frame
            return
        error = {"code": METHOD_NOT_FOUND, "message": f"{frame['method']} is not supported"}
        self._process.write_soon({"jsonrpc": "2.0", "id": frame["id"], "error": error})

    def _exited(self, code: int, stderr: str) -> None:
        status, self._ending = ending("the agent", code, stderr)
        for future in self._awaited.values():
            if not future.done():
                future.set_exception(ProviderError(self._ending or "the agent ended"))
        self._context.emit(RuntimeExited(status, self._ending))


def _way_back(agent: JsonObject) -> str | None:
    """The method that takes up a session. `session/resume` replays no history, so it is the better one."""
    if value_at(agent, "sessionCapabilities", "resume") is not None:
        return "session/resume"
    return "session/load" if agent.get("loadSession") is True else None


def _permission_answer(answer: Answer) -> JsonObject:
    if not answer.option_id:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": answer.option_id}}


def _form_answer(request: JsonObject, answer: Answer) -> JsonObject:
    if not answer.answers:
        return {"action": "cancel"}
    schema = object_at(request, "params", "requestedSchema")
    return {"action": "accept", "content": content_of(schema, answer.answers)}
