"""The `claude` CLI over stdio: its stream-JSON and its control requests.

The provider's command is the CLI itself; the flags are ours. Going back to an earlier turn means another process that
takes the session up there. Settings: `full_access` = "yes" starts the CLI so that TurnOptions.access "full" may be asked
for; without it the CLI refuses that.
"""

import asyncio
from collections.abc import Mapping

from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.adapters.process import JsonLineProcess, ending
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject, object_at, text_at
from scenarios.reference_orchestrator.normalisers.claude import ClaudeNormaliser
from scenarios.reference_orchestrator.normalisers.claude_requests import (
    ALLOW,
    ALWAYS,
    Asked,
    is_permission,
)
from scenarios.reference_orchestrator.providers import RuntimeExited, ThreadRolledBack

__all__ = ["ClaudeAdapter"]

FLAGS = ("--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
ASK_HERE = ("--permission-prompt-tool", "stdio")
# TurnOptions without questions for "plan" and "full" stand above the rest of them.
MODES: Mapping[tuple[str, str], str] = {
    ("read_only", "ask"): "default",
    ("read_only", "never"): "dontAsk",
    ("workspace", "ask"): "acceptEdits",
    ("workspace", "never"): "dontAsk",
    ("full", "ask"): "bypassPermissions",
    ("full", "never"): "bypassPermissions",
}
FIRST_MODE = MODES["workspace", "ask"]
LOST = "No conversation found"
REFUSAL = "The user did not allow this."
NO_ANSWER = "The user gave no answer."


class ClaudeAdapter:
    capabilities = Capabilities(steer=True, rollback=True, questions=True, subagents=True)

    def __init__(self, context: AdapterContext) -> None:
        self._context = context
        self._normaliser = ClaudeNormaliser()
        self._process: JsonLineProcess | None = None
        self._last_id = 0
        self._opening: asyncio.Future[None] | None = None
        self._opening_id = ""
        self._is_replaced = False
        self._dropped_turns: int | None = None
        self._mode = FIRST_MODE

    async def open(self, resume: str | None) -> None:
        try:
            await self._take_up(resume)
        except ProviderError as error:
            if resume is None or LOST not in str(error):
                raise
            await self._take_up(None)

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        mode = "plan" if options.mode == "plan" else MODES[options.access, options.approval]
        if mode != self._mode:
            self._mode = mode
            await self._control({"subtype": "set_permission_mode", "mode": mode})
        await self._write(_message(text))

    async def steer(self, text: str) -> None:
        await self._write(_message(text) | {"priority": "now"})

    async def interrupt(self) -> None:
        await self._control({"subtype": "interrupt"})

    async def answer(self, request_id: str, answer: Answer) -> None:
        """An answer to a request that the CLI has withdrawn meanwhile goes nowhere."""
        asked = self._normaliser.requests.get(request_id)
        if asked is None:
            return
        result = _question_answer(asked, answer) if asked.is_question else _permission_answer(asked, answer)
        response = {"subtype": "success", "request_id": request_id, "response": result}
        await self._write({"type": "control_response", "response": response})

    async def rollback(self, rollback: Rollback) -> None:
        if self._process is not None:
            self._is_replaced = True
            await self._process.close()
            self._is_replaced = False
        resume = self._normaliser.session_id if rollback.resume_point else None
        session_id = resume or self._context.services.ids.uuid()
        self._normaliser.started(session_id, resumed=resume is not None, dropped_turns=rollback.turns)
        self._dropped_turns = rollback.turns
        await self._launch(session_id, resume is not None, rollback.resume_point)

    async def close(self) -> None:
        if self._process is not None:
            await self._process.close()

    async def _take_up(self, resume: str | None) -> None:
        """Start the CLI and wait for its handshake. Raises ProviderError, after which nothing runs."""
        session_id = resume or self._context.services.ids.uuid()
        self._normaliser.started(session_id, resumed=resume is not None)
        self._opening = asyncio.get_running_loop().create_future()
        await self._launch(session_id, resume is not None)
        await self._opening

    async def _launch(self, session_id: str, is_resumed: bool, resume_point: str = "") -> None:
        config = self._context.config
        command = [*config.command, *FLAGS, *ASK_HERE, "--permission-mode", FIRST_MODE]
        if config.model is not None:
            command += ["--model", config.model]
        if config.settings.get("full_access") == "yes":
            command.append("--allow-dangerously-skip-permissions")
        # One word each: what comes from elsewhere cannot become a flag of its own.
        command.append(f"--resume={session_id}" if is_resumed else f"--session-id={session_id}")
        if resume_point:
            command.append(f"--resume-session-at={resume_point}")
        self._mode = FIRST_MODE
        self._process = JsonLineProcess(self._received, self._exited, self._context.services.clock)
        await self._process.start(command, cwd=self._context.workspace, environment=config.environment)
        self._opening_id = await self._control({"subtype": "initialize", "hooks": None})

    async def _control(self, request: JsonObject) -> str:
        self._last_id += 1
        request_id = f"request-{self._last_id}"
        await self._write({"type": "control_request", "request_id": request_id, "request": request})
        return request_id

    async def _write(self, frame: JsonObject) -> None:
        for event in self._normaliser.sent(frame):
            self._context.emit(event)
        if self._process is not None:
            await self._process.write(frame)

    def _received(self, frame: JsonObject) -> None:
        for event in self._normaliser.received(frame):
            if isinstance(event, ThreadRolledBack):
                self._dropped_turns = None
            self._context.emit(event)
        if frame["type"] == "control_request" and not is_permission(frame):
            self._refuse(frame)
        elif frame["type"] == "control_response":
            self._opened(object_at(frame, "response"))

    def _refuse(self, frame: JsonObject) -> None:
        error = f"{text_at(frame, 'request', 'subtype')} is not supported"
        response = {"subtype": "error", "request_id": frame["request_id"], "error": error}
        if self._process is not None:
            self._process.write_soon({"type": "control_response", "response": response})

    def _opened(self, response: JsonObject) -> None:
        if self._opening is None or self._opening.done() or response["request_id"] != self._opening_id:
            return
        if text_at(response, "subtype") == "error":
            error = text_at(response, "error") or "it did not say why"
            self._opening.set_exception(ProviderError(f"claude refused the handshake: {error}"))
        else:
            self._opening.set_result(None)

    def _exited(self, code: int, stderr: str) -> None:
        if self._is_replaced:
            return
        status, error = ending("claude", code, stderr)
        if self._opening is not None and not self._opening.done():
            self._opening.set_exception(ProviderError(error or "claude ended before the handshake"))
            if error is not None and LOST in error:
                return
        if self._dropped_turns is not None:
            self._context.emit(ThreadRolledBack(self._dropped_turns, error or "claude ended instead"))
            self._dropped_turns = None
        self._context.emit(RuntimeExited(status, error))


def _message(text: str) -> JsonObject:
    return {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}


def _permission_answer(asked: Asked, answer: Answer) -> JsonObject:
    if answer.option_id not in (ALLOW, ALWAYS):
        denial: JsonObject = {"behavior": "deny", "message": REFUSAL}
        # Nobody answered, so the agent is not to look for another way.
        return denial if answer.option_id else denial | {"interrupt": True}
    allowed: JsonObject = {"behavior": "allow", "updatedInput": asked.input}
    return allowed | {"updatedPermissions": asked.suggestions} if answer.option_id == ALWAYS else allowed


def _question_answer(asked: Asked, answer: Answer) -> JsonObject:
    if not answer.answers:
        return {"behavior": "deny", "message": NO_ANSWER}
    answers = {question: ", ".join(chosen) for question, chosen in answer.answers.items()}
    return {"behavior": "allow", "updatedInput": asked.input | {"answers": answers}}
