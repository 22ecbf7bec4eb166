"""The player: serves each live model request the next call of its lane. Pure; the caller streams and journals.

A lane is bound at its first call (binding.py weighs the evidence), after that replay is positional. Whatever the
recording does not hold fails at once (divergence.py says how). A request that is not the recorded one is served all the
same where it takes the recorded one's place: what it changed is for the requests surface to show. One player serves
one run; it is not thread-safe, hold a lock around open.
"""

from typing import TYPE_CHECKING, Any

from replay.errors import DivergenceError, FixtureError
from replay.script.binding import Cursor, continuation, has_exact_opening, lane_score, opening_score
from replay.script.consumption import unconsumed_sentences
from replay.script.divergence import ambiguous, exhausted, out_of_order, unknown
from replay.script.entry import Call, Entry, Lane, Unfinished, unfinished_error
from replay.script.reference import check_references, resolve
from replay.script.request import ModelRequest
from replay.session import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Player", "Served", "check_lanes"]


class Served:
    """A call on its way to the agent. entry has its fromRequest references replaced; call is what was recorded."""

    __slots__ = ("call", "entry", "lane")

    def __init__(self, lane: str, call: Call, entry: Entry) -> None:
        self.lane = lane
        self.call = call
        self.entry = entry

    @property
    def ordinal(self) -> int:
        return self.call.ordinal


def check_lanes(lanes: Sequence[Lane]) -> None:
    """Raises FixtureError for the first call that cannot be served: unfinished, or with a refused expression."""
    for lane in lanes:
        for call in lane.calls:
            if isinstance(call.entry, Unfinished):
                raise unfinished_error(lane, call, len(lanes) == 1)
            check_references(lane, call)


