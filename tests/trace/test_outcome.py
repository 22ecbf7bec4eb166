"""The verdict on one run: what decides alone, what is compared under which strategy, and what is not judged."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import AgentError, UsageError
from replay.trace.divergence import Divergence
from replay.trace.model import AgentTrace
from replay.trace.outcome import answer_by, answers_agree, changed_by_tools, judge_run
from replay.trace.replayer import Run
from replay.trace.report import Reason
from replay.trace.server import happening
from replay.trace.strategies import LIVE, STRATEGIES, Strategy
from replay.trace.suite import TraceRules, read_suite
from tests.trace.suite_values import make_trace
from tests.trace.trace_values import JSON, traces

BASE = make_trace(calls=("find", "read"))
WRONG = BASE._replace(final_answer="lost", success=False)


def rules_of(**members: Any) -> TraceRules:
    return read_suite(orjson.dumps({"schema": 1, **members}), "suite.json").rules_for("t1", "")


def kinds(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.kind for reason in reasons]


@given(traces(), st.sampled_from([one for one in STRATEGIES.values() if one.compare != "snapshot"]))
def test_run_that_did_what_was_recorded_passes(trace: AgentTrace, strategy: Strategy) -> None:
    baseline = happening(trace, strategy)
    outcome = judge_run(baseline, Run(baseline), rules_of(), strategy, lambda _one, _other: 1.0)
    assert outcome.passed, outcome.reasons


@given(JSON, JSON)
def test_answers_agree_in_both_directions(one: Any, other: Any) -> None:
    rules = rules_of()
    assert bool(answers_agree(one, other, rules, "equal", None)) is bool(
        answers_agree(other, one, rules, "equal", None)
    )
    assert not answers_agree(one, one, rules, "equal", None)


@pytest.mark.parametrize(
    ("said", "strategy", "by"),
    [
        (None, "exact", "equal"),
        (None, "full", "equal"),
        (None, "semantic", "meaning"),
        (None, "consensus", "meaning"),
        ("equal", "semantic", "equal"),
        ("meaning", "exact", "meaning"),
        ("any", "consensus", "any"),
    ],
)
def test_answers_are_compared_as_the_suite_says_else_the_strategy(said: Any, strategy: str, by: str) -> None:
    members = {} if said is None else {"answer": said}
    assert answer_by(rules_of(**members), STRATEGIES[strategy]) == by


def test_run_that_broke_or_could_not_go_on_is_judged_by_that_alone() -> None:
    fatal = Divergence("exhausted", -1, "one call more", is_fatal=True)
    note = Divergence("order", 1, "another order")
    broke = judge_run(BASE, Run(WRONG, (fatal,), error=AgentError("hung")), rules_of(), STRATEGIES["exact"])
    assert broke.reasons == (Reason("agent", "hung"),)
    left = judge_run(BASE, Run(WRONG, (note, fatal)), rules_of(), STRATEGIES["exact"])
    assert left.reasons == (Reason("trace", "one call more"),)
    on = judge_run(BASE, Run(WRONG, (note,)), rules_of(), STRATEGIES["exact"])
    assert kinds(on.reasons) == ["trace", "success", "answer"]


def test_answer_by_meaning_needs_a_text_model_unless_it_is_the_same() -> None:
    by = STRATEGIES["semantic"]
    assert judge_run(BASE, Run(BASE), rules_of(), by).passed
    with pytest.raises(UsageError, match="no text model was loaded"):
        judge_run(BASE, Run(BASE._replace(final_answer="finished")), rules_of(), by)
    # What is no text has no meaning.
    numbers = [BASE._replace(final_answer={"n": n}) for n in (1, 2)]
    found = judge_run(numbers[0], Run(numbers[1]), rules_of(), by)
    [reason] = found.reasons
    assert reason.kind == "answer" and reason.message.startswith("$.n: 1 became 2")


@pytest.mark.parametrize(
    ("recorded", "said", "actual", "passes"),
    [
        (True, None, True, True),
        (True, None, False, False),
        (True, None, None, False),
        (False, None, False, True),
        # Nobody judged the recording, so there is nothing to hold.
        (None, None, False, True),
        (True, False, False, True),
        (True, False, True, False),
        (None, True, None, False),
        (True, "any", None, True),
    ],
)
def test_success_is_that_of_the_suite_else_of_the_recording(
    recorded: Any, said: Any, actual: Any, passes: bool
) -> None:
    rules = rules_of() if said is None else rules_of(expected_success=said)
    run = Run(BASE._replace(success=actual))
    outcome = judge_run(BASE._replace(success=recorded), run, rules, STRATEGIES["full"])
    assert kinds(outcome.reasons) == ([] if passes else ["success"])


def with_states(db: Any, memory: Any) -> AgentTrace:
    """A tool writes to the database; the agent remembers."""
    steps = list(BASE.steps)
    steps[1] = steps[1]._replace(
        env_state_before={"db": "empty", "memory": "none"}, env_state_after={"db": db, "memory": "none"}
    )
    steps[3] = steps[3]._replace(env_state_after={"db": db, "memory": memory})
    return BASE._replace(steps=tuple(steps))


@pytest.mark.parametrize(
    ("strategy", "state", "found", "notes"),
    [
        ("full", "compare", ['$.db: "full" became "empty"', '$.memory: "much" became "little"'], 0),
        # A served tool wrote nothing; what the agent remembers is its own doing all the same.
        ("exact", "compare", ['$.memory: "much" became "little"'], 1),
        ("mock_tools", "compare", ['$.memory: "much" became "little"'], 1),
        ("exact", "any", [], 0),
    ],
)
def test_state_that_served_tools_would_have_changed_is_not_judged_and_that_is_said(
    strategy: str, state: str, found: list[str], notes: int
) -> None:
    baseline, actual = with_states("full", "much"), with_states("empty", "little")
    assert changed_by_tools(baseline) == ["db"]
    outcome = judge_run(baseline, Run(actual), rules_of(state=state), STRATEGIES[strategy])
    assert [reason.message for reason in outcome.reasons if reason.kind == "state"] == found
    assert [note.message for note in outcome.notes] == [
        'the state of "db" is not judged: served tools change nothing'
    ] * notes


def test_state_below_a_served_model_and_live_tools_is_judged() -> None:
    strategy = STRATEGIES["snapshot"].with_changes(tools=LIVE)._replace(compare="suite")
    outcome = judge_run(with_states("full", "x"), Run(with_states("empty", "x")), rules_of(), strategy)
    assert kinds(outcome.reasons) == ["state"] and not outcome.notes


def test_reasons_are_bounded() -> None:
    many = make_trace(calls=tuple(f"t{number}" for number in range(60)))
    outcome = judge_run(BASE, Run(many), rules_of(), STRATEGIES["full"])
    assert 1 < len(outcome.reasons) <= 20
