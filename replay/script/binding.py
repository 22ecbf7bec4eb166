"""Which recorded lane a live request belongs to.

Evidence, strongest first: a session id that was bound before; the conversation, which goes on from what a lane was
asked and answered; the opening, which repeats what the user said before a lane's first call. Text is compared
without spaces and punctuation, because every wire serialises tool arguments in its own way, and a placeholder of a
fixture stands for any text. Nothing here changes a lane; player.py does.
"""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from replay.session import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replay.script.entry import Call, Lane
    from replay.script.request import ModelRequest

__all__ = ["Cursor", "continuation", "first_difference", "nearest_opening", "opening_score"]

_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")
_NOT_A_WORD = re.compile(r"[\W_]+")

type Score = tuple[int, ...]


class Cursor:
    """How far a lane has been served, and to whom.

    session is the live id (None: unbound, or bound without one); seen the messages of its newest request; said the
    words of its newest answer that a later request must repeat.
    """

    __slots__ = ("ended_well", "is_bound", "lane", "said", "seen", "served", "session")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.is_bound = False
        self.session: str | None = None
        self.served = 0
        self.seen: list[dict[str, str]] | None = None
        self.said: list[str] = []
        self.ended_well = True

    @property
    def next_call(self) -> Call | None:
        return self.lane.calls[self.served] if self.served < len(self.lane.calls) else None

    def messages_after(self, request: ModelRequest) -> list[dict[str, str]]:
        """The messages of a request that the lane's newest request did not have; all of them if it rewrote those."""
        messages = _spoken(request)
        seen = self.seen or []
        return messages[len(seen) :] if messages[: len(seen)] == seen else messages

    def advance(self, request: ModelRequest | None) -> None:
        """The next call was served to this request (None: in an earlier life of the agent)."""
        entry = self.lane.calls[self.served].entry
        self.is_bound = True
        self.served += 1
        self.seen = _spoken(request) if request else None
        self.said = []
        self.ended_well = entry.kind == "chunks"
        for chunk in entry.expand():
            if chunk["type"] == "block-end":
                self.said += _words_of_block(chunk["block"])
            elif chunk["type"] == "finish" and chunk["reason"]["kind"] == "error":
                self.ended_well = False


def _spoken(request: ModelRequest) -> list[dict[str, str]]:
    # A system prompt may hold a clock.
    return [message for message in request.messages if message["role"] != "system"]


def _words_of_block(block: dict[str, Any]) -> list[str]:
    # Reasoning is not repeated by most wires.
    if block["type"] == "text":
        return [_words(block["text"])]
    if block["type"] == "tool-call":
        try:
            arguments = orjson.loads(block["arguments"])
        except orjson.JSONDecodeError:
            arguments = block["arguments"]
        return [_words(text) for text in _leaves(arguments)]
    return []


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)


def _words(text: str) -> str:
    return _NOT_A_WORD.sub("", text)


def continuation(cursor: Cursor, request: ModelRequest) -> Score:
    """How well the request goes on from the lane's newest call; (0,) if it does not.

    First place: 4 what was asked before and the answer are both there, 3 a repetition after a failure, 2 the answer
    alone, 1 what was asked before alone. Then how many messages were there before, and how much was answered.
    """
    seen = cursor.seen
    extends = seen is not None and _spoken(request)[: len(seen)] == seen
    rest = cursor.messages_after(request)
    answers = _words("".join(message["text"] for message in rest if message["role"] == "assistant"))
    repeats = any(cursor.said) and all(words in answers for words in cursor.said)
    length = len(seen or ())
    said = sum(map(len, cursor.said))
    if extends and repeats:
        return 4, length, said
    if extends and not cursor.ended_well:
        return 3, length
    if repeats:
        return 2, said
    return (1, length) if extends else (0,)


class _Match(NamedTuple):
    is_found: bool
    is_exact: bool


def _match(recorded: str, live: Sequence[str]) -> _Match:
    pieces = [_words(piece) for piece in _PLACEHOLDER.split(recorded)]
    is_exact = False
    is_found = False
    for text in live:
        at = 0
        for piece in pieces:
            found = text.find(piece, at)
            if found < 0:
                break
            at = found + len(piece)
        else:
            is_found = True
            is_exact = is_exact or (len(pieces) == 1 and pieces[0] == text)
    return _Match(is_found and any(pieces), is_exact)


def opening_score(lane: Lane, request: ModelRequest) -> Score:
    """How well the request opens the lane; (0,) if its newest message of the user is not there.

    (2, exact, matched texts, matched length), or (1,) for a lane whose opening says nothing.
    """
    if not any(_words(text) for text in lane.opening):
        return (1,)
    live = [_words(message["text"]) for message in request.messages if message["role"] in ("user", "system")]
    matches = [_match(text, live) for text in lane.opening]
    if not matches[-1].is_found:
        return (0,)
    found = [text for text, match in zip(lane.opening, matches, strict=True) if match.is_found]
    return 2, sum(match.is_exact for match in matches), len(found), sum(map(len, found))


def nearest_opening(lanes: Sequence[Lane], request: ModelRequest) -> Lane | None:
    """The lane whose opening is most like the request's last user message."""
    live = _last_user_text(request)
    return max(
        lanes, key=lambda lane: _common_length(lane.opening[-1] if lane.opening else "", live), default=None
    )


def first_difference(lane: Lane, request: ModelRequest) -> str:
    """'recorded "…", live "…"', both from where they part."""
    recorded, live = lane.opening[-1] if lane.opening else "", _last_user_text(request)
    start = max(0, _common_length(recorded, live) - 20)
    return f"recorded {_excerpt(recorded, start)}, live {_excerpt(live, start)}"


def _excerpt(text: str, start: int) -> str:
    return shown(("..." if start else "") + text[start : start + 50])


def _last_user_text(request: ModelRequest) -> str:
    return next((message["text"] for message in reversed(request.messages) if message["role"] == "user"), "")


def _common_length(one: str, other: str) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
