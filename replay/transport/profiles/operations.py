"""What protocols without ids share: an answer belongs to the first unanswered request of its operation. Pure."""

from collections.abc import Callable, Sequence

from replay.errors import FixtureError, Location
from replay.transport.profile import Ref
from replay.transport.transcript import EmitInbound, Entry, Frame, RuntimeExit

__all__ = [
    "as_they_are",
    "closes_nothing",
    "find_pairs",
    "mentions_nothing",
    "no_ref",
    "same_frame",
    "type_of",
]


def type_of(frame: Frame) -> str:
    """The frame's `type`."""
    found = frame.get("type")
    return found if isinstance(found, str) else ""


def no_ref(frame: Frame) -> Ref | None:
    """Such a frame carries no handle."""
    return None


def same_frame(frame: Frame, ref: Ref) -> Frame:
    """The peer keeps the handle; the frame has no place for it."""
    return frame


def mentions_nothing(frame: Frame) -> tuple[str, ...]:
    """No frame names an earlier request."""
    return ()


def closes_nothing(frame: Frame) -> bool:
    """Only a runtime_exit ends a connection."""
    return False


def as_they_are(entries: Sequence[Entry], place: str) -> tuple[Entry, ...]:
    """The wild form of the protocol is the form that is played."""
    return tuple(entries)


def find_pairs(
    entries: Sequence[Entry],
    operation_answered: Callable[[Frame], str],
    is_same: Callable[[Frame, Frame], bool] = lambda request, answer: True,
) -> dict[int, int]:
    """Every answer with its request, within one life of one process.

    operation_answered: the type of the request that a frame answers, "" if it answers none. is_same: whether they belong
    together by what they hold; where none does, the first unanswered one is it.
    Raises FixtureError, without the file, for an answer to nothing.
    """
    pairs: dict[int, int] = {}
    pending: dict[tuple[str, bool, str], list[int]] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, RuntimeExit):
            pending = {key: at for key, at in pending.items() if key[0] != entry.process}
            continue
        is_inbound = isinstance(entry, EmitInbound)
        operation = operation_answered(entry.frame)
        if not operation:
            pending.setdefault((entry.process, is_inbound, type_of(entry.frame)), []).append(index)
            continue
        asked = pending.get((entry.process, not is_inbound, operation), [])
        if not asked:
            what = f'answers "{operation}", and no request of that operation waits for an answer'
            raise FixtureError(what, Location(line=entry.line, path="$.frame"))
        alike = [at for at in asked if is_same(_frame_of(entries[at]), entry.frame)]
        pairs[index] = (alike or asked)[0]
        asked.remove(pairs[index])
    return pairs


def _frame_of(entry: Entry) -> Frame:
    return {} if isinstance(entry, RuntimeExit) else entry.frame
