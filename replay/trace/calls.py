"""What a call of a wrapped function asks for: the model's messages, the tool's input, by the names of its arguments.

A wrapper knows a function's parameters once and its arguments at every call. Functions whose arguments say it in
another way are wrapped with a `describe` of their own.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from replay.trace.model import ABSENT

__all__ = [
    "MODEL",
    "TOOL",
    "Call",
    "Describe",
    "as_messages",
    "describe_model",
    "describe_tool",
    "named",
    "parameter_names",
]

MODEL, TOOL = "model", "tool"

type Describe = Callable[[str, Mapping[str, Any]], Call]
"""(name of the function, its arguments by name) -> the call."""

_MESSAGES = ("messages", "input", "contents", "prompt", "history", "conversation")
_SYSTEM = ("system", "instructions", "system_instruction")
_TOOLS = ("tools", "functions")
_MODEL_NAMES = ("model", "model_name")
_SELF = ("self", "cls")


class Call(NamedTuple):
    """A call that is about to be made, in the agent's own values. name: of the tool, or of the model function.

    options: what else a model is called with. input: of a tool.
    """

    kind: str
    name: str
    input: Any = ABSENT
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None
    model_name: str = ""
    temperature: float | None = None
    tool_call_id: str = ""
    options: Mapping[str, Any] | None = None


def parameter_names(function: Callable[..., Any]) -> tuple[tuple[str, ...], int]:
    """The names of positional parameters, and how many arguments before them are an instance or class.

    ((), 0) for a callable that does not tell.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except TypeError, ValueError:
        return (), 0
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    skipped = 1 if positional and positional[0] in _SELF else 0
    return tuple(positional[skipped:]), skipped


def named(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, in the order of the call; those beyond the names are the list "args"."""
    arguments = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        arguments["args"] = list(args[len(names) :])
    arguments.update(kwargs)
    return arguments


def describe_tool(name: str, arguments: Mapping[str, Any]) -> Call:
    """A tool is its function's name, its input the arguments."""
    return Call(TOOL, name, arguments)


def describe_model(name: str, arguments: Mapping[str, Any]) -> Call:
    """A model function has its messages, tools, model and temperature under names that most libraries use.

    A function of one argument may take the request as a whole, or the prompt, by any name.
    """
    rest = dict(arguments)
    if len(rest) == 1:
        [(_, only)] = rest.items()
        if isinstance(only, Mapping) and _first(only, _MESSAGES) is not None:
            rest = dict(only)
        elif _first(rest, _MESSAGES) is None:
            rest = {"messages": only}
    key = _first(rest, _MESSAGES)
    messages = None if key is None else as_messages(rest.pop(key))
    key = _first(rest, _SYSTEM)
    if key is not None:
        messages = [{"role": "system", "content": rest.pop(key)}, *(messages or ())]
    key = _first(rest, _TOOLS)
    tools = None if key is None else _listed(rest.pop(key))
    key = _first(rest, _MODEL_NAMES)
    model_name = str(rest.pop(key)) if key is not None and isinstance(rest[key], str) else ""
    temperature = rest.pop("temperature", None)
    if type(temperature) not in (int, float):
        temperature = None
    return Call(MODEL, name, ABSENT, messages, tools, model_name, temperature, "", rest or None)


def _first(among: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if among.get(key) is not None:
            return key
    return None


def as_messages(value: Any) -> Sequence[Any]:
    """A prompt is what the user says."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    return _listed(value)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else list(value) if isinstance(value, tuple) else [value]
