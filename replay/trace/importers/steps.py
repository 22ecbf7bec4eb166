"""What importers share: text of messages, a trace put together of the steps that a source held. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from replay.trace.jsonable import bounded
from replay.trace.limits import MAX_NAME_CHARACTERS
from replay.trace.model import AgentStep, AgentTrace, StepError
from replay.trace.said import text_of

__all__ = ["arguments_of", "as_name", "as_number", "assembled", "joined_text"]


def joined_text(content: Any) -> str:
    """The text of a message's content, "" where it has none."""
    return text_of(content) or ""


def as_name(value: Any, otherwise: str = "") -> str:
    """The value, where a trace can take it as a name."""
    is_name = isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARACTERS and value.isprintable()
    return value if is_name else otherwise


def as_number(value: Any) -> float | None:
    """The value, where a trace can take it as a number from 0."""
    return value if type(value) in (int, float) and 0 <= value <= 1 << 53 else None


def arguments_of(text: Any) -> Any:
    """A tool's input, which providers write as JSON in a string; what is no JSON stays as it was said."""
    if not isinstance(text, str):
        return bounded(text)
    try:
        return bounded(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


def assembled(
    trace_id: str, task: str, steps: Sequence[AgentStep], answer: str | None, error: StepError | None,
    end_ms: float | None, metadata: Mapping[str, Any], **members: Any,
) -> AgentTrace:  # fmt: skip
    """The trace of a run. Its steps are numbered anew; answer and error are its end, if it has one."""
    made = list(steps)
    if answer is not None or error is not None:
        at = made[-1].timestamp if end_ms is None and made else end_ms or 0
        last = AgentStep("", "final_answer", at, error=error)
        made.append(last if answer is None else last._replace(response=answer))
    known: dict[str, str] = {}
    for number, step in enumerate(made, 1):
        own = f"s{number}"
        made[number - 1] = step._replace(step_id=own, parent_id=known.get(step.parent_id, ""))
        if step.step_id:
            known[step.step_id] = own
    tokens = [
        count for step in made for count in (step.prompt_tokens, step.completion_tokens) if count is not None
    ]
    return AgentTrace(
        trace_id, task, tuple(made), metadata=metadata, success=False if error is not None else None,
        final_answer=answer, total_duration_ms=end_ms, total_tokens=sum(tokens) if tokens else None, **members,
    )  # fmt: skip
