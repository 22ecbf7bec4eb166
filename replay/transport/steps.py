"""What Engine.step answers: what is to be done now, or what the transcript waits for. Pure."""

from typing import NamedTuple

from replay.transport.profile import Ref
from replay.transport.transcript import EmitInbound, ExpectOutbound, Frame, RuntimeExit

__all__ = [
    "AwaitClose",
    "AwaitOpen",
    "AwaitOutbound",
    "Emit",
    "Exit",
    "Finished",
    "Held",
    "Step",
    "Wait",
]


class Emit(NamedTuple):
    """Send `frame` on `connection` now. `ordinal` is the entry's, from 1 in file order.

    ref: of an answer, the handle of the live request that it answers; of a request, the handle that its answer has to
    bring along (for protocols whose frames carry no handle, a whole number of the engine's); None for others.
    """

    connection: int
    ordinal: int
    entry: EmitInbound
    frame: Frame
    ref: Ref | None


class Exit(NamedTuple):
    """End the process or connection now, as the entry says. Nothing more comes on it; its close is not awaited."""

    connection: int
    ordinal: int
    entry: RuntimeExit


class Wait(NamedTuple):
    """Nothing before `until_ms` on the run's clock, unless something arrives or is released."""

    until_ms: int


class Held(NamedTuple):
    """An inbound entry or an exit waits for the test to release `gate`."""

    ordinal: int
    entry: EmitInbound | RuntimeExit
    gate: str


class AwaitOutbound(NamedTuple):
    """The orchestrator has to send one of `entries` (several inside a group) on `connection`."""

    connection: int
    ordinals: tuple[int, ...]
    entries: tuple[ExpectOutbound, ...]


class AwaitClose(NamedTuple):
    """The orchestrator has to close `connection`: its process ends with success because of that."""

    connection: int
    ordinal: int
    entry: RuntimeExit


class AwaitOpen(NamedTuple):
    """The orchestrator has to start `process` ("" for the only one), for the first time or again."""

    process: str


class Finished(NamedTuple):
    """Every entry was played."""


type Step = Emit | Exit | Wait | Held | AwaitOutbound | AwaitClose | AwaitOpen | Finished
