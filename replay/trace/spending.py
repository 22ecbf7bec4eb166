"""What a run used: steps, tokens, time, money, against its budgets. Pure.

The time of a run whose model was served says nothing of the agent's, and differs from run to run: it is not measured.
"""

from collections.abc import Mapping
from typing import Any

from replay.trace.model import AgentTrace
from replay.trace.report import Measured, Reason
from replay.trace.suite import METRICS, Budget, Price

__all__ = ["ANY_MODEL", "judge_budgets", "measure"]

ANY_MODEL = "*"
"""In place of a model's name: the price of all that are not named."""


def measure(trace: AgentTrace, prices: Mapping[str, Price], is_timed: bool) -> dict[str, float | None]:
    """Each metric of a trace, None where it does not tell; latency only if is_timed, cost only with prices."""
    found: dict[str, float | None] = {
        "steps": sum(step.step_type in ("reasoning", "tool_call") for step in trace.steps),
        "tokens": _tokens(trace),
    }
    if is_timed:
        found["latency_ms"] = trace.total_duration_ms
    if prices:
        found["cost_usd"] = _cost(trace, prices)
    return found


def judge_budgets(
    budgets: Mapping[str, Budget], baseline: Mapping[str, Any], actual: Mapping[str, Any], is_timed: bool
) -> tuple[dict[str, Measured], list[Reason], list[Reason]]:
    """Each metric with what is allowed of it; a reason for each budget that is exceeded, a note for each unjudged."""
    found, reasons, notes = {}, [], []
    for metric, unit in METRICS.items():
        used, before = actual.get(metric), baseline.get(metric)
        budget = budgets.get(metric)
        allowed = budget.allowed(before) if budget is not None else None
        if metric in actual:
            found[metric] = Measured(before, used, allowed)
        if budget is None:
            continue
        if metric == "latency_ms" and not is_timed:
            notes.append(Reason(metric, "the time is not judged: the model was served, and takes none"))
        elif used is None:
            notes.append(Reason(metric, f"{_NAMES[metric]} not judged: the run does not tell"))
        elif allowed is None:
            notes.append(Reason(metric, f"{_NAMES[metric]} not judged: the baseline does not tell"))
        elif used > allowed:
            than = "" if before is None else f"; the baseline took {_number(before)}"
            reasons.append(
                Reason(metric, f"took {_number(used)} {unit}, {_number(allowed)} are allowed{than}")
            )
    return found, reasons, notes


_NAMES = {
    "steps": "steps are",
    "tokens": "tokens are",
    "latency_ms": "the time is",
    "cost_usd": "the cost is",
}


def _tokens(trace: AgentTrace) -> int | None:
    counts = [step.prompt_tokens for step in trace.steps] + [step.completion_tokens for step in trace.steps]
    known = [count for count in counts if count is not None]
    return sum(known) if known else trace.total_tokens


def _cost(trace: AgentTrace, prices: Mapping[str, Price]) -> float | None:
    """None where a call has no price or no count of tokens."""
    total = 0.0
    for step in trace.steps:
        if step.step_type == "reasoning":
            price = prices.get(step.model_name or trace.model_version) or prices.get(ANY_MODEL)
            if price is None or step.prompt_tokens is None or step.completion_tokens is None:
                return None
            total += price.cost(step.prompt_tokens, step.completion_tokens)
    return round(total, 6)


def _number(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
