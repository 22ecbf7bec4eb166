"""What a request says that the recording does not hold: each DivergenceError names the call that is nearest.

Pure. Where a log of the gateway holds the recorded requests, the nearest is the one that is most like the live one,
with the first difference as a JSON path.
"""

from typing import TYPE_CHECKING

from replay.errors import DivergenceError, Location
from replay.script.binding import first_difference, nearest_opening
from replay.script.entry import nth
from replay.script.recorded import difference_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replay.script.entry import Call, Lane
    from replay.script.request import ModelRequest

__all__ = ["ambiguous", "exhausted", "out_of_order", "unknown"]

_RECORD = "if the new behaviour is right, record the scenario again: bazel run //:record"
_ARRIVAL = "make what the lanes are told differ, or let the scenario allow the order of arrival"


def exhausted(lanes: Sequence[Lane], lane: Lane, request: ModelRequest) -> DivergenceError:
    """A lane that has no call left is asked once more."""
    count = len(lane.calls)
    what = f'lane "{lane.name}" is exhausted: the agent made a {nth(count + 1)} model call, the recording has {count}'
    if not count:
        return DivergenceError(what, Location(lane.file), _RECORD)
    repeated = _with_key(lanes, request)
    if repeated is not None:
        owner, call = repeated
        return DivergenceError(f"{what}; it asks the {_named(owner, call)} again", call.where, _RECORD)
    call, difference = _nearest(lanes, lane, request)
    return DivergenceError(f"{what}; nearest: the {call.describe()}{difference}", call.where, _RECORD)


def unknown(lanes: Sequence[Lane], free: Sequence[Lane], request: ModelRequest) -> DivergenceError:
    """A request opens none of the lanes that are free and goes on with no other."""
    # Not its id, which is another one in each run.
    who = (
        "a conversation"
        if request.session is None
        else "a session"
        if request.parent is None
        else "a child session"
    )
    repeated = _with_key(lanes, request)
    if repeated is not None:
        owner, call = repeated
        return DivergenceError(f"{who} asks the {_named(owner, call)} again", call.where, _RECORD)
    nearest = nearest_opening(free, request)
    if nearest is None:
        names = ", ".join(f'"{lane.name}"' for lane in lanes) or "none"
        where = Location(lanes[0].file) if lanes else None
        what = f"{who} makes a model call that no lane is left for (lanes: {names})"
        return DivergenceError(what, where, _RECORD)
    first = nearest.calls[0]
    difference = difference_from(lanes, nearest, 1, request)
    told = f"first difference {difference.text}" if difference else first_difference(nearest, request)
    what = f'{who} makes a model call that opens no recorded lane; nearest: lane "{nearest.name}", {told}'
    return DivergenceError(what, first.where, _RECORD)


def out_of_order(lane: Lane, other: Call, due: Call) -> DivergenceError:
    """The live request is that of another recorded call than the one that is due."""
    what = f"the agent makes the {_named(lane, other)} where the recording has the {due.describe()} ({due.where})"
    return DivergenceError(what, other.where, _RECORD)


def ambiguous(lanes: Sequence[Lane], call: Call | None, how: str) -> DivergenceError:
    """Nothing tells these lanes apart for the live request. how: what they have in common."""
    names = " and ".join(f'"{lane.name}"' for lane in lanes)
    what = f"the request fits lanes {names}, which {how} but stream different answers"
    return DivergenceError(what, call.where if call else Location(lanes[0].file), _ARRIVAL)


def _named(lane: Lane, call: Call) -> str:
    return f'{call.describe()} of lane "{lane.name}"'


def _with_key(lanes: Sequence[Lane], request: ModelRequest) -> tuple[Lane, Call] | None:
    if not request.key:
        return None
    return next(((lane, call) for lane in lanes for call in lane.calls if call.key == request.key), None)


def _nearest(lanes: Sequence[Lane], lane: Lane, request: ModelRequest) -> tuple[Call, str]:
    """The call of a lane whose request is most like the live one, with the first difference; else the last."""
    best = lane.calls[-1]
    text = ""
    depth = -1
    for call in lane.calls:
        difference = difference_from(lanes, lane, call.ordinal, request)
        if difference is not None and difference.depth >= depth:
            best, text, depth = call, f"; first difference {difference.text}", difference.depth
    return best, text
