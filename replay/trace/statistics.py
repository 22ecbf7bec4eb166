"""Rates with their uncertainty, agreement between runs and between judges, confusion of verdicts. Pure.

A rate of a few runs is not the rate: `Rate.wilson` says between which bounds it lies, also at 0 and at 1, where the
normal approximation claims to be certain.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Z_95", "Confusion", "Rate", "cohen_kappa", "mean_agreement", "rates_by"]

Z_95 = 1.959963984540054
"""Of the normal distribution 95% lie within so many standard deviations."""


class Rate(NamedTuple):
    """`passed` of `total`."""

    passed: int
    total: int

    @property
    def share(self) -> float:
        """0..1; 0 of nothing is 0."""
        return self.passed / self.total if self.total else 0.0

    def wilson(self, z: float = Z_95) -> tuple[float, float]:
        """Wilson's score interval of the share, z standard deviations wide; (0, 1) of nothing.

        Its bounds are the rates p for which the share lies z of p's own standard deviations off:
        (share - p)^2 = z^2 p (1 - p) / total. Source: E. B. Wilson, 1927.
        """
        if not self.total:
            return 0.0, 1.0
        n, share, square = self.total, self.share, z * z
        center = share + square / (2 * n)
        reach = z * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        scale = 1 + square / n
        # The ends are exact there; rounding would leave 1e-17.
        low = 0.0 if self.passed == 0 else max(0.0, (center - reach) / scale)
        high = 1.0 if self.passed == n else min(1.0, (center + reach) / scale)
        return low, high


def rates_by[Key: Hashable](results: Iterable[tuple[Key, bool]]) -> dict[Key, Rate]:
    """The rate of each key, keys in the order of their first result."""
    found: dict[Key, Rate] = {}
    for key, passed in results:
        rate = found.get(key, Rate(0, 0))
        found[key] = Rate(rate.passed + passed, rate.total + 1)
    return found


def mean_agreement(matrix: Sequence[Sequence[float]]) -> float:
    """The mean over all pairs of different runs; `matrix[i][j]` is how far i agrees with j. 1 for fewer than two."""
    pairs = [matrix[i][j] for i in range(len(matrix)) for j in range(i)]
    return math.fsum(pairs) / len(pairs) if pairs else 1.0


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float:
    """Agreement of two judges beyond chance, 1 = always, 0 = as two coins, below 0 = worse. 1 for no pair.

    Where chance alone agrees always (both gave one and the same verdict throughout), it is 1.
    """
    listed = list(pairs)
    if not listed:
        return 1.0
    n = len(listed)
    agreed = sum(one == other for one, other in listed) / n
    kinds = {kind for pair in listed for kind in pair}
    by_chance = math.fsum(
        sum(one == kind for one, _ in listed) * sum(other == kind for _, other in listed) / n / n
        for kind in kinds
    )
    return 1.0 if by_chance >= 1 else (agreed - by_chance) / (1 - by_chance)


class Confusion:
    """How often each verdict was given where each was true."""

    __slots__ = ("_counts", "labels")

    def __init__(self, labels: Sequence[str], counts: Mapping[tuple[str, str], int] | None = None) -> None:
        self.labels = tuple(labels)
        self._counts = dict(counts or {})

    def add(self, true: str, said: str) -> None:
        """Counts one. Raises KeyError for a verdict that is none of the labels."""
        if true not in self.labels or said not in self.labels:
            raise KeyError(true if true not in self.labels else said)
        self._counts[true, said] = self._counts.get((true, said), 0) + 1

    def count(self, true: str, said: str) -> int:
        """How often `said` was given where `true` is right."""
        return self._counts.get((true, said), 0)

    def precision(self, label: str) -> Rate:
        """Of those that were called so, the share that are."""
        return Rate(self.count(label, label), sum(self.count(true, label) for true in self.labels))

    def recall(self, label: str) -> Rate:
        """Of those that are so, the share that were called so."""
        return Rate(self.count(label, label), sum(self.count(label, said) for said in self.labels))

    def correct(self) -> Rate:
        """All that were called what they are."""
        return Rate(sum(self.count(label, label) for label in self.labels), sum(self._counts.values()))
