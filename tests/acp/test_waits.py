"""Cancelling and waiting: what ends a wait, what comes too late, what a cancel reaches."""

from typing import Any

import orjson
import pytest

from replay.acp import Tables, WaitFile, WaitLogEvent, WaitReply, WaitUpdate
from replay.errors import DivergenceError, FixtureError
from tests.acp.scripted_agent import Agent, Frame, ask, chunk, error, ok, play, start, update

INIT: Frame = {"op": "initialize"}
NEW: Frame = {"op": "newSession"}
PROMPT: Frame = {"op": "prompt", "text": "hi"}
BACKGROUND: Frame = {"op": "prompt", "text": "hi", "wait": False}


def stuck(_agent: Agent, frame: Frame) -> list[Frame | bytes]:
    """A prompt that only a cancel ends."""
    return [chunk(frame["params"]["sessionId"], "partial")]


def ends(agent: Agent, frame: Frame) -> list[Frame | bytes]:
    """session/cancel ends the newest prompt."""
    return [ok(agent.sent("session/prompt")[-1], {"stopReason": "cancelled"})]


def cancellable(**handlers: Any) -> Agent:
    return Agent(**{"session/prompt": stuck, "session/cancel": ends, **handlers})


# Cancelling.


def test_prompt_and_cancel_when_a_file_appears(tables: Tables) -> None:
    agent = cancellable()
    steps = [
        NEW,
        {"op": "promptAndCancel", "text": "x", "waitForFile": {"path": "ready"}},
        {"op": "waitForTurnEnd"},
    ]
    run = start(tables, steps, agent)
    assert run.waiting() == WaitFile("ready")
    assert agent.sent("session/cancel") == []
    run.carry_out(run.driver.on_condition())
    assert agent.sent("session/cancel")[0]["params"] == {"sessionId": "s1"}
    run.drain()
    assert run.waiting() == WaitLogEvent("turn/end", 1, "s1", 0, False, 0)
    run.carry_out(run.driver.on_condition())
    assert run.is_done and run.report == ([], [], [])


def test_prompt_and_cancel_when_an_update_comes(tables: Tables) -> None:
    agent = cancellable()
    condition = {"update": {"content": {"text": "partial"}}}
    play(tables, [NEW, {"op": "promptAndCancel", "text": "x", "waitForUpdate": condition}], agent)
    assert len(agent.sent("session/cancel")) == 1


def test_prompt_and_cancel_at_once(tables: Tables) -> None:
    agent = cancellable(**{"session/prompt": lambda _a, _f: []})
    play(tables, [NEW, {"op": "promptAndCancel", "text": "x"}], agent)
    assert len(agent.sent("session/cancel")) == 1


@pytest.mark.parametrize(
    "condition", [{"waitForFile": {"path": "ready"}}, {"waitForUpdate": {"sessionUpdate": "plan"}}]
)
def test_turn_that_ends_before_it_could_be_cancelled_diverges(tables: Tables, condition: Frame) -> None:
    with pytest.raises(
        DivergenceError, match=r'the turn ended \(stopReason "end_turn"\) before it could be cancelled: no '
    ):
        play(tables, [NEW, {"op": "promptAndCancel", "text": "x", **condition}])


def test_condition_that_is_met_twice_or_too_early_changes_nothing(tables: Tables) -> None:
    run = start(tables, [NEW, PROMPT], Agent(**{"session/prompt": lambda _a, _f: []}))
    assert run.driver.on_condition() == []
    assert run.waiting() == WaitReply("session/prompt", 2)


def test_cancel_waits_for_the_prompt_that_runs(tables: Tables) -> None:
    agent = cancellable()
    run = play(
        tables,
        [NEW, BACKGROUND, {"op": "waitForUpdate", "sessionUpdate": "agent_message_chunk"}, {"op": "cancel"}],
        agent,
    )
    assert run.frames()[-1]["result"] == {"stopReason": "cancelled"}


