"""Several runs of one task, judged together: how many passed, how far they agree, and which one is odd. Pure.

The verdict is that of all n runs: at least so many pass, and the mean pairwise agreement is at least so high. Runs may
stop before n as soon as no outcome of the rest could change it: an early stop is the same verdict, sooner.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from replay.errors import UsageError
from replay.surface.values import Json
from replay.trace.report import Reason
from replay.trace.statistics import Rate

__all__ = ["MAX_RUNS", "Agreement", "Consensus", "ConsensusRule", "ConsensusVerdict", "Trial", "recompute"]

type Agreement = Callable[[Json, Json], float]
MAX_RUNS = 1000
# Two answers that agree so far belong together.
_TOGETHER = 0.5
# Sums of agreements are rounded; a bound that is off by less decides nothing.
_ROUNDING = 1e-9


class ConsensusRule(NamedTuple):
    """runs: how many at most; passes: how many of them have to pass; agreement: least mean over all pairs, 0..1."""

    runs: int
    passes: int
    agreement: float = 0.0

    def checked(self) -> ConsensusRule:
        """Itself. Raises UsageError for a rule that cannot be met or judged."""
        if not 1 <= self.runs <= MAX_RUNS:
            raise UsageError(f"{self.runs} runs are asked for, 1 to {MAX_RUNS} are allowed")
        if not 0 <= self.passes <= self.runs:
            raise UsageError(f"{self.passes} of {self.runs} runs have to pass, which is no number of them")
        if not 0 <= self.agreement <= 1:
            raise UsageError(f"an agreement of {self.agreement:g} is asked for, which is not between 0 and 1")
        return self


class Trial(NamedTuple):
    """One run: what it answered, whether it passed by itself, why not, and what else is to be said of it.

    fault: the exit code of what broke it, 0 where it came to its end.
    """

    run: int
    answer: Json
    passed: bool
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    fault: int = 0


class ConsensusVerdict(NamedTuple):
    """is_decided: whether `passed` is final. agreement: the mean of the pairs that ran, `bounds` where that of all n
    runs lies. clusters: numbers of the trials that answered alike, the largest first; odd: those outside the largest.
    """

    is_decided: bool
    passed: bool
    passes: Rate
    agreement: float
    bounds: tuple[float, float]
    clusters: tuple[tuple[int, ...], ...]
    odd: tuple[int, ...]
    reasons: tuple[str, ...]


class Consensus:
    """Trials as they come. `agree` is symmetric, 0..1, and is asked once for each pair."""

    __slots__ = ("_agree", "_sums", "matrix", "rule", "trials")

    def __init__(self, rule: ConsensusRule, agree: Agreement) -> None:
        self.rule = rule.checked()
        self._agree = agree
        self.trials: list[Trial] = []
        self.matrix: list[list[float]] = []
        self._sums: list[float] = []
        """Of each trial, how far it agrees with those before it."""

    def add(self, trial: Trial) -> None:
        """Takes one more. Raises UsageError where there are as many as the rule has runs."""
        if len(self.trials) == self.rule.runs:
            raise UsageError(f"the rule has {self.rule.runs} runs, and one more was added")
        row = [min(1.0, max(0.0, self._agree(one.answer, trial.answer))) for one in self.trials]
        for other, value in zip(self.matrix, row, strict=True):
            other.append(value)
        self.matrix.append([*row, 1.0])
        self._sums.append(math.fsum(row))
        self.trials.append(trial)

    @property
    def decided(self) -> bool | None:
        """The verdict if nothing that may still come could change it, else None."""
        return self._decided(len(self.trials), self._passed(), self._agreed())

    @property
    def needed(self) -> int:
        """How many further runs there have to be, whatever they come to; 0 where the verdict is decided."""
        made, passed, agreed = len(self.trials), self._passed(), self._agreed()
        left = self.rule.runs - made
        for more in range(left):
            pairs = _pairs(made + more) - _pairs(made)
            # Nothing decides sooner than runs that all pass and agree, or that all fail and differ.
            best = self._decided(made + more, passed + more, agreed + pairs)
            if best is not None or self._decided(made + more, passed, agreed) is not None:
                return more
        return left

    def verdict(self) -> ConsensusVerdict:
        """The verdict so far; `passed` is False while it is open."""
        decided = self.decided
        made, passed = len(self.trials), self._passed()
        clusters = self._clusters()
        return ConsensusVerdict(
            decided is not None,
            decided is True,
            Rate(passed, made),
            self._mean(),
            self._bounds(made, self._agreed()),
            clusters,
            tuple(sorted(run for cluster in clusters[1:] for run in cluster)),
            tuple(self._reasons(passed)),
        )

    def _passed(self) -> int:
        return sum(trial.passed for trial in self.trials)

    def _agreed(self) -> float:
        """The sum over the pairs that ran."""
        return math.fsum(self._sums)

    def _mean(self) -> float:
        pairs = _pairs(len(self.trials))
        return self._agreed() / pairs if pairs else 1.0

    def _decided(self, made: int, passed: int, agreed: float) -> bool | None:
        passes, agrees = self._passes_decided(made, passed), self._agreement_decided(made, agreed)
        if passes is False or agrees is False:
            return False
        return True if passes and agrees else None

    def _passes_decided(self, made: int, passed: int) -> bool | None:
        if passed >= self.rule.passes:
            return True
        return False if passed + self.rule.runs - made < self.rule.passes else None

    def _agreement_decided(self, made: int, agreed: float) -> bool | None:
        low, high = self._bounds(made, agreed)
        if made == self.rule.runs:
            return low >= self.rule.agreement - _ROUNDING
        if low >= self.rule.agreement + _ROUNDING or self.rule.agreement == 0:
            return True
        return False if high < self.rule.agreement - 2 * _ROUNDING else None

    def _bounds(self, made: int, agreed: float) -> tuple[float, float]:
        """Between which values the mean over all n runs lies: the pairs to come agree not at all, or wholly."""
        every = _pairs(self.rule.runs)
        return (agreed / every, (agreed + every - _pairs(made)) / every) if every else (1.0, 1.0)

    def _clusters(self) -> tuple[tuple[int, ...], ...]:
        """Trials that are connected by pairs that agree, whatever their order."""
        left = set(range(len(self.trials)))
        found: list[tuple[int, ...]] = []
        while left:
            waiting = [min(left)]
            left.discard(waiting[0])
            for one in waiting:
                near = [other for other in sorted(left) if self.matrix[one][other] >= _TOGETHER]
                left.difference_update(near)
                waiting += near
            found.append(tuple(sorted(self.trials[place].run for place in waiting)))
        return tuple(sorted(found, key=lambda cluster: (-len(cluster), cluster)))

    def _reasons(self, passed: int) -> Iterable[str]:
        made = len(self.trials)
        passes = self._passes_decided(made, passed)
        if passes is not True:
            need = "have to, which is open" if passes is None else "had to"
            yield f"{passed} of {made} runs passed, {self.rule.passes} of {self.rule.runs} {need}"
        if self._agreement_decided(made, self._agreed()) is not True:
            yield (
                f"the runs agree by {self._mean():.2f}, {self.rule.agreement:g} is asked for over {self.rule.runs} runs"
            )


def _pairs(runs: int) -> int:
    return runs * (runs - 1) // 2


def recompute(rule: ConsensusRule, trials: Sequence[Trial], agree: Agreement) -> ConsensusVerdict:
    """The verdict of trials. Fewer than the rule has runs are enough where they decide it."""
    consensus = Consensus(rule, agree)
    for trial in trials:
        consensus.add(trial)
    return consensus.verdict()
