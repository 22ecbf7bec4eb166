"""A client that plays the other side of an engine: it sends each expected outbound frame, and nothing else. Pure.

Ids of its own requests are numbered anew, placeholders are filled with texts that they match, the frames of a group go out
last first. So it shows that a transcript can be played to its end by a client that is not the recorded one, and it checks
what the engine emits against the recording. `replay doctor` and the benchmarks use it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from replay.errors import DivergenceError
from replay.transport.engine import (
    AwaitClose,
    AwaitOpen,
    AwaitOutbound,
    Emit,
    Engine,
    Exit,
    Finished,
    Held,
    Wait,
)
from replay.transport.matcher import match_frame
from replay.transport.placeholder import Hole, fill
from replay.transport.prepared import Prepared, prepare
from replay.transport.profile import Profile, Ref
from replay.transport.sample import sample
from replay.transport.status import Status
from replay.transport.transcript import EmitInbound, ExpectOutbound, Frame, Transcript

__all__ = ["MechanicalClient", "Played", "play"]

_WORKSPACE = "/workspace"


class Played(NamedTuple):
    """status of the engine; renumbered: requests that went out with another id than the recorded one."""

    status: Status
    renumbered: int


class MechanicalClient:
    """The orchestrator's side of one transcript, as a machine would be."""

    __slots__ = ("_captured", "_emitted", "_last_id", "_live", "_prepared", "_profile", "renumbered")

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._profile = prepared.profile
        self._captured: dict[str, Any] = {}
        self._emitted: dict[int, Ref | None] = {}
        self._live: dict[int, Ref] = {}
        self._last_id = 0
        self.renumbered = 0

    def outbound(self, index: int) -> tuple[Frame, Ref | None]:
        """The frame of an outbound entry as this client sends it, and its handle where frames carry none."""
        entry = self._prepared.entries[index]
        assert isinstance(entry, ExpectOutbound)
        frame: Frame = fill(self._prepared.frames[index], self._value_of)
        mention = self._prepared.mentions.get(index)
        if mention is not None:
            frame = mention.in_frame(frame, self._live[mention.request])
        asked = self._prepared.pairs.get(index)
        if asked is not None:
            ref = self._emitted[asked]
            carries = self._profile.ref_of(frame) is not None
            return (self._profile.with_ref(frame, ref) if carries and ref is not None else frame), ref
        recorded = self._profile.ref_of(frame)
        if recorded is None and index not in self._prepared.requests:
            return frame, None
        ref = self._live[index] = self._new_id(recorded)
        return (frame, ref) if recorded is None else (self._profile.with_ref(frame, ref), None)

    def _new_id(self, recorded: Ref | None) -> Ref:
        """An id that is not the recorded one; of the other kind each second time, since both are legal."""
        self._last_id += 1
        self.renumbered += recorded is not None
        return f"mechanical-{self._last_id}" if self._last_id % 2 else 1_000_000 + self._last_id

    def _value_of(self, hole: Hole) -> Any:
        if hole.kind == "ref":
            return self._captured[hole.name]
        text = sample(hole.source) if hole.source else hole.name or "anything"
        if hole.kind == "capture":
            text = self._captured.setdefault(hole.name, text) if not hole.source else text
            self._captured[hole.name] = text
        return text

    def inbound(self, emit: Emit) -> None:
        """Takes what the engine emits. Raises DivergenceError where that is not the entry's frame."""
        index = emit.ordinal - 1
        self._emitted[index] = emit.ref
        expected = fill(self._prepared.frames[index], self._value_of)
        asked = self._prepared.pairs.get(index)
        live = None if asked is None else self._live.get(asked)
        if live is not None:
            if emit.ref != live:
                what = f"entry {emit.ordinal} answers the request {emit.ref!r}, which is not {live!r}"
                raise DivergenceError(what, self._prepared.where(index))
            expected = self._profile.with_ref(expected, live)
        found = match_frame(expected, emit.frame, (), {}, is_subset=False).differences
        if found:
            what = f"entry {emit.ordinal} was emitted with another {found[0].path} than the transcript has"
            raise DivergenceError(what, self._prepared.where(index))


def play(
    transcript: Transcript,
    profile: Profile,
    *,
    order: Sequence[int] | None = None,
    workspace: str = _WORKSPACE,
) -> Played:
    """Plays a transcript from its first entry to its last. Raises FixtureError or DivergenceError where that is impossible."""
    prepared = prepare(transcript, profile, workspace, order)
    engine = Engine(transcript, profile, workspace=workspace, order=order)
    client = MechanicalClient(prepared)
    for entry in prepared.entries:
        if isinstance(entry, EmitInbound) and entry.gate:
            engine.release(entry.gate)
    connection = 0
    now_ms = 0
    opened: dict[str, int] = {}
    # Each step plays an entry, opens, closes, or moves the clock: more of them would be an engine that stands still.
    for _ in range(4 * len(prepared.entries) + 4):
        match engine.step(now_ms):
            case Emit() as emit:
                client.inbound(emit)
            case AwaitOutbound() as awaited:
                index = awaited.ordinals[-1] - 1
                frame, ref = client.outbound(index)
                engine.receive(opened.get(prepared.entries[index].process, awaited.connection), frame, ref)
            case AwaitOpen(process):
                connection += 1
                opened[process] = connection
                engine.open(connection, process)
            case AwaitClose() as closing:
                engine.close(closing.connection)
            case Wait(until_ms):
                now_ms = until_ms
            case Held() | Finished():
                break
            case Exit():
                pass
    return Played(engine.finish(), client.renumbered)
