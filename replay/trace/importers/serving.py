"""What an imported trace does not hold, and which strategies it can serve all the same. Pure.

A strategy that serves a call needs what came of it, and what it is found by. A recording that was made for another
purpose may hold neither: a trace that lacks it is told before a test fails for it.
"""

from collections.abc import Iterator, Mapping, Sequence

from replay.trace.jsonable import freeze
from replay.trace.model import ABSENT, AgentStep, AgentTrace
from replay.trace.server import happening
from replay.trace.strategies import SERVED, STRATEGIES, Strategy

__all__ = ["lacking", "serving"]

_MASKS = (b'"{{system}}"', b'"{{tools}}"')


def lacking(trace: AgentTrace) -> list[str]:
    """What the trace does not hold, each in a few words, the worst first."""
    return list(_lacking(trace, _of_type(trace, "reasoning"), _of_type(trace, "tool_call")))


def serving(trace: AgentTrace) -> Mapping[str, str]:
    """Strategy -> why the trace cannot serve it, "" where it can."""
    return {name: _refusal(happening(trace, each), each) for name, each in STRATEGIES.items()}


def _lacking(trace: AgentTrace, models: Sequence[AgentStep], tools: Sequence[AgentStep]) -> Iterator[str]:
    if not trace.task:
        yield "the task"
    if all(step.messages is None for step in models):
        yield "what model calls said" if all(map(_is_open, models)) else "what models were sent"
    elif any(map(_is_open, models)):
        yield "what some model calls answered"
    if _is_masked(models):
        yield "the prompts, which are masked"
    if any(step.tool_input is ABSENT for step in tools):
        yield "inputs of tools"
    if any(map(_is_open, tools)):
        yield "outputs of tools"
    if trace.final_answer is None and trace.success is None:
        yield "an answer"
    if trace.success is None:
        yield "a judgement (success)"
    if trace.total_duration_ms is None:
        yield "times"
    if trace.total_tokens is None:
        yield "tokens"
    yield "states"
    left_out = trace.metadata.get("left_out")
    if isinstance(left_out, dict):
        yield "what makes no step: " + ", ".join(f"{number} {kind}" for kind, number in left_out.items())


def _refusal(trace: AgentTrace, strategy: Strategy) -> str:
    models, tools = _of_type(trace, "reasoning"), _of_type(trace, "tool_call")
    if not trace.task:
        return "nothing says what the agent was asked"
    if any(step.tool_name == "user" for step in _of_type(trace, "observation")):
        return "the user spoke more than once, and a run has one task"
    is_acp = _from(trace) == "acp run"
    if strategy.model == SERVED:
        if is_acp:
            return "ACP does not show model calls"
        if any(map(_is_open, models)):
            return "a model call does not hold what was answered"
        if strategy.is_strict and _is_masked(models):
            return "the prompts are masked, and are compared"
    if strategy.tools == SERVED and tools:
        if is_acp:
            return "ACP knows tools by their kind and not by their name"
        if any(step.tool_input is ABSENT for step in tools):
            return "a tool call does not hold the input by which it is found"
        if any(map(_is_open, tools)):
            return "a tool call does not hold its output"
    return ""


def _of_type(trace: AgentTrace, kind: str) -> list[AgentStep]:
    return [step for step in trace.steps if step.step_type == kind]


def _is_open(step: AgentStep) -> bool:
    """Whether nothing says what came of the call."""
    value = step.response if step.step_type == "reasoning" else step.tool_output
    return value is ABSENT and step.error is None


def _is_masked(models: Sequence[AgentStep]) -> bool:
    """Whether prompts are those of a fixture, which shows the words of one scenario only."""
    sent = freeze([[step.messages, step.tools] for step in models])
    return any(mask in sent for mask in _MASKS)


def _from(trace: AgentTrace) -> str:
    provenance = trace.metadata.get("provenance")
    said = provenance.get("from") if isinstance(provenance, dict) else None
    return said if isinstance(said, str) else ""