def test_cancel_without_a_prompt_only_tells(tables: Tables) -> None:
    agent = Agent()
    play(tables, [NEW, {"op": "cancel"}], agent)
    assert agent.received[-1]["method"] == "session/cancel"


def test_cancel_request_takes_the_prompt_back(tables: Tables) -> None:
    for answer in (error, lambda frame, _code, _message: ok(frame, {"stopReason": "cancelled"})):
        agent = cancellable(
            **{
                "$/cancel_request": lambda a, f, answer=answer: [
                    answer(a.sent("session/prompt")[0], -32800, "gone")
                ]
            }
        )
        run = play(tables, [NEW, BACKGROUND, {"op": "cancelRequest"}], agent)
        assert agent.sent("$/cancel_request")[0]["params"] == {"requestId": 2}
        assert run.report.failures == []


def test_cancel_request_need_not_be_waited_for(tables: Tables) -> None:
    agent = cancellable(
        **{"$/cancel_request": lambda a, _f: [error(a.sent("session/prompt")[0], -32800, "gone")]}
    )
    run = play(tables, [NEW, BACKGROUND, {"op": "cancelRequest", "wait": False}, {"op": "settle"}], agent)
    assert run.report.failures == []


def test_cancel_request_accepts_no_other_error(tables: Tables) -> None:
    agent = cancellable(
        **{"$/cancel_request": lambda a, _f: [error(a.sent("session/prompt")[0], -32603, "boom")]}
    )
    with pytest.raises(DivergenceError, match=r"boom \(code -32603\)"):
        play(tables, [NEW, BACKGROUND, {"op": "cancelRequest"}], agent)


def test_cancel_request_without_a_prompt_is_a_mistake_of_the_script(tables: Tables) -> None:
    with pytest.raises(FixtureError, match="no prompt is running"):
        play(tables, [NEW, PROMPT, {"op": "cancelRequest"}])


def test_script_ends_only_when_background_prompts_are_answered(tables: Tables) -> None:
    agent = Agent(**{"session/prompt": lambda _a, _f: []})
    run = start(tables, [NEW, BACKGROUND], agent)
    assert run.waiting() == WaitReply("session/prompt", 2)
    run.carry_out(run.driver.on_line(orjson.dumps(ok({"id": 2}, {"stopReason": "end_turn"}))))
    assert run.is_done


def test_background_prompt_that_fails_is_told_at_once_where_it_was_sent(tables: Tables) -> None:
    agent = Agent(**{"session/prompt": lambda _a, f: [error(f, -1, "boom")]})
    with pytest.raises(DivergenceError) as caught:
        start(tables, [NEW, BACKGROUND, {"op": "waitForFile", "path": "never"}], agent)
    assert str(caught.value).startswith("input.json $.steps[1]: the agent refused")


# Waiting.


def test_wait_for_file(tables: Tables) -> None:
    run = play(tables, [{"op": "waitForFile", "path": "a/b"}])
    assert run.met == [WaitFile("a/b")]
    assert run.met[0].describe() == 'no file "a/b" in the cwd'


def test_waits_for_log_events(tables: Tables) -> None:
    steps = [
        NEW,
        NEW,
        {**PROMPT, "session": 0},
        {**PROMPT, "session": 0},
        {"op": "waitForTurnStart", "session": 0},
        {"op": "waitForTurnEnd", "session": 0, "turn": 1},
        {"op": "waitForSubagentTurnEnd", "count": 2},
        {"op": "waitForEventAfterTurnEnd", "type": "session/title", "session": 0},
        {"op": "waitForTitleAfterTurnEnd"},
    ]
    run = play(tables, steps)
    assert run.met == [
        WaitLogEvent("turn/start", 2, "s1", 0, False, 0),
        WaitLogEvent("turn/end", 1, "s1", 0, False, 0),
        WaitLogEvent("turn/end", 2, "s2", 1, True, 0),
        WaitLogEvent("session/title", 1, "s1", 0, False, 2),
        WaitLogEvent("session/title", 1, "s2", 1, False, 1),
    ]
    assert [wait.describe() for wait in run.met[1:4]] == [
        'no "turn/end" in the log of session "s1"',
        'fewer than 2 "turn/end" in the subagents\' session logs',
        'no "session/title" after the end of turn 2 in the log of session "s1"',
    ]


