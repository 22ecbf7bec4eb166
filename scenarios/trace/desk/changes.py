"""The changes under test: twelve that a suite must catch, twelve that it must let pass, and none.

A change is what a team might merge: another prompt, tool, loop or model. It says what is different about the agent and
nothing about how it is found. The agents read which one they are built with from DESK_CHANGE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scenarios.trace.desk.model import ModelSettings
from scenarios.trace.desk.prompt import RULES, system_prompt
from scenarios.trace.desk.tools import ToolSpec

__all__ = ["CHANGES", "VARIABLE", "Change", "change"]

VARIABLE: Final = "DESK_CHANGE"
HARMLESS, REGRESSION = "harmless", "regression"


def _same[T](value: T) -> T:
    return value


class Change(NamedTuple):
    """prompt: the whole text. tools: those that the model is offered, by the specs of the others. answer: what becomes
    of the model's words. times: how often each call of a tool is made. version: of the agent.
    """

    name: str = ""
    what: str = "as recorded"
    prompt: str = system_prompt()
    tools: Callable[[Sequence[ToolSpec]], Sequence[ToolSpec]] = _same
    model: ModelSettings = ModelSettings()
    answer: Callable[[str], str] = _same
    success: Callable[[bool], bool] = _same
    times: int = 1
    keeps_memory: bool = True
    has_broken_writes: bool = False
    chatters: bool = False
    version: str = "1"

    @property
    def kind(self) -> str:
        """ "harmless" or "regression", "" for none."""
        return self.name.partition("/")[0]


def _with(number: int, rule: str) -> tuple[str, ...]:
    """The rules with another one in the place of the `number`th."""
    return (*RULES[:number], rule, *RULES[number + 1 :])


def _renamed(old: str, new: str) -> Callable[[Sequence[ToolSpec]], Sequence[ToolSpec]]:
    return lambda tools: [tool._replace(name=new) if tool.name == old else tool for tool in tools]


def _described(tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    return [tool._replace(description=f"Gives: {tool.description.lower()}") for tool in tools]


def _numbered(tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    """Order numbers as numbers."""
    number: Mapping[str, Any] = {"type": "integer"}
    return [
        tool._replace(arguments={**tool.arguments, "order_id": number})
        if "order_id" in tool.arguments
        else tool
        for tool in tools
    ]


def _rounded(text: str) -> str:
    """Numbers of four digits and more to the next ten, for people who like them round."""
    words = (
        str(round(int(word), -1)) if word.isdigit() and len(word) >= 3 else word
        for word in text.replace(".", " .").split(" ")
    )
    return " ".join(words).replace(" .", ".")


_SWAPPED: Final = RULES[2].replace("billing", "?").replace("delivery", "billing").replace("?", "delivery")
_REWORDED: Final = (
    "Use the calculator for every sum; do not work it out yourself.",
    "Before you change an order, look at it.",
    "Every ticket goes into one category. billing: invoices, charges, refunds. delivery: late, lost or damaged parcels. "
    "repairs: things that do not work.",
    'If something cannot be done, say "Sorry" first and then the reason.',
)
_LENGTHY: Final = tuple(
    f"Example {number}: a customer asks, you look it up, you answer in one sentence and in a friendly tone."
    for number in range(1, 41)
)

_REGRESSIONS: Final = (
    Change(
        "tool-dropped",
        "the prompt does not speak of the calculator any more, and it is not offered",
        system_prompt(RULES[1:]),
        lambda tools: [tool for tool in tools if tool.name != "calculate"],
    ),
    Change("tool-renamed", "get_order is called fetch_order", tools=_renamed("get_order", "fetch_order")),
    Change("argument-format", "order numbers are numbers, no longer texts", tools=_numbered),
    Change(
        "call-order",
        "an order is changed first, and looked at afterwards",
        system_prompt(_with(1, "Change an order, then look at it.")),
    ),
    Change("wrong-answer", "numbers in answers are rounded", answer=_rounded),
    Change("wrong-state", "tools that write do too much, and say the same", has_broken_writes=True),
    Change("loop", "every tool is called four times", times=4),
    Change("extra-cost", "forty examples in the prompt", system_prompt((*RULES, *_LENGTHY))),
    Change("success-flag", "every run says that it succeeded", success=lambda _: True),
    Change("lost-memory", "each turn is a conversation of its own", keeps_memory=False),
    Change(
        "swapped-categories",
        "billing and delivery are described the wrong way round",
        system_prompt(_with(2, _SWAPPED)),
    ),
    Change(
        "model-downgrade",
        "a smaller model",
        model=ModelSettings("scripted-small", "scripted-small-1", is_small=True),
    ),
)
_HARMLESS: Final = (
    Change("prompt-reworded", "every rule in other words", system_prompt(_REWORDED)),
    Change("descriptions-reworded", "every tool is described in other words", tools=_described),
    Change(
        "argument-order",
        "arguments of calls in the other order",
        model=ModelSettings(reverses_arguments=True),
    ),
    Change("clock", "another day and time in the prompt", system_prompt(clock="2026-07-19T18:42:37Z")),
    Change(
        "whitespace",
        "blank lines in the prompt, and one at the end of answers",
        system_prompt().replace("\n", "\n\n") + "\n",
        answer=lambda text: text + "\n",
    ),
    Change(
        "call-ids",
        "calls have ids of another form",
        model=ModelSettings(call_id="toolu_01a9f3c27be4{:04}"),
    ),
    Change(
        "extra-read",
        "a file is read again after it was written",
        system_prompt((*RULES, "Read a file again when you have written it.")),
    ),
    Change("answer-reworded", "answers in other words", model=ModelSettings(rewords=True)),
    Change("tools-reordered", "tools are offered in the other order", tools=lambda tools: tools[::-1]),
    Change(
        "versions",
        "a new version of the agent and of the model, which do the same",
        model=ModelSettings(version="scripted-2"),
        version="2",
    ),
    Change(
        "reads-reordered",
        "two look-ups that do not depend on each other, the other way round",
        model=ModelSettings(reverses_reads=True),
    ),
    Change("chatter", "it prints what it does, to stdout and stderr", chatters=True),
)

NONE: Final = Change()
CHANGES: Final[Mapping[str, Change]] = {
    f"{kind}/{one.name}": one._replace(name=f"{kind}/{one.name}")
    for kind, listed in ((REGRESSION, _REGRESSIONS), (HARMLESS, _HARMLESS))
    for one in listed
}


def change(name: str) -> Change:
    """The change of that name, "" for none. Raises ValueError listing those there are."""
    if not name:
        return NONE
    if name not in CHANGES:
        raise ValueError(f'there is no change "{name}"; there are {", ".join(CHANGES)}')
    return CHANGES[name]
