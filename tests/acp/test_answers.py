"""The client's answers from the script: permissions, elicitations, and who caused what."""

from typing import Any

import orjson
import pytest

from replay.acp import Tables
from replay.errors import DivergenceError
from tests.acp.scripted_agent import Agent, Frame, Run, ask, asking, ok, play, single, start

INIT: Frame = {"op": "initialize"}
NEW: Frame = {"op": "newSession"}
PROMPT: Frame = {"op": "prompt", "text": "hi"}
OPTIONS: list[Frame] = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "ever-dir", "name": "Always here", "kind": "allow_always"},
]
PERMISSION: Frame = {
    "sessionId": "s1",
    "toolCall": {"toolCallId": "t1", "title": "rm -rf"},
    "options": OPTIONS,
}
FORM: Frame = {
    "sessionId": "s1",
    "message": "Name?",
    "mode": "form",
    "requestedSchema": {"type": "object", "properties": {}},
}


def run(tables: Tables, *requests: Frame, **options: Any) -> Run:
    return play(tables, [INIT, NEW, PROMPT], asking(*requests), **options)


# Permissions.


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"kind": "allow_once"}, {"outcome": "selected", "optionId": "yes"}),
        ({"kind": "reject_once"}, {"outcome": "selected", "optionId": "no"}),
        ({"optionId": "ever-dir"}, {"outcome": "selected", "optionId": "ever-dir"}),
        ({"outcome": "cancelled"}, {"outcome": "cancelled"}),
    ],
)
def test_permission_is_answered_from_the_script(tables: Tables, answer: Frame, outcome: Frame) -> None:
    played = run(tables, ask(0, "session/request_permission", **PERMISSION), permissionAnswers=[answer])
    assert single(played) == {"outcome": outcome}
    assert played.report == ([], [], [])


def test_permissions_are_first_in_first_out(tables: Tables) -> None:
    requests = [ask(number, "session/request_permission", **PERMISSION) for number in (1, 2)]
    played = run(tables, *requests, permissionAnswers=[{"kind": "allow_once"}, {"kind": "reject_once"}])
    assert [answer["result"]["outcome"]["optionId"] for answer in played.agent.answers()] == ["yes", "no"]


def test_empty_queue_answers_cancelled_and_says_so(tables: Tables) -> None:
    played = run(tables, ask(0, "session/request_permission", **PERMISSION))
    assert single(played) == {"outcome": {"outcome": "cancelled"}}
    assert played.report.notes == [
        '"session/request_permission" for "rm -rf" was answered cancelled: permissionAnswers has no answer left'
    ]


def test_option_that_is_not_offered_diverges_and_names_the_offered(tables: Tables) -> None:
    with pytest.raises(DivergenceError) as caught:
        run(
            tables,
            ask(0, "session/request_permission", **PERMISSION),
            permissionAnswers=[{"kind": "reject_always"}],
        )
    assert str(caught.value) == (
        'input.json $.permissionAnswers[0]: kind "reject_always" is not offered for "rm -rf"; offered: '
        'allow_once (optionId "yes"), reject_once (optionId "no"), allow_always (optionId "ever"), '
        'allow_always (optionId "ever-dir")'
    )
    with pytest.raises(DivergenceError, match='optionId "maybe" is not offered'):
        run(
            tables,
            ask(0, "session/request_permission", **PERMISSION),
            permissionAnswers=[{"optionId": "maybe"}],
        )


def test_kind_that_two_options_share_must_be_named_by_option_id(tables: Tables) -> None:
    with pytest.raises(DivergenceError, match="2 options") as caught:
        run(
            tables,
            ask(0, "session/request_permission", **PERMISSION),
            permissionAnswers=[{"kind": "allow_always"}],
        )
    assert caught.value.fix == 'name one: {"optionId": "ever"}'


def test_answers_that_nobody_asked_for_fail_at_the_end(tables: Tables) -> None:
    played = play(
        tables,
        [INIT],
        permissionAnswers=[{"kind": "allow_once"}],
        elicitationAnswers=[{"action": "accept", "content": {}}],
    )
    assert [str(failure) for failure in played.report.failures] == [
        "input.json $.permissionAnswers[0]: the agent never asked for this answer (kind: allow_once)",
        "input.json $.elicitationAnswers[0]: the agent never asked for this answer (action: accept)",
    ]
    assert all(isinstance(failure, DivergenceError) for failure in played.report.failures)


def cancelled_by_us(agent: Agent) -> None:
    """session/cancel ends the turn after one more permission request."""
    agent.handlers["session/cancel"] = lambda a, _f: [
        ask(9, "session/request_permission", **PERMISSION),
    ]


