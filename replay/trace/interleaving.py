"""Calls that were under way at once, in the order of their recording. Pure.

Which of two threads or tasks comes first is nobody's doing. Two neighbours of a run that answer to recorded calls which
overlapped may change places; so a run that differs from its trace in nothing else stands as the trace does.
"""

from collections.abc import Mapping, Sequence

from replay.trace.model import AgentStep

__all__ = ["in_recorded_order", "overlap"]


def overlap(left: AgentStep, right: AgentStep) -> bool:
    """Whether two calls were under way at once."""
    return left.timestamp < _end(right) and right.timestamp < _end(left)


def in_recorded_order(
    steps: Sequence[AgentStep], served: Mapping[int, int], recorded: Sequence[AgentStep]
) -> list[AgentStep]:
    """The steps of a run. served: index of a step -> index of the recorded one that answered it.

    Ids are numbered anew, and each place keeps its time, so that times do not go back.
    """
    order = list(range(len(steps)))
    is_moving = bool(served)
    while is_moving:
        is_moving = False
        for at in range(len(order) - 1):
            one, other = (served.get(order[at + step], -1) for step in (0, 1))
            if one > other >= 0 and overlap(recorded[one], recorded[other]):
                order[at], order[at + 1] = order[at + 1], order[at]
                is_moving = True
    if order == sorted(order):
        return list(steps)
    names = {steps[old].step_id: f"s{new}" for new, old in enumerate(order, 1)}
    return [
        steps[old]._replace(
            step_id=names[steps[old].step_id],
            parent_id=names.get(steps[old].parent_id, ""),
            timestamp=steps[new].timestamp,
        )
        for new, old in enumerate(order)
    ]


def _end(step: AgentStep) -> float:
    duration = step.tool_duration_ms if step.step_type == "tool_call" else step.model_duration_ms
    return step.timestamp + (duration or 0)
