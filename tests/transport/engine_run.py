"""An engine over a small transcript, driven by hand."""

from typing import Any

import pytest

from replay.errors import DivergenceError
from replay.transport.engine import Emit, Engine
from replay.transport.status import DIVERGED
from replay.transport.steps import Step
from tests.transport.shapes import CODEX, Line, rules_of, tells, transcript_of

EVENT = tells("event")


class Run:
    """An engine with one connection, and what it has emitted."""

    def __init__(self, *lines: Line, protocol: str = CODEX, is_open: bool = True, **options: Any) -> None:
        transcript = transcript_of(*lines, protocol=protocol)
        self.engine = Engine(transcript, rules_of(transcript), workspace="/w", **options)
        self.emitted: list[Emit] = []
        self.now_ms = 0
        if is_open:
            self.engine.open(1)

    def go(self) -> Step:
        """Everything that can be emitted now; what it then waits for."""
        while isinstance(step := self.engine.step(self.now_ms), Emit):
            self.emitted.append(step)
        return step

    def send(self, frame: Any, ref: int | str | None = None, connection: int = 1) -> Step:
        self.engine.receive(connection, frame, ref)
        return self.go()

    def frames(self) -> list[Any]:
        """What was emitted since the last call."""
        frames, self.emitted = [emit.frame for emit in self.emitted], []
        return frames

    def outcome(self) -> str:
        return self.engine.finish().outcome


def refused(run: Run, frame: Any, ref: int | str | None = None) -> DivergenceError:
    with pytest.raises(DivergenceError) as caught:
        run.send(frame, ref)
    assert run.outcome() == DIVERGED
    return caught.value
