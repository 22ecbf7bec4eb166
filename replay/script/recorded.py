"""The requests that a gateway's log recorded, put together again: to say where a live one differs. Pure.

Only on the way to an error. A log of any other writer holds no requests, and a placeholder in one stands for any text.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from replay.script.binding import PLACEHOLDER
from replay.script.conversation import answer_of, repeats, split_header, without_markers
from replay.session import PACKED_DELTA, expand, json_path, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replay.script.conversation import Message
    from replay.script.entry import Lane
    from replay.script.request import ModelRequest
    from replay.session import Row

    type Found = tuple[tuple[str | int, ...], str, str]

__all__ = ["Difference", "difference_from"]

_BEFORE = 12
_EXCERPT = 44


class Difference(NamedTuple):
    """`$.messages[5].content[0].text: "exit 0" -> "exit 1"`; depth: how many messages are the same before it."""

    text: str
    depth: int


def difference_from(
    lanes: Sequence[Lane], lane: Lane, ordinal: int, request: ModelRequest
) -> Difference | None:
    """Where a live request first differs from the recorded one; None if they say the same, or nothing is recorded."""
    if not request.conversation or not lane.calls[ordinal - 1].key:
        return None
    system, live = split_header(request.conversation)
    recorded = _Reading(lanes, lane).until(ordinal)
    for at, (left, right) in enumerate(zip(recorded, live, strict=False)):
        if right["role"] == "assistant" == left["role"] and repeats(right, left):
            continue
        found = _first(without_markers(left), without_markers(right), ("messages", len(system) + at))
        if found is not None:
            return _told(found, at)
    at = min(len(recorded), len(live))
    if len(recorded) == len(live):
        return None
    path = ("messages", len(system) + at)
    here = "absent" if at == len(recorded) else shown(recorded[at])
    there = "absent" if at == len(live) else shown(live[at])
    return _told((path, here, there), at)


def _told(found: Found, depth: int) -> Difference:
    path, recorded, live = found
    return Difference(f"{json_path(path)}: {recorded} -> {live}", depth)


class _Reading:
    """One log, read up to a call."""

    def __init__(self, lanes: Sequence[Lane], lane: Lane) -> None:
        self._lanes = lanes
        self._lane = lane
        self._said: list[Message] = []
        self._answer: Message | None = None
        self._chunks: list[dict[str, Any]] = []

    def until(self, ordinal: int) -> list[Message]:
        """The conversation of that call's request, its leading system messages apart; [] where the log has none."""
        log = self._lane.log
        started = 0
        for row in log.rows if log is not None else ():
            if row.type == "call/start":
                started += 1
                self._answered()
                if started == ordinal:
                    break
                self._chunks = []
            self._take(row)
        return self._said

    def _take(self, row: Row) -> None:
        data = row.data
        match row.type:
            case "user/message" | "system/message":
                self._answered()
                self._said.append({"role": row.type.partition("/")[0], **data})
            case "tool/result":
                self._answered()
                self._said.append({key: item for key, item in data["message"].items() if key != "source"})
            case "assistant/message":
                self._answer = None
                if data["message"].get("content"):
                    self._said.append(data["message"])
            case "request/messages":
                self._answer = None
                self._said = [*self._said[: data["from"]], *data["messages"]]
            case "request/fork":
                self._said = self._inherited(data)
            case "assistant/chunk":
                self._chunks.append(data["chunk"])
            case "call/end":
                self._answer = answer_of(self._chunks) if data["outcome"]["kind"] == "completed" else None
            case kind if kind in PACKED_DELTA:
                self._chunks.extend(expand(kind, data))
            case _:
                pass

    def _answered(self) -> None:
        """The answer came back as it was streamed, unless the log says otherwise."""
        if self._answer is not None and self._answer["content"]:
            self._said.append(self._answer)
        self._answer = None

    def _inherited(self, data: dict[str, Any]) -> list[Message]:
        # Without this one: two logs may each claim to begin with the other.
        lanes = [lane for lane in self._lanes if lane is not self._lane]
        origin = next((lane for lane in lanes if lane.session == data["session"]), None)
        if origin is None:
            return []
        reading = _Reading(lanes, origin)
        # The answer to a call stands before the next one, or is the last thing known.
        said = reading.until(data["call"] + 1)
        reading._answered()
        return said[: data["messages"]]


def _first(recorded: Any, live: Any, path: tuple[str | int, ...]) -> Found | None:
    """The first leaf that differs."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for key in dict.fromkeys((*recorded, *live)):
            if key not in recorded or key not in live:
                here, there = (shown(side[key]) if key in side else "absent" for side in (recorded, live))
                return (*path, key), here, there
            found = _first(recorded[key], live[key], (*path, key))
            if found is not None:
                return found
        return None
    if isinstance(recorded, list) and isinstance(live, list):
        for at in range(max(len(recorded), len(live))):
            if at >= len(recorded) or at >= len(live):
                here, there = (shown(side[at]) if at < len(side) else "absent" for side in (recorded, live))
                return (*path, at), here, there
            found = _first(recorded[at], live[at], (*path, at))
            if found is not None:
                return found
        return None
    if isinstance(recorded, str) and isinstance(live, str):
        return None if _fits(recorded, live) else (path, *_excerpts(recorded, live))
    return None if recorded == live else (path, shown(recorded), shown(live))


def _fits(recorded: str, live: str) -> bool:
    pieces = PLACEHOLDER.split(recorded)
    if len(pieces) == 1:
        return recorded == live
    if not live.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    for piece in pieces[1:-1]:
        found = live.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return live.endswith(pieces[-1]) and len(live) - len(pieces[-1]) >= at


def _excerpts(recorded: str, live: str) -> tuple[str, str]:
    """Both texts around the place where they part."""
    common = next(
        (at for at, (one, other) in enumerate(zip(recorded, live, strict=False)) if one != other),
        min(len(recorded), len(live)),
    )
    start = max(0, common - _BEFORE)
    head = "..." if start else ""
    return shown(head + recorded[start : start + _EXCERPT]), shown(head + live[start : start + _EXCERPT])
