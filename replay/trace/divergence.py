"""Where a replay left its trace: values, with the sentence for each. Pure.

prompt        a served model call was asked otherwise than recorded
order         a call came at another place than recorded, though the two were not under way at once
exhausted     a model call more than the trace holds; the run is over
unknown_tool  a tool call that the trace does not hold; the run is over, or the call was made live
nearest       such a call that was answered with the nearest recorded one
repeated      a recorded tool call made more often than recorded, answered as the last time
unconsumed    a recorded call that was never made
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from replay.surface import ABSENT, first_difference
from replay.surface.render import render_difference
from replay.trace.model import AgentStep
from replay.trace.protocol import MODEL, Ask

__all__ = [
    "ORDER",
    "REPEATED",
    "Divergence",
    "describe_step",
    "exhausted",
    "nearest",
    "order",
    "ordinal",
    "prompt",
    "repeated",
    "unconsumed",
    "unknown_tool",
]


ORDER = "order"
REPEATED = "repeated"


class Divergence(NamedTuple):
    """One departure. step: index in the steps of the baseline, or -1; path: inside the request, "$.messages[2].content"."""

    kind: str
    step: int
    message: str
    path: str = ""
    expected: Any = ABSENT
    actual: Any = ABSENT
    is_fatal: bool = False
    """Whether the run could not go on."""


def prompt(at: int, number: int, recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> Divergence:
    """number: which model call it is, from 1. Both requests in the form in which they are compared."""
    what = f"the {ordinal(number)} model call is not asked as recorded"
    return _different("prompt", at, what, recorded, asked)


def order(at: int, ask: Ask, number: int, due: int) -> Divergence:
    """The call recorded as the `number`th came where the `due`th was due."""
    noun = "model call" if ask.kind == MODEL else f'tool call ("{ask.name}")'
    return Divergence(
        ORDER, at, f"the {ordinal(number)} {noun} of the trace came when its {ordinal(due)} was due"
    )


def exhausted(recorded: int) -> Divergence:
    """The trace holds `recorded` model calls."""
    what = f"the agent made a {ordinal(recorded + 1)} model call, the trace holds {recorded}"
    return Divergence("exhausted", -1, what, is_fatal=True)


def unknown_tool(ask: Ask, near: tuple[int, AgentStep] | None, is_live: bool) -> Divergence:
    """near: the recorded call that is most like it."""
    what = f'the trace holds no call of "{ask.name}" with this input'
    if is_live:
        return Divergence("unknown_tool", -1, f"{what}; it was made live", "$", actual=_called(ask))
    if near is None:
        return Divergence(
            "unknown_tool", -1, f"{what}, nor of any other tool", "$", actual=_called(ask), is_fatal=True
        )
    at, step = near
    found = _different("unknown_tool", at, f"{what}; nearest", _recorded(step), _called(ask))
    return found._replace(is_fatal=True)


def nearest(at: int, step: AgentStep, ask: Ask) -> Divergence:
    what = f'a call of "{ask.name}" was answered with the nearest recorded one'
    return _different("nearest", at, what, _recorded(step), _called(ask))


def repeated(at: int, ask: Ask, recorded: int) -> Divergence:
    times = "once" if recorded == 1 else f"{recorded} times"
    what = f'"{ask.name}" was called again with the same input; the trace holds it {times}'
    return Divergence(REPEATED, at, what, "$", actual=_called(ask))


def unconsumed(at: int, step: AgentStep) -> Divergence:
    return Divergence("unconsumed", at, f"{describe_step(step)} of the trace was never made")


def describe_step(step: AgentStep) -> str:
    """ "the model call (s3)", 'the call of "search" (s4)'."""
    return (
        f'the call of "{step.tool_name}" ({step.step_id})'
        if step.tool_name
        else f"the model call ({step.step_id})"
    )


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _different(kind: str, at: int, what: str, recorded: Any, asked: Any) -> Divergence:
    found = first_difference([recorded], [asked])
    if found is None:
        return Divergence(kind, at, what)
    said = render_difference(found).removeprefix("line 1 ")
    return Divergence(kind, at, f"{what}: {said}", found.path, found.expected, found.actual)


def _recorded(step: AgentStep) -> dict[str, Any]:
    return {"name": step.tool_name, **({} if step.tool_input is ABSENT else {"input": step.tool_input})}


def _called(ask: Ask) -> dict[str, Any]:
    return {"name": ask.name, **({} if ask.input is ABSENT else {"input": ask.input})}
