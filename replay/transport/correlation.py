"""Which live request is which recorded one, and whether a frame is the one that an entry expects. Pure.

The orchestrator numbers its requests as it likes: the handle that a matched request came with is what its answer goes out
with, so any number of requests of one method may be pending. The provider's own requests go out with the handles of the
transcript, or with ones of the engine's where frames carry none, and an answer has to bring the right one.
"""

from typing import Any

from replay.errors import DivergenceError, FixtureError
from replay.pattern import PatternError
from replay.transport.matcher import Difference, Matched, match_frame
from replay.transport.placeholder import Hole, fill
from replay.transport.prepared import Prepared
from replay.transport.profile import Ref
from replay.transport.reasons import entry_words
from replay.transport.transcript import EmitInbound, ExpectOutbound, Frame

__all__ = ["Correlation"]

_REF_PATH = "$.id"


class Correlation:
    """What one run has said so far. matched: indices of outbound entries whose frame has come; captured: by name."""

    __slots__ = ("_emitted", "_live", "_pending", "_prepared", "captured", "matched")

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.captured: dict[str, Any] = {}
        self.matched: set[int] = set()
        self._live: dict[int, Ref | None] = {}
        """Outbound request -> its handle in this run."""
        self._emitted: dict[int, Ref | None] = {}
        """Inbound request -> the handle that its answer brings."""
        self._pending: dict[tuple[int, Ref], int] = {}
        """(connection, handle) of a request -> its entry, until it is answered."""

    def handle_of(self, frame: Frame, ref: Ref | None) -> Ref | None:
        """The handle of a live frame: the one it carries, or the one that the peer gave along."""
        return ref if ref is not None else self._prepared.profile.ref_of(frame)

    def compare(self, index: int, frame: Frame, live: Ref | None) -> Matched:
        """A live frame with the handle `live` against an outbound entry. Raises FixtureError for a costly placeholder."""
        prepared = self._prepared
        profile, entry = prepared.profile, prepared.entries[index]
        assert isinstance(entry, ExpectOutbound)
        expected, actual = prepared.frames[index], frame
        recorded = profile.ref_of(entry.frame)
        if recorded is not None and profile.ref_of(frame) is not None:
            actual = profile.with_ref(frame, recorded)
        mention = prepared.mentions.get(index)
        if mention is not None:
            expected = mention.in_frame(expected, self._live.get(mention.request))
        is_subset = (entry.match or profile.match) == "subset"
        rules = prepared.rules.of(profile.kind_of(entry.frame))
        try:
            matched = match_frame(expected, actual, rules, self.captured, is_subset=is_subset)
        except PatternError as error:
            what = f"a placeholder of {entry_words(prepared, index)} {error}"
            raise FixtureError(what, prepared.where(index)) from None
        asked = prepared.pairs.get(index)
        if asked is not None:
            matched.differences[:0] = self._wrong_answer(asked, live)
        return matched

    def _wrong_answer(self, asked: int, live: Ref | None) -> list[Difference]:
        """What is wrong with an answer that brings the handle `live`, if the entry answers the request `asked`."""
        if asked not in self._emitted:
            waiting = f"the handle of {entry_words(self._prepared, asked)}, which is not sent yet"
            return [Difference(_REF_PATH, waiting, live)]
        wanted = self._emitted[asked]
        if live is None or (type(live) is type(wanted) and live == wanted):
            return []
        return [Difference(_REF_PATH, wanted, live)]

    def accept(self, connection: int, index: int, live: Ref | None, matched: Matched) -> None:
        """The entry's frame has come. Raises DivergenceError where its handle is that of a pending request."""
        prepared = self._prepared
        if live is not None and index not in prepared.pairs:
            # Its answer could not be told from the other's.
            earlier = self._pending.get((connection, live))
            if earlier is not None:
                what = (
                    f"the orchestrator gave {entry_words(prepared, index)} the id {live!r}, which is that of "
                    f"{entry_words(prepared, earlier)}, not answered yet"
                )
                raise DivergenceError(what, prepared.where(index), "give each request an id of its own")
            self._pending[connection, live] = index
        self._live[index] = live
        self.captured |= matched.captured
        self.matched.add(index)

    def outgoing(self, connection: int, index: int, entry: EmitInbound) -> tuple[Frame, Ref | None]:
        """The frame of an inbound entry as it goes out in this run, and its handle."""
        prepared = self._prepared
        frame: Frame = prepared.frames[index]
        if frame is not entry.frame:
            frame = fill(frame, self._value_of)
        asked = prepared.pairs.get(index)
        if asked is None:
            ref = prepared.profile.ref_of(frame)
            if ref is None and index in prepared.requests:
                ref = index + 1
            if ref is not None:
                self._emitted[index] = ref
            return frame, ref
        ref = self._live.get(asked)
        if ref is not None:
            frame = prepared.profile.with_ref(frame, ref)
            self._pending.pop((connection, ref), None)
        return frame, ref

    def _value_of(self, hole: Hole) -> Any:
        return self.captured[hole.name]
