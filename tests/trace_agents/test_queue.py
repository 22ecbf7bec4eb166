"""Which run is played next: whatever is over first, and whatever fails late, the runs of a trace are the same."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import AgentError
from replay.runner.trace_queue import Job, RunQueue, Wanted, always
from replay.trace.consensus import Consensus, ConsensusRule, Trial
from replay.trace.model import AgentTrace
from replay.trace.replayer import Run

LATE = AgentError("exited with 3 after its final")
# Of each run: whether it fails, and whether that is known only after it is over.
PLANS = st.lists(st.sampled_from(["passes", "fails", "fails late"]), min_size=7, max_size=7)


def votes(rule: ConsensusRule) -> Wanted:
    """So many runs as decide the rule; a run passed that has no error."""

    def ask(_trace: AgentTrace, runs: Sequence[Run]) -> int:
        consensus = Consensus(rule, lambda _one, _other: 1.0)
        for number, run in enumerate(runs, 1):
            consensus.add(Trial(number, None, run.error is None))
        return len(runs) + consensus.needed

    return ask


def made(results: Sequence[Sequence[Run]]) -> list[list[bool]]:
    return [[run.error is None for run in runs] for runs in results]


def played(
    plans: Sequence[Sequence[str]], wanted: Wanted, seats: int, chance: random.Random
) -> list[list[bool]]:
    """What is left of all traces where `seats` processes play, and any of them may be the next to come to something."""
    queue = RunQueue([AgentTrace(f"t{at}", "") for at in range(len(plans))], wanted)
    at_work: list[tuple[str, Job]] = []
    while True:
        while len(at_work) < seats and queue.is_any:
            job = queue.take()
            at_work.append((plans[job.at][job.number - 1], job))
        if not at_work:
            return made(queue.results())
        plan, job = at_work.pop(chance.randrange(len(at_work)))
        if plan == "fails":
            queue.fail(job, AgentError("hung"), ())
        elif plan == "is over":
            queue.fail(job, LATE, ())
        else:
            queue.put(job, Run(job.baseline))
            if plan == "fails late":
                at_work.append(("is over", job))


@given(
    st.lists(PLANS, min_size=1, max_size=3),
    st.integers(1, 7).flatmap(
        lambda runs: st.builds(ConsensusRule, st.just(runs), st.integers(0, runs), st.just(0.0))
    ),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_runs_of_a_trace_are_those_of_one_agent_after_another(
    plans: list[list[str]], rule: ConsensusRule, seats: int, chance: random.Random
) -> None:
    found = played(plans, votes(rule), seats, chance)
    for plan, runs in zip(plans, found, strict=True):
        consensus = Consensus(rule, lambda _one, _other: 1.0)
        while consensus.needed:
            number = len(consensus.trials)
            consensus.add(Trial(number + 1, None, plan[number] == "passes"))
        assert runs == [trial.passed for trial in consensus.trials]


def test_traces_come_in_their_order_and_as_many_runs_at_once_as_are_needed() -> None:
    queue = RunQueue([AgentTrace("a", ""), AgentTrace("b", "")], votes(ConsensusRule(5, 3)))
    begun = []
    while queue.is_any:
        job = queue.take()
        begun.append((job.baseline.trace_id, job.number))
    assert begun == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]


def test_what_was_not_begun_fails_and_says_why() -> None:
    queue = RunQueue([AgentTrace("a", "")], always(3))
    queue.put(queue.take(), Run(AgentTrace("a", "")))
    queue.give_up("the test's time is over")
    [runs] = queue.results()
    assert made([runs]) == [[True, False, False]]
    assert str(runs[2].error) == "was not run: the test's time is over"


@pytest.mark.parametrize("first", ["error", "late"])
def test_what_was_wrong_first_is_told(first: str) -> None:
    queue = RunQueue([AgentTrace("a", "")], always(1))
    job = queue.take()
    queue.put(job, Run(AgentTrace("a", ""), error=AgentError("hung") if first == "error" else None))
    queue.fail(job, LATE, ("a line",))
    [[run]] = queue.results()
    assert (str(run.error), run.evidence) == (("hung", ()) if first == "error" else (str(LATE), ("a line",)))
