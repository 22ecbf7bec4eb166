"""An agent that pydantic-ai runs: its loop, its messages, its handling of tools and of what goes wrong in them.

The seam is where the framework ends: a model that wraps another one, and the functions of the tools. The model behind it
is the script of the desk, injected as a function; any model of pydantic-ai could stand there.
"""

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from replay.trace.calls import MODEL, Call
from replay.trace.protocol import Outcome
from replay.trace.state import DictState
from replay.trace.wrap import Session
from scenarios.trace.desk.changes import VARIABLE, change
from scenarios.trace.desk.model import Result, ScriptedModel
from scenarios.trace.desk.tools import FILE_TOOLS, SHOP_TOOLS, ToolSpec
from scenarios.trace.desk.world import Desk, DeskError

__all__ = ["AGENT_VERSION", "MODEL_VERSION", "STATES", "make_agent"]

_CHANGE: Final = change(os.environ.get(VARIABLE, ""))
_DESK: Final = Desk(Path("desk").absolute(), has_broken_writes=_CHANGE.has_broken_writes)
_SCRIPT: Final = ScriptedModel(_CHANGE.model)
_SORRY: Final = "Sorry"
_VOLATILE: Final = frozenset(("timestamp", "run_id", "conversation_id"))
_KEPT: Final = frozenset(("args", "content"))

AGENT_VERSION: Final = f"desk.{_CHANGE.version}"
MODEL_VERSION: Final = _CHANGE.model.version
_MEMORY: Final[dict[str, Any]] = {}
STATES: Final = (
    DictState(_DESK.state, "shop"),
    DictState(_MEMORY, "memory"),
)


def make_agent(seam: Session) -> Callable[..., Any]:
    """The agent, for a recorder or a replay."""
    model = _AtSeam(FunctionModel(_script, model_name=_CHANGE.model.name), seam)
    specs = _CHANGE.tools([*SHOP_TOOLS, *FILE_TOOLS])
    desk = Agent(model, instructions=_CHANGE.prompt, tools=[_tool(seam, spec) for spec in specs])

    async def agent(task: str, earlier: Sequence[str] = ()) -> Outcome:
        _DESK.lay_out()
        _MEMORY.clear()
        history: list[ModelMessage] = []
        answer = ""
        for turn, text in enumerate((*earlier, task), 1):
            result = await desk.run(text, message_history=history if _CHANGE.keeps_memory else [])
            history, answer = result.all_messages(), str(result.output)
            heard = [
                one for message in history if isinstance(message, ModelRequest) for one in _said(message)
            ]
            _MEMORY["heard"] = [one for one in heard if isinstance(one, str)]
            if _CHANGE.chatters:
                print(f"turn {turn} is over, {result.usage}")
                print(f"turn {turn}: {len(history)} messages", file=sys.stderr)
        return Outcome(_CHANGE.answer(answer), _CHANGE.success(not answer.startswith(_SORRY)))

    return agent


# The model.


class _AtSeam(WrapperModel):
    """Any model of pydantic-ai, asked through the seam."""

    def __init__(self, wrapped: Model, seam: Session) -> None:
        super().__init__(wrapped)
        self._request = seam.model(
            wrapped.request, name="request", describe=_call, encode=_encoded, decode=_decoded
        )

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response: ModelResponse = await self._request(messages, model_settings, model_request_parameters)
        return response


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    """What the model is sent: the instructions, the messages without times and run ids, the tools with their schemas."""
    messages: list[ModelMessage] = arguments["messages"]
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "arguments": {key: one["type"] for key, one in tool.parameters_json_schema["properties"].items()},
        }
        for tool in arguments["model_request_parameters"].function_tools
    ]
    sent = [{"role": "system", "content": _instructions(messages)}, *map(_shown, messages)]
    return Call(MODEL, name, messages=sent, tools=tools, model_name=_CHANGE.model.name)


def _instructions(messages: Sequence[ModelMessage]) -> str:
    said = [message.instructions for message in messages if isinstance(message, ModelRequest)]
    return said[-1] or ""


def _shown(message: ModelMessage) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                parts.append({"user": part.content})
            case TextPart():
                parts.append({"text": part.content})
            case ToolCallPart():
                parts.append({"call": part.tool_name, "id": part.tool_call_id, "args": part.args_as_dict()})
            case ToolReturnPart():
                parts.append({"result": part.content, "id": part.tool_call_id, "outcome": part.outcome})
            case _:
                parts.append({"other": part.part_kind})
    return {"role": message.kind, "parts": parts}


def _encoded(response: ModelResponse) -> Any:
    """The framework's own JSON of a response, without what is empty and what differs between any two runs."""
    [value] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return _lean(value)


def _lean(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _lean(inner) for key, inner in value.items() if key not in _VOLATILE}
        return {key: inner for key, inner in kept.items() if inner or key in _KEPT}
    return [_lean(inner) for inner in value] if isinstance(value, list) else value


def _decoded(value: Any) -> ModelResponse:
    [response] = ModelMessagesTypeAdapter.validate_python([value])
    assert isinstance(response, ModelResponse)
    return response


def _script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The scripted model as a function of pydantic-ai."""
    tools = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
    said = [one for message in messages if isinstance(message, ModelRequest) for one in _said(message)]
    reply = _SCRIPT.reply(_instructions(messages), tools, said)
    parts: list[ModelResponsePart] = [TextPart(reply.text)] if reply.text else []
    parts += [ToolCallPart(call.name, call.arguments, tool_call_id=call.id) for call in reply.calls]
    usage = RequestUsage(input_tokens=reply.prompt_tokens, output_tokens=reply.completion_tokens)
    return ModelResponse(parts, usage=usage, model_name=_CHANGE.model.name)


def _said(message: ModelRequest) -> list[str | Result]:
    found: list[str | Result] = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                found.append(str(part.content))
            case ToolReturnPart():
                content = part.content
                text = content if isinstance(content, str) else part.model_response_str()
                found.append(Result(text, is_error=part.outcome != "success"))
            case _:
                continue
    return found


# Tools.


def _tool(seam: Session, spec: ToolSpec) -> Tool:
    """A method of the desk as a tool of the framework. What it refuses is told to the model."""
    method = getattr(_DESK, spec.method)

    @functools.wraps(method)
    def run(**arguments: Any) -> Any:
        try:
            return method(**arguments)
        except DeskError as error:
            raise ModelRetry(str(error)) from error

    at_seam = seam.tool(run, name=spec.name)

    def repeated(**arguments: Any) -> Any:
        for _ in range(_CHANGE.times - 1):
            at_seam(**arguments)
        return at_seam(**arguments)

    return Tool.from_schema(repeated, spec.name, spec.description, spec.schema())
