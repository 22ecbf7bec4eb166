"""Which run of which trace is played next, and the runs that are over.

How many runs a trace has is asked anew whenever one of them is over (`Wanted`). Of a trace only such runs are begun as
have to be made whatever the others come to; one that was begun in vain, since the process of an earlier one failed it
late, is left out. So the runs of a trace depend on what they came to, and not on how many agents run at once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from replay.errors import AgentError, ReplayError
from replay.trace.model import AgentTrace
from replay.trace.replayer import Run

__all__ = ["Job", "RunQueue", "Wanted", "always"]

type Wanted = Callable[[AgentTrace, Sequence[Run]], int]
"""How many runs of a trace there have to be whatever comes after the first ones, given those; no more where that is their
number. Its answer for more runs is never less."""


def always(runs: int) -> Wanted:
    """So many of each trace."""
    return lambda _trace, _runs: runs


class Job(NamedTuple):
    """One run to be played. at: index of its trace; number counts from 1 among the runs of it."""

    at: int
    baseline: AgentTrace
    number: int


class RunQueue:
    """The runs of some traces, in their order."""

    def __init__(self, traces: Sequence[AgentTrace], wanted: Wanted) -> None:
        self._traces = [_Runs(trace, wanted) for trace in traces]
        self._first = 0
        """No trace before it has a run to be begun."""
        self.has_said_hello = False

    @property
    def is_any(self) -> bool:
        """Whether there is a run to be begun now; one that is over may call for another."""
        while self._first < len(self._traces) and not self._traces[self._first].is_any:
            self._first += 1
        return self._first < len(self._traces)

    def take(self) -> Job:
        """The next one, where is_any."""
        assert self.is_any
        runs = self._traces[self._first]
        runs.begun += 1
        return Job(self._first, runs.trace, runs.begun)

    def put(self, job: Job, run: Run) -> None:
        """What a job came to."""
        self._traces[job.at].put(job.number, run)
        self._first = min(self._first, job.at)

    def fail(self, job: Job, error: ReplayError, evidence: tuple[str, ...]) -> None:
        """The process of a run failed it, before or after its end; what was wrong first is told."""
        run = self._traces[job.at].over.get(job.number)
        if run is None:
            run = Run(job.baseline._replace(steps=(), final_answer=None, success=None, extra={}))
        if run.error is None:
            run = run._replace(error=error, evidence=evidence)
        self.put(job, run)

    def give_up(self, reason: str) -> None:
        """What was not begun fails, and says why."""
        while self.is_any:
            error = AgentError(f"was not run: {reason}", fix="a larger size or timeout, or more jobs")
            self.fail(self.take(), error, ())

    def results(self) -> list[tuple[Run, ...]]:
        """The runs of each trace, when all are over."""
        return [runs.enough() for runs in self._traces]


class _Runs:
    """The runs of one trace. over: by number."""

    def __init__(self, trace: AgentTrace, wanted: Wanted) -> None:
        self.trace = trace
        self.begun = 0
        self.over: dict[int, Run] = {}
        self._wanted = wanted
        self._least = wanted(trace, ())

    @property
    def is_any(self) -> bool:
        return self.begun < self._least

    def put(self, number: int, run: Run) -> None:
        self.over[number] = run
        self._least = self._wanted(self.trace, self._in_order())

    def enough(self) -> tuple[Run, ...]:
        """The first ones that need no other."""
        runs = self._in_order()
        while runs and self._wanted(self.trace, runs[:-1]) < len(runs):
            runs = runs[:-1]
        return runs

    def _in_order(self) -> tuple[Run, ...]:
        """Those that are over, as far as there is none before them that is not."""
        found: list[Run] = []
        while (run := self.over.get(len(found) + 1)) is not None:
            found.append(run)
        return tuple(found)
