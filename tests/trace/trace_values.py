"""Traces of any shape, for properties."""

from typing import Any

from hypothesis import strategies as st

from replay.trace.model import ABSENT, AgentStep, AgentTrace, BlobRef, StepError

__all__ = ["JSON", "traces"]

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
_NAMES = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=12)
_KEYS = st.one_of(_TEXTS, st.sampled_from(["$blob", "$literal", "$after", "bytes", "keep", "then", "json"]))
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXTS,
    st.just("x" * 20_000),
    st.just("ß" * 10_000),
    st.just("sha256:" + "0" * 64),
)
JSON: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_MAPPINGS = st.dictionaries(_KEYS, JSON, max_size=3)
_TIMES = st.one_of(st.integers(0, 1 << 40), st.floats(0, 1e9))
_COUNTS = st.none() | st.integers(0, 1 << 40)
_ERRORS = st.none() | st.builds(StepError, _NAMES, _TEXTS, st.dictionaries(st.just("code"), JSON, max_size=1))
_UNKNOWN = st.dictionaries(st.sampled_from(["newer", "$blob", "x-y"]), JSON, max_size=2)
# Small, so that conversations share beginnings.
_MESSAGES = st.lists(
    st.sampled_from([1, True, 1.0, None, "a", {"role": "user"}, {"$blob": 1}, "m" * 17_000]) | JSON,
    max_size=6,
)


@st.composite
def steps(draw: st.DrawFn, number: int, before: list[str], is_last: bool) -> AgentStep:
    kinds = ["reasoning", "tool_call", "observation"] + ["final_answer"] * is_last
    kind = draw(st.sampled_from(kinds))
    stream = draw(st.sampled_from(["", "complete", "closed"]))
    values = {key: draw(st.just(ABSENT) | JSON) for key in ("response", "tool_input", "tool_output")}
    if stream:
        values["tool_output" if kind == "tool_call" else "response"] = draw(st.lists(JSON, max_size=3))
    return AgentStep(
        f"s{number}",
        kind,
        draw(_TIMES),
        draw(st.sampled_from(["", *before])),
        draw(st.just("") | _NAMES),
        draw(st.none() | st.floats(0, 2)),
        draw(st.none() | _MESSAGES),
        draw(st.none() | _MESSAGES),
        draw(st.none() | _MAPPINGS),
        draw(st.none() | _TEXTS),
        model_duration_ms=draw(st.none() | _TIMES),
        prompt_tokens=draw(_COUNTS),
        completion_tokens=draw(_COUNTS),
        tool_name=draw(_NAMES),
        stream=stream,
        env_state_before=draw(st.none() | _MAPPINGS),
        env_state_after=draw(st.none() | _MAPPINGS),
        error=draw(_ERRORS),
        extra=draw(_UNKNOWN),
        **values,
    )


@st.composite
def traces(draw: st.DrawFn) -> AgentTrace:
    """A trace that can be written."""
    count = draw(st.integers(0, 5))
    made: list[AgentStep] = []
    for number in range(count):
        made.append(draw(steps(number, [step.step_id for step in made], number == count - 1)))
    return AgentTrace(
        draw(_NAMES),
        draw(_TEXTS),
        tuple(made),
        draw(_MAPPINGS),
        draw(_MAPPINGS),
        draw(st.just("") | _NAMES),
        draw(st.just("") | _NAMES),
        draw(st.dictionaries(_KEYS, _NAMES, max_size=2)),
        draw(_MAPPINGS),
        draw(st.none() | st.booleans()),
        draw(JSON),
        draw(st.none() | _TIMES),
        draw(_COUNTS),
        draw(_UNKNOWN),
    )


def unfetched(value: Any) -> bool:
    """Whether a value holds a reference that nobody fetched."""
    if isinstance(value, BlobRef):
        return True
    if isinstance(value, dict):
        return any(map(unfetched, value.values()))
    return isinstance(value, list | tuple) and any(map(unfetched, value))
