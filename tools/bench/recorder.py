"""What recording costs a step, beside the same loop without it: milliseconds that a team's agent pays in production.

The agent is a plain loop over one function that does nothing. A step is a call of it: through no wrapper, through a
wrapper outside any run, and recorded. The trace is made at the end of a run, which is another row. Repetitions are
interleaved; CPU is counted, not the clock.
"""

import asyncio
import gc
import statistics
from collections.abc import Callable
from time import process_time_ns
from typing import Any, NamedTuple

from replay.trace.codec import write_trace
from replay.trace.recorder import Recorder

__all__ = ["PLAIN", "TRACE", "StepCost", "measure_recorder"]

PLAIN = "a plain loop"
TRACE = "at the end: the trace of that"
_TEXT = "a message, about as long as what a tool says or a user asks in one go. " * 5
_ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": _TEXT}}],
    "usage": {"prompt_tokens": 400, "completion_tokens": 60},
}
_SHORT = [{"role": "user", "content": _TEXT}] * 4
_TALKS = [[{"role": "user", "content": f"{at}: {_TEXT}"} for at in range(count)] for count in range(1, 61)]
"""A conversation that grows by a message a step, up to 60 of them, 22 kB; and then another one."""


class StepCost(NamedTuple):
    """A way to run the loop: microseconds of CPU a step, and those beyond the plain loop."""

    way: str
    microseconds: float
    beyond: float


def measure_recorder(steps: int, repetitions: int) -> list[StepCost]:
    """Every way over `steps` steps."""
    recorder = Recorder()
    tool = recorder.tool(_search)
    model = recorder.model(_ask)
    later = recorder.tool(_search_later, name="later")
    ways: dict[str, Callable[[], int]] = {
        PLAIN: lambda: _loop(steps, lambda: _search("query", limit=5)),
        "wrapped, outside any run": lambda: _loop(steps, lambda: tool("query", limit=5)),
        "recorded: a tool": lambda: _recorded(recorder, lambda: _loop(steps, lambda: tool("query", limit=5))),
        "recorded: a tool, async": lambda: _recorded(
            recorder, lambda: asyncio.run(_loop_later(steps, later))
        ),
        "recorded: a model, 4 messages": lambda: _recorded(
            recorder, lambda: _loop(steps, lambda: model(_SHORT, model="m"))
        ),
        "recorded: a model, 1 to 60 messages": lambda: _recorded(recorder, lambda: _talk(steps, model)),
        TRACE: lambda: _ended(recorder, steps, model),
        "at the end: its file": lambda: _written(recorder, steps, model),
    }
    costs: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repetitions):
        for way, run in ways.items():
            gc.collect()
            costs[way].append(run() / steps / 1000)
    plain = statistics.median(costs[PLAIN])
    return [
        StepCost(way, statistics.median(own), statistics.median(own) - plain) for way, own in costs.items()
    ]


def _search(query: str, limit: int) -> dict[str, Any]:
    return {"found": [query], "limit": limit}


async def _search_later(query: str, limit: int) -> dict[str, Any]:
    return {"found": [query], "limit": limit}


def _ask(messages: list[Any], model: str) -> dict[str, Any]:
    return _ANSWER


def _loop(steps: int, step: Callable[[], object]) -> int:
    begin = process_time_ns()
    for _ in range(steps):
        step()
    return process_time_ns() - begin


async def _loop_later(steps: int, step: Callable[..., Any]) -> int:
    begin = process_time_ns()
    for _ in range(steps):
        await step("query", limit=5)
    return process_time_ns() - begin


def _talk(steps: int, model: Callable[..., Any]) -> int:
    begin = process_time_ns()
    for step in range(steps):
        model(_TALKS[step % len(_TALKS)], model="m")
    return process_time_ns() - begin


def _recorded(recorder: Recorder, loop: Callable[[], int]) -> int:
    with recorder.run("bench"):
        return loop()


def _ended(recorder: Recorder, steps: int, model: Callable[..., Any]) -> int:
    with recorder.run("bench"):
        _talk(steps, model)
        begin = process_time_ns()
    return process_time_ns() - begin


def _written(recorder: Recorder, steps: int, model: Callable[..., Any]) -> int:
    with recorder.run("bench") as run:
        _talk(steps, model)
    assert run.trace is not None
    begin = process_time_ns()
    write_trace(run.trace)
    return process_time_ns() - begin
