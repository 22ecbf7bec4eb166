"""The verdict on a suite: each trace by its runs, then the conditions on how many hold. Pure.

    report = judge(suite, replays, previous)        the same values give the same report, in whatever order they come
    report = judge_trials(suite, tried, previous)   the same of runs that were tried before (vote.py, trials.py)

A rate of few traces is not known well. Its Wilson interval is in every sentence about it, and where the threshold lies
within, the sentence says that so few traces cannot tell.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.errors import AgentError, FixtureError, counted
from replay.session.chunk import shown
from replay.trace.comparators import Closeness
from replay.trace.outcome import NO_SNAPSHOTS, answer_by
from replay.trace.previous import compare_with, drop_of, with_history
from replay.trace.replayer import Replayed
from replay.trace.report import (
    AGENT,
    FAILED,
    SKIPPED,
    Changes,
    Check,
    Group,
    Report,
    TraceResult,
    percent,
)
from replay.trace.snapshot import Snapshot
from replay.trace.statistics import Rate, rates_by
from replay.trace.suite import LOWER_BOUND, MEANING, Category, Suite
from replay.trace.suite_check import check_suite
from replay.trace.trials import TraceTrials
from replay.trace.vote import count_trials, counts_votes, try_runs

__all__ = ["judge", "judge_trials", "needs_closeness", "versions_of"]

NOTHING: Final[Mapping[str, Mapping[str, Snapshot]]] = {}
NO_VERSIONS: Final[Mapping[str, str]] = {}
_ROUNDING: Final = 1e-9


def needs_closeness(suite: Suite, replayed: Sequence[Replayed | TraceTrials]) -> bool:
    """Whether judging these asks for a text model."""
    return any(_needs_closeness(suite, one) for one in replayed)


def _needs_closeness(suite: Suite, one: Replayed | TraceTrials) -> bool:
    if isinstance(one, TraceTrials):
        rules = suite.rules_for(one.trace_id, one.category)
        by_meaning = answer_by(rules, one.strategy) == MEANING or rules.answer_rules.needs_closeness
        return not rules.skip and counts_votes(rules, one.strategy) and by_meaning
    rules = suite.rules_for(one.baseline.trace_id, one.baseline.category)
    by_meaning = one.strategy.compare != "snapshot" and answer_by(rules, one.strategy) == MEANING
    return not rules.skip and (by_meaning or rules.needs_closeness)


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
    tried = [
        try_runs(suite, one, closeness, snapshots.get(one.baseline.trace_id, NO_SNAPSHOTS))
        for one in replayed
    ]
    versions = versions_of(replayed)
    return judge_trials(suite, tried, previous, name=name, closeness=closeness, versions=versions)


def judge_trials(
    suite: Suite,
    tried: Sequence[TraceTrials],
    previous: Report | None = None,
    *,
    name: str = "",
    closeness: Closeness | None = None,
    versions: Mapping[str, str] = NO_VERSIONS,
) -> Report:
    """The report on runs that were tried before: the votes of each trace are counted by the suite.

    Raises FixtureError for two traces of one id, UsageError where a text model is missing, or too few runs were made.
    """
    ordered = sorted(tried, key=lambda one: (one.category, one.trace_id))
    _refuse_doubles(ordered)
    traces = with_history([count_trials(suite, one, closeness) for one in ordered], previous)
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
        versions,
        tuple(_notes(suite, traces, changes)),
        suite.description,
        _fault(ordered, traces),
    )


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


def _refuse_doubles(tried: Sequence[TraceTrials]) -> None:
    ids = Counter(one.trace_id for one in tried)
    for trace_id, times in sorted(ids.items()):
        if times > 1:
            raise FixtureError(
                f"{times} traces have the id {shown(trace_id)}", fix="give each its own trace_id"
            )


def _fault(tried: Sequence[TraceTrials], traces: Sequence[TraceResult]) -> int:
    if any(trial.fault == FixtureError.exit_code for one in tried for trial in one.trials):
        return FixtureError.exit_code
    failed = {trace.trace_id for trace in traces if trace.status == FAILED}
    is_agent = failed and all(_is_agents(one) for one in tried if one.trace_id in failed)
    return AgentError.exit_code if is_agent else 0


def _is_agents(tried: TraceTrials) -> bool:
    """Whether a trace failed since its agent did not start, broke the protocol or hung."""
    failed = [trial for trial in tried.trials if not trial.passed]
    if not failed:
        return not tried.trials
    return all(trial.reasons[0].kind == AGENT for trial in failed)


def versions_of(replayed: Sequence[Replayed]) -> dict[str, str]:
    """Of the agent and the model, of the baselines and of the runs."""
    found = {}
    for key, member in (("agent", "agent_version"), ("model", "model_version")):
        before = {getattr(one.baseline, member) for one in replayed}
        now = {getattr(run.actual, member) for one in replayed for run in one.runs}
        for name, values in ((f"{key}_of_baselines", before), (key, now)):
            said = sorted(value for value in values if value)
            if said:
                found[name] = said[0] if len(said) == 1 else f"{said[0]} and {len(said) - 1} more"
    return found


def _notes(suite: Suite, traces: Sequence[TraceResult], changes: Changes | None) -> Iterator[str]:
    made, asked = sum(trace.runs for trace in traces), sum(trace.runs_asked for trace in traces)
    if made < asked:
        yield f"{made} of {counted(asked, 'run')} were made: the others could change no verdict"
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
