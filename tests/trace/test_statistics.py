"""Rates and their bounds against values that were worked out apart from the code."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.trace.statistics import Z_95, Confusion, Rate, cohen_kappa, mean_agreement, rates_by

RATES = st.integers(0, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


# Exact solutions of (p - share)^2 = z^2 p (1 - p) / n: for z = 2 they are fractions and square roots of integers.
@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        (0, 4, 0.0, 0.5),
        (4, 4, 0.5, 1.0),
        (2, 4, 0.5 - math.sqrt(2) / 4, 0.5 + math.sqrt(2) / 4),
        (6, 12, 0.25, 0.75),
        (0, 12, 0.0, 0.25),
        (48, 96, 0.4, 0.6),
        (1, 1, 0.2, 1.0),
    ],
)
def test_wilson_is_exact_at_two_deviations(passed: int, total: int, low: float, high: float) -> None:
    assert Rate(passed, total).wilson(2) == pytest.approx((low, high), abs=1e-15)


# Published in many tables at 95%.
@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [(0, 10, 0.0, 0.27753), (5, 10, 0.23659, 0.76341), (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)],
)
def test_wilson_at_95_percent(passed: int, total: int, low: float, high: float) -> None:
    assert Rate(passed, total).wilson() == pytest.approx((low, high), abs=5e-5)


@given(RATES, st.floats(0.1, 5))
def test_bounds_solve_wilsons_equation(rate: tuple[int, int], z: float) -> None:
    passed, total = rate
    for bound in Rate(passed, total).wilson(z) if total else ():
        assert (Rate(passed, total).share - bound) ** 2 == pytest.approx(
            z * z * bound * (1 - bound) / total, abs=1e-9
        )


@given(RATES)
def test_share_lies_between_its_bounds_and_failures_mirror_passes(rate: tuple[int, int]) -> None:
    passed, total = rate
    low, high = Rate(passed, total).wilson()
    assert 0 <= low <= (Rate(passed, total).share if total else low) <= high <= 1
    mirrored = Rate(total - passed, total).wilson()
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-12)


@given(RATES)
def test_more_runs_of_the_same_share_are_surer(rate: tuple[int, int]) -> None:
    passed, total = rate
    few, many = Rate(passed, total).wilson(), Rate(10 * passed, 10 * total).wilson()
    assert many[1] - many[0] <= few[1] - few[0]


def test_nothing_is_known_of_no_run() -> None:
    assert Rate(0, 0).wilson() == (0.0, 1.0) and Rate(0, 0).share == 0


def test_rates_by_key_keep_the_order_of_keys() -> None:
    found = rates_by([("b", True), ("a", False), ("b", False)])
    assert list(found.items()) == [("b", Rate(1, 2)), ("a", Rate(0, 1))]


def test_mean_agreement_is_over_pairs_of_different_runs() -> None:
    assert mean_agreement([]) == mean_agreement([[1.0]]) == 1
    assert mean_agreement([[1, 1, 0], [1, 1, 0.5], [0, 0.5, 1]]) == 0.5


def test_kappa_of_a_known_table() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_kappa_at_its_ends() -> None:
    assert cohen_kappa([]) == cohen_kappa([(1, 1)] * 3) == cohen_kappa([(1, 1), (2, 2)]) == 1
    assert cohen_kappa([(1, 2), (2, 1)]) == -1


def test_confusion_gives_precision_and_recall() -> None:
    table = Confusion(["a", "b"])
    for true, said in (("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")):
        table.add(true, said)
    assert (table.precision("a"), table.recall("a")) == (Rate(2, 2), Rate(2, 3))
    assert (table.precision("b"), table.recall("b")) == (Rate(1, 2), Rate(1, 1))
    assert table.correct() == Rate(3, 4)
    with pytest.raises(KeyError):
        table.add("a", "c")


def test_95_percent_of_the_normal_distribution() -> None:
    assert math.erf(Z_95 / math.sqrt(2)) == pytest.approx(0.95, abs=1e-15)
