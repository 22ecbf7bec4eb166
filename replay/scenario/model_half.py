"""The two halves of a session log: what the model said, which only a recording writes, and what the agent wrote around it.

The model's half is each chunk (packed or not), each `call/start` and `call/end`, and the header's `provenance`; the
key of its request, which a `call/start` may carry, is what the agent asked and so the agent's. A run
that is taken for right brings new rows of the agent's; the model's half stays what the committed log says, event by
event and number by number. Where a live call has no counterpart there is no such log, and that is an error. Pure.

A call of an override is the override's and no recording's: its rows are those of the run.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import DivergenceError, counted
from replay.script import Lane, nth
from replay.session import PACKED_DELTA, Row, pack, unpack

__all__ = ["ALL_CALLS", "is_model_row", "overridden_calls", "with_model_half"]

_MARKS: Final = frozenset(("call/start", "call/end"))
_PROVENANCE: Final = "provenance"
_REQUEST: Final = "request"


class _Every:
    """The set of all ordinals, there being no last one."""

    __slots__ = ()

    def __contains__(self, ordinal: object) -> bool:
        return True


ALL_CALLS: Final = _Every()
"""What `overridden` is for a log whose every call an override replaces."""


class _Call(NamedTuple):
    """One model call: the places of its events among the unpacked events of its log."""

    turn: int
    step: int
    places: list[int]


def is_model_row(row: Any) -> bool:
    """Whether a row of a session log belongs to the model's half."""
    if not isinstance(row, dict):
        return False
    kind = row.get("type")
    return kind == "assistant/chunk" or kind in _MARKS or kind in PACKED_DELTA


def with_model_half(
    committed: Sequence[Any], actual: Sequence[Any], overridden: Collection[int] | _Every = frozenset()
) -> list[Any]:
    """`actual` with the model's half of `committed`, in canonical packing.

    Both are a header and rows, or nothing at all. overridden: ordinals, from 1 in the order in which the calls
    begin, of calls that an override serves. A committed log without marks takes the marks of the run. Raises
    DivergenceError where the calls of the two do not correspond one to one, in turn, step and kinds of events.
    """
    ours = list(unpack(_rows(committed)))
    theirs = list(unpack(_rows(actual)))
    keeps_marks = any(row.type in _MARKS for row in ours)
    recorded, live = list(_calls(ours)), list(_calls(theirs))
    merged = list(theirs)
    for ordinal, call in enumerate(live, 1):
        if ordinal in overridden:
            continue
        if ordinal > len(recorded):
            raise DivergenceError(
                f"the run made a {nth(ordinal)} model call, the recording has {len(recorded)}"
            )
        places = [at for at in call.places if keeps_marks or theirs[at].type not in _MARKS]
        source = recorded[ordinal - 1]
        _check(ordinal, source, call, [ours[at] for at in source.places], [theirs[at] for at in places])
        for from_place, to_place in zip(source.places, places, strict=True):
            merged[to_place] = _asked(ours[from_place], theirs[to_place])
    missing = [ordinal for ordinal in range(len(live) + 1, len(recorded) + 1) if ordinal not in overridden]
    if missing:
        raise DivergenceError(
            f"the recording has {counted(len(recorded), 'model call')}, the run made {len(live)}"
        )
    return [*_header(committed, actual), *pack(merged)]


def overridden_calls(lane: Lane) -> Collection[int] | _Every:
    """The calls of a lane, as the run was served them, that an override stands in for: `overridden` for its log."""
    replaced = frozenset(call.ordinal for call in lane.calls if call.file != lane.file)
    return ALL_CALLS if replaced and len(replaced) == len(lane.calls) else replaced


def _rows(lines: Sequence[Any]) -> Iterator[Row]:
    return (Row(number, line) for number, line in enumerate(lines[1:], 2))


def _header(committed: Sequence[Any], actual: Sequence[Any]) -> list[Any]:
    if not actual:
        return []
    header = {key: value for key, value in actual[0].items() if key != _PROVENANCE}
    if committed and _PROVENANCE in committed[0]:
        header[_PROVENANCE] = committed[0][_PROVENANCE]
    return [header]


def _asked(recorded: Row, live: Row) -> Row:
    """A recorded row with the request of the live one."""
    if recorded.type != "call/start" or recorded.data.get(_REQUEST) == live.data.get(_REQUEST):
        return recorded
    data = {**recorded.data, _REQUEST: live.data.get(_REQUEST)}
    if data[_REQUEST] is None:
        del data[_REQUEST]
    return Row(recorded.line, {**recorded.fields, "data": data})


def _calls(events: Sequence[Row]) -> Iterator[_Call]:
    """The calls of a log in the order in which they begin: by marks where it has them, else up to each finish."""
    is_marked = any(event.type in _MARKS for event in events)
    calls: list[_Call] = []
    running: dict[tuple[int, int], _Call] = {}
    for place, event in enumerate(events):
        if not is_model_row(event.fields):
            continue
        key = (event.data["turn"], event.data["step"])
        if event.type == "call/start" or key not in running:
            running[key] = _Call(*key, [])
            calls.append(running[key])
        running[key].places.append(place)
        is_finish = event.type == "assistant/chunk" and event.data["chunk"].get("type") == "finish"
        if event.type == "call/end" or (is_finish and not is_marked):
            del running[key]
    yield from calls


def _check(ordinal: int, source: _Call, call: _Call, recorded: Sequence[Row], logged: Sequence[Row]) -> None:
    """Raises DivergenceError where a call of the run is not the one that was recorded."""
    if (source.turn, source.step) != (call.turn, call.step):
        raise DivergenceError(
            f"the {nth(ordinal)} model call is turn {call.turn}, step {call.step} now and was recorded as "
            f"turn {source.turn}, step {source.step}"
        )
    place = f"the {nth(ordinal)} model call (turn {call.turn}, step {call.step})"
    for at, (left, right) in enumerate(zip(recorded, logged, strict=False), 1):
        if _kind(left) != _kind(right):
            raise DivergenceError(
                f"{place} has a {_kind(right)} as its {nth(at)} event in the run's log, a {_kind(left)} in the recording"
            )
    if len(recorded) != len(logged):
        raise DivergenceError(
            f"{place} has {counted(len(logged), 'event')} in the run's log, {len(recorded)} in the recording"
        )


def _kind(row: Row) -> str:
    return str(row.data["chunk"].get("type")) if row.type == "assistant/chunk" else row.type
