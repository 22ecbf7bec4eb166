"""A baseline renewed by a run: what the run changed is taken, what it did not change keeps its place and its bytes. Pure.

Ids and times of steps are of their run alone. So a run that did what was recorded renews nothing, and its acceptance is
no diff. What a served call holds inside did not happen in the run, and stays below the call that is the same.
"""

from typing import Any

from replay.trace.model import AgentStep, AgentTrace

__all__ = ["renewed"]


def renewed(baseline: AgentTrace, actual: AgentTrace) -> AgentTrace:
    """The trace to be committed in the place of `baseline`, which is whole."""
    steps = _merged(baseline.steps, actual.steps)
    same = steps == baseline.steps
    return baseline._replace(
        steps=steps,
        final_answer=actual.final_answer,
        success=actual.success,
        agent_version=actual.agent_version or baseline.agent_version,
        model_version=actual.model_version or baseline.model_version,
        tool_versions=actual.tool_versions or baseline.tool_versions,
        metadata=_metadata(baseline, actual),
        total_duration_ms=baseline.total_duration_ms if same else actual.total_duration_ms,
        total_tokens=baseline.total_tokens if same else actual.total_tokens,
    )


def _metadata(baseline: AgentTrace, actual: AgentTrace) -> dict[str, Any]:
    """The baseline's, but for how the run ended."""
    kept = {key: value for key, value in baseline.metadata.items() if key != "error"}
    return {**kept, "error": actual.metadata["error"]} if "error" in actual.metadata else kept


def _merged(before: tuple[AgentStep, ...], after: tuple[AgentStep, ...]) -> tuple[AgentStep, ...]:
    from difflib import SequenceMatcher  # a command's, on no test's way

    inside = _inside(before)
    tops = [step for step in before if step.step_id not in inside]
    kept: dict[int, AgentStep] = {}
    for block in SequenceMatcher(
        None, [_what(step) for step in tops], [_what(step) for step in after], autojunk=False
    ).get_matching_blocks():
        kept.update((block.b + at, tops[block.a + at]) for at in range(block.size))
    if len(kept) == len(after) == len(tops):
        return before
    found: list[AgentStep] = []
    for at, step in enumerate(after):
        found.append(kept.get(at, step))
        if at in kept:
            found.extend(below for below in before if inside.get(below.step_id) == kept[at].step_id)
    return _renamed(found)


def _inside(steps: tuple[AgentStep, ...]) -> dict[str, str]:
    """Id of each step that lies in a call -> id of the outermost call."""
    found: dict[str, str] = {}
    for step in steps:
        if step.parent_id:
            found[step.step_id] = found.get(step.parent_id, step.parent_id)
    return found


def _what(step: AgentStep) -> str:
    """A step without what is of its run alone."""
    return repr(
        step._replace(step_id="", parent_id="", timestamp=0, model_duration_ms=None, tool_duration_ms=None)
    )


def _renamed(steps: list[AgentStep]) -> tuple[AgentStep, ...]:
    """Ids that are each one's own again, and times that do not go back."""
    names: dict[str, str] = {}
    found: list[AgentStep] = []
    time = 0.0
    for number, step in enumerate(steps, 1):
        name = f"s{number}"
        time = max(time, step.timestamp)
        found.append(step._replace(step_id=name, parent_id=names.get(step.parent_id, ""), timestamp=time))
        names[step.step_id] = name
    return tuple(found)
