"""An OpenCode server: started as a child process, asked over HTTP, heard over its event stream.

Settings: `agent` = the agent for TurnOptions.mode "build"; for "plan" it is always `plan`. The model is spelled
`<provider>/<model>`.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.adapters.opencode_http import Connection, ConnectionLost, connect
from scenarios.reference_orchestrator.adapters.opencode_server import OpencodeServer
from scenarios.reference_orchestrator.adapters.process import ending, frame_of
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.normalisers.opencode import OpencodeNormaliser
from scenarios.reference_orchestrator.providers import RuntimeExited

__all__ = ["OpencodeAdapter"]

# Operation -> method and path; what stands in the path is no member of the body.
ROUTES: Mapping[str, tuple[str, str]] = {
    "event.subscribe": ("GET", "/event"),
    "permission.reply": ("POST", "/permission/{requestID}/reply"),
    "question.reject": ("POST", "/question/{requestID}/reject"),
    "question.reply": ("POST", "/question/{requestID}/reply"),
    "session.abort": ("POST", "/session/{sessionID}/abort"),
    "session.create": ("POST", "/session"),
    "session.get": ("GET", "/session/{sessionID}"),
    "session.promptAsync": ("POST", "/session/{sessionID}/prompt_async"),
    "session.revert": ("POST", "/session/{sessionID}/revert"),
    "session.update": ("PATCH", "/session/{sessionID}"),
}
# What an agent may do: action of edits, of commands, of the network and of what lies outside of the workspace.
ACCESS: Mapping[tuple[str, str], tuple[str, str, str]] = {
    ("read_only", "ask"): ("ask", "ask", "ask"),
    ("read_only", "never"): ("deny", "deny", "deny"),
    ("workspace", "ask"): ("allow", "ask", "ask"),
    ("workspace", "never"): ("allow", "allow", "deny"),
    ("full", "ask"): ("allow", "allow", "allow"),
    ("full", "never"): ("allow", "allow", "allow"),
}
RULES = (("edit",), ("bash",), ("webfetch", "websearch", "external_directory"))
FIRST_ACCESS = ACCESS["workspace", "ask"]


class OpencodeAdapter:
    capabilities = Capabilities(steer=True, rollback=True, questions=True, subagents=True)

    def __init__(self, context: AdapterContext) -> None:
        self._context = context
        self._normaliser = OpencodeNormaliser()
        self._server = OpencodeServer(context.services.clock)
        self._address = ("", 0)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stream: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._complaint: str | None = None
        self._is_closing = False
        self._access = FIRST_ACCESS

    async def open(self, resume: str | None) -> None:
        config = self._context.config
        self._address = await self._server.start(
            config.command, cwd=self._context.workspace, environment=config.environment
        )
        self._watch = asyncio.create_task(self._until_end())
        stream = await self._request("event.subscribe", {})
        self._stream = asyncio.create_task(self._listen(stream, await stream.stream()))
        if resume is not None and "error" not in await self._ask("session.get", {"sessionID": resume}):
            return
        created = await self._ask("session.create", {"permission": rules_of(self._access)})
        if "error" in created:
            raise ProviderError(f"opencode refused a session: {created['error']}")

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        access = ACCESS[options.access, options.approval]
        if access != self._access:
            self._access = access
            await self._ask("session.update", self._of_session({"permission": rules_of(access)}))
        await self._prompt(
            text, "plan" if options.mode == "plan" else self._context.config.settings.get("agent")
        )

    async def steer(self, text: str) -> None:
        await self._prompt(text, self._context.config.settings.get("agent"))

    async def interrupt(self) -> None:
        await self._send("session.abort", self._of_session({}))

    async def answer(self, request_id: str, answer: Answer) -> None:
        questions = self._normaliser.questions.get(request_id)
        if questions is None:
            reply = {"requestID": request_id, "reply": answer.option_id or "reject"}
            await self._send("permission.reply", reply)
        elif answer.answers:
            answers = [list(answer.answers.get(question, ())) for question in questions]
            await self._send("question.reply", {"requestID": request_id, "answers": answers})
        else:
            await self._send("question.reject", {"requestID": request_id})

    async def rollback(self, rollback: Rollback) -> None:
        await self._send("session.revert", self._of_session({"messageID": rollback.first_dropped}))

    async def close(self) -> None:
        self._is_closing = True
        await self._server.close()
        if self._watch is not None:
            await self._watch

    async def _prompt(self, text: str, agent: str | None) -> None:
        body: JsonObject = {"parts": [{"type": "text", "text": text}]}
        if agent is not None:
            body["agent"] = agent
        if self._context.config.model is not None:
            provider, _, model = self._context.config.model.partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        await self._send("session.promptAsync", self._of_session(body))

    def _of_session(self, body: JsonObject) -> JsonObject:
        return {"sessionID": self._normaliser.session_id} | body

    async def _send(self, operation: str, parameters: JsonObject) -> None:
        """Write a request; what comes of it comes as events."""
        try:
            connection = await self._request(operation, parameters)
        except ConnectionLost as error:
            await self._fail_unless_it_ends(str(error))
            return
        self._start(self._finish(operation, connection))

    async def _finish(self, operation: str, connection: Connection) -> None:
        try:
            await self._answered(operation, connection)
        except ConnectionLost as error:
            await self._fail_unless_it_ends(str(error))
        except ProviderError as error:
            self._fail(str(error))

    async def _ask(self, operation: str, parameters: JsonObject) -> JsonObject:
        """Raises ProviderError where no answer came; an answer that is an error is an answer."""
        return await self._answered(operation, await self._request(operation, parameters))

    async def _request(self, operation: str, parameters: JsonObject) -> Connection:
        frame: JsonObject = {"type": operation, "input": parameters} if parameters else {"type": operation}
        for event in self._normaliser.sent(frame):
            self._context.emit(event)
        method, path = ROUTES[operation]
        for name in tuple(parameters):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(parameters[name]), safe=""))
                parameters = {key: value for key, value in parameters.items() if key != name}
        body = orjson.dumps(parameters) if parameters and method != "GET" else None
        return await connect(*self._address, method, path, body)

    async def _answered(self, operation: str, connection: Connection) -> JsonObject:
        try:
            response = await connection.response()
        finally:
            connection.close()
        content = _json(response.body)
        frame: JsonObject = {"type": "sdk.response", "operation": operation}
        if response.status < 400:
            frame["data"] = content
        else:
            frame |= {"error": content or f"status {response.status}", "status": response.status}
        self._received(frame)
        return frame

    async def _listen(self, connection: Connection, events: AsyncIterator[bytes]) -> None:
        try:
            async for data in events:
                self._received({"type": "sdk.event", "event": frame_of(data)})
        except ProviderError as error:
            self._fail(str(error))
        except (OSError, EOFError, ValueError) as error:
            await self._fail_unless_it_ends(f"its event stream broke: {error}")
        else:
            await self._fail_unless_it_ends("its event stream ended")
        finally:
            connection.close()

    def _received(self, frame: JsonObject) -> None:
        for event in self._normaliser.received(frame):
            self._context.emit(event)

    def _fail(self, complaint: str) -> None:
        """A server that breaks the protocol is of no use."""
        self._complaint = self._complaint or complaint
        self._server.kill()

    async def _fail_unless_it_ends(self, complaint: str) -> None:
        """A server that ends closes its connections first; how it ended is then the better reason."""
        if not await self._server.ends_soon():
            self._fail(complaint)

    async def _until_end(self) -> None:
        code, stderr = await self._server.ended()
        waiting = [task for task in (*self._tasks, self._stream) if task is not None]
        if waiting:
            await asyncio.wait(waiting)
        status, error = ending("opencode", code, stderr)
        if self._is_closing:
            status, error = "success", None
        elif self._complaint is not None:
            status, error = "error", f"opencode broke the protocol: {self._complaint}"
        self._context.emit(RuntimeExited(status, error))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def rules_of(access: tuple[str, str, str]) -> list[JsonObject]:
    return [
        {"permission": permission, "pattern": "*", "action": action}
        for permissions, action in zip(RULES, access, strict=True)
        for permission in permissions
    ]


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        return body[:200].decode(errors="replace")
