"""How many traces a second the sampler reads, beside a plain loop that parses the same lines and keeps nothing.

The lines are traces of a few calls; each has an id and some words of its own, so that few are near duplicates.
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

from replay.trace.sampler import Sampler
from replay.trace.sampler_choice import choose
from replay.trace.sampler_features import Place, candidate_of

__all__ = ["BARE", "SamplerRate", "make_traces", "measure_sampler"]

BARE = "bare orjson.loads"
_COUNT = 200
_KINDS = 2000
_CATEGORIES = ("search", "edit", "book", "refund", "audit")
_PLACE = Place("traces.jsonl", 0, 0)


class SamplerRate(NamedTuple):
    """A step: traces a second of CPU, and how many times the time of the bare loop it takes."""

    step: str
    traces_per_second: float
    ratio: float


def measure_sampler(traces: int, repetitions: int) -> list[SamplerRate]:
    """The bare loop, the sampler without the choice, and the choice with it."""
    lines = list(make_traces(traces))
    steps: dict[str, Callable[[], object]] = {
        BARE: lambda: _loads(lines),
        "sampler, the stream": lambda: _read(lines),
        f"sampler, with the choice of {_COUNT}": lambda: choose(_read(lines), 5),
    }
    costs: dict[str, list[float]] = {step: [] for step in steps}
    for _ in range(repetitions):
        for step, run in steps.items():
            gc.collect()
            start = time.process_time()
            run()
            costs[step].append(time.process_time() - start)
    return [
        SamplerRate(
            step,
            traces / statistics.median(own),
            statistics.median(one / bare for one, bare in zip(own, costs[BARE], strict=True)),
        )
        for step, own in costs.items()
    ]


def make_traces(count: int) -> Iterator[bytes]:
    """Lines of traces, the same for every call."""
    chance = random.Random(5)
    words = [
        f"{one}{two}"
        for one in "bdfgklmnprst"
        for two in ("ain", "ect", "old", "une", "ist", "ory", "ave", "ock")
    ]
    kinds = [_document(chance, words) for _ in range(min(count, _KINDS))]
    for number in range(count):
        document = kinds[number % len(kinds)]
        document["trace_id"] = f"t{number:07d}"
        document["task"] = " ".join(chance.choices(words, k=20))
        document["success"] = chance.random() < 0.9
        yield orjson.dumps(document)


def _document(chance: random.Random, words: list[str]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for number in range(chance.randint(1, 6)):
        messages = [{"role": "user", "content": " ".join(chance.choices(words, k=60))}]
        steps.append(
            {
                "step_id": f"m{number}", "step_type": "reasoning", "timestamp": number * 10, "model_name": "m",
                "messages": messages, "response": {"text": "I look it up."},
                "prompt_tokens": chance.randint(100, 900), "completion_tokens": 20,
            }
        )  # fmt: skip
        steps.append(
            {
                "step_id": f"t{number}", "step_type": "tool_call", "timestamp": number * 10 + 5,
                "tool_name": chance.choice(("find", "read", "write", "list", "send")),
                "tool_input": {"query": chance.choice(words), "limit": number}, "tool_output": "ok " * 30,
            }
        )  # fmt: skip
    steps.append({"step_id": "f", "step_type": "final_answer", "timestamp": 99, "response": "done"})
    category = chance.choices(_CATEGORIES, (50, 25, 15, 8, 2))[0]
    return {
        "schema": 1,
        "trace_id": "",
        "task": "",
        "metadata": {"category": category},
        "success": True,
        "steps": steps,
    }


def _loads(lines: list[bytes]) -> None:
    for line in lines:
        orjson.loads(line)


def _read(lines: list[bytes]) -> Sampler:
    sampler = Sampler(_COUNT)
    for line in lines:
        sampler.add(candidate_of(orjson.loads(line), line, _PLACE, sampler.key))
    return sampler
