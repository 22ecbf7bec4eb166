"""The sentences for a run that stopped, closed or started where the transcript does not. Pure.

What a wrong frame is told is mismatch.py's work.
"""

from collections.abc import Iterable, Sequence

from replay.errors import DivergenceError
from replay.transport.lane import Gates, Lane
from replay.transport.prepared import Prepared
from replay.transport.transcript import EmitInbound, ExpectOutbound

__all__ = [
    "closed_early",
    "entry_words",
    "left_over",
    "process_words",
    "started_too_often",
    "unknown_process",
]


def entry_words(prepared: Prepared, index: int) -> str:
    """`entry 7 "turn/start"`."""
    label = prepared.entries[index].label
    return f"entry {index + 1}" + (f' "{label}"' if label else "")


def process_words(lane: Lane) -> str:
    """How a process is called."""
    return f'the process "{lane.name}"' if lane.name else "the provider"


def closed_early(prepared: Prepared, lane: Lane, gates: Gates) -> DivergenceError:
    """The orchestrator closed a connection with entries to come."""
    what = f"the orchestrator closed {process_words(lane)} before {_next_words(prepared, lane, gates)}"
    fix = "if it may end here, write a runtime_exit there or record again"
    return DivergenceError(what, prepared.where(lane.indices[lane.cursor]), fix)


def left_over(prepared: Prepared, lanes: Iterable[Lane], gates: Gates) -> DivergenceError:
    """Where each process that is not at its end stopped."""
    stopped = [lane for lane in lanes if lane.next_entry() is not None]
    words = [f"{process_words(lane)} stopped before {_next_words(prepared, lane, gates)}" for lane in stopped]
    first = min(lane.indices[lane.cursor] for lane in stopped)
    fix = "let the orchestrator go on to the end, or record what it does now"
    return DivergenceError("; ".join(words), prepared.where(first), fix)


def _next_words(prepared: Prepared, lane: Lane, gates: Gates) -> str:
    index = lane.indices[lane.cursor]
    entry = prepared.entries[index]
    if isinstance(entry, ExpectOutbound):
        kind = "which the orchestrator sends"
    else:
        kind = "an inbound frame" if isinstance(entry, EmitInbound) else "the end of the process"
        gate = gates.closed(index, entry)
        kind += f' held by "{gate}"' if gate else ""
    return f"{entry_words(prepared, index)}, {kind}"


def started_too_often(prepared: Prepared, process: str) -> DivergenceError:
    """A connection for which nothing is recorded."""
    name = f'the process "{process}"' if process else "the provider"
    what = f"the orchestrator started {name} once more than the transcript has it"
    where = prepared.where(len(prepared.entries) - 1) if prepared.entries else None
    return DivergenceError(
        what, where, "a process that is started again follows a runtime_exit in the transcript"
    )


def unknown_process(prepared: Prepared, process: str, names: Sequence[str]) -> DivergenceError:
    """A process by a name that the transcript does not have."""
    known = ", ".join(name or '""' for name in sorted(names)) or "none"
    what = f'the orchestrator started the process "{process}"; the transcript has: {known}'
    return DivergenceError(what, prepared.where(0) if prepared.entries else None)
