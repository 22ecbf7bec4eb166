"""The model of both agents: a script that reads prompt, tools and conversation as a language model would.

It is no language model, and traces say so. It is a function of what it is sent and of nothing else: what it does follows
from the rules of the prompt, the names and schemas of the tools that it is offered, and what was said before. So a change
of any of these changes its behaviour in the way that is to be found. Each answer is worked out anew from the beginning of
the turn: a skill (skills.py) is a generator that is fed with the results that are there.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from scenarios.trace.desk.skills import Mind, Refused, Use, skill_for

__all__ = ["MODEL_VERSION", "ModelSettings", "Reply", "Result", "ScriptedModel", "ToolUse"]

MODEL_VERSION: Final = "scripted-1"
_TOKENS_PER_CALL: Final = 8
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "calculate": ("calculate",),
    "person": ("find_person",),
    "orders": ("list_orders",),
    "order": ("get_order", "fetch_order"),
    "status": ("set_status",),
    "ticket": ("file_ticket",),
    "read": ("read_file", "read"),
    "write": ("write_file", "write"),
}
"""What can be done -> by which tools."""
_NUMBERED: Final = re.compile(r"^\d+\t", re.MULTILINE)


class ModelSettings(NamedTuple):
    """Which model it is. is_small: it computes in its head and stops half way. The rest changes nothing that counts."""

    name: str = "scripted"
    version: str = MODEL_VERSION
    is_small: bool = False
    rewords: bool = False
    reverses_arguments: bool = False
    reverses_reads: bool = False
    call_id: str = "call_{}"


class Result(NamedTuple):
    """What a tool gave."""

    text: str
    is_error: bool = False


class ToolUse(NamedTuple):
    """A call that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any]


class Reply(NamedTuple):
    """A text, or calls; and the tokens that it cost."""

    text: str
    calls: tuple[ToolUse, ...]
    prompt_tokens: int
    completion_tokens: int


class ScriptedModel:
    """tools are {name: JSON schema of the arguments}; said is the conversation, what the model said itself left out."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    def reply(
        self, system: str, tools: Mapping[str, Mapping[str, Any]], said: Sequence[str | Result]
    ) -> Reply:
        """What it says to a conversation that ends with a person's words, or with the result of a tool."""
        asked = [at for at, one in enumerate(said) if isinstance(one, str)]
        earlier = [said[at] for at in asked[:-1]]
        results = [one for one in said[asked[-1] + 1 :] if isinstance(one, Result)]
        settings = self.settings
        mind = Mind(
            system,
            tuple(map(str, earlier)),
            has_calculator=_named("calculate", tools) is not None,
            is_small=settings.is_small,
            rewords=settings.rewords,
            reverses_reads=settings.reverses_reads,
        )
        found = _think(str(said[asked[-1]]), mind, results)
        prompt = _tokens(system) + sum(_tokens(one if isinstance(one, str) else one.text) for one in said)
        if isinstance(found, Use):
            number = sum(isinstance(one, Result) for one in said) + 1
            call = self._call(found, number, tools)
            if isinstance(call, ToolUse):
                return Reply("", (call,), prompt, _TOKENS_PER_CALL)
            found = call
        return Reply(found, (), prompt, _tokens(found))

    def _call(self, use: Use, number: int, tools: Mapping[str, Mapping[str, Any]]) -> ToolUse | str:
        """The call in the form that the tool asks for, or why there is none."""
        name = _named(use.what, tools)
        if name is None:
            return "Sorry, I have no tool for that."
        properties = tools[name].get("properties", {})
        arguments = {
            key: _as_asked(value, properties.get(key, {}).get("type")) for key, value in use.arguments.items()
        }
        if self.settings.reverses_arguments:
            arguments = dict(reversed(arguments.items()))
        return ToolUse(self.settings.call_id.format(number), name, arguments)


def _tokens(text: str) -> int:
    # Words: a path is one, however long it is on this machine.
    return len(text.split())


def _think(task: str, mind: Mind, results: Sequence[Result]) -> Use | str:
    """The next step towards the answer, or the answer."""
    skill = skill_for(task, mind)
    try:
        step = next(skill)
        for result in results:
            step = skill.throw(Refused(result.text)) if result.is_error else skill.send(_read(result.text))
    except StopIteration as end:
        return str(end.value)
    except Refused as refusal:
        return f"Sorry, {refusal}."
    return step


def _named(what: str, tools: Mapping[str, Any]) -> str | None:
    return next((name for name in _NAMES[what] if name in tools), None)


def _as_asked(value: Any, kind: str | None) -> Any:
    return int(value) if kind == "integer" and isinstance(value, str) else value


def _read(text: str) -> Any:
    """A result as it was meant: JSON, or a text, its lines numbered or not."""
    try:
        return json.loads(text)
    except ValueError:
        return _NUMBERED.sub("", text)
