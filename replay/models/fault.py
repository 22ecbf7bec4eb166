"""Answers that meet a fault of the connection, as a `fault` entry asks for one.

Streamed, a fault takes its place between the frames; a whole reply is cut, resets, or comes as late as its stream would
have been complete. Silence is the one thing here that takes time, and the caller says how to wait.
"""

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from replay.models.endpoint import EVENTS_TYPE, JSON_TYPE
from replay.models.http_server import END, RESET, Answer
from replay.script import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from replay.models.wire import Chunk, Codec, WireRequest

    type Wait = Callable[[int], None]

__all__ = ["Reply", "answer_fault"]


class Reply(NamedTuple):
    """What would be answered without a fault. headers: those of a reply, its type apart."""

    codec: Codec
    chunks: Sequence[Chunk]
    request: WireRequest
    reply_id: str
    headers: Sequence[tuple[str, str]]

    def frames(self, chunks: Sequence[Chunk], complete: bool) -> Iterator[bytes]:
        """The stream of some chunks. complete: it has its own end."""
        return self.codec.encode_stream(chunks, self.request, self.reply_id, complete)

    def body(self) -> bytes:
        """The whole reply."""
        return self.codec.encode_response(self.chunks, self.request, self.reply_id)

    def streamed(self, pieces: Iterable[bytes], ending: str = END, *, live: bool = False) -> Answer:
        """An answer of frames. live: as in `Answer`."""
        return Answer(200, [*EVENTS_TYPE, *self.headers], pieces, True, ending, live=live)

    def whole(self, pieces: Iterable[bytes], ending: str = END) -> Answer:
        """An answer that comes at once."""
        return Answer(200, [JSON_TYPE, *self.headers], pieces, False, ending)


def answer_fault(entry: Fault, reply: Reply, wait: Wait) -> Answer:
    """The answer that `entry` stands for. wait: passes as many milliseconds, or raises OSError to give up."""
    return _ANSWERS[entry.fault["kind"]](entry, reply, wait)


def _malformed(entry: Fault, reply: Reply, wait: Wait) -> Answer:
    if reply.request.stream:
        return reply.streamed(chain(reply.frames(reply.chunks, False), [reply.codec.MALFORMED]))
    return reply.whole([reply.body()[:-1]])


def _reset(entry: Fault, reply: Reply, wait: Wait) -> Answer:
    if not reply.chunks:
        return reply.whole([], RESET)
    if reply.request.stream:
        return reply.streamed(reply.frames(reply.chunks, False), RESET)
    return reply.whole([reply.body()], RESET)


def _slow(entry: Fault, reply: Reply, wait: Wait) -> Answer:
    if not reply.request.stream:
        return reply.whole(_late(entry, reply, wait))
    frames = list(reply.frames(reply.chunks, True))
    if "at" in entry.fault:
        # A frame is no chunk. Some wires let the last chunks share one, and it stands for all of them.
        before = sum(1 for _ in reply.frames(reply.chunks[: entry.fault["at"]], False))
        entry = Fault(entry.source, {**entry.fault, "at": min(before, len(frames) - 1)})
    return reply.streamed(_paced(entry, frames, wait), live=True)


def _late(entry: Fault, reply: Reply, wait: Wait) -> Iterator[bytes]:
    wait(sum(entry.pause_ms(place) for place in range(len(reply.chunks) + 1)))
    yield reply.body()


def _paced(entry: Fault, frames: Iterable[bytes], wait: Wait) -> Iterator[bytes]:
    for place, frame in enumerate(frames):
        wait(entry.pause_ms(place))
        yield frame


_ANSWERS: Mapping[str, Callable[[Fault, Reply, Wait], Answer]] = {
    "malformed": _malformed,
    "reset": _reset,
    "stall": _slow,
    "trickle": _slow,
}
