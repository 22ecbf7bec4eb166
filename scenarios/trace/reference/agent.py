"""The reference agent's own loop (its sessions, turns, tools and dispatch) at the help desk, without an editor.

The seam is where the agent has its own: the model's stream, and the `run` of each tool. Nothing else is replaced, so that
a replay goes through everything that lies between.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import orjson
from pydantic import create_model

from replay.trace.calls import MODEL, TOOL, Call
from replay.trace.protocol import Outcome
from replay.trace.state import DictState
from replay.trace.wrap import Session as Seam
from scenarios.reference_agent import __version__
from scenarios.reference_agent.config import Config
from scenarios.reference_agent.editor import Editor, Link
from scenarios.reference_agent.model import Chunk, Model, ModelRequest
from scenarios.reference_agent.services import Services, sleep_ms
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.store import Store
from scenarios.reference_agent.tools import Tool, ToolContext, ToolError, ToolOutcome
from scenarios.reference_agent.tools.edit import Write
from scenarios.reference_agent.tools.read import Read
from scenarios.reference_agent.tools.tool import Arguments
from scenarios.reference_agent.turn import Turn, last_words
from scenarios.trace.desk.changes import VARIABLE, Change, change
from scenarios.trace.desk.model import Result, ScriptedModel
from scenarios.trace.desk.tools import SHOP_TOOLS, ToolSpec
from scenarios.trace.desk.world import Desk, DeskError

__all__ = ["AGENT_VERSION", "MODEL_VERSION", "STATES", "make_agent"]

_CHANGE: Final = change(os.environ.get(VARIABLE, ""))
_PLACE: Final = Path("desk").absolute()
_SESSIONS: Final = Path("sessions").absolute()
_DESK: Final = Desk(_PLACE, has_broken_writes=_CHANGE.has_broken_writes)
_SORRY: Final = "Sorry"
_KINDS: Final[Mapping[str, type]] = {"string": str, "integer": int}

AGENT_VERSION: Final = f"{__version__}+desk.{_CHANGE.version}"
MODEL_VERSION: Final = _CHANGE.model.version
_MEMORY: Final[dict[str, Any]] = {}
STATES: Final = (
    DictState(_DESK.state, "shop"),
    DictState(_MEMORY, "memory"),
)


def make_agent(seam: Seam) -> Callable[..., Any]:
    """The agent, for a recorder or a replay."""
    model = _AtSeam(seam, ScriptedModel(_CHANGE.model))

    async def agent(task: str, earlier: Sequence[str] = ()) -> Outcome:
        _DESK.lay_out()
        _MEMORY.clear()
        services = Services(
            model=model,
            store=Store(_SESSIONS, clock=lambda: 0, new_id=_ids()),
            spill=_SESSIONS,
            environment={},
            sleep_ms=sleep_ms,
            toolbox=lambda **_: {tool.name: tool for tool in _tools(seam, _CHANGE)},
        )
        session = services.store.create(_config(_CHANGE), _DESK.files)
        for text in (*earlier, task):
            if not _CHANGE.keeps_memory:
                await session.close()
                session = services.store.create(_config(_CHANGE), _DESK.files)
            await _turn(services, session, text)
        answer = last_words(session)
        await session.close()
        return Outcome(_CHANGE.answer(answer), _CHANGE.success(not answer.startswith(_SORRY)))

    return agent


async def _turn(services: Services, session: Session, text: str) -> None:
    # Quiet: there is no editor that could be told anything.
    turn = Turn(services, session, Editor(Link(None), "", quiet=True), [{"type": "text", "text": text}])  # type: ignore[arg-type]
    await turn.run()
    state = session.state
    heard = [message["content"][0]["text"] for message in state.messages if message["role"] == "user"]
    _MEMORY.update(turns=state.turn, heard=heard)
    if _CHANGE.chatters:
        print(f"turn {state.turn} is over after {state.step} steps")
        print(f"turn {state.turn}: {state.tool_calls} calls", file=sys.stderr)


def _ids() -> Callable[[], str]:
    numbers = iter(range(1, 1000))
    return lambda: f"{os.getpid()}-{next(_COUNT)}-{next(numbers)}"


_COUNT: Final = iter(range(1, 1 << 30))


def _config(change_: Change) -> Config:
    return Config.model_validate(
        {
            "model": {"provider": "script", "name": change_.model.name},
            "permissions": {"mode": "auto"},
            "session_log": {"compress": "none", "fsync": False},
            "instructions": change_.prompt,
        }
    )


class _AtSeam(Model):
    """The scripted model as the agent calls any: a stream of chunks, through the seam."""

    def __init__(self, seam: Seam, model: ScriptedModel) -> None:
        self._model = model
        self._stream = seam.model(self._chunks, describe=self._call)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        stream: AsyncGenerator[Chunk] = self._stream(request)
        return stream

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Call:
        request: ModelRequest = arguments["request"]
        messages = [{"role": "system", "content": request.system}, *request.messages]
        tools = [_in_short(tool) for tool in request.tools]
        return Call(MODEL, name, messages=messages, tools=tools, model_name=self._model.settings.name)

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        said = [one for message in request.messages for one in _said(message)]
        tools = {tool["name"]: tool["parameters"] for tool in request.tools}
        reply = self._model.reply(request.system, tools, said)
        for word in reply.text.splitlines(keepends=True):
            yield {"type": "text-delta", "index": 0, "text": word}
        for at, call in enumerate(reply.calls):
            arguments = orjson.dumps(call.arguments).decode()
            block = {"type": "tool-call", "id": call.id, "name": call.name, "arguments": arguments}
            yield {"type": "block-end", "index": at, "block": block}
        usage = {"inputTokens": reply.prompt_tokens, "outputTokens": reply.completion_tokens}
        yield {"type": "usage", "usage": usage}
        yield {"type": "finish", "reason": {"kind": "tool-calls" if reply.calls else "stop"}}


def _in_short(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as traces show it: its arguments by their types."""
    properties = tool["parameters"]["properties"]
    return {
        "name": tool["name"],
        "description": tool["description"],
        "arguments": {name: one.get("type", "any") for name, one in properties.items()},
    }


