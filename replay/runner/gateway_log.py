"""The session logs of an agent that writes none: made from what crossed the gateway, the model's half from the fixture.

What a model said is written by a recording and by nothing else. The rows of a call that the fixture's own log holds
stand in the new log as they stand there, whatever an override served in their place; only the key of the request is
the run's.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from replay.errors import DivergenceError, Location
from replay.session import Row, pack, unpack

if TYPE_CHECKING:
    from replay.script import Call, Lane
    from replay.surface import Json

__all__ = ["canonical_lines", "is_recorded", "with_recorded_calls"]

_PROVENANCE = "provenance"


def canonical_lines(lines: Sequence[Any]) -> list[Any]:
    """Header and rows in canonical packing."""
    return [lines[0], *pack(unpack(Row(number, line) for number, line in enumerate(lines[1:], 2)))]


def with_recorded_calls(lines: Sequence[Any], lane: Lane) -> list[Json]:
    """A gateway's log with the model's half of the calls that `lane`'s own log holds, and its provenance.

    lines: header and rows of one log, each call's rows between its marks. lane: as derived from the fixture's log,
    without the override. A call may stand in another turn or step than in a log that a person wrote. Raises
    DivergenceError where it does in one that was recorded.
    """
    header = dict(lines[0])
    if lane.log is not None and _PROVENANCE in lane.log.header.fields:
        header[_PROVENANCE] = lane.log.header.fields[_PROVENANCE]
    return canonical_lines([header, *_merged(lines[1:], lane.calls, is_recorded(header))])


def is_recorded(header: dict[str, Any]) -> bool:
    """Whether a log says that it comes from a live run, so that its calls stand where they stood then."""
    provenance = header.get(_PROVENANCE)
    return isinstance(provenance, dict) and provenance.get("kind") == "recorded"


def _merged(rows: Sequence[Any], calls: Sequence[Call], must_stay: bool) -> Iterator[Any]:
    ordinal = 0
    call: Call | None = None
    for row in rows:
        kind = row["type"]
        if kind == "call/start":
            ordinal += 1
            call = calls[ordinal - 1] if ordinal <= len(calls) else None
            if call is not None and must_stay:
                _check_place(call, row["data"])
        if call is None:
            yield row
        elif kind == "call/start":
            first, _ = _marks(call)
            yield _placed(first, row) if first is not None else row
            place = {"turn": row["data"]["turn"], "step": row["data"]["step"]}
            for chunk in call.entry.expand():
                yield {"type": "assistant/chunk", "data": {**place, "chunk": chunk}}
        elif kind == "call/end":
            _, last = _marks(call)
            yield _placed(last, row) if last is not None else row
            call = None


def _check_place(call: Call, live: dict[str, Any]) -> None:
    if (call.turn, call.step) != (live["turn"], live["step"]):
        raise DivergenceError(
            f"the agent makes the {call.describe()} in turn {live['turn']}, step {live['step']} now",
            Location(call.file, call.line),
            "record it again",
        )


def _marks(call: Call) -> tuple[Row | None, Row | None]:
    """The rows that begin and end the call in its log, None where it has no such mark."""
    source = call.entry.source
    if isinstance(source, list):
        return None, None
    first, last = source.log.row(source.first), source.log.row(source.last)
    return (
        first if first.type == "call/start" else None,
        last if last.type == "call/end" and first.type == "call/start" else None,
    )


def _placed(recorded: Row, live: Any) -> Any:
    """A recorded mark in the place of the live one, with the key of the live request."""
    own = {key: live["data"][key] for key in ("turn", "step", "request") if key in live["data"]}
    return {**recorded.fields, "data": {**recorded.data, **own}}