def test_own_cancel_answers_what_is_held_and_what_still_comes(tables: Tables) -> None:
    requests = ask(1, "session/request_permission", **PERMISSION), ask(2, "elicitation/create", **FORM)

    def answer(agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        if len(agent.answers()) < 3:
            return []
        return [ok(agent.sent("session/prompt")[-1], {"stopReason": "cancelled"})]

    agent = Agent(**{"session/prompt": lambda _a, _f: requests, "answer": answer})
    cancelled_by_us(agent)
    wait = {"waitForUpdate": {"request": "elicitation/create"}}
    played = play(
        tables,
        [INIT, NEW, {"op": "promptAndCancel", "text": "x", **wait}],
        agent,
        permissionAnswers=[{"hold": True}],
        elicitationAnswers=[{"hold": True}],
    )
    order = [frame.get("method", frame.get("id")) for frame in agent.received][3:]
    assert order == ["session/cancel", 1, 2, 9]
    assert [frame["result"] for frame in agent.answers()] == [
        {"outcome": {"outcome": "cancelled"}},
        {"action": "cancel"},
        {"outcome": {"outcome": "cancelled"}},
    ]
    assert played.report.failures == []
    assert [note.rpartition(": ")[2] for note in played.report.notes] == ["the driver's own cancel"] * 3


def test_next_turn_is_answered_from_the_script_again(tables: Tables) -> None:
    def prompt(agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        return [ask(len(agent.sent("session/prompt")), "session/request_permission", **PERMISSION)]

    def answer(agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        return [ok(agent.sent("session/prompt")[-1], {"stopReason": "cancelled"})]

    agent = Agent(**{"session/prompt": prompt, "answer": answer})
    wait = {"waitForUpdate": {"request": "session/request_permission"}}
    steps = [INIT, NEW, {"op": "promptAndCancel", "text": "x", **wait}, PROMPT]
    played = play(tables, steps, agent, permissionAnswers=[{"hold": True}, {"kind": "allow_once"}])
    assert agent.answers()[1]["result"]["outcome"]["optionId"] == "yes"
    assert played.report.failures == []


def test_cancel_of_one_session_leaves_the_other_alone(tables: Tables) -> None:
    def prompt(_agent: Agent, frame: Frame) -> list[Frame | bytes]:
        session = frame["params"]["sessionId"]
        return [ask(session, "session/request_permission", **{**PERMISSION, "sessionId": session})]

    agent = Agent(**{"session/prompt": prompt})
    background = {**PROMPT, "wait": False}
    wait = {"op": "waitForUpdate", "request": "session/request_permission"}
    cancel = {"op": "cancel", "session": 0, "wait": False}
    steps = [INIT, NEW, NEW, {**background, "session": 0}, background, wait, wait, cancel]
    played = start(tables, steps, agent, permissionAnswers=[{"hold": True}, {"hold": True}])
    assert [frame["id"] for frame in agent.answers()] == ["s1"]
    (failure,) = played.report.failures
    assert str(failure) == '"session/request_permission" for "rm -rf" was held for a cancel that never came'


def test_cancel_without_a_running_turn_answers_nothing_that_comes_later(tables: Tables) -> None:
    steps = [INIT, NEW, {"op": "cancel"}, {"op": "waitForFile", "path": "never"}]
    played = start(tables, steps, permissionAnswers=[{"kind": "allow_once"}])
    played.carry_out(played.driver.on_line(orjson.dumps(ask(1, "session/request_permission", **PERMISSION))))
    assert single(played) == {"outcome": {"outcome": "selected", "optionId": "yes"}}


def test_prompt_after_a_cancel_that_is_not_answered_yet_asks_the_script(tables: Tables) -> None:
    background: Frame = {**PROMPT, "wait": False}
    steps = [INIT, NEW, background, {"op": "cancel", "wait": False}, background]
    agent = Agent(**{"session/prompt": lambda _a, _f: []})
    played = start(tables, steps, agent, permissionAnswers=[{"kind": "allow_once"}])
    played.carry_out(played.driver.on_line(orjson.dumps(ask(1, "session/request_permission", **PERMISSION))))
    assert single(played) == {"outcome": {"outcome": "selected", "optionId": "yes"}}


# Elicitation.


def test_elicitation_is_answered_from_the_script(tables: Tables) -> None:
    answers = [{"action": "accept", "content": {"name": "x"}}, {"action": "decline"}]
    played = run(
        tables,
        ask(1, "elicitation/create", **FORM),
        ask(2, "elicitation/create", **FORM),
        elicitationAnswers=answers,
    )
    assert [answer["result"] for answer in played.agent.answers()] == answers


def test_elicitation_without_an_answer_is_cancelled_and_noted(tables: Tables) -> None:
    played = run(tables, ask(1, "elicitation/create", **FORM))
    assert single(played) == {"action": "cancel"}
    assert played.report.notes == [
        '"elicitation/create" for "Name?" was answered cancelled: elicitationAnswers has no answer left'
    ]