def _said(message: Mapping[str, Any]) -> list[str | Result]:
    """What a message says to the model; not what the model said itself."""
    if message["role"] == "user":
        return ["\n".join(block["text"] for block in message["content"])]
    return [
        Result(
            "\n".join(inner["text"] for inner in block["content"]).removeprefix("Error: "), block["isError"]
        )
        for block in message["content"]
        if block["type"] == "tool-result"
    ]


# Tools.


class _ShopTool(Tool):
    """A tool of the desk as one of the agent's."""

    kind = "other"
    parallel: ClassVar[bool] = False

    def __init__(self, spec: ToolSpec) -> None:
        self.name = spec.name  # type: ignore[misc]
        self.description = spec.description  # type: ignore[misc]
        fields: dict[str, Any] = {name: (_KINDS[one["type"]], ...) for name, one in spec.arguments.items()}
        self.arguments = create_model(spec.name, __base__=Arguments, **fields)  # type: ignore[misc]
        self._method = spec.method

    def title(self, arguments: Any) -> str:
        return self.name

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutcome:
        try:
            value = getattr(_DESK, self._method)(**arguments.model_dump())
        except DeskError as error:
            raise ToolError(str(error)) from error
        return ToolOutcome.text(value if isinstance(value, str) else orjson.dumps(value).decode())


def _tools(seam: Seam, change_: Change) -> list[Tool]:
    """What the model is offered: tools of the desk, and the agent's own for files."""
    files: dict[str, Tool] = {"read": Read(), "write": Write()}
    specs = [*SHOP_TOOLS, *(ToolSpec(name, tool.description, "", {}) for name, tool in files.items())]
    tools = []
    for spec in change_.tools(specs):
        tool = files.get(spec.name) or _ShopTool(spec)
        tool.description = spec.description  # type: ignore[misc]
        tool.run = _repeated(_at_seam(seam, tool), change_.times)  # type: ignore[method-assign]
        tools.append(tool)
    return tools


def _at_seam(seam: Seam, tool: Tool) -> Callable[..., Any]:
    def describe(_name: str, arguments: Mapping[str, Any]) -> Call:
        given = arguments["arguments"].model_dump(mode="json", exclude_unset=True)
        return Call(TOOL, tool.name, given, tool_call_id=arguments["context"].call_id)

    run: Callable[..., Any] = seam.tool(tool.run, describe=describe, encode=_outcome, decode=_made)
    return run


def _repeated(run: Callable[..., Any], times: int) -> Callable[..., Any]:
    async def again(arguments: Any, context: ToolContext) -> Any:
        for _ in range(times - 1):
            await run(arguments, context)
        return await run(arguments, context)

    return again


def _outcome(outcome: ToolOutcome) -> dict[str, Any]:
    return {"blocks": outcome.blocks, "is_error": outcome.is_error}


def _made(value: Mapping[str, Any]) -> ToolOutcome:
    return ToolOutcome(value["blocks"], value["is_error"])
