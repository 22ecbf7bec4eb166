"""A baseline renewed by a run: what the run changed is taken, what it did not change keeps its place and its bytes. Pure.

Ids, times and durations are of the recording: a replay takes none worth keeping, and with them in it a changed word
would be lost among changed numbers. So a run that did what was recorded renews nothing, and its acceptance is no diff.
What could not happen, since it lies inside a served call, stays below the call that is the same; and what a served tool
did not do to the world, the recording still says.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from replay.trace.model import AgentStep, AgentTrace
from replay.trace.outcome import changed_by_tools
from replay.trace.server import happening
from replay.trace.strategies import SERVED, Strategy

__all__ = ["renewed"]


def renewed(baseline: AgentTrace, actual: AgentTrace, strategy: Strategy) -> AgentTrace:
    """The trace to be committed in the place of `baseline`, which is whole. strategy: by which `actual` was run."""
    steps = tuple(_Renewal(baseline, strategy).steps(actual.steps))
    same = steps == baseline.steps
    return baseline._replace(
        steps=steps,
        final_answer=actual.final_answer,
        success=actual.success,
        agent_version=actual.agent_version or baseline.agent_version,
        model_version=actual.model_version or baseline.model_version,
        tool_versions=actual.tool_versions or baseline.tool_versions,
        metadata=_metadata(baseline, actual),
        total_duration_ms=baseline.total_duration_ms if same else _duration(baseline, steps),
        total_tokens=baseline.total_tokens if same else _tokens(baseline, actual, steps),
    )


def _metadata(baseline: AgentTrace, actual: AgentTrace) -> dict[str, Any]:
    """The baseline's, but for how the run ended."""
    kept = {key: value for key, value in baseline.metadata.items() if key != "error"}
    return {**kept, "error": actual.metadata["error"]} if "error" in actual.metadata else kept


def _duration(baseline: AgentTrace, steps: Sequence[AgentStep]) -> float | None:
    """As recorded, unless a step comes later."""
    if baseline.total_duration_ms is None or not steps:
        return baseline.total_duration_ms
    return max(baseline.total_duration_ms, steps[-1].timestamp)


def _tokens(baseline: AgentTrace, actual: AgentTrace, steps: Sequence[AgentStep]) -> int | None:
    """As recorded, more or less by what the steps took."""
    if baseline.total_tokens is None:
        return actual.total_tokens
    return baseline.total_tokens + _sum(steps) - _sum(baseline.steps)


def _sum(steps: Sequence[AgentStep]) -> int:
    return sum((step.prompt_tokens or 0) + (step.completion_tokens or 0) for step in steps)


class _Placed(NamedTuple):
    """A step of the run, and the recorded one whose place it takes. is_same: whether it is that one."""

    new: AgentStep
    old: AgentStep | None = None
    is_same: bool = False


