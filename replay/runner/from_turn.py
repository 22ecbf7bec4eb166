"""What a recording from a later turn on keeps: how many calls of each lane belong to the turns before it. Pure.

A turn is one of the conversation's with the user, the parent's. The calls of a child belong to the turn in which its
parent's log speaks of it, by its session id or by what it was told.
"""

from collections.abc import Collection, Iterator, Sequence

import orjson

from replay.scenario.model_half import with_model_half
from replay.script import Lane
from replay.session import SessionLog

__all__ = ["earlier_lanes", "with_earlier_half"]

_EVERY_LATER = 1 << 62


def earlier_lanes(lanes: Sequence[Lane], logs: Sequence[SessionLog], turn: int) -> list[Lane]:
    """`lanes` with the calls of the turns before `turn` only; `logs` are theirs, in the same order."""
    turns = [_turns(lane, lanes, logs) for lane in lanes]
    return [
        Lane(
            lane.name,
            lane.file,
            lane.session,
            lane.parent_lane,
            lane.opening,
            [call for call, at in zip(lane.calls, own, strict=True) if at < turn],
        )
        for lane, own in zip(lanes, turns, strict=True)
    ]


def with_earlier_half(
    committed: Sequence[Sequence[object]], recorded: Sequence[list[object]], lanes: Sequence[Lane]
) -> list[list[object]]:
    """The logs `recorded` with the earlier calls' half as it is committed, references included.

    lanes: what `earlier_lanes` returned. Raises DivergenceError where the calls are not the same.
    """
    out: list[list[object]] = []
    for number, log in enumerate(recorded):
        calls = len(lanes[number].calls) if number < len(lanes) else 0
        if not calls:
            out.append(log)
            continue
        later: Collection[int] = range(calls + 1, _EVERY_LATER)
        out.append(with_model_half(committed[number], log, later))
    return out


def _turns(lane: Lane, lanes: Sequence[Lane], logs: Sequence[SessionLog]) -> Iterator[int]:
    """The parent's turn of each call of a lane."""
    if lane.parent_lane is None:
        return (call.turn for call in lane.calls)
    turn = _turn_of_child(lane, lanes, logs, set())
    return (turn for _ in lane.calls)


def _turn_of_child(lane: Lane, lanes: Sequence[Lane], logs: Sequence[SessionLog], seen: set[str]) -> int:
    names = [each.name for each in lanes]
    if lane.parent_lane not in names or lane.name in seen:
        return 1
    at = names.index(lane.parent_lane)
    turn = _mentioned_in(logs[at], [lane.session, *lane.opening])
    parent = lanes[at]
    if parent.parent_lane is not None:
        # A child of a child: what counts is where the chain leaves the conversation with the user.
        return _turn_of_child(parent, lanes, logs, {*seen, lane.name})
    return turn


def _mentioned_in(log: SessionLog, words: Sequence[str]) -> int:
    """The turn of the first row that holds one of the words, the first word first; 1 for none."""
    for word in words:
        needle = orjson.dumps(word)[1:-1]
        turn = 1
        for row in log.rows if needle else ():
            if row.type == "turn/start":
                turn = row.data.get("turn", turn)
            if needle in orjson.dumps(row.fields):
                return turn
    return 1
