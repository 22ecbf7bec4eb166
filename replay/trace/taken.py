"""The snapshots of a run: what the agent said to hold, each time that it said so, as files are named and compared. Pure.

snapshots/<trace_id>/<label>.json      the first under that label; then <label>.2.json, <label>.3.json
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from replay.surface.values import Json
from replay.trace.replayer import Run
from replay.trace.snapshot import Snapshot, tool_registry

__all__ = ["snapshot_files", "snapshot_name"]

_PARTS: Final = frozenset(("memory", "state", "context", "tools"))


def snapshot_name(label: str, number: int) -> str:
    """The file of the `number`th snapshot under a label, from 1."""
    return f"{label}.json" if number == 1 else f"{label}.{number}.json"


def snapshot_files(run: Run) -> dict[str, Snapshot]:
    """File name -> snapshot, in the order of the run."""
    return dict(_files(run))


def _files(run: Run) -> Iterator[tuple[str, Snapshot]]:
    tools = tool_registry(run.tools) if isinstance(run.tools, list) else None
    counts: dict[str, int] = {}
    for label, state in run.states:
        counts[label] = counts.get(label, 0) + 1
        yield snapshot_name(label, counts[label]), _snapshot(label, state, tools)


def _snapshot(label: str, state: Any, tools: Json) -> Snapshot:
    """A state that is told in parts, or as a whole."""
    if isinstance(state, Mapping) and state and state.keys() <= _PARTS:
        parts: dict[str, Any] = {"tools": tools, **state}
        return Snapshot(label, **parts)
    return Snapshot(label, state=state, tools=tools)
