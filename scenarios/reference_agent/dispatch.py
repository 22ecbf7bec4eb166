"""The tool calls of one reply: hooks, permission, running, results.

Everything that others can see happens in the order of the calls: all are announced first, then taken in batches.
A batch is a run of neighbours that may work side by side, or one call alone. Its calls are logged, gated one by
one, run together, and answered in order, whichever ends first. A cancel answers every call that has no result.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from pydantic import ValidationError

from scenarios.reference_agent.config import describe_validation_error
from scenarios.reference_agent.editor import Editor, display_of
from scenarios.reference_agent.hooks import run_hooks
from scenarios.reference_agent.permission import decide
from scenarios.reference_agent.services import Services
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.tools import Tool, ToolContext, ToolError, ToolOutcome
from scenarios.reference_agent.tools.files import AgentFiles, ClientFiles, inside

__all__ = ["Dispatch"]

CANCELLED = "Cancelled by the user."
NOT_STARTED = "Cancelled by the user before it started."

type Delegate = Callable[[str, str, str], Awaitable[str]]


class Pending:
    """A call on its way. `arguments` is None where the model's own text cannot be used; `problem` says why."""

    def __init__(self, block: dict[str, Any], tools: dict[str, Tool]) -> None:
        self.id: str = block["id"]
        self.name: str = block["name"]
        self.text: str = block["arguments"] or "{}"
        self.tool = tools.get(self.name)
        self.raw: Any = self.text
        self.ordinal = 0
        self.arguments: Any = None
        self.problem = ""
        self.logged = False
        self.outcome: ToolOutcome | None = None
        if self.tool is None:
            self.problem = f'there is no tool "{self.name}"; there are {", ".join(tools)}'
            return
        try:
            self.raw = json.loads(self.text, parse_constant=refuse_constant)
            self.arguments = self.tool.arguments.model_validate(self.raw)
        except ValidationError as error:
            self.problem = f"the arguments do not fit: {describe_validation_error(error)}"
        except (ValueError, RecursionError) as error:
            self.problem = f"the arguments are not JSON: {error}"

    @property
    def title(self) -> str:
        return self.tool.title(self.arguments) if self.tool and self.arguments is not None else self.name

    @property
    def parallel(self) -> bool:
        return self.tool is None or self.tool.parallel

    def refuse(self, reason: str) -> None:
        self.outcome = ToolOutcome.text(f"Error: {reason}", is_error=True)


