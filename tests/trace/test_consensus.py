"""Several runs judged together, and that stopping early never changes the verdict."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replay.errors import UsageError
from replay.trace.consensus import Consensus, ConsensusRule, Trial, recompute
from replay.trace.statistics import Rate


def equal(left: Any, right: Any) -> float:
    return 1.0 if left == right else 0.0


def near(left: Any, right: Any) -> float:
    return max(0.0, 1 - abs(left - right) / 3)


def trials(text: str) -> list[Trial]:
    """ "a b! a": answers, a failed run with an exclamation mark."""
    return [Trial(at, one.rstrip("!"), not one.endswith("!")) for at, one in enumerate(text.split(), 1)]


def run_until_decided(rule: ConsensusRule, listed: list[Trial], agree: Any) -> Consensus:
    consensus = Consensus(rule, agree)
    for trial in listed:
        consensus.add(trial)
        if consensus.decided is not None:
            break
    return consensus


RULES = st.integers(1, 7).flatmap(
    lambda runs: st.builds(
        ConsensusRule,
        st.just(runs),
        st.integers(0, runs),
        # Thresholds that a mean of a few pairs meets exactly are the hard ones.
        st.sampled_from([0.0, 0.1, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.9, 1.0]),
    )
)
CASES = RULES.flatmap(
    lambda rule: st.tuples(
        st.just(rule),
        st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=rule.runs, max_size=rule.runs),
        st.sampled_from([equal, near]),
    )
)


@given(CASES)
@example((ConsensusRule(3, 0, 1 / 3), [(0, True), (0, True), (3, True)], equal))
def test_early_stop_never_changes_the_verdict(
    case: tuple[ConsensusRule, list[tuple[int, bool]], Any],
) -> None:
    rule, listed, agree = case
    every = [Trial(at, answer, passed) for at, (answer, passed) in enumerate(listed)]
    full = recompute(rule, every, agree)
    assert full.is_decided
    early = run_until_decided(rule, every, agree)
    assert early.decided is full.passed

    assert recompute(rule, early.trials, agree).passed == full.passed


@given(CASES)
def test_needed_runs_are_made_whatever_they_come_to(
    case: tuple[ConsensusRule, list[tuple[int, bool]], Any],
) -> None:
    rule, listed, agree = case
    consensus = Consensus(rule, agree)
    least = [consensus.needed]
    for at, (answer, passed) in enumerate(listed):
        assert (consensus.decided is None) is (consensus.needed > 0)
        consensus.add(Trial(at, answer, passed))
        least.append(at + 1 + consensus.needed)
    # What was called needed before a run is needed after it, and all of them are never more than the rule has.
    assert least == sorted(least) and max(least) <= rule.runs


@pytest.mark.parametrize(
    ("rule", "said", "needed"),
    [
        (ConsensusRule(5, 3), "", 3),
        (ConsensusRule(5, 3), "a b!", 2),
        (ConsensusRule(5, 3), "a b", 1),
        (ConsensusRule(5, 5), "a a", 1),
        (ConsensusRule(5, 0), "", 0),
        (ConsensusRule(5, 5, 1), "", 1),
        # Six of ten pairs: four runs at the earliest.
        (ConsensusRule(5, 0, 0.6), "a a", 2),
    ],
)
def test_needed_is_the_earliest_decision(rule: ConsensusRule, said: str, needed: int) -> None:
    consensus = Consensus(rule, equal)
    for trial in trials(said):
        consensus.add(trial)
    assert consensus.needed == needed


@given(CASES)
def test_bounds_hold_whatever_comes(case: tuple[ConsensusRule, list[tuple[int, bool]], Any]) -> None:
    rule, listed, agree = case
    consensus = Consensus(rule, agree)
    bounds = []
    for at, (answer, passed) in enumerate(listed):
        consensus.add(Trial(at, answer, passed))
        bounds.append(consensus.verdict().bounds)
    final = consensus.verdict().agreement
    assert all(low - 1e-12 <= final <= high + 1e-12 for low, high in bounds)
    assert all(one[0] <= two[0] + 1e-12 and two[1] <= one[1] + 1e-12 for one, two in pairwise(bounds))


@given(CASES, st.randoms(use_true_random=False))
def test_verdict_of_all_runs_does_not_depend_on_their_order(case: Any, shuffle: Any) -> None:
    rule, listed, agree = case
    every = [Trial(at, answer, passed) for at, (answer, passed) in enumerate(listed)]
    other = list(every)
    shuffle.shuffle(other)
    one, two = recompute(rule, every, agree), recompute(rule, other, agree)
    assert (one.passed, one.clusters, one.odd) == (two.passed, two.clusters, two.odd)
    assert one.agreement == pytest.approx(two.agreement)


def test_outcome_is_open_until_it_cannot_change() -> None:
    rule = ConsensusRule(5, 3)
    consensus = Consensus(rule, equal)
    decided = []
    for trial in trials("a b! a b! a"):
        consensus.add(trial)
        decided.append(consensus.decided)
    assert decided == [None, None, None, None, True]
    assert run_until_decided(rule, trials("a a a x! x!"), equal).decided is True
    assert len(run_until_decided(rule, trials("a a a x! x!"), equal).trials) == 3
    assert len(run_until_decided(rule, trials("a! b! c! x x"), equal).trials) == 3


def test_disagreement_stops_as_soon_as_the_mean_is_out_of_reach() -> None:
    # Of ten pairs nine have to agree; the second odd answer makes it impossible.
    early = run_until_decided(ConsensusRule(5, 0, 0.9), trials("a b a a a"), equal)
    assert len(early.trials) == 3 and early.decided is False


def test_clusters_and_odd_runs_are_shown() -> None:
    found = recompute(ConsensusRule(5, 4, 0.5), trials("red blue red green red!"), equal)
    assert found.clusters == ((1, 3, 5), (2,), (4,)) and found.odd == (2, 4)
    assert found.passes == Rate(4, 5) and found.agreement == pytest.approx(0.3)
    assert not found.passed
    assert found.reasons == ("the runs agree by 0.30, 0.5 is asked for over 5 runs",)


def test_open_verdict_says_what_is_open() -> None:
    found = recompute(ConsensusRule(5, 4), trials("a a"), equal)
    assert not found.is_decided and not found.passed
    assert found.reasons == ("2 of 2 runs passed, 4 of 5 have to, which is open",)
    failed = recompute(ConsensusRule(2, 2), trials("a a!"), equal)
    assert failed.reasons == ("1 of 2 runs passed, 2 of 2 had to",)


def test_agreement_is_asked_once_a_pair() -> None:
    asked = []

    def agree(left: Any, right: Any) -> float:
        asked.append((left, right))
        return 1.0

    recompute(ConsensusRule(4, 0), trials("a b c d"), agree)
    assert len(asked) == 6 == len(set(asked))


@pytest.mark.parametrize("rule", [(0, 0, 0), (1001, 1, 0), (3, 4, 0), (3, -1, 0), (3, 1, 1.5), (3, 1, -0.1)])
def test_rule_that_cannot_be_met_is_refused(rule: tuple[int, int, float]) -> None:
    with pytest.raises(UsageError):
        Consensus(ConsensusRule(*rule), equal)


def test_run_beyond_the_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="one more was added"):
        recompute(ConsensusRule(1, 1), trials("a a"), equal)
