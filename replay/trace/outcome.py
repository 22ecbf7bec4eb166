"""The verdict on one run: what it did against what its baseline did, by the suite's rules and the strategy. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import ReplayError, UsageError
from replay.trace.comparators import Closeness, Mismatch, differences, shown
from replay.trace.divergence import ORDER, REPEATED, Divergence
from replay.trace.meaning import compare_meaning
from replay.trace.model import AgentTrace
from replay.trace.replayer import Run
from replay.trace.report import AGENT, Reason
from replay.trace.snapshot import Snapshot, snapshot_differences
from replay.trace.state_changes import state_differences
from replay.trace.strategies import SERVED, Strategy
from replay.trace.suite import ANY, AS_RECORDED, EQUAL, MEANING, TraceRules
from replay.trace.taken import snapshot_files
from replay.trace.trajectory import STRICT, compare_trajectory, tool_calls

__all__ = ["NO_SNAPSHOTS", "Outcome", "answer_by", "answers_agree", "changed_by_tools", "judge_run"]

NO_SNAPSHOTS: Final[Mapping[str, Snapshot]] = {}
_MOST_REASONS: Final = 20
_BY_MEANING: Final = frozenset(("meaning", "consensus"))


class Outcome(NamedTuple):
    """Why a run failed, none where it passed; and what else is to be said of it."""

    reasons: tuple[Reason, ...]
    notes: tuple[Reason, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.reasons


def answer_by(rules: TraceRules, strategy: Strategy) -> str:
    """How answers are compared: as the suite says, else as the strategy does."""
    return rules.answer or (MEANING if strategy.compare in _BY_MEANING else EQUAL)


def judge_run(
    baseline: AgentTrace,
    run: Run,
    rules: TraceRules,
    strategy: Strategy,
    closeness: Closeness | None = None,
    snapshots: Mapping[str, Snapshot] = NO_SNAPSHOTS,
) -> Outcome:
    """The verdict on one run, budgets apart. A run that could not go on is judged by that alone.

    snapshots: by file name what is accepted, for a strategy that compares snapshots.

    Raises UsageError where texts are to be compared by meaning and there is no closeness.
    """
    if run.error is not None:
        return Outcome((Reason(AGENT, str(run.error)),))
    fatal = [one for one in run.divergences if one.is_fatal]
    if fatal:
        return Outcome(_divergences(fatal))
    failing = [one for one in run.divergences if _fails(one, baseline, rules, strategy)]
    reasons = [*_divergences(failing)]
    left = [*_divergences([one for one in run.divergences if one not in failing])]
    reasons += _success(baseline, run.actual, rules)
    if strategy.compare == "snapshot":
        reasons += _snapshots(run, rules, snapshots, closeness)
    else:
        departures, reads = _trajectory(baseline, run.actual, rules, closeness)
        reasons += departures
        left += reads
        reasons += _answer(baseline, run.actual, rules, answer_by(rules, strategy), closeness)
    unjudged = changed_by_tools(baseline) if strategy.tools == SERVED and rules.state != ANY else []
    reasons += _state(baseline, run.actual, rules, unjudged, closeness)
    notes = [
        Reason("state", f'the state of "{name}" is not judged: served tools change nothing')
        for name in unjudged
    ]
    return Outcome(tuple(reasons[:_MOST_REASONS]), (*notes, *left))


def answers_agree(
    one: Any, other: Any, rules: TraceRules, by: str, closeness: Closeness | None
) -> list[Mismatch] | list[str]:
    """What differs between two answers; [] for none."""
    if by == ANY:
        return []
    if by == MEANING and isinstance(one, str) and isinstance(other, str):
        if one == other:
            return []
        if closeness is None:
            raise UsageError("answers are compared by meaning, and no text model was loaded")
        meaning = compare_meaning(one, other, closeness)
        if meaning.is_same:
            return []
        why = (
            f": {'; '.join(meaning.reasons)}" if meaning.reasons else f" (closeness {meaning.closeness:.2f})"
        )
        return [f"{meaning.verdict}{why}"]
    return differences(one, other, rules.answer_rules, closeness)


def _fails(one: Divergence, baseline: AgentTrace, rules: TraceRules, strategy: Strategy) -> bool:
    """Whether a run that went on fails by it, under a strategy that compares call by call.

    Not by the order of its calls where the suite leaves that to the agent. Nor by a tool that only reads and came early
    or again: whether it is missing or at another place then, the trajectory says.
    """
    if not strategy.is_strict or (one.kind == ORDER and rules.trajectory != STRICT):
        return False
    only_reads = one.step >= 0 and baseline.steps[one.step].tool_name in rules.read_only
    return not (only_reads and one.kind in (ORDER, REPEATED))


def _divergences(found: Sequence[Divergence]) -> tuple[Reason, ...]:
    return tuple(Reason("trace", one.message) for one in found[:_MOST_REASONS])


def _success(baseline: AgentTrace, actual: AgentTrace, rules: TraceRules) -> list[Reason]:
    expected = rules.expected_success
    if expected == AS_RECORDED and type(expected) is str:
        expected = ANY if baseline.success is None else baseline.success
    if type(expected) is not bool or actual.success is expected:
        return []
    said = (
        "did not say whether it succeeded"
        if actual.success is None
        else f"ended with success {_word(actual.success)}"
    )
    return [Reason("success", f"{said}, expected {_word(expected)}")]


def _trajectory(
    baseline: AgentTrace, actual: AgentTrace, rules: TraceRules, closeness: Closeness | None
) -> tuple[list[Reason], list[Reason]]:
    """Why the calls fail the run, and what else is to be said of them."""
    if rules.trajectory == ANY:
        return [], []
    compared = compare_trajectory(
        *(
            tool_calls(baseline),
            tool_calls(actual),
            rules.trajectory,
            rules.call_rules,
            closeness,
            rules.read_only,
        )
    )
    reasons, notes = (
        [Reason("trajectory", sentence) for sentence in found]
        for found in (compared.reasons(), compared.notes())
    )
    return reasons, notes


def _answer(
    baseline: AgentTrace, actual: AgentTrace, rules: TraceRules, by: str, closeness: Closeness | None
) -> list[Reason]:
    found = answers_agree(baseline.final_answer, actual.final_answer, rules, by, closeness)
    if not found:
        return []
    if by == MEANING:
        says = f"{shown(baseline.final_answer)} became {shown(actual.final_answer)}"
        return [Reason("answer", f"{one}; {says}") for one in map(str, found)]
    return [Reason("answer", str(one)) for one in found]


def _snapshots(
    run: Run, rules: TraceRules, expected: Mapping[str, Snapshot], closeness: Closeness | None
) -> list[Reason]:
    """Each snapshot that the run took against the accepted one of the same name."""
    if not expected:
        return [Reason("snapshot", "no snapshot of it is accepted yet")]
    try:
        taken = snapshot_files(run)
    except ReplayError as error:
        return [Reason("snapshot", str(error))]
    found = [Reason("snapshot", f"{name} was not taken") for name in expected if name not in taken]
    for name, actual in taken.items():
        if name not in expected:
            found.append(Reason("snapshot", f"{name} was taken, and is not accepted yet"))
            continue
        mismatches = snapshot_differences(expected[name], actual, rules.state_rules, closeness)
        found += [Reason("snapshot", f"{name} {one}") for one in mismatches]
    return found


def _state(
    baseline: AgentTrace,
    actual: AgentTrace,
    rules: TraceRules,
    unjudged: Sequence[str],
    closeness: Closeness | None,
) -> list[Reason]:
    """What the runs did to the state of each provider that the baseline knows, but for the unjudged."""
    before, after = _span(baseline)
    for name in unjudged:
        del before[name], after[name]
    if rules.state == ANY or not after:
        return []
    there_before, there_after = _span(actual)
    mismatches = state_differences(
        (before, after),
        ({name: there_before[name] for name in after if name in there_before},
         {name: there_after[name] for name in after if name in there_after}),
        rules.state_rules, closeness,
    )  # fmt: skip
    return [Reason("state", str(one)) for one in mismatches]


def _span(trace: AgentTrace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last state of each provider."""
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for step in trace.steps:
        for states in (step.env_state_before, step.env_state_after):
            for name, state in (states or {}).items():
                first.setdefault(name, state)
                last[name] = state
    return first, last


def changed_by_tools(trace: AgentTrace) -> list[str]:
    """The providers whose state was another one after a call of a tool than before it: a served call changes none."""
    changed = {
        name
        for step in trace.steps
        for name, state in (step.env_state_after or {}).items()
        if step.step_type == "tool_call" and (step.env_state_before or {}).get(name, state) != state
    }
    return sorted(changed)


def _word(value: object) -> str:
    return str(value).lower()
