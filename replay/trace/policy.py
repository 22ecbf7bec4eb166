"""Policies for a call of a tool that the trace does not hold: fail, nearest, live. Pure.

A policy is a function from the call and the recorded calls to a Decision. `nearest` is honest about what it does: it
serves a recorded call of the same tool, at least half alike, and says what differs; else it is `fail`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import UsageError
from replay.surface.values import ABSENT, json_path_step
from replay.trace.model import AgentStep
from replay.trace.protocol import Ask

__all__ = ["POLICIES", "Decision", "Policy", "likeness", "nearest_call", "policy"]

LEAST_LIKENESS: Final = 0.5
_MOST_COMPARED = 4096
_MOST_LEAVES = 10_000


class Decision(NamedTuple):
    """What an unknown call gets: the answer of `step`, or, with neither, an error that ends the run."""

    step: AgentStep | None = None
    is_live: bool = False


type Policy = Callable[[Ask, Sequence[AgentStep]], Decision]


def _fail(_ask: Ask, _recorded: Sequence[AgentStep]) -> Decision:
    return Decision()


def _nearest(ask: Ask, recorded: Sequence[AgentStep]) -> Decision:
    step, alike = nearest_call(ask, [step for step in recorded if step.tool_name == ask.name])
    return Decision(step if alike >= LEAST_LIKENESS else None)


def _live(_ask: Ask, _recorded: Sequence[AgentStep]) -> Decision:
    return Decision(is_live=True)


POLICIES: Final[Mapping[str, Policy]] = {"fail": _fail, "nearest": _nearest, "live": _live}


def policy(name: str) -> Policy:
    """The policy of that name. Raises UsageError listing those there are."""
    found = POLICIES.get(name)
    if found is None:
        raise UsageError(
            f'"{name}" is no policy for unknown calls', fix=f"write one of {', '.join(POLICIES)}"
        )
    return found


def nearest_call(ask: Ask, recorded: Sequence[AgentStep]) -> tuple[AgentStep | None, float]:
    """The recorded call whose tool and input are most alike, the first of several, and how much (0 to 1)."""
    best: AgentStep | None = None
    alike = -1.0
    for step in recorded:
        score = likeness(step.tool_input, ask.input)
        if step.tool_name != ask.name:
            score /= 4
        if score > alike:
            best, alike = step, score
    return best, max(alike, 0.0)


def likeness(left: Any, right: Any) -> float:
    """How much two JSON values are alike, 0 to 1: the mean over the leaves of both, of text by its common parts."""
    ours, theirs = dict(_leaves(left)), dict(_leaves(right))
    paths = ours.keys() | theirs.keys()
    # In a fixed order: a sum of floats depends on it.
    return sum(
        _leaf_likeness(ours.get(path, ABSENT), theirs.get(path, ABSENT)) for path in sorted(paths)
    ) / len(paths)


def _leaves(value: Any) -> list[tuple[str, Any]]:
    """Path -> leaf; an empty container is a leaf. Of a huge value the first leaves."""
    found: list[tuple[str, Any]] = []
    waiting = [("$", value)]
    while waiting and len(found) < _MOST_LEAVES:
        path, one = waiting.pop()
        if isinstance(one, dict) and one:
            waiting.extend((path + json_path_step(key), one[key]) for key in reversed(one))
        elif isinstance(one, list) and one:
            waiting.extend((f"{path}[{at}]", one[at]) for at in reversed(range(len(one))))
        else:
            found.append((path, one))
    return found


def _leaf_likeness(left: Any, right: Any) -> float:
    if isinstance(left, bool) is isinstance(right, bool) and left == right:
        return 1.0
    if not isinstance(left, str) or not isinstance(right, str):
        return 0.0
    from difflib import SequenceMatcher  # not on the way of a run that holds

    return SequenceMatcher(None, left[:_MOST_COMPARED], right[:_MOST_COMPARED], autojunk=False).ratio()
