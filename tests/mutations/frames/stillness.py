"""A loop that knows when nothing can happen any more: how a mutant that hangs is found, on any machine and under any load.

All that could still act is one process tree: the host's thread here, the subject, its peers. Where every thread of it
sleeps, and none has run between two looks, they wait for each other, and only a timer could wake them; the subject's
clock is virtual, so the one timer that is left is the patience of a test, which is what a hang would use up. The looks
go on for a while because a loopback socket may keep bytes for the length of a delayed acknowledgement.
"""

import os
import time
from pathlib import Path

from replay.runner.loop import Loop
from replay.runner.process import descendants

__all__ = ["StillnessLoop"]

_LOOK_SECONDS = 0.03
_STILL_SECONDS = 0.3
_ASLEEP = (b"S", b"Z", b"X")


class StillnessLoop(Loop):
    """`stopped` becomes true when nothing can happen any more, and `is_still` says that this was why."""

    __slots__ = ("_seen", "_since", "is_still")

    def __init__(self) -> None:
        super().__init__()
        self.is_still = False
        self._seen: dict[Path, bytes] | None = None
        self._since = 0.0

    def step(self, seconds: float) -> bool:
        happened = super().step(min(seconds, _LOOK_SECONDS))
        self._look(None if happened else _sleepers())
        return happened

    def _look(self, seen: dict[Path, bytes] | None) -> None:
        """seen: thread -> how often it has run; None where one runs, or something just happened."""
        now = time.monotonic()
        if seen is None or seen != self._seen:
            self._seen, self._since = seen, now
        elif now - self._since >= _STILL_SECONDS:
            self.is_still = self.stopped = True


def _sleepers() -> dict[Path, bytes] | None:
    """Every thread but the one that looks, with how often it was switched to; None where one of them does not sleep."""
    own = os.getpid()
    found: dict[Path, bytes] = {}
    for pid in (own, *(one.pid for one in descendants(own))):
        for task in _tasks(pid):
            if task.name == str(own):
                continue
            state, switches = _status(task)
            if state not in _ASLEEP:
                return None
            found[task] = switches
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _status(task: Path) -> tuple[bytes, bytes]:
    """The state of a thread and the lines that count its switches; of one that is gone, as if it slept."""
    try:
        lines = (task / "status").read_bytes().split(b"\n")
    except OSError:
        return b"X", b""
    state = next(line for line in lines if line.startswith(b"State:")).split()[1]
    return state, b"".join(line for line in lines if b"ctxt_switches" in line)
