"""Several runs of one task, judged together: how many passed, how far they agree, and which one is odd. Pure.

The verdict is that of all n runs: at least so many pass, and the mean pairwise agreement is at least so high. Runs may
stop before n as soon as no outcome of the rest could change it: an early stop is the same verdict, sooner. Trials are
kept, so that the verdict can be computed again with other rules and without a run.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.surface.values import Json
from replay.trace.statistics import Rate

__all__ = [
    "Agreement",
    "Consensus",
    "ConsensusRule",
    "ConsensusVerdict",
    "Trial",
    "read_trials",
    "recompute",
    "write_trials",
]

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
    """One run: what it answered, whether it passed by itself, and why not or where its trace lies."""

    run: int
    answer: Json
    passed: bool
    note: str = ""


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

    __slots__ = ("_agree", "matrix", "rule", "trials")

    def __init__(self, rule: ConsensusRule, agree: Agreement) -> None:
        self.rule = rule.checked()
        self._agree = agree
        self.trials: list[Trial] = []
        self.matrix: list[list[float]] = []

    def add(self, trial: Trial) -> None:
        """Takes one more. Raises UsageError where there are as many as the rule has runs."""
        if len(self.trials) == self.rule.runs:
            raise UsageError(f"the rule has {self.rule.runs} runs, and one more was added")
        row = [min(1.0, max(0.0, self._agree(one.answer, trial.answer))) for one in self.trials]
        for other, value in zip(self.matrix, row, strict=True):
            other.append(value)
        self.matrix.append([*row, 1.0])
        self.trials.append(trial)

    @property
    def decided(self) -> bool | None:
        """The verdict if nothing that may still come could change it, else None."""
        passes = self._passes_decided()
        agrees = self._agreement_decided()
        if passes is False or agrees is False:
            return False
        return True if passes and agrees else None

    def verdict(self) -> ConsensusVerdict:
        """The verdict so far; `passed` is False while it is open."""
        decided = self.decided
        passed = sum(trial.passed for trial in self.trials)
        clusters = self._clusters()
        return ConsensusVerdict(
            decided is not None,
            decided is True,
            Rate(passed, len(self.trials)),
            self._mean(),
            self._bounds(),
            clusters,
            tuple(sorted(run for cluster in clusters[1:] for run in cluster)),
            tuple(self._reasons(passed)),
        )

    def _passes_decided(self) -> bool | None:
        passed = sum(trial.passed for trial in self.trials)
        if passed >= self.rule.passes:
            return True
        return False if passed + self.rule.runs - len(self.trials) < self.rule.passes else None

    def _agreement_decided(self) -> bool | None:
        low, high = self._bounds()
        if len(self.trials) == self.rule.runs:
            return low >= self.rule.agreement - _ROUNDING
        if low >= self.rule.agreement + _ROUNDING or self.rule.agreement == 0:
            return True
        return False if high < self.rule.agreement - 2 * _ROUNDING else None

    def _pairs(self) -> list[float]:
        return [self.matrix[one][other] for one in range(len(self.trials)) for other in range(one)]

    def _mean(self) -> float:
        pairs = self._pairs()
        return math.fsum(pairs) / len(pairs) if pairs else 1.0

    def _bounds(self) -> tuple[float, float]:
        """Between which values the mean over all n runs lies: the pairs to come agree not at all, or wholly."""
        every = self.rule.runs * (self.rule.runs - 1) // 2
        if not every:
            return 1.0, 1.0
        pairs = self._pairs()
        agreed = math.fsum(pairs)
        return agreed / every, (agreed + every - len(pairs)) / every

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
        if self._passes_decided() is not True:
            word = "can" if self._passes_decided() is None else "did"
            yield f"{passed} of {len(self.trials)} runs passed, {self.rule.passes} of {self.rule.runs} {_NEED[word]}"
        if self._agreement_decided() is not True:
            yield (
                f"the runs agree by {self._mean():.2f}, {self.rule.agreement:g} is asked for over {self.rule.runs} runs"
            )


_NEED = {"can": "have to, which is open", "did": "had to"}


def recompute(rule: ConsensusRule, trials: Sequence[Trial], agree: Agreement) -> ConsensusVerdict:
    """The verdict of stored trials. Fewer than the rule has runs are enough where they decide it."""
    consensus = Consensus(rule, agree)
    for trial in trials:
        consensus.add(trial)
    return consensus.verdict()


def write_trials(trials: Sequence[Trial]) -> bytes:
    """One JSON line a trial."""
    return b"".join(orjson.dumps(trial._asdict()) + b"\n" for trial in trials)


def read_trials(data: bytes, place: str) -> list[Trial]:
    """The inverse. Raises FixtureError with the line that is none."""
    found: list[Trial] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            fields: Any = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise FixtureError(f"is not JSON: {error}", Location(place, number)) from None
        if len(found) == MAX_RUNS:
            raise FixtureError(f"has more than {MAX_RUNS} trials", Location(place, number))
        found.append(_trial(fields, Location(place, number)))
    if len({trial.run for trial in found}) < len(found):
        raise FixtureError("has a run twice", Location(place))
    return found


def _trial(fields: Any, where: Location) -> Trial:
    if isinstance(fields, dict) and "answer" in fields:
        run, passed, note = fields.get("run"), fields.get("passed"), fields.get("note", "")
        if (
            isinstance(run, int)
            and not isinstance(run, bool)
            and isinstance(passed, bool)
            and isinstance(note, str)
        ):
            return Trial(run, fields["answer"], passed, note)
    raise FixtureError("is no trial", where, 'write {"run": 1, "answer": …, "passed": true, "note": ""}')
