"""Request keys: how the player tells a changed prompt from a changed order, a side call and an exhausted lane."""

from typing import Any

import orjson
import pytest

from replay.errors import DivergenceError, FixtureError
from replay.script import Lane, ModelRequest, Player, apply_override, derive_lanes, parse_override
from replay.session import read_log

type Row = dict[str, Any]


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def row(kind: str, **data: Any) -> Row:
    return {"type": kind, "data": data}


def header(tools: str = "", system: str = "s") -> Row:
    hashes = {"system": system} | ({"tools": tools} if tools else {})
    return row(
        "request/header", header={"config": {}, "system": "{{system}}"}, reason="initial", hashes=hashes
    )


def said(step: int, key: str, words: str, outcome: dict[str, Any] | None = None) -> list[Row]:
    place = {"turn": 1, "step": step}
    chunks = [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": words}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]
    return [
        row("call/start", **place, call=step, request=key),
        *(row("assistant/chunk", **place, chunk=chunk) for chunk in chunks),
        row("call/end", **place, call=step, outcome=outcome or {"kind": "completed"}),
    ]


def lanes(*logs: list[Row]) -> list[Lane]:
    read = []
    for number, rows in enumerate(logs):
        head: Row = {"type": "session", "version": 0, "id": f"gateway-{number}", "createdAt": 0}
        if number:
            head |= {"parentSession": "gateway-0", "origin": "side-call"}
        name = f"session.{number}.jsonl" if number else "session.jsonl"
        data = b"".join(orjson.dumps(each) + b"\n" for each in (head, *rows))
        read.append(read_log(data, name))
    return derive_lanes(read)


def ask(key: str, *texts: str, system: str = "s", tools: str = "") -> ModelRequest:
    roles = ["user", *["assistant", "user"] * 5]
    said = [{"role": role, "text": words} for role, words in zip(roles, texts, strict=False)]
    request = ModelRequest(messages=[{"role": "system", "text": "S"}, *said])
    request.key = key
    request.hashes = {"system": system} | ({"tools": tools} if tools else {})
    request.conversation = [
        {"role": message["role"], "content": text(message["text"])} for message in request.messages
    ]
    return request


def served(player: Player, request: ModelRequest) -> tuple[str, int]:
    found = player.open(request)
    return found.lane, found.ordinal


def user(words: str) -> Row:
    return row("user/message", role="user", content=text(words))


TALK = [header("t"), user("go"), *said(1, "k1", "one"), user("more"), *said(2, "k2", "two")]


def test_key_of_the_next_call_binds_whatever_the_words_say() -> None:
    player = Player(lanes([user("same"), *said(1, "a", "x")], [user("same"), *said(1, "b", "y")]))
    assert served(player, ask("b", "same")) == ("child 1", 1)
    assert served(player, ask("a", "nothing alike")) == ("parent", 1)


def test_changed_prompt_is_served_in_its_place() -> None:
    player = Player(lanes(TALK, [user("title"), *said(1, "t1", "T")]))
    assert served(player, ask("new", "go")) == ("parent", 1)
    assert served(player, ask("newer", "go", "one", "much more")) == ("parent", 2)


def test_changed_order_names_the_call_that_was_made() -> None:
    with pytest.raises(DivergenceError) as caught:
        Player(lanes(TALK)).open(ask("k2", "go", "one", "more"))
    assert str(caught.value) == (
        'session.jsonl:10: the agent makes the 2nd model call (turn 1, step 2) of lane "parent" '
        "where the recording has the 1st model call (turn 1, step 1) (session.jsonl:4)"
    )


def test_exhausted_lane_names_the_call_that_is_asked_again() -> None:
    player = Player(lanes(TALK))
    player.open(ask("k1", "go"))
    player.open(ask("k2", "go", "one", "more"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("k1", "go"))
    assert str(caught.value).endswith(
        'lane "parent" is exhausted: the agent made a 3rd model call, the recording has 2; '
        'it asks the 1st model call (turn 1, step 1) of lane "parent" again'
    )


def test_exhausted_lane_tells_where_the_nearest_request_differs() -> None:
    player = Player(lanes(TALK))
    player.open(ask("k1", "go"))
    player.open(ask("k2", "go", "one", "more"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("new", "go", "one", "less"))
    assert str(caught.value) == (
        'session.jsonl:10: lane "parent" is exhausted: the agent made a 3rd model call, the recording has 2; nearest: '
        'the 2nd model call (turn 1, step 2); first difference $.messages[3].content[0].text: "more" -> "less"'
    )
    with pytest.raises(DivergenceError, match=r"first difference \$\.messages\[4\]: absent -> "):
        player.open(ask("new", "go", "one", "more", "two", "further"))


def test_placeholder_of_a_recorded_request_stands_for_any_text() -> None:
    talk = [header(), user("in {{uuid:1}} go"), *said(1, "k1", "one")]
    player = Player(lanes(talk))
    player.open(ask("k1", "in 7f go"))
    with pytest.raises(DivergenceError, match=r'content\[0\].text: "in \{\{uuid:1\}\} go" -> "in 7f stop"'):
        player.open(ask("new", "in 7f stop"))
    with pytest.raises(
        DivergenceError, match=r"recording has 1; nearest: the 1st model call \(turn 1, step 1\)$"
    ):
        player.open(ask("new", "in 8a go"))


def test_conversation_that_opens_no_lane_tells_where_the_nearest_differs() -> None:
    player = Player(lanes(TALK, [header(), user("name one fish"), *said(1, "f", "trout")]))
    player.open(ask("k1", "go", tools="t"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("x", "name one bird", system="other"))
    assert str(caught.value) == (
        "session.1.jsonl:4: a conversation makes a model call that opens no recorded lane; nearest: "
        'lane "child 1", first difference $.messages[1].content[0].text: "name one fish" -> "name one bird"'
    )
    with pytest.raises(DivergenceError, match=r'asks the 1st model call .* of lane "parent" again'):
        player.open(ask("k1", "quite another", system="other"))


def test_title_of_a_changed_conversation_is_known_by_its_header() -> None:
    recorded = lanes(TALK, [header(system="namer"), user("a title for: go"), *said(1, "t1", "T")])
    player = Player(recorded)
    assert served(player, ask("x", "name it: go", system="namer")) == ("child 1", 1)
    assert served(player, ask("y", "go", tools="t")) == ("parent", 1)
    player = Player(recorded)
    assert served(player, ask("x", "a title for: walk", system="namer")) == ("child 1", 1)
    assert served(player, ask("y", "walk", tools="t")) == ("parent", 1)


def test_same_words_with_another_system_prompt_are_told_apart() -> None:
    recorded = lanes(TALK, [header(system="router"), user("go"), *said(1, "r", "R")])
    player = Player(recorded)
    assert served(player, ask("x", "go", system="router")) == ("child 1", 1)
    assert served(player, ask("y", "go", tools="t")) == ("parent", 1)


def test_conversations_whose_openings_contain_one_another_are_told_apart() -> None:
    short = [header(), user("do it"), *said(1, "a1", "x"), *said(2, "a2", "xx")]
    long = [header(), user("do it twice"), *said(1, "b1", "y"), *said(2, "b2", "yy")]
    for first, second in ((short, long), (long, short)):
        player = Player(lanes(first, second))
        names = {
            "do it": "parent" if first is short else "child 1",
            "do it twice": "child 1" if first is short else "parent",
        }
        assert served(player, ask("?", "do it twice")) == (names["do it twice"], 1)
        # Its history rewritten, it is still no beginning of the other one.
        assert served(player, ask("?", "do it twice", "shorter")) == (names["do it twice"], 2)
        assert served(player, ask("?", "do it")) == (names["do it"], 1)
        assert served(player, ask("?", "do it", "x", "on")) == (names["do it"], 2)


def test_retry_of_a_failed_call_is_no_first_call_of_its_twin() -> None:
    failed = {"kind": "failed", "message": "hot", "code": "529"}
    first = [header(), user("go"), *said(1, "k", "", failed), *said(2, "k", "after all")]
    twin = [header(), user("go"), *said(1, "k", "other")]
    player = Player(lanes(first, twin), allow_arrival_order=True)
    assert [served(player, ask("k", "go")) for _ in range(3)] == [
        ("parent", 1),
        ("parent", 2),
        ("child 1", 1),
    ]


def test_calls_that_ask_alike_and_are_answered_differently_are_ambiguous() -> None:
    twins = lanes(TALK, *[[header(), user("go"), *said(1, "k", words)] for words in ("x", "y")])
    with pytest.raises(
        DivergenceError, match='fits lanes "child 1" and "child 2", which ask alike but stream'
    ):
        Player(twins).open(ask("k", "go"))
    player = Player(twins, allow_arrival_order=True)
    assert [served(player, ask("k", "go"))[0] for _ in "xy"] == ["child 1", "child 2"]


def test_override_changes_answers_and_no_keys() -> None:
    patch = {
        "patches": [
            {
                "at": 0,
                "entry": {"kind": "throw", "chunks": [], "message": "m", "code": "529", "retryAfterMs": 7},
            }
        ]
    }
    patched = apply_override(lanes(TALK), parse_override(orjson.dumps(patch), "replay.override.json"))
    assert [call.key for call in patched[0].calls] == ["k1", "k2"]
    assert patched[0].calls[0].entry.outcome == {
        "kind": "failed", "message": "m", "code": "529", "retryAfterMs": 7,
    }  # fmt: skip
    bare = [{"kind": "hang"}] * 3
    replaced = apply_override(lanes(TALK), parse_override(orjson.dumps(bare), "replay.override.json"))
    assert [call.key for call in replaced[0].calls] == ["k1", "k2", ""]
    assert replaced[0].hashes == {"system": "s", "tools": "t"}


@pytest.mark.parametrize("value", [-1, 1.5, "1", True, None])
def test_retry_after_that_is_no_time_is_refused(value: Any) -> None:
    entry = {"kind": "throw", "chunks": [], "message": "m", "code": "529", "retryAfterMs": value}
    with pytest.raises(FixtureError, match=r"\[0\].retryAfterMs: must be a whole number from 0"):
        parse_override(orjson.dumps([entry]), "replay.override.json")


def test_recorded_failure_keeps_when_to_ask_again() -> None:
    failed = {"kind": "failed", "message": "hot", "code": "429", "retryAfterMs": 1500}
    (lane,) = lanes([user("go"), *said(1, "k", "", failed)])
    assert lane.calls[0].entry.outcome == failed


def test_two_logs_that_begin_with_each_other_are_no_endless_search() -> None:
    def begins_with(other: str) -> Row:
        return row("request/fork", session=other, call=1, messages=1)

    both = lanes(
        [header("t"), begins_with("gateway-1"), user("go"), *said(1, "k1", "one")],
        [header("t"), begins_with("gateway-0"), user("on"), *said(1, "k2", "two")],
    )
    player = Player(both)
    served(player, ask("k1", "go", tools="t"))
    served(player, ask("k2", "on", tools="t"))
    with pytest.raises(DivergenceError, match="first difference"):
        player.open(ask("k3", "go", "one", "less", tools="t"))
