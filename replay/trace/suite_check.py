"""What a suite says of its traces that they do not bear out: names of what is not there, tools that wrote. Pure."""

from collections.abc import Iterable, Sequence

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.trace.model import AgentStep, AgentTrace
from replay.trace.suite import Suite, close_name

__all__ = ["check_read_only", "check_suite"]


def check_suite(suite: Suite, traces: Iterable[tuple[str, str]], place: str) -> list[FixtureError]:
    """What a suite says of what is not there. traces: (trace_id, category) of all that the suite is for."""
    known = list(traces)
    ids, categories = {trace_id for trace_id, _ in known}, {category for _, category in known}
    found = []
    for noun, names, there in (("traces", suite.traces, ids), ("categories", suite.categories, categories)):
        for name in names:
            if name not in there:
                what = "there is no such trace" if noun == "traces" else "no trace is of this category"
                fix = f"take it out of the suite{_nearest(name, sorted(there))}"
                found.append(FixtureError(what, Location(place, path=json_path((noun, name))), fix))
    if suite.categories:
        for category in sorted(categories - suite.categories.keys()):
            trace_id = min(trace_id for trace_id, other in known if other == category)
            what = f"the suite does not name the category {shown(category)} of {shown(trace_id)}"
            fix = f"add {shown(category)}: {{}}{_nearest(category, sorted(suite.categories))}"
            found.append(FixtureError(what, Location(place, path="$.categories"), fix))
    return found


def _nearest(name: str, there: Sequence[str]) -> str:
    near = close_name(name, there)
    return f", or did you mean {shown(near)}?" if near else ""


def check_read_only(suite: Suite, traces: Iterable[AgentTrace], place: str) -> list[FixtureError]:
    """A sentence for each tool that a recorded call of its changed a state, and that the suite calls read-only."""
    found: dict[str, FixtureError] = {}
    for trace in traces:
        rules = suite.rules_for(trace.trace_id, trace.category)
        for step in trace.steps:
            if step.tool_name not in rules.read_only or not (changed := _changed(step)):
                continue
            path = json_path(_said_at(suite, trace))
            what = (
                f"calls {shown(step.tool_name)} read-only, and its call {step.step_id} of {shown(trace.trace_id)} "
                f"changed the state {shown(changed)}"
            )
            fix = "take it out of the list: an extra call of it is no harmless one"
            found.setdefault(f"{path} {step.tool_name}", FixtureError(what, Location(place, path=path), fix))
    return list(found.values())


def _changed(step: AgentStep) -> str:
    """The first provider whose state the call left another."""
    before = step.env_state_before or {}
    return next(
        (name for name, state in (step.env_state_after or {}).items() if before.get(name, state) != state), ""
    )


def _said_at(suite: Suite, trace: AgentTrace) -> tuple[str, ...]:
    """Where the list stands that counts for a trace."""
    override, category = suite.traces.get(trace.trace_id), suite.categories.get(trace.category)
    if override and override.layer.read_only is not None:
        return ("traces", trace.trace_id, "read_only")
    if category and category.layer.read_only is not None:
        return ("categories", trace.category, "read_only")
    return ("read_only",)