class _Renewal:
    """The steps of a baseline by those of a run."""

    def __init__(self, baseline: AgentTrace, strategy: Strategy) -> None:
        self._recorded = baseline.steps
        self._happening = happening(baseline, strategy).steps
        self._is_served = strategy.tools == SERVED
        self._unjudged = frozenset(changed_by_tools(baseline)) if self._is_served else frozenset()

    def steps(self, after: Sequence[AgentStep]) -> Iterator[AgentStep]:
        placed = [
            one._replace(new=self._with_recorded(one.old, one.new)) if one.old else one
            for one in self._placed(after)
        ]
        names = self._names([one.old for one in placed if one.old])
        ids = {one.new.step_id: one.old.step_id if one.old else next(names) for one in placed}
        kept, inside = frozenset(ids.values()), self._inside()
        listed: list[AgentStep] = []
        for one in placed:
            parent = ids.get(one.new.parent_id, "")
            if one.old and not parent and one.old.parent_id in kept:
                parent = one.old.parent_id
            listed.append(one.new._replace(step_id=ids[one.new.step_id], parent_id=parent))
            if one.old and one.is_same:
                listed += inside.get(one.old.step_id, ())
        known = {step.step_id for step in self._recorded}
        return _timed(listed, known)

    def _placed(self, after: Sequence[AgentStep]) -> Iterator[_Placed]:
        """Each step with the one that it is, else with the next of its kind whose place it takes, else alone."""
        from difflib import SequenceMatcher  # a command's, on no test's way

        before = self._happening
        keys = [_what(step) for step in before], [_what(step) for step in after]
        for tag, start, end, first, last in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            old, new = before[start:end], after[first:last]
            if tag == "equal":
                yield from (_Placed(step, was, True) for was, step in zip(old, new, strict=True))
                continue
            kinds = [_kind(step) for step in old], [_kind(step) for step in new]
            of: dict[int, AgentStep] = {}
            for block in SequenceMatcher(None, *kinds, autojunk=False).get_matching_blocks():
                of.update((block.b + at, old[block.a + at]) for at in range(block.size))
            yield from (_Placed(step, of.get(at)) for at, step in enumerate(new))

    def _with_recorded(self, old: AgentStep, new: AgentStep) -> AgentStep:
        """The step with what is of its recording alone."""
        return new._replace(
            timestamp=old.timestamp,
            model_duration_ms=old.model_duration_ms,
            tool_duration_ms=old.tool_duration_ms,
            env_state_before=self._states(old.env_state_before, new.env_state_before),
            env_state_after=self._states(old.env_state_after, new.env_state_after),
            extra=old.extra,
        )

    def _states(
        self, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        """A tool that was served changed nothing, and nobody looked at what it would have changed."""
        if not self._is_served or old is None:
            return new
        said = {name: state for name, state in (new or {}).items() if name not in self._unjudged}
        return {**old, **said}

    def _names(self, kept: Sequence[AgentStep]) -> Iterator[str]:
        """Ids of new steps, which no recorded one has."""
        taken = {step.step_id for step in self._recorded}
        return (name for number in count(len(taken) + 1) if (name := f"s{number}") not in taken)

    def _inside(self) -> dict[str, list[AgentStep]]:
        """Id of each call that happened -> what lies inside of it and could not."""
        happened = {step.step_id for step in self._happening}
        outer: dict[str, str] = {}
        found: dict[str, list[AgentStep]] = {}
        for step in self._recorded:
            if step.step_id not in happened:
                outer[step.step_id] = outer.get(step.parent_id, step.parent_id)
                found.setdefault(outer[step.step_id], []).append(step)
        return found


def _kind(step: AgentStep) -> tuple[str, str]:
    return step.step_type, step.tool_name


def _what(step: AgentStep) -> str:
    """A step without what is of its run or of its recording alone, and without states, which are told apart."""
    return repr(
        step._replace(
            step_id="",
            parent_id="",
            timestamp=0,
            model_duration_ms=None,
            tool_duration_ms=None,
            env_state_before=None,
            env_state_after=None,
            extra={},
        )
    )


def _timed(steps: Sequence[AgentStep], recorded: set[str]) -> Iterator[AgentStep]:
    """Steps of the run that are new come between the recorded times of their neighbours, and overlap none of them."""
    ends = 0.0
    for at, step in enumerate(steps):
        if step.step_id not in recorded:
            later = (other.timestamp for other in steps[at + 1 :] if other.step_id in recorded)
            latest = next(later, None)
            start = max(ends, step.timestamp) if latest is None else min(ends, latest)
            took = step.model_duration_ms or step.tool_duration_ms or 0
            step = step._replace(timestamp=start)
            if latest is not None and start + took > latest:
                step = step._replace(model_duration_ms=None, tool_duration_ms=None)
        ends = max(ends, _end(step))
        yield step


def _end(step: AgentStep) -> float:
    return step.timestamp + (step.model_duration_ms or step.tool_duration_ms or 0)
