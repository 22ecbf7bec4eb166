"""What a suite came to: the types of a report. Pure; verdict.py makes one, report_*.py write it, report_json.py reads it.

Deterministic: a report of served runs holds no time, no place and no order but that of the suite's own names.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from replay.trace.statistics import Rate

__all__ = [
    "AGENT",
    "CHANGES",
    "FAILED",
    "HISTORY_LENGTH",
    "PASSED",
    "REASONS",
    "SCHEMA",
    "SKIPPED",
    "STATUSES",
    "Changes",
    "Check",
    "Group",
    "Measured",
    "Reason",
    "Report",
    "TraceResult",
    "percent",
]

SCHEMA: Final = 1
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
STATUSES: Final = (PASSED, FAILED, SKIPPED)
AGENT: Final = "agent"
REASONS: Final = (
    *(AGENT, "trace", "success", "trajectory", "answer", "state", "snapshot"),
    *("steps", "tokens", "latency_ms", "cost_usd", "consensus"),
)
"""Kinds of reasons: what went wrong with the process, where the run left its trace, what differs, which budget."""
CHANGES: Final = ("new_failure", "fixed", "still_failing", "still_passing", "added")
HISTORY_LENGTH: Final = 20


class Reason(NamedTuple):
    """Why a run failed, or, as a note, what does not fail it. message: one sentence."""

    kind: str
    message: str


class Measured(NamedTuple):
    """One metric of a trace: of its baseline, of the run (the middle one of several). None is not known."""

    baseline: float | None
    actual: float | None
    allowed: float | None = None


class TraceResult(NamedTuple):
    """The verdict on one trace.

    runs_passed of runs: more than one where a strategy runs it several times; runs_asked: at most so many were to be made,
    and fewer were where no other could change the verdict. history: of this and of earlier reports,
    oldest first, a letter each: P, F, or M where the runs of one report differed.
    """

    trace_id: str
    category: str
    status: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    runs: int = 1
    runs_passed: int = 0
    runs_asked: int = 1
    metrics: Mapping[str, Measured] = {}
    change: str = ""
    history: str = ""

    @property
    def passed(self) -> bool:
        """Whether it counts as held."""
        return self.status == PASSED

    @property
    def is_flaky(self) -> bool:
        """Whether runs of one report differ, or the verdict went there and back over reports."""
        flips = sum(one != other for one, other in zip(self.history, self.history[1:], strict=False))
        return "M" in self.history[-1:] or flips > 1


class Group(NamedTuple):
    """The traces of a category, or all. threshold: None where the share is not judged."""

    name: str
    rate: Rate
    threshold: float | None = None

    @property
    def is_uncertain(self) -> bool:
        """Whether the threshold lies within the interval: so few traces cannot tell on which side the agent is."""
        low, high = self.rate.wilson()
        return self.threshold is not None and bool(self.rate.total) and low < self.threshold < high


class Check(NamedTuple):
    """One condition of the suite. where: a category, or ""."""

    name: str
    where: str
    passed: bool
    message: str


class Changes(NamedTuple):
    """Against the previous report, over the traces that both judged. chance: how likely so uneven a split is by chance."""

    before: Rate
    after: Rate
    new_failures: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    chance: float = 1.0


class Report(NamedTuple):
    """name: of the suite. versions: of the agent and the model, of baselines and of the runs, where all agree."""

    name: str
    strategy: str
    overall: Group
    categories: tuple[Group, ...] = ()
    checks: tuple[Check, ...] = ()
    traces: tuple[TraceResult, ...] = ()
    changes: Changes | None = None
    versions: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    description: str = ""
    fault: int = 0
    """Exit code of what kept runs from being judged: 2 for a fixture, 3 for the agent; 0 where all could be."""

    @property
    def passed(self) -> bool:
        """Whether all conditions hold."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def exit_code(self) -> int:
        """By errors.py: 0 passed, 1 a condition does not hold, 2 or 3 where that is because nothing could be judged."""
        if self.fault == 2:
            return 2
        return 0 if self.passed else self.fault or 1

    @property
    def failures(self) -> Iterator[TraceResult]:
        """What failed, new failures first."""
        failed = [trace for trace in self.traces if trace.status == FAILED]
        return iter(sorted(failed, key=lambda trace: trace.change != "new_failure"))


def percent(share: float) -> str:
    """ "92 %"; never 100 or 0 for a share that is not."""
    whole = round(share * 100)
    if whole in (0, 100) and share not in (0, 1):
        # As many digits as it takes, three at most.
        for digits in (1, 2, 3):
            text = f"{share * 100:.{digits}f}"
            if float(text) not in (0, 100):
                return f"{text} %"
        return "> 99.999 %" if whole else "< 0.001 %"
    return f"{whole} %"
