"""What protocols of JSON-RPC share: a request has a method and an id, its answer the id alone. Pure.

Either side numbers its own requests, so an id says something only together with the direction it went.
"""

from collections.abc import Sequence

from replay.errors import FixtureError, Location
from replay.transport.profile import Ref
from replay.transport.transcript import EmitInbound, Entry, Frame, RuntimeExit

__all__ = ["find_pairs", "is_answer", "is_request", "kind_of", "ref_of", "with_ref"]


def kind_of(frame: Frame) -> str:
    """The method, "" for an answer."""
    method = frame.get("method")
    return method if isinstance(method, str) else ""


def ref_of(frame: Frame) -> Ref | None:
    """The id of a request or an answer."""
    found = frame.get("id")
    return found if isinstance(found, str) or type(found) is int else None


def with_ref(frame: Frame, ref: Ref) -> Frame:
    """The frame with that id; the order of its keys stays."""
    return {**frame, "id": ref}


def is_request(frame: Frame) -> bool:
    """Whether an answer is due."""
    return "method" in frame and ref_of(frame) is not None


def is_answer(frame: Frame) -> bool:
    """Whether it answers a request."""
    return "method" not in frame and ref_of(frame) is not None


def find_pairs(entries: Sequence[Entry]) -> dict[int, int]:
    """Every answer with its request, by id, within one life of one process.

    Raises FixtureError, without the file, for an answer to nothing and for an id that is given twice.
    """
    pairs: dict[int, int] = {}
    pending: dict[tuple[str, bool, Ref], int] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, RuntimeExit):
            pending = {key: at for key, at in pending.items() if key[0] != entry.process}
            continue
        ref = ref_of(entry.frame)
        if ref is None:
            continue
        is_inbound = isinstance(entry, EmitInbound)
        if is_request(entry.frame):
            key = (entry.process, is_inbound, ref)
            if key in pending:
                earlier = entries[pending[key]].line
                what = f"the id {ref!r} is that of line {earlier}, which is not answered yet"
                raise FixtureError(what, Location(line=entry.line, path="$.frame.id"))
            pending[key] = index
            continue
        asked = pending.pop((entry.process, not is_inbound, ref), None)
        if asked is None:
            what = f"answers {ref!r}, and no request of the other side with that id waits for an answer"
            raise FixtureError(what, Location(line=entry.line, path="$.frame.id"))
        pairs[index] = asked
    return pairs
