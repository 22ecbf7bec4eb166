"""The verdict on one trace: each of its runs is a trial, judged by itself, and the trials are counted. Pure.

    tried = try_runs(suite, replayed)        what each run came to
    result = count_trials(suite, tried)      what they come to together; as well of trials that were stored

While runs are still being made, a Ballot says how many there have to be: by the same trials, counted in the same way. So
a trace that is run no further has the verdict that it would have had.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from replay.errors import UsageError
from replay.session.chunk import shown
from replay.trace.comparators import Closeness
from replay.trace.consensus import Agreement, Consensus, ConsensusRule, Trial, recompute
from replay.trace.model import AgentTrace
from replay.trace.outcome import NO_SNAPSHOTS, Outcome, answer_by, answers_agree, judge_run
from replay.trace.replayer import Replayed, Run
from replay.trace.report import AGENT, FAILED, PASSED, SKIPPED, Measured, Reason, TraceResult
from replay.trace.snapshot import Snapshot
from replay.trace.spending import judge_budgets, measure
from replay.trace.strategies import LIVE, Strategy
from replay.trace.suite import Suite, TraceRules
from replay.trace.trials import TraceTrials

__all__ = ["Ballot", "count_trials", "counts_votes", "judge_trace", "try_runs"]

_MOST_REASONS: Final = 20


def counts_votes(rules: TraceRules, strategy: Strategy) -> bool:
    """Whether the runs of a trace vote; else all of them have to pass."""
    # One suite is for every strategy, and one run of a strategy that makes one is no vote.
    return strategy.compare == "consensus" or (rules.consensus is not None and strategy.runs > 1)


def judge_trace(
    suite: Suite,
    replayed: Replayed,
    closeness: Closeness | None = None,
    snapshots: Mapping[str, Snapshot] = NO_SNAPSHOTS,
) -> TraceResult:
    """The verdict on one trace over all its runs."""
    return count_trials(suite, try_runs(suite, replayed, closeness, snapshots), closeness)


def try_runs(
    suite: Suite,
    replayed: Replayed,
    closeness: Closeness | None = None,
    snapshots: Mapping[str, Snapshot] = NO_SNAPSHOTS,
) -> TraceTrials:
    """Each run by itself; none of a trace that the suite skips."""
    baseline, strategy = replayed.baseline, replayed.strategy
    judge = _RunJudge(suite, baseline, strategy, closeness, snapshots)
    if judge.rules.skip:
        return TraceTrials(baseline.trace_id, baseline.category, strategy, ())
    tried = [judge.try_run(number, run) for number, run in enumerate(replayed.runs, 1)]
    spent = [used for _, used in tried if used]
    trials = tuple(trial for trial, _ in tried)
    return TraceTrials(baseline.trace_id, baseline.category, strategy, trials, _middle(spent))


def count_trials(suite: Suite, tried: TraceTrials, closeness: Closeness | None = None) -> TraceResult:
    """What the trials of a trace come to together.

    Raises UsageError where runs were left out by another rule than the suite's, and by the suite's the outcome is open.
    """
    rules = suite.rules_for(tried.trace_id, tried.category)
    if rules.skip:
        note = Reason("trace", f"not judged: {rules.skip}")
        return TraceResult(tried.trace_id, tried.category, SKIPPED, notes=(note,), runs=0, runs_asked=0)
    passed, notes = _together(tried, rules, closeness)
    trials = tried.trials
    return TraceResult(
        tried.trace_id,
        tried.category,
        PASSED if passed else FAILED,
        () if passed else _gather([trial.reasons for trial in trials], notes),
        _gather([(*trial.reasons, *trial.notes) if passed else trial.notes for trial in trials],
                notes if passed else ()),
        len(trials),
        sum(trial.passed for trial in trials),
        tried.strategy.runs,
        tried.metrics,
    )  # fmt: skip


class Ballot:
    """The runs of one trace as they come, and how many of them there have to be. view: a run as it will be judged."""

    def __init__(
        self,
        suite: Suite,
        baseline: AgentTrace,
        strategy: Strategy,
        closeness: Closeness | None = None,
        snapshots: Mapping[str, Snapshot] = NO_SNAPSHOTS,
        view: Callable[[Run], Run] = lambda run: run,
    ) -> None:
        self._view = view
        self._judge = _RunJudge(suite, baseline, strategy, closeness, snapshots)
        self._runs: list[Run] = []
        self._consensus = self._opened()
        self._wanted = [self._now()]
        """The answer for the first ones of them, by their number."""

    def wanted(self, runs: Sequence[Run]) -> int:
        """How many runs there have to be, whatever comes after the first ones, which are `runs`; those alone are enough
        where it is their number. Depends on nothing else, and judges a run once while they are only added to.
        """
        judge = self._judge
        if judge.rules.skip or not counts_votes(judge.rules, judge.strategy):
            return judge.strategy.runs
        if any(old is not new for old, new in zip(self._runs, runs, strict=False)):
            self._runs, self._consensus = [], self._opened()
            del self._wanted[1:]
        for run in runs[len(self._runs) :]:
            self._runs.append(run)
            self._consensus.add(judge.try_run(len(self._runs), self._view(run))[0])
            self._wanted.append(self._now())
        return self._wanted[len(runs)]

    def _now(self) -> int:
        return min(self._judge.strategy.runs, len(self._runs) + self._consensus.needed)

    def _opened(self) -> Consensus:
        judge = self._judge
        agree = _agreement(judge.rules, judge.strategy, judge.closeness)
        return Consensus(_rule(judge.rules, judge.strategy), agree)


class _RunJudge:
    """What a single run of a trace is judged by."""

    def __init__(
        self,
        suite: Suite,
        baseline: AgentTrace,
        strategy: Strategy,
        closeness: Closeness | None,
        snapshots: Mapping[str, Snapshot],
    ) -> None:
        self.rules = suite.rules_for(baseline.trace_id, baseline.category)
        self.strategy = strategy
        self.closeness = closeness
        self._baseline = baseline
        self._snapshots = snapshots
        self._prices = suite.prices
        self._is_timed = LIVE in (strategy.model, strategy.tools)
        self._before = measure(baseline, suite.prices, self._is_timed)

    def try_run(self, number: int, run: Run) -> tuple[Trial, Mapping[str, Measured]]:
        """The trial of a run, and what it used; {} for one that did not come to its end."""
        outcome = judge_run(self._baseline, run, self.rules, self.strategy, self.closeness, self._snapshots)
        spent: Mapping[str, Measured] = {}
        if not any(reason.kind == AGENT for reason in outcome.reasons):
            used = measure(run.actual, self._prices, self._is_timed)
            spent, over, unjudged = judge_budgets(self.rules.budgets, self._before, used, self._is_timed)
            outcome = Outcome((*outcome.reasons, *over), (*outcome.notes, *unjudged))
        fault = 0 if run.error is None else run.error.exit_code
        trial = Trial(number, _answer(run), outcome.passed, outcome.reasons, outcome.notes, fault)
        return trial, spent


def _together(
    tried: TraceTrials, rules: TraceRules, closeness: Closeness | None
) -> tuple[bool, tuple[Reason, ...]]:
    """Whether the runs together hold, and what is to be said of them as a whole."""
    strategy, runs = tried.strategy, len(tried.trials)
    if not runs:
        return False, (Reason(AGENT, "there is no run of it"),)
    verdict = recompute(_rule(rules, strategy), tried.trials, _agreement(rules, strategy, closeness))
    if tried.was_stopped and not verdict.is_decided:
        raise UsageError(
            f"{shown(tried.trace_id)} has {runs} of {strategy.runs} runs, since no other could change its outcome by "
            f"the suite of then; by the suite as it is now one could: {'; '.join(verdict.reasons)}",
            fix="run the test again; with all_runs = True its runs serve every rule",
        )
    passed = verdict.passes.passed
    said = f"{passed} of {runs} runs passed"
    if not counts_votes(rules, strategy):
        return verdict.passed, (Reason("consensus", said),) if 0 < passed < runs else ()
    said += f", they agree by {verdict.agreement:.2f}"
    if verdict.odd:
        said += f"; odd: run {', '.join(map(str, verdict.odd))}"
    if tried.was_stopped:
        said += f"; {strategy.runs - runs} of {strategy.runs} were not needed"
    reasons = [Reason("consensus", reason) for reason in verdict.reasons]
    return verdict.passed, (Reason("consensus", said), *reasons)


def _rule(rules: TraceRules, strategy: Strategy) -> ConsensusRule:
    """The suite's rule, else that most runs pass, or all where they do not vote.

    More runs than the suite's rule speaks of need as large a share of passes.
    """
    rule, runs = rules.consensus, strategy.runs
    if not counts_votes(rules, strategy):
        return ConsensusRule(runs, runs)
    if rule is None:
        return ConsensusRule(runs, runs // 2 + 1)
    if runs <= rule.runs:
        return rule
    return ConsensusRule(runs, -(-rule.passes * runs // rule.runs), rule.agreement)


def _agreement(rules: TraceRules, strategy: Strategy, closeness: Closeness | None) -> Agreement:
    """How far two answers agree, as the consensus asks it; of runs that do not vote nobody wants to know."""
    if not counts_votes(rules, strategy):
        return lambda one, other: 1.0
    by = answer_by(rules, strategy)
    return lambda one, other: float(not answers_agree(one, other, rules, by, closeness))


def _answer(run: Run) -> Any:
    return run.actual.final_answer if run.error is None else {"error": run.error.what}


def _gather(of_runs: Sequence[Sequence[Reason]], first: Sequence[Reason]) -> tuple[Reason, ...]:
    """Of all runs, what is the same said once, and which runs say it where not all do."""
    runs = Counter(reason for reasons in of_runs for reason in set(reasons))
    found = list(first)
    for number, reasons in enumerate(of_runs, 1):
        for reason in dict.fromkeys(reasons):
            if runs[reason] == len(of_runs):
                said = reason
            elif len(of_runs) > 1:
                said = Reason(reason.kind, f"run {number}: {reason.message}")
            if said not in found:
                found.append(said)
    if len(found) > _MOST_REASONS:
        found[_MOST_REASONS:] = [Reason(found[-1].kind, f"and {len(found) - _MOST_REASONS} more")]
    return tuple(found)


def _middle(spent: Sequence[Mapping[str, Measured]]) -> dict[str, Measured]:
    """Each metric of the run in the middle, the lower of two."""
    found = {}
    for metric in spent[0] if spent else ():
        known = sorted(used for one in spent if (used := one[metric].actual) is not None)
        found[metric] = spent[0][metric]._replace(actual=known[(len(known) - 1) // 2] if known else None)
    return found