class Dispatch:
    def __init__(
        self, services: Services, session: Session, editor: Editor, tools: dict[str, Tool], delegate: Delegate
    ) -> None:
        self.services = services
        self.session = session
        self.editor = editor
        self.tools = tools
        self.delegate = delegate

    async def run(self, blocks: list[dict[str, Any]]) -> None:
        """Answer all calls of a reply. When it is cancelled, they are answered all the same."""
        calls = [Pending(block, self.tools) for block in blocks]
        answered = 0
        try:
            for call in calls:
                await announce(self.editor, self.session, call)
            for batch in batches(calls):
                await self.run_batch(batch)
                for call in batch:
                    answered += 1
                    await self.answer(call)
        except asyncio.CancelledError:
            for call in calls[answered:]:
                if call.outcome is None:
                    call.outcome = ToolOutcome.text(CANCELLED if call.logged else NOT_STARTED, is_error=True)
                self.log(call)
                await self.answer(call, aborted=True)
            raise

    async def run_batch(self, batch: list[Pending]) -> None:
        for call in batch:
            self.log(call)
        for call in batch:
            await self.gate(call)
        running = [call for call in batch if call.outcome is None]
        for call in running:
            await self.editor.tool_progress(call.id, status="in_progress")
        async with asyncio.TaskGroup() as group:
            for call in running:
                group.create_task(self.execute(call, self.context(call)))
        for call in running:
            await self.look_back(call)

    async def gate(self, call: Pending) -> None:
        """Refuse the call if it cannot run, a hook is against it, or the mode or the person is."""
        if call.tool is None or call.arguments is None:
            call.refuse(call.problem)
            return
        question = {"callId": call.id, "name": call.name, "arguments": call.raw}
        if reason := await run_hooks(self.services, self.session, "before_tool", question):
            call.refuse(reason)
            return
        if call.tool.gated:
            reason = await decide(self.session, self.editor, call.tool, call.id, call.title, call.raw)
            if reason:
                call.refuse(reason)

    async def execute(self, call: Pending, context: ToolContext) -> None:
        assert call.tool is not None
        try:
            call.outcome = await call.tool.run(call.arguments, context)
        except ToolError as error:
            call.refuse(str(error))
        except Exception as error:
            # One broken tool must not take the turn with it; the model is told, the operator has the traceback.
            logging.exception("tool %s failed", call.name)
            call.refuse(f"{call.name} failed: {type(error).__name__}: {error}")

    async def look_back(self, call: Pending) -> None:
        outcome = call.outcome
        assert outcome is not None
        text = "\n".join(block["text"] for block in outcome.blocks if block["type"] == "text")
        question = {
            "callId": call.id,
            "name": call.name,
            "arguments": call.raw,
            "result": text,
            "isError": outcome.is_error,
        }
        if reason := await run_hooks(self.services, self.session, "after_tool", question):
            comment = {"type": "text", "text": f"A hook says: {reason}"}
            display = None if outcome.display is None else [*outcome.display, *display_of([comment])]
            call.outcome = ToolOutcome([*outcome.blocks, comment], outcome.is_error, display)

    def log(self, call: Pending) -> None:
        if not call.logged:
            call.logged = True
            named = {"callId": call.id, "name": call.name, "arguments": call.text}
            self.session.record("tool/call", self.place() | named)
            call.ordinal = self.session.state.tool_calls

    async def answer(self, call: Pending, *, aborted: bool = False) -> None:
        """Give the result to the log, and with it to the model, then to the person."""
        outcome = call.outcome
        assert outcome is not None
        block = {
            "type": "tool-result",
            "toolCallId": call.id,
            "content": outcome.blocks,
            "isError": outcome.is_error,
        }
        source = {"kind": "tool", "callId": call.id}
        message = {"source": source, "content": [block], "role": "tool", "id": str(uuid.uuid4())}
        data: dict[str, Any] = self.place() | {"message": message}
        if aborted:
            data["error"] = {"name": "Cancelled", "message": outcome.blocks[0].get("text", CANCELLED)}
        self.session.record("tool/result", data)
        display = outcome.display if outcome.display is not None else display_of(outcome.blocks)
        await self.editor.tool_progress(call.id, "failed" if outcome.is_error else "completed", display)

    def context(self, call: Pending) -> ToolContext:
        config = self.session.config
        in_client = config.client.files == "client" and self.editor.offers_files
        return ToolContext(
            call_id=call.id,
            ordinal=call.ordinal,
            cwd=self.session.cwd,
            spill=self.services.spill / self.session.id,
            config=config.tools,
            editor=self.editor,
            files=ClientFiles(self.editor) if in_client else AgentFiles(),
            client_shell=config.client.shell == "client" and self.editor.offers_terminal,
            environment=self.services.environment,
            record=self.session.record,
            delegate=self.delegate,
        )

    def place(self) -> dict[str, Any]:
        return {"turn": self.session.state.turn, "step": self.session.state.step}


def refuse_constant(name: str) -> Any:
    """Python's parser takes NaN and Infinity, JSON does not have them."""
    raise ValueError(f"{name} is no JSON value")


async def announce(editor: Editor, session: Session, call: Pending) -> None:
    """Show a call before anything is done about it."""
    path = call.tool.path(call.arguments) if call.tool and call.arguments is not None else None
    try:
        shown = str(inside(path, session.cwd)) if path else None
    except ToolError:
        shown = None
    await editor.tool_start(call.id, call.title, call.tool.kind if call.tool else "other", shown, call.raw)


def batches(calls: list[Pending]) -> Iterator[list[Pending]]:
    batch: list[Pending] = []
    for call in calls:
        if batch and not (call.parallel and batch[-1].parallel):
            yield batch
            batch = []
        batch.append(call)
    if batch:
        yield batch