def test_update_that_came_before_the_wait_counts_and_only_once(tables: Tables) -> None:
    def prompt(_agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        return [chunk("s1", "a"), update("s1", sessionUpdate="plan", entries=[]), chunk("s1", "b")]

    wait = {"op": "waitForUpdate", "sessionUpdate": "agent_message_chunk"}
    steps = [NEW, BACKGROUND, wait, wait, {"op": "waitForUpdate", "sessionUpdate": "plan"}, wait]
    run = start(tables, steps, Agent(**{"session/prompt": prompt}))
    # Two chunks came, so the third wait stands; the order of different kinds does not matter.
    assert isinstance(run.driver.waiting, WaitUpdate)
    assert run.driver.waiting.describe() == "no session/update with sessionUpdate='agent_message_chunk'"
    run.carry_out(run.driver.on_line(orjson.dumps(chunk("s1", "c"))))
    assert run.waiting() == WaitReply("session/prompt", 2)


def test_update_of_an_earlier_turn_does_not_count(tables: Tables) -> None:
    run = start(
        tables,
        [NEW, PROMPT, BACKGROUND, {"op": "waitForUpdate", "sessionUpdate": "agent_message_chunk"}],
        _second_silent(),
    )
    assert isinstance(run.driver.waiting, WaitUpdate)


def _second_silent() -> Agent:
    def prompt(agent: Agent, frame: Frame) -> list[Frame | bytes]:
        if len(agent.sent("session/prompt")) > 1:
            return []
        return [chunk("s1", "x"), ok(frame, {"stopReason": "end_turn"})]

    return Agent(**{"session/prompt": prompt})


@pytest.mark.parametrize(
    ("match", "met"),
    [
        ({"content": {"text": "hello"}}, True),
        ({"content": {"text": "hell"}}, False),
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}}, True),
        ({"content": {"text": None}}, False),
        ({"absent": None}, False),
        ({"n": True}, False),
        ({"n": 1}, True),
    ],
)
def test_update_is_matched_by_the_named_keys(match: Frame, met: bool) -> None:
    frame = chunk("s", "hello")
    frame["params"]["update"]["n"] = 1
    assert WaitUpdate("session/update", match).is_met_by(frame) is met


def test_wait_for_a_request(tables: Tables) -> None:
    def prompt(_agent: Agent, _frame: Frame) -> list[Frame | bytes]:
        return [ask(0, "fs/read_text_file", sessionId="s1", path="/sandbox/a")]

    run = start(
        tables,
        [INIT, NEW, BACKGROUND, {"op": "waitForUpdate", "request": "fs/read_text_file"}],
        Agent(**{"session/prompt": prompt}),
    )
    assert run.waiting() == WaitReply("session/prompt", 3)
    assert WaitUpdate("fs/read_text_file", {}).describe() == 'no "fs/read_text_file"'


def test_settle_is_a_round_trip_that_leaves_no_frame(tables: Tables) -> None:
    for answer in (lambda _a, f: [error(f, -32601, "what?")], lambda _a, f: [ok(f, {})]):
        agent = Agent(**{"_agent_replay/barrier": answer})
        run = play(tables, [NEW, {"op": "settle"}, PROMPT], agent)
        assert [frame["id"] for frame in agent.received] == [1, 2, 3]
        assert [frame.get("id") for frame in run.frames()] == [1, None, 3]
        assert run.report == ([], [], [])
