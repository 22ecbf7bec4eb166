"""cursor-agent-sdk.local: frames of the SDK's agent and run objects. Pure."""

from collections.abc import Sequence

from replay.errors import FixtureError
from replay.transport.profile import Profile
from replay.transport.profiles.operations import (
    find_pairs,
    mentions_nothing,
    no_ref,
    same_frame,
    type_of,
)
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, Frame

__all__ = ["PROFILE"]

# run.completed is no answer to run.start: it ends the run, after all of its updates.
_ANSWERED = {
    "agent.messages": "agent.messages.list",
    "agent.opened": "agent.open",
    "run.started": "run.start",
}


def _operation_answered(frame: Frame) -> str:
    kind = type_of(frame)
    operation = frame.get("operation")
    if kind == "sdk.error" and isinstance(operation, str):
        return operation
    return _ANSWERED.get(kind, "")


def _pairs(entries: Sequence[Entry]) -> dict[int, int]:
    return find_pairs(entries, _operation_answered)


def _prepare(entries: Sequence[Entry], place: str) -> tuple[Entry, ...]:
    """Recordings that leave out whose run is started tell it in the answer; the client always says it."""
    out = list(entries)
    try:
        pairs = _pairs(entries)
    except FixtureError as error:
        raise error.at(place) from None
    for answer, asked in pairs.items():
        started, start = entries[answer], entries[asked]
        if not isinstance(started, EmitInbound) or not isinstance(start, ExpectOutbound):
            continue
        is_start = type_of(start.frame) == "run.start" and type_of(started.frame) == "run.started"
        if is_start and "agentId" not in start.frame and "agentId" in started.frame:
            out[asked] = start._replace(frame={**start.frame, "agentId": started.frame["agentId"]})
    return tuple(out)


def _closes(frame: Frame) -> bool:
    return type_of(frame) == "agent.close"


PROFILE = Profile(
    protocol="cursor-agent-sdk.local",
    match="exact",
    ignored=(),
    kind_of=type_of,
    prepare=_prepare,
    pairs=_pairs,
    ref_of=no_ref,
    with_ref=same_frame,
    mentions=mentions_nothing,
    closes=_closes,
)
