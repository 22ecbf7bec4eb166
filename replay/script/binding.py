"""Which recorded lane a live request belongs to.

Evidence, strongest first: a session id that was bound before; the key of the request, where a lane's next call has
it; the conversation, which goes on from what a lane was asked and answered; the opening, which repeats what the user
said before a lane's first call, together with system prompt and tools. Text is compared without spaces and punctuation,
because every wire serialises tool arguments in its own way, and a placeholder of a fixture stands for any text. Nothing
here changes a lane; player.py does.
"""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from replay.session import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replay.script.entry import Call, Lane
    from replay.script.request import ModelRequest

__all__ = [
    "PLACEHOLDER",
    "Cursor",
    "continuation",
    "first_difference",
    "has_exact_opening",
    "lane_score",
    "nearest_opening",
    "opening_score",
]

PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")
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
    pieces = [_words(piece) for piece in PLACEHOLDER.split(recorded)]
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
            is_whole = text.startswith(pieces[0]) and text.endswith(pieces[-1])
            is_exact = is_exact or (is_whole and (len(pieces) > 1 or pieces[0] == text))
    says_something = any(pieces)
    return _Match(is_found and says_something, is_exact and says_something)


def _matches(lane: Lane, request: ModelRequest) -> list[_Match]:
    if request.words is None:
        # Long, and compared with every lane.
        request.words = [
            _words(message["text"]) for message in request.messages if message["role"] in ("user", "system")
        ]
    live = request.words
    return [_match(text, live) for text in lane.opening]


def opening_score(lane: Lane, request: ModelRequest) -> Score:
    """How well the request opens the lane; (0,) if its newest message of the user is not there.

    (2, exact, matched texts, matched length), or (1,) for a lane whose opening says nothing.
    """
    return _score(lane, _matches(lane, request))


def _score(lane: Lane, matches: Sequence[_Match]) -> Score:
    if not any(_words(text) for text in lane.opening):
        return (1,)
    if not matches[-1].is_found:
        return (0,)
    found = [text for text, match in zip(lane.opening, matches, strict=True) if match.is_found]
    return 2, sum(match.is_exact for match in matches), len(found), sum(map(len, found))


def has_exact_opening(lane: Lane, request: ModelRequest) -> bool:
    """Whether the user's newest word that opens the lane is a message as it is, and not inside another one."""
    return _is_exact(_matches(lane, request))


def _is_exact(matches: Sequence[_Match]) -> bool:
    return bool(matches) and matches[-1].is_exact


_POINTS = {0: 0, 1: 1, 2: 2}
_EXACT_OPENING = 6
_WHOLE_HEADER, _HALF_HEADER, _NO_HEADER = 4, 1, -2


def lane_score(lane: Lane, request: ModelRequest, *, is_only: bool) -> Score:
    """How well the request fits the beginning of a lane, by opening and header; (0,) if it does not.

    First place: points. A header that is the same counts less than an exact opening and more than one that is found
    inside something else, which a call that asks for a title of the conversation holds as well. is_only: no other lane
    has this header, so that it is evidence without the opening.
    """
    matches = _matches(lane, request)
    opening = _score(lane, matches)
    header = _header_points(lane, request)
    if not opening[0] and not (is_only and header == _WHOLE_HEADER):
        return (0,)
    points = _EXACT_OPENING if _is_exact(matches) else _POINTS[opening[0]]
    return points + header, *opening[1:]


def _header_points(lane: Lane, request: ModelRequest) -> int:
    if not request.key or not lane.calls or not lane.calls[0].key:
        return 0
    same = [lane.hashes.get(part) == request.hashes.get(part) for part in ("system", "tools")]
    return _WHOLE_HEADER if all(same) else _HALF_HEADER if any(same) else _NO_HEADER


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
