"""Traces and runs for the tests of suites, made from a few words."""

from typing import Any

from replay.trace.model import AgentStep, AgentTrace
from replay.trace.replayer import Replayed, Run
from replay.trace.strategies import STRATEGIES


def make_trace(
    trace_id: str = "t1", category: str = "", calls: Any = ("find",), **members: Any
) -> AgentTrace:
    """A trace that calls tools, a model call before each; a call is a name, or (name, input)."""
    steps: list[AgentStep] = []
    for number, call in enumerate(calls, 1):
        name, given = (call, {"n": number}) if isinstance(call, str) else call
        steps.append(
            AgentStep(
                f"m{number}", "reasoning", number, model_name="m", prompt_tokens=100, completion_tokens=10
            )
        )
        steps.append(
            AgentStep(f"t{number}", "tool_call", number, tool_name=name, tool_input=given, tool_output=1)
        )
    known: dict[str, Any] = {
        "task": "a task",
        "success": True,
        "final_answer": "done",
        "total_duration_ms": 10.0,
    }
    known["metadata"] = {"category": category} if category else {}
    return AgentTrace(trace_id, steps=tuple(steps), **(known | members))


def replayed(baseline: AgentTrace, *actuals: AgentTrace | Run, strategy: str = "mock_tools") -> Replayed:
    """Runs against a baseline; without any, one that did the same."""
    runs = tuple(one if isinstance(one, Run) else Run(one) for one in actuals or (baseline,))
    return Replayed(baseline, STRATEGIES[strategy].with_changes(runs=len(runs)), runs)