class Player:
    """Serves the calls of lanes.

    journal: is handed every line to be appended to the run's journal, {"kind":"call","lane","ordinal","session"} and
    {"kind":"diverged","message","file","line","path","fix"}. history: the lines of the same journal from before the
    agent was restarted. allow_arrival_order: lanes that nothing tells apart are bound in the order of their files.
    Raises FixtureError for lanes that cannot be served or a history of other lanes.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        journal: Callable[[dict[str, Any]], None] | None = None,
        history: Iterable[dict[str, Any]] = (),
        *,
        allow_arrival_order: bool = False,
    ) -> None:
        check_lanes(lanes)
        self._cursors = [Cursor(lane) for lane in lanes]
        self._headers = [_header(lane) for lane in lanes]
        self._journal = journal
        self._allow_arrival_order = allow_arrival_order
        for line in history:
            if line.get("kind") == "call":
                self._relive(line)

    def _relive(self, line: dict[str, Any]) -> None:
        cursor = next((cursor for cursor in self._cursors if cursor.lane.name == line.get("lane")), None)
        if cursor is None or line.get("ordinal") != cursor.served + 1 or cursor.next_call is None:
            raise FixtureError(f"the journal of this run does not fit its recording: {shown(line)}")
        cursor.advance(None)
        session = line.get("session")
        if session is not None:
            cursor.session = session

    def open(self, request: ModelRequest) -> Served:
        """The call that answers this request; it counts as consumed.

        Raises DivergenceError, after journalling it, where the recording holds no call for the request.
        """
        try:
            cursor = self._cursor(request)
            call = cursor.next_call
            if call is None:
                raise exhausted(self._lanes, cursor.lane, request)
            self._check_order(call, request)
            entry = resolve(cursor.lane, call, request.text)
        except DivergenceError as divergence:
            file, line, path = divergence.where
            self._write(
                {
                    "kind": "diverged",
                    "message": divergence.what,
                    "file": file,
                    "line": line,
                    "path": path,
                    "fix": divergence.fix,
                }
            )
            raise
        if request.session is not None:
            cursor.session = request.session
        cursor.advance(request)
        self._write(
            {"kind": "call", "lane": cursor.lane.name, "ordinal": call.ordinal, "session": request.session}
        )
        return Served(cursor.lane.name, call, entry)

    def unconsumed(self) -> list[str]:
        """A sentence for each lane with calls left, [] where everything was served."""
        return unconsumed_sentences((cursor.lane, cursor.served) for cursor in self._cursors)

    def _write(self, line: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal(line)

    @property
    def _lanes(self) -> list[Lane]:
        return [cursor.lane for cursor in self._cursors]

    def _cursor(self, request: ModelRequest) -> Cursor:
        """The lane that the request belongs to, by the strongest evidence there is."""
        if request.session is not None:
            for cursor in self._cursors:
                if cursor.session == request.session:
                    return cursor
            return self._bind(request)
        asked = self._asked(request)
        if asked is not None:
            return asked
        if len(self._cursors) == 1:
            return self._cursors[0]
        known = self._best(request, [cursor for cursor in self._cursors if cursor.is_bound], least=2)
        if known is None or self._is_fork(known, request):
            return self._bind(request)
        return known

    def _asked(self, request: ModelRequest) -> Cursor | None:
        """The lane whose next call is this very request."""
        if not request.key:
            return None
        asked = [
            cursor for cursor in self._cursors if cursor.next_call and cursor.next_call.key == request.key
        ]
        if len(asked) < 2:
            return asked[0] if asked else None
        # The repetition of a call that failed looks like the first call of a twin.
        known = self._best(request, [cursor for cursor in asked if cursor.is_bound], least=2)
        return known or self._one_of(
            [cursor for cursor in asked if not cursor.is_bound] or asked, "ask alike"
        )

    def _check_order(self, call: Call, request: ModelRequest) -> None:
        """Raises DivergenceError for the request of another recorded call than the one that is due."""
        if not request.key or not call.key or call.key == request.key:
            return
        for lane in self._lanes:
            for other in lane.calls:
                if other.key == request.key:
                    raise out_of_order(lane, other, call)

    def _is_fork(self, cursor: Cursor, request: ModelRequest) -> bool:
        """Whether a request that repeats a lane's conversation goes on with what opens another lane."""
        added = ModelRequest(messages=cursor.messages_after(request))
        others = (other.lane for other in self._cursors if not other.is_bound)
        return any(opening_score(lane, added)[:2] >= (2, 1) for lane in others)

    def _bind(self, request: ModelRequest) -> Cursor:
        free = [cursor for cursor in self._cursors if not cursor.is_bound and cursor.lane.calls]
        if not any(cursor.lane.calls for cursor in self._cursors) and self._cursors:
            # The recording makes no call at all; say how many instead of looking for the nearest.
            return self._cursors[0]
        if request.parent is not None:
            parent = next((cursor for cursor in self._cursors if cursor.session == request.parent), None)
            if parent is not None:
                free = [cursor for cursor in free if cursor.lane.parent_lane == parent.lane.name]
            else:
                free = [cursor for cursor in free if cursor.lane.parent_lane is not None]
        scored = [
            (lane_score(cursor.lane, request, is_only=self._headers.count(_header(cursor.lane)) == 1), cursor)
            for cursor in free
        ]
        best = max((score for score, _ in scored), default=(0,))
        if best > (0,) and not self._opens_another(request, [cursor for _, cursor in scored]):
            return self._one_of([cursor for score, cursor in scored if score == best], "open alike")
        bound = [cursor for cursor in self._cursors if cursor.is_bound]
        # A session that was loaded again under a new id, or a gateway's agent that rewrote its history.
        known = self._best(request, bound, least=1 if request.session is None else 2)
        if known is not None:
            return known
        # The root conversation is let in however its prompt was dressed: its surfaces show any difference.
        roots = [cursor for cursor in free if cursor.lane.parent_lane is None]
        if request.parent is None and not bound and len(roots) == 1:
            return roots[0]
        raise unknown(self._lanes, [cursor.lane for cursor in free], request)

    def _opens_another(self, request: ModelRequest, free: list[Cursor]) -> bool:
        """Whether the request repeats the opening of a lane that is bound, and holds that of a free one inside it."""
        if any(has_exact_opening(cursor.lane, request) for cursor in free):
            return False
        return any(cursor.is_bound and has_exact_opening(cursor.lane, request) for cursor in self._cursors)

    def _best(self, request: ModelRequest, cursors: list[Cursor], least: int) -> Cursor | None:
        scored = [(continuation(cursor, request), cursor) for cursor in cursors]
        best = max((score for score, _ in scored), default=(0,))
        if best[0] < least:
            return None
        return self._one_of([cursor for score, cursor in scored if score == best], "go on alike")

    def _one_of(self, cursors: list[Cursor], how: str) -> Cursor:
        first = cursors[0]
        if len(cursors) == 1 or self._allow_arrival_order:
            return first
        script = _rest(first)
        # Which of two lanes with one script is served makes no difference to anybody.
        if all(_rest(cursor) == script for cursor in cursors[1:]):
            return first
        raise ambiguous([cursor.lane for cursor in cursors], first.next_call, how)


def _rest(cursor: Cursor) -> list[Entry]:
    return [call.entry for call in cursor.lane.calls[cursor.served :]]


def _header(lane: Lane) -> tuple[str, str]:
    return lane.hashes.get("system", ""), lane.hashes.get("tools", "")
