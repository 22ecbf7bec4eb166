"""Frames of codex app-server in, provider events out."""

from typing import Any

import pytest

from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.normalisers.codex import CodexNormaliser
from scenarios.reference_orchestrator.providers import (
    Item,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    ProviderEvent,
    ThreadOpened,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)

Frame = dict[str, Any]
MESSAGE = {"type": "agentMessage", "id": "m", "text": ""}


def opened() -> CodexNormaliser:
    normaliser = CodexNormaliser()
    normaliser.sent({"id": 1, "method": "thread/resume", "params": {"threadId": "T"}})
    events = normaliser.received({"id": 1, "result": {"thread": {"id": "T"}}})
    assert list(events) == [ThreadOpened("T", True)]
    return normaliser


def notice(method: str, turn: str = "t", **params: Any) -> Frame:
    return {"method": method, "params": {"threadId": "T", "turnId": turn, **params}}


def turn(method: str, turn_id: str = "t", status: str = "inProgress") -> Frame:
    return {"method": method, "params": {"threadId": "T", "turn": {"id": turn_id, "status": status}}}


def running() -> CodexNormaliser:
    normaliser = opened()
    normaliser.sent({"id": 2, "method": "turn/start", "params": {"threadId": "T", "input": []}})
    assert heard(normaliser, turn("turn/started")) == [TurnStarted("t")]
    return normaliser


def usage(turn_id: str) -> Frame:
    return notice("thread/tokenUsage/updated", turn_id, tokenUsage={"total": {"totalTokens": 3}})


def heard(normaliser: CodexNormaliser, *frames: Frame) -> list[ProviderEvent]:
    return [event for frame in frames for event in normaliser.received(frame)]


def test_a_message_is_its_start_its_pieces_and_its_whole() -> None:
    events = heard(
        running(),
        notice("item/started", item=MESSAGE),
        notice("item/agentMessage/delta", itemId="m", delta="a"),
        notice("item/completed", item=MESSAGE | {"text": "a"}),
        turn("turn/completed", status="completed"),
    )
    assert events == [
        ItemStarted(Item("m", "agent_message", text="")),
        ItemDelta("m", "a"),
        ItemCompleted(Item("m", "agent_message", text="a")),
        TurnEnded("t", "completed"),
    ]


def test_an_item_that_is_started_again_is_told_anew() -> None:
    events = heard(
        running(),
        notice("item/agentMessage/delta", itemId="m", delta="a"),
        notice("item/started", item=MESSAGE | {"text": "a"}),
    )
    assert events == [
        ItemStarted(Item("m", "agent_message")),
        ItemDelta("m", "a"),
        ItemUpdated(Item("m", "agent_message", text="a")),
    ]


@pytest.mark.parametrize("first", ["response", "notification"])
def test_a_response_says_nothing_of_the_turn_that_its_notification_says(first: str) -> None:
    normaliser = opened()
    normaliser.sent({"id": 2, "method": "turn/start", "params": {"threadId": "T", "input": []}})
    frames = [{"id": 2, "result": {"turn": {"id": "t"}}}, turn("turn/started")]
    assert heard(normaliser, *(frames if first == "response" else frames[::-1])) == [TurnStarted("t")]


def test_a_response_and_its_notification_mean_one_turn() -> None:
    normaliser = opened()
    normaliser.sent({"id": 2, "method": "turn/start", "params": {"threadId": "T", "input": []}})
    normaliser.received({"id": 2, "result": {"turn": {"id": "t"}}})
    with pytest.raises(ProviderError, match="where t was to start"):
        normaliser.received(turn("turn/started", "other"))


def test_a_steering_goes_to_a_turn_that_started() -> None:
    normaliser = running()
    for number, turn_id in ((3, "t"), (4, "other")):
        normaliser.sent({"id": number, "method": "turn/steer", "params": {"threadId": "T", "input": []}})
        frame = {"id": number, "result": {"turnId": turn_id}}
        if turn_id == "t":
            assert heard(normaliser, frame) == []
        else:
            with pytest.raises(ProviderError, match="never started"):
                normaliser.received(frame)


def test_usage_counts_for_a_turn_of_this_session() -> None:
    normaliser = running()
    assert heard(normaliser, usage("before"), usage("t")) == [UsageUpdated({"totalTokens": 3})]


@pytest.mark.parametrize(
    "frame",
    [
        {"id": 77, "result": {}},
        notice("item/started", "other", item=MESSAGE),
        notice("item/agentMessage/delta", "other", itemId="m", delta="a"),
        notice("turn/plan/updated", "other", plan=[]),
    ],
)
def test_what_the_protocol_forbids_is_an_error(frame: Frame) -> None:
    with pytest.raises(ProviderError):
        heard(running(), frame)


def test_an_end_names_a_turn_that_started() -> None:
    with pytest.raises(ProviderError, match=r"turn/completed of the turn other, which never started"):
        running().received(turn("turn/completed", "other"))
