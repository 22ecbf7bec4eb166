"""The runtime services: the clock and the source of ids. Nothing else here tells the time or draws a random number.

Both come in two kinds. A run on the machine's clock with random ids is how the orchestrator works; a run on a clock that
is moved by hand with ids from a seed can be repeated, event by event.
"""

import asyncio
import contextlib
import heapq
import random
import time
import uuid
from typing import NamedTuple, Protocol

__all__ = ["Clock", "Ids", "RandomIds", "SeededIds", "Services", "SystemClock", "VirtualClock"]


class Clock(Protocol):
    """Milliseconds since the epoch; they never go back."""

    def now_ms(self) -> int: ...

    async def sleep_until(self, due_ms: int) -> None:
        """Return at `due_ms` or later; at once if that has passed."""


class Ids(Protocol):
    def new(self, kind: str) -> str:
        """An id that was never given before, spelled `<kind>_<12 hex digits>`."""

    def uuid(self) -> str:
        """A version 4 UUID, for providers that let the client choose an id."""


class Services(NamedTuple):
    clock: Clock
    ids: Ids


class SystemClock:
    """The machine's clock, held back where it is set back."""

    def __init__(self) -> None:
        self._offset_ms = time.time_ns() // 1_000_000 - time.monotonic_ns() // 1_000_000

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000 + self._offset_ms

    async def sleep_until(self, due_ms: int) -> None:
        # A loop, since the event loop's clock may round down.
        while (left_ms := due_ms - self.now_ms()) > 0:
            await asyncio.sleep(left_ms / 1000)


class VirtualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start_ms: int = 0) -> None:
        self._now_ms = start_ms
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    def now_ms(self) -> int:
        return self._now_ms

    async def sleep_until(self, due_ms: int) -> None:
        if due_ms <= self._now_ms:
            return
        future = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (due_ms, self._count, future))
        await future

    def advance(self, by_ms: int) -> None:
        """Move on; whoever slept until then wakes in the order of their times."""
        self._now_ms += by_ms
        while self._sleepers and self._sleepers[0][0] <= self._now_ms:
            with contextlib.suppress(asyncio.InvalidStateError):
                heapq.heappop(self._sleepers)[2].set_result(None)


class RandomIds:
    def new(self, kind: str) -> str:
        return f"{kind}_{uuid.uuid4().hex[:12]}"

    def uuid(self) -> str:
        return str(uuid.uuid4())


class SeededIds:
    """Ids that the seed decides. Each kind has a sequence of its own, so that one more id of one kind moves no other.

    `after` tells apart the lives of one store: its last sequence number when this one began.
    """

    def __init__(self, seed: int, after: int = 0) -> None:
        self._origin = f"{seed}/{after}"
        self._sequences: dict[str, random.Random] = {}

    def new(self, kind: str) -> str:
        return f"{kind}_{self._bits(kind, 48):012x}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._bits("uuid", 128), version=4))

    def _bits(self, kind: str, count: int) -> int:
        sequence = self._sequences.setdefault(kind, random.Random(f"{self._origin}/{kind}"))
        return sequence.getrandbits(count)
