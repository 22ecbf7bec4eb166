"""Where instrumentations of GenAI put what was said: four ways, newest first. Pure.

    attributes of the span         gen_ai.input.messages, .output.messages, .system_instructions, .tool.definitions, and
                                   of tools gen_ai.tool.call.arguments, .result; structured, or JSON in a string
    one event, or log record       gen_ai.client.inference.operation.details with the same attributes
    an event a message             gen_ai.system.message, .user.message, .assistant.message, .tool.message, gen_ai.choice;
                                   the message is the record's body, or the attributes of a span event
    older still                    events gen_ai.content.prompt and .completion; attributes gen_ai.prompt.0.content, …

Messages stay as they came; only the text of answers, and calls and results of tools, are looked for in them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replay.trace.importers.steps import joined_text
from replay.trace.jsonable import bounded
from replay.trace.model import ABSENT
from replay.trace.said import text_of

__all__ = ["Content", "content_of", "input_text"]

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_SYSTEM, _TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_DETAILS = "gen_ai.client.inference.operation.details"
_MESSAGE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.([0-9]{1,4})\.(.{1,200})")


class Content(NamedTuple):
    """What a span says was said. told_*: inputs and outputs of tools by call id, out of messages."""

    messages: Sequence[Any] | None
    tools: Sequence[Any] | None
    response: Any
    text: str | None
    tool_input: Any
    tool_output: Any
    told_inputs: Mapping[str, Any]
    told_outputs: Mapping[str, Any]


def content_of(attributes: Mapping[str, Any], events: Sequence[Any]) -> Content:
    """The content of a span with its events, which are in the order of time."""
    known = dict(attributes)
    for event in events:
        if event.name == _DETAILS:
            known = {**event.attributes, **known}
    messages = _sent(known, events)
    answers = _answers(known, events)
    told = [*(messages or ()), *(answers or ())]
    return Content(
        None if messages is None else bounded(messages),
        _listed(_parsed(known.get(_TOOLS))),
        ABSENT if answers is None else bounded(answers[0] if len(answers) == 1 else answers),
        None if answers is None else _text_of_answers(answers),
        _parsed(known["gen_ai.tool.call.arguments"]) if "gen_ai.tool.call.arguments" in known else ABSENT,
        _parsed(known["gen_ai.tool.call.result"]) if "gen_ai.tool.call.result" in known else ABSENT,
        dict(_calls(told)),
        dict(_results(told)),
    )


def input_text(messages: Sequence[Any]) -> str:
    """What the user said last in a conversation."""
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role") == "user":
            return joined_text(message)
    return ""


def _sent(known: Mapping[str, Any], events: Sequence[Any]) -> list[Any] | None:
    messages = _listed(_parsed(known.get(_INPUT)))
    system = _parsed(known.get(_SYSTEM))
    if messages is None:
        messages = [
            _said(event, found[1]) for event in events if (found := _MESSAGE_EVENT.fullmatch(event.name))
        ]
        messages = messages or _old(events, "gen_ai.content.prompt", "gen_ai.prompt", "user")
        messages = messages or _indexed(known, "prompt")
    if system:
        parts = system if isinstance(system, list) else [{"type": "text", "content": system}]
        messages = [{"role": "system", "parts": parts}, *(messages or ())]
    return messages or None


def _answers(known: Mapping[str, Any], events: Sequence[Any]) -> list[Any] | None:
    answers = _listed(_parsed(known.get(_OUTPUT)))
    if answers is None:
        answers = [_said(event, "assistant") for event in events if event.name == "gen_ai.choice"]
        answers = answers or _old(events, "gen_ai.content.completion", "gen_ai.completion", "assistant")
        answers = answers or _indexed(known, "completion")
    return answers or None


def _said(event: Any, role: str) -> dict[str, Any]:
    """The message of an event. A choice has its message one level down, and says why it is over beside it."""
    said = event.body if isinstance(event.body, dict) else event.attributes
    said = {key: _parsed(value) if key in ("message", "tool_calls") else value for key, value in said.items()}
    inner = said.pop("message", None)
    if isinstance(inner, dict):
        said = {**inner, **{key: value for key, value in said.items() if key not in inner}}
    elif inner is not None:
        said["content"] = inner
    own = {
        key: value
        for key, value in said.items()
        if key not in ("gen_ai.system", "gen_ai.provider.name", "event.name")
    }
    return {"role": role, **own}


def _old(events: Sequence[Any], name: str, attribute: str, role: str) -> list[Any]:
    found: list[Any] = []
    for event in events:
        if event.name == name and attribute in event.attributes:
            value = _parsed(event.attributes[attribute])
            found += value if isinstance(value, list) else [{"role": role, "content": value}]
    return found


def _indexed(known: Mapping[str, Any], which: str) -> list[Any]:
    """gen_ai.prompt.0.role, gen_ai.prompt.0.content, gen_ai.completion.0.tool_calls.0.name, …"""
    messages: dict[int, dict[str, Any]] = {}
    for key, value in known.items():
        found = _INDEXED.fullmatch(key)
        if found is not None and found[1] == which:
            messages.setdefault(int(found[2]), {})[found[3]] = (
                _parsed(value) if found[3] == "content" else value
            )
    return [_with_calls(messages[at]) for at in sorted(messages)]


def _with_calls(message: dict[str, Any]) -> dict[str, Any]:
    calls: dict[str, dict[str, Any]] = {}
    rest = {}
    for key, value in message.items():
        found = re.fullmatch(r"tool_calls\.([0-9]{1,4})\.(id|name|arguments)", key)
        if found is None:
            rest[key] = value
        else:
            calls.setdefault(found[1], {})[found[2]] = value
    return {**rest, "tool_calls": list(calls.values())} if calls else rest


def _text_of_answers(answers: Sequence[Any]) -> str:
    # Several answers are choices of one call; the first is what an agent goes on with.
    return _text_of_message(answers[0])


def _text_of_message(message: Any) -> str:
    parts = message.get("parts") if isinstance(message, Mapping) else None
    if isinstance(parts, list):
        # Reasoning is no part of what was said.
        return joined_text([part for part in parts if isinstance(part, dict) and part.get("type") == "text"])
    return text_of(message) or ""


def _parts(messages: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if isinstance(message, Mapping):
            parts = message.get("parts")
            yield message
            yield from (
                (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else ()
            )


def _calls(messages: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """(call id, input) of every call that a model asked for."""
    for part in _parts(messages):
        if part.get("type") == "tool_call" and isinstance(part.get("id"), str) and "arguments" in part:
            yield part["id"], part["arguments"]
        calls = part.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            inner = call.get("function") if isinstance(call, Mapping) else None
            holder = inner if isinstance(inner, Mapping) else call
            if isinstance(call, Mapping) and isinstance(call.get("id"), str) and "arguments" in holder:
                yield call["id"], holder["arguments"]


def _results(messages: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """(call id, output) of every tool that a model was told of."""
    for part in _parts(messages):
        if part.get("type") == "tool_call_response" and isinstance(part.get("id"), str):
            # The convention has had three names for it.
            key = next((key for key in ("response", "result", "content") if key in part), None)
            if key is not None:
                yield part["id"], part[key]
        elif part.get("role") == "tool" and "content" in part:
            call_id = part.get("id") or part.get("tool_call_id")
            if isinstance(call_id, str):
                yield call_id, part["content"]


def _parsed(value: Any) -> Any:
    """JSON in a string as what it says, other text as it is."""
    if not isinstance(value, str) or value[:1] not in ("[", "{", '"'):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _listed(value: Any) -> list[Any] | None:
    return None if value is None else bounded(value if isinstance(value, list) else [value])
