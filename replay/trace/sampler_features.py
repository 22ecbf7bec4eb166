"""What the sampler knows of a trace: its kind, its size, its tools, and a sketch to tell near duplicates by. Pure.

The sketch is a set of hashes of what the trace is about and what was done: neighbouring words of the task and of the
answer (numbers all alike), tools that follow each other, arguments. How alike two traces are is the share of hashes that
they have in common (Jaccard): exact up to SKETCH_SIZE features, beyond it that of the SKETCH_SIZE least hashes of each.
What the model said on its way is not in it: that never reads the same twice.
"""

import re
import zlib
from array import array
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.trace.limits import MAX_NAME_CHARACTERS, MAX_STEPS
from replay.trace.model import SCHEMA

__all__ = ["SKETCH_SIZE", "Candidate", "Place", "candidate_of", "hashes_of", "likeness", "rank_of"]

SKETCH_SIZE: Final = 256
_TASK_CHARACTERS: Final = 1000
_ANSWER_CHARACTERS: Final = 500
_VALUE_CHARACTERS: Final = 64
_SHAPE_CALLS: Final = 24
_REPEATS: Final = 3
_NUMBER = re.compile(r"[0-9]+")
_FILE_NAME = re.compile(r"[\w@+=,][\w.@+=, -]{0,199}")


class Place(NamedTuple):
    """Where a trace lies: `size` bytes from `offset` in the file `source`."""

    source: str
    offset: int
    size: int


class Candidate(NamedTuple):
    """A trace that may be chosen. rank: by seed and id, the order in which chance would take them.

    shape: its tools in order, repeats once, and how it ended. digest: of its bytes; of two traces of one id, the lesser
    is taken.
    """

    trace_id: str
    rank: int
    digest: int
    category: str
    success: bool | None
    steps: int
    tokens: int
    tools: tuple[str, ...]
    shape: str
    sketch: bytes
    place: Place


def rank_of(text: str, key: bytes) -> int:
    """A number of 64 bits that only text and key decide."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest())


def hashes_of(sketch: bytes) -> frozenset[int]:
    """The features of a sketch."""
    return frozenset(array("I", sketch))


def likeness(left: frozenset[int], right: frozenset[int]) -> float:
    """The share of features that both have, 0 to 1; two without any are alike."""
    together = len(left | right)
    return len(left & right) / together if together else 1.0


def candidate_of(document: Any, data: bytes, place: Place, key: bytes) -> Candidate:
    """What is known of one trace. data: its bytes. Raises FixtureError with a JSON path for what is no trace."""
    if not isinstance(document, dict):
        raise _refused(f"must be an object, not {shown(document)}")
    if document.get("schema") != SCHEMA:
        what = f'is no trace of schema {SCHEMA}: "schema" is {shown(document.get("schema"))}'
        raise _refused(what, "schema")
    trace_id = _name(document.get("trace_id"), "trace_id")
    if not _FILE_NAME.fullmatch(trace_id):
        what = f"{shown(trace_id)} cannot be the name of a file; a sample is a directory of <trace_id>.json"
        raise _refused(what, "trace_id")
    metadata = document.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _refused(f"must be an object, not {shown(metadata)}", "metadata")
    category = metadata.get("category") or ""
    if category:
        _name(category, "metadata", "category")
    success = document.get("success")
    if success is not None and type(success) is not bool:
        raise _refused(f"must be true, false or null, not {shown(success)}", "success")
    steps = document.get("steps")
    if not isinstance(steps, list) or len(steps) > MAX_STEPS:
        raise _refused(f"must be a list of at most {MAX_STEPS} steps, not {shown(steps)}", "steps")
    calls, made, tokens = _read_steps(steps)
    names = [name for name, _ in calls]
    features = {*_of_task(document), *_of_calls(calls), f"success {success}", f"made {made}"}
    return Candidate(
        trace_id,
        rank_of(trace_id, key),
        int.from_bytes(blake2b(data, digest_size=8).digest()),
        category,
        success,
        made,
        _count(document.get("total_tokens")) or tokens,
        tuple(sorted(set(names))),
        _shape(names, steps),
        _sketch(features),
        place,
    )


def _read_steps(steps: list[Any]) -> tuple[list[tuple[str, Any]], int, int]:
    """Tool calls with their inputs, how many calls of model and tools there were, and how many tokens they took."""
    calls: list[tuple[str, Any]] = []
    made = tokens = 0
    for at, step in enumerate(steps):
        if not isinstance(step, dict):
            raise _refused(f"must be an object, not {shown(step)}", "steps", at)
        kind = step.get("step_type")
        if kind == "tool_call":
            made += 1
            calls.append((_name(step.get("tool_name"), "steps", at, "tool_name"), step.get("tool_input")))
        elif kind == "reasoning":
            made += 1
            tokens += _count(step.get("prompt_tokens")) + _count(step.get("completion_tokens"))
        elif kind not in ("observation", "final_answer"):
            raise _refused(f"is no step_type of a trace: {shown(kind)}", "steps", at, "step_type")
    return calls, made, tokens


def _of_task(document: Mapping[str, Any]) -> Iterator[str]:
    task = document.get("task")
    if not isinstance(task, str):
        raise _refused(f"must be a string, not {shown(task)}", "task")
    yield from _pairs(task[:_TASK_CHARACTERS], "")
    answer = document.get("final_answer")
    if answer is not None:
        text = answer if isinstance(answer, str) else _json(answer)
        yield from _pairs(text[:_ANSWER_CHARACTERS], "=")


def _pairs(text: str, mark: str) -> Iterator[str]:
    words = _NUMBER.sub("0", text.lower()).split()
    yield from (f"{mark}{one} {other}" for one, other in zip(["", *words], words, strict=False))


def _of_calls(calls: list[tuple[str, Any]]) -> Iterator[str]:
    before = ""
    seen: dict[tuple[str, str], int] = {}
    for name, given in calls:
        times = seen[before, name] = seen.get((before, name), 0) + 1
        if times <= _REPEATS:
            yield f"{before}>{name} {times}"
        before = name
        if isinstance(given, dict):
            for key, value in given.items():
                text = value if isinstance(value, str) else _json(value)
                yield f"{name}.{key}={_NUMBER.sub('0', text[:_VALUE_CHARACTERS].lower())}"


def _shape(names: list[str], steps: list[Any]) -> str:
    path = [name for name, before in zip(names, ["", *names], strict=False) if name != before]
    if len(path) > _SHAPE_CALLS:
        path = [*path[:_SHAPE_CALLS], "…"]
    is_broken = any(step.get("error") is not None for step in steps)
    return " > ".join(path) + (" (with an error)" if is_broken else "")


def _sketch(features: set[str]) -> bytes:
    crc32 = zlib.crc32
    hashes = sorted({crc32(feature.encode("utf-8", "surrogatepass")) for feature in features})
    if len(hashes) > SKETCH_SIZE:
        # Mixed: the checksums of neighbours are neighbours, and the least of them would not be a fair sample.
        hashes = sorted(hashes, key=lambda one: one * 0x9E3779B1 & 0xFFFFFFFF)[:SKETCH_SIZE]
        hashes.sort()
    return array("I", hashes).tobytes()


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _name(value: Any, *parts: str | int) -> str:
    if not isinstance(value, str) or not value or len(value) > MAX_NAME_CHARACTERS or not value.isprintable():
        raise _refused(
            f"must be a name of at most {MAX_NAME_CHARACTERS} characters, not {shown(value)}", *parts
        )
    return value


def _refused(what: str, *parts: str | int) -> FixtureError:
    return FixtureError(what, Location(path=json_path(parts)))
