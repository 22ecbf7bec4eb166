"""The verdict on a suite: each trace by its runs, then the conditions on how many hold. Pure.

    report = judge(suite, replays, previous)        the same values give the same report, in whatever order they come

A rate of few traces is not known well. Its Wilson interval is in every sentence about it, and where the threshold lies
within, the sentence says that so few traces cannot tell.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from replay.errors import AgentError, FixtureError, ReplayError, counted
from replay.session.chunk import shown
from replay.trace.comparators import Closeness
from replay.trace.consensus import ConsensusRule, Trial, recompute
from replay.trace.outcome import NO_SNAPSHOTS, Outcome, answer_by, answers_agree, judge_run
from replay.trace.previous import compare_with, drop_of, with_history
from replay.trace.replayer import Replayed, Run
from replay.trace.report import (
    AGENT,
    FAILED,
    PASSED,
    SKIPPED,
    Changes,
    Check,
    Group,
    Measured,
    Reason,
    Report,
    TraceResult,
    percent,
)
from replay.trace.snapshot import Snapshot
from replay.trace.spending import judge_budgets, measure
from replay.trace.statistics import Rate, rates_by
from replay.trace.strategies import LIVE
from replay.trace.suite import LOWER_BOUND, MEANING, Category, Suite, TraceRules, check_suite

__all__ = ["judge", "judge_trace", "needs_closeness"]

NOTHING: Final[Mapping[str, Mapping[str, Snapshot]]] = {}
_MOST_REASONS: Final = 20
_ROUNDING: Final = 1e-9


def needs_closeness(suite: Suite, replayed: Sequence[Replayed]) -> bool:
    """Whether judging these asks for a text model."""
    for one in replayed:
        rules = suite.rules_for(one.baseline.trace_id, one.baseline.category)
        by_meaning = one.strategy.compare != "snapshot" and answer_by(rules, one.strategy) == MEANING
        if not rules.skip and (by_meaning or rules.needs_closeness):
            return True
    return False


def judge(
    suite: Suite,
    replayed: Sequence[Replayed],
    previous: Report | None = None,
    *,
    name: str = "",
    closeness: Closeness | None = None,
    snapshots: Mapping[str, Mapping[str, Snapshot]] = NOTHING,
) -> Report:
    """The report. closeness: the text model, where needs_closeness; snapshots: what is accepted, by trace id and file name.

    Raises FixtureError for two traces of one id, UsageError where a text model is missing.
    """
    ordered = sorted(replayed, key=lambda one: (one.baseline.category, one.baseline.trace_id))
    _refuse_doubles(ordered)
    results = [
        judge_trace(suite, one, closeness, snapshots.get(one.baseline.trace_id, NO_SNAPSHOTS))
        for one in ordered
    ]
    traces = with_history(results, previous)
    judged = [trace for trace in traces if trace.status != SKIPPED]
    rates = rates_by((trace.category, trace.passed) for trace in judged)
    overall = Group("", Rate(sum(trace.passed for trace in judged), len(judged)), suite.threshold)
    groups = tuple(
        Group(category, rates.get(category, Rate(0, 0)), suite.categories.get(category, Category()).threshold)
        for category in sorted({*rates, *suite.categories})
    )
    changes = None if previous is None else compare_with(previous, traces)
    checks = tuple(_checks(suite, overall, groups, previous, traces))
    return Report(
        name,
        ordered[0].strategy.name if ordered else "",
        overall,
        groups,
        checks,
        traces,
        changes,
        _versions(ordered),
        tuple(_notes(suite, ordered, traces, changes)),
        suite.description,
        _fault(ordered, traces),
    )


def judge_trace(
    suite: Suite,
    replayed: Replayed,
    closeness: Closeness | None = None,
    snapshots: Mapping[str, Snapshot] = NO_SNAPSHOTS,
) -> TraceResult:
    """The verdict on one trace over all its runs."""
    baseline, strategy = replayed.baseline, replayed.strategy
    rules = suite.rules_for(baseline.trace_id, baseline.category)
    if rules.skip:
        note = Reason("trace", f"not judged: {rules.skip}")
        return TraceResult(baseline.trace_id, baseline.category, SKIPPED, notes=(note,), runs=0)
    is_timed = LIVE in (strategy.model, strategy.tools)
    before = measure(baseline, suite.prices, is_timed)
    outcomes, spent = [], []
    for run in replayed.runs:
        outcome = judge_run(baseline, run, rules, strategy, closeness, snapshots)
        used = measure(run.actual, suite.prices, is_timed)
        if not any(reason.kind == AGENT for reason in outcome.reasons):
            found, over, unjudged = judge_budgets(rules.budgets, before, used, is_timed)
            outcome = Outcome((*outcome.reasons, *over), (*outcome.notes, *unjudged))
            spent.append(found)
        outcomes.append(outcome)
    passed, notes = _over_runs(replayed, outcomes, rules, closeness)
    return TraceResult(
        baseline.trace_id,
        baseline.category,
        PASSED if passed else FAILED,
        () if passed else _gather([outcome.reasons for outcome in outcomes], notes),
        _gather([(*outcome.reasons, *outcome.notes) if passed else outcome.notes for outcome in outcomes],
                notes if passed else ()),
        len(outcomes),
        sum(outcome.passed for outcome in outcomes),
        _middle(spent),
    )  # fmt: skip


def _over_runs(
    replayed: Replayed, outcomes: Sequence[Outcome], rules: TraceRules, closeness: Closeness | None
) -> tuple[bool, tuple[Reason, ...]]:
    """Whether the runs together hold, and what is to be said of them as a whole."""
    runs, passed = len(outcomes), sum(outcome.passed for outcome in outcomes)
    if not runs:
        return False, (Reason(AGENT, "there is no run of it"),)
    # One suite is for every strategy, and one run of a strategy that makes one is no vote.
    if replayed.strategy.compare != "consensus" and (rules.consensus is None or replayed.strategy.runs == 1):
        some = (Reason("consensus", f"{passed} of {runs} runs passed"),) if 0 < passed < runs else ()
        return passed == runs, some
    rule = _rule(rules.consensus, runs)
    by = answer_by(rules, replayed.strategy)

    def agree(one: object, other: object) -> float:
        return float(not answers_agree(one, other, rules, by, closeness))

    trials = [
        Trial(number, _answer(run), outcome.passed)
        for number, (run, outcome) in enumerate(zip(replayed.runs, outcomes, strict=True), 1)
    ]
    verdict = recompute(rule, trials, agree)
    said = f"{passed} of {runs} runs passed, they agree by {verdict.agreement:.2f}"
    if verdict.odd:
        said += f"; odd: run {', '.join(map(str, verdict.odd))}"
    reasons = [Reason("consensus", reason) for reason in verdict.reasons]
    return verdict.passed, (Reason("consensus", said), *reasons)


def _rule(rule: ConsensusRule | None, runs: int) -> ConsensusRule:
    """The suite's rule, else that most runs pass. More runs than it speaks of need as large a share of passes."""
    if rule is None:
        return ConsensusRule(runs, runs // 2 + 1)
    if runs <= rule.runs:
        return rule
    return ConsensusRule(runs, -(-rule.passes * runs // rule.runs), rule.agreement)


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
        known = sorted(one[metric].actual for one in spent if one[metric].actual is not None)  # type: ignore[type-var]
        found[metric] = spent[0][metric]._replace(actual=known[(len(known) - 1) // 2] if known else None)
    return found


# -- conditions ---------------------------------------------------------------------------------------------------


def _checks(
    suite: Suite,
    overall: Group,
    groups: Sequence[Group],
    previous: Report | None,
    traces: Sequence[TraceResult],
) -> Iterator[Check]:
    if not overall.rate.total:
        yield Check("traces", "", False, "no trace was judged")
        return
    known = [(trace.trace_id, trace.category) for trace in traces]
    for problem in check_suite(suite._replace(categories={}), known, ""):
        yield Check("traces", "", False, f"suite.json {problem.where.path}: {problem.what}")
    for group in (overall, *groups):
        if group.threshold is not None:
            yield _threshold(group, suite.judge_by)
    for category in (None, *suite.categories):
        said = suite.allowed_drop if category is None else suite.categories[category].allowed_drop
        if said is not None and previous is not None:
            check = _drop(drop_of(previous, traces, category), said, category or "")
            if check is not None:
                yield check


def _threshold(group: Group, judge_by: str) -> Check:
    rate, threshold = group.rate, group.threshold or 0.0
    low, _ = rate.wilson()
    if not rate.total:
        return Check("threshold", group.name, False, "no trace of this category was judged")
    reached = low if judge_by == LOWER_BOUND else rate.share
    message = f"{rate_of(rate)}, {percent(threshold)} asked for"
    if judge_by == LOWER_BOUND:
        message += " of its lower bound"
    if group.is_uncertain:
        message += f"; the threshold lies within: {counted(rate.total, 'trace')} cannot tell"
    return Check("threshold", group.name, reached >= threshold - _ROUNDING, message)


def _drop(rates: tuple[Rate, Rate], allowed: float, where: str) -> Check | None:
    before, after = rates
    if not before.total:
        return None
    drop = before.share - after.share
    message = (
        f"{percent(before.share)} before, {percent(after.share)} now over {counted(before.total, 'trace')} "
        f"that both reports judged; a fall of {percent(allowed)} is allowed"
    )
    return Check("drop", where, drop <= allowed + _ROUNDING, message)


def rate_of(rate: Rate) -> str:
    """ "37 of 40 passed, 92 % (95 % interval 80 % to 97 %)"."""
    low, high = rate.wilson()
    return f"{rate.passed} of {rate.total} passed, {percent(rate.share)} (95 % interval {percent(low)} to {percent(high)})"


# -- around it ----------------------------------------------------------------------------------------------------


def _refuse_doubles(replayed: Sequence[Replayed]) -> None:
    ids = Counter(one.baseline.trace_id for one in replayed)
    for trace_id, times in sorted(ids.items()):
        if times > 1:
            raise FixtureError(
                f"{times} traces have the id {shown(trace_id)}", fix="give each its own trace_id"
            )


def _fault(replayed: Sequence[Replayed], traces: Sequence[TraceResult]) -> int:
    errors: list[ReplayError] = [run.error for one in replayed for run in one.runs if run.error is not None]
    if any(error.exit_code == 2 for error in errors):
        return 2
    failed = [trace for trace in traces if trace.status == FAILED]
    is_agent = failed and all(trace.reasons and trace.reasons[0].kind == AGENT for trace in failed)
    return AgentError.exit_code if is_agent else 0


def _versions(replayed: Sequence[Replayed]) -> dict[str, str]:
    found = {}
    for key, member in (("agent", "agent_version"), ("model", "model_version")):
        before = {getattr(one.baseline, member) for one in replayed}
        now = {getattr(run.actual, member) for one in replayed for run in one.runs}
        for name, values in ((f"{key}_of_baselines", before), (key, now)):
            said = sorted(value for value in values if value)
            if said:
                found[name] = said[0] if len(said) == 1 else f"{said[0]} and {len(said) - 1} more"
    return found


def _notes(
    suite: Suite, replayed: Sequence[Replayed], traces: Sequence[TraceResult], changes: Changes | None
) -> Iterator[str]:
    skipped = sum(trace.status == SKIPPED for trace in traces)
    if skipped:
        yield f"{counted(skipped, 'trace')} not judged: the suite says so"
    if suite.categories:
        unnamed = sorted({trace.category for trace in traces} - suite.categories.keys())
        if unnamed:
            yield f"the suite names no category {', '.join(map(shown, unnamed))}: only its own threshold holds for it"
    unjudged = Counter(
        note.message for trace in traces for note in trace.notes if " not judged: " in note.message
    )
    for message, times in sorted(unjudged.items()):
        if not message.startswith("not judged"):
            yield f"{message} ({counted(times, 'trace')})"
    if changes is not None and (changes.new_failures or changes.fixed):
        yield (
            f"{counted(len(changes.new_failures), 'trace')} newly failed and {len(changes.fixed)} fixed: so uneven a split, "
            f"or a more uneven one, comes by chance alone with probability {changes.chance:.2g}"
        )
