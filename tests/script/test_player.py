from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import DivergenceError, FixtureError
from replay.script import (
    Call,
    Chunks,
    Lane,
    ModelRequest,
    Player,
    Throw,
    Unfinished,
    check_consumption,
    journalled_divergence,
)


def answer(text: str, reason: str = "stop") -> list[dict[str, Any]]:
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        {"type": "finish", "reason": {"kind": reason}},
    ]


def lane(name: str, opening: str, *answers: str, parent: str | None = None) -> Lane:
    file = "session.jsonl" if name == "parent" else f"session.{name.split()[1]}.jsonl"
    calls = [Call(at, Chunks(answer(text)), file, 10 * at, 1, at) for at, text in enumerate(answers, 1)]
    return Lane(name, file, name, parent, [opening] if opening else [], calls)


def ask(*texts: str, session: str | None = None, parent: str | None = None) -> ModelRequest:
    """A conversation: the user's first words, then assistant and tool in turn."""
    roles = ["user", *["assistant", "tool"] * 20]
    messages = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=False)]
    return ModelRequest(session, parent, [{"role": "system", "text": "sys"}, *messages])


def spoke(player: Player, request: ModelRequest) -> tuple[str, int, str]:
    served = player.open(request)
    return served.lane, served.ordinal, served.entry.chunks[1]["block"]["text"]


FAMILY = [
    lane("parent", "do it", "one", "two"),
    lane("child 1", "do the first half", "c1 one", "c1 two", parent="parent"),
    lane("child 2", "do the second half", "c2 one", "c2 two", parent="parent"),
]


def test_a_known_session_goes_on_in_its_lane_whatever_it_says() -> None:
    player = Player(FAMILY)
    assert spoke(player, ask("do it", session="p")) == ("parent", 1, "one")
    assert spoke(player, ask("do the second half", session="x", parent="p")) == ("child 2", 1, "c2 one")
    assert spoke(player, ask("do the first half", session="p")) == ("parent", 2, "two")
    assert spoke(player, ask("?", session="x")) == ("child 2", 2, "c2 two")


def test_an_exhausted_lane_names_itself_and_the_nearest_recording() -> None:
    lines: list[dict[str, Any]] = []
    player = Player([lane("parent", "hi", "one")], lines.append)
    player.open(ask("hi", session="p"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("hi", "one", "result", session="p"))
    assert str(caught.value) == (
        'session.jsonl:10: lane "parent" is exhausted: the agent made a 2nd model call, the recording has 1; '
        "nearest: the 1st model call (turn 1, step 1)"
    )
    assert "bazel run //:record" in caught.value.fix
    assert lines == [
        {"kind": "call", "lane": "parent", "ordinal": 1, "session": "p"},
        {
            "kind": "diverged",
            "message": caught.value.what,
            "file": "session.jsonl",
            "line": 10,
            "path": "",
            "fix": caught.value.fix,
        },
    ]
    again = journalled_divergence(lines)
    assert again is not None and str(again) == str(caught.value)


@pytest.mark.parametrize("session", [None, "p"])
def test_a_recording_without_calls_says_so(session: str | None) -> None:
    with pytest.raises(
        DivergenceError,
        match='lane "parent" is exhausted: the agent made a 1st model call, the recording has 0',
    ):
        Player([lane("parent", "")]).open(ask("hi", session=session))


def test_a_session_that_was_not_recorded_is_told_what_is_nearest() -> None:
    player = Player(FAMILY)
    player.open(ask("do it", session="p"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("do the first third", session="x", parent="p"))
    assert str(caught.value) == (
        "session.1.jsonl:10: a child session makes a model call that opens no recorded lane; "
        'nearest: lane "child 1", recorded "do the first half", live "do the first third"'
    )


def test_a_session_too_many_is_refused() -> None:
    player = Player([lane("parent", "hi", "one", "two")])
    player.open(ask("hi", session="p"))
    with pytest.raises(
        DivergenceError, match=r'a session makes a model call that no lane is left for \(lanes: "parent"\)'
    ):
        player.open(ask("hi", session="x"))


def test_children_are_bound_below_their_parent_only() -> None:
    lanes = [
        lane("parent", "do it", "one"),
        lane("child 1", "same words", "of the parent", parent="parent"),
        lane("child 2", "same words", "of the child", parent="child 1"),
    ]
    player = Player(lanes)
    player.open(ask("do it", session="p"))
    assert spoke(player, ask("same words", session="a", parent="p"))[0] == "child 1"
    assert spoke(player, ask("same words", session="b", parent="a"))[0] == "child 2"


def test_the_first_conversation_is_the_parents_however_its_prompt_is_dressed() -> None:
    assert spoke(Player(FAMILY), ask("<query>do it</query>", session="p"))[0] == "parent"
    assert spoke(Player(FAMILY), ask("something else", session="p"))[0] == "parent"


def test_a_placeholder_of_the_fixture_stands_for_any_text() -> None:
    lanes = [
        lane("parent", "go", "x"),
        lane("child 1", "read {{cwd}}/a of {{uuid:1}}.", "y", parent="parent"),
    ]
    player = Player(lanes)
    player.open(ask("go", session="p"))
    assert spoke(player, ask("read /tmp/x/a of 0d9f-11.", session="c", parent="p"))[0] == "child 1"
    player = Player(lanes)
    player.open(ask("go", session="p"))
    with pytest.raises(DivergenceError):
        player.open(ask("read /tmp/x/b of 0d9f-11.", session="c", parent="p"))


TWINS = [
    lane("parent", "go", "x"),
    lane("child 1", "same", "left", parent="parent"),
    lane("child 2", "same", "right", parent="parent"),
]


def test_lanes_that_nothing_tells_apart_are_refused_unless_arrival_decides() -> None:
    player = Player(TWINS)
    player.open(ask("go", session="p"))
    with pytest.raises(DivergenceError) as caught:
        player.open(ask("same", session="a", parent="p"))
    assert str(caught.value) == (
        'session.1.jsonl:10: the request fits lanes "child 1" and "child 2", which open alike but stream different answers'
    )
    player = Player(TWINS, allow_arrival_order=True)
    player.open(ask("go", session="p"))
    assert [spoke(player, ask("same", session=name, parent="p"))[0] for name in "ab"] == [
        "child 1",
        "child 2",
    ]


def test_twins_with_one_script_need_no_telling_apart() -> None:
    twins = [TWINS[0], *[lane(f"child {k}", "same", "both", parent="parent") for k in (1, 2)]]
    player = Player(twins)
    player.open(ask("go", session="p"))
    assert [spoke(player, ask("same", session=name, parent="p"))[0] for name in "ab"] == [
        "child 1",
        "child 2",
    ]


def test_without_session_ids_the_conversation_tells_lanes_apart() -> None:
    player = Player(FAMILY)
    assert spoke(player, ask("do it")) == ("parent", 1, "one")
    assert spoke(player, ask("do the second half")) == ("child 2", 1, "c2 one")
    assert spoke(player, ask("do the first half")) == ("child 1", 1, "c1 one")
    assert spoke(player, ask("do the second half", "c2 one", "ok")) == ("child 2", 2, "c2 two")
    assert spoke(player, ask("do it", "one", "done")) == ("parent", 2, "two")
    assert spoke(player, ask("do the first half", "c1 one", "ok")) == ("child 1", 2, "c1 two")


def test_a_rewritten_history_is_known_by_the_answer_in_it() -> None:
    player = Player(FAMILY)
    player.open(ask("do it"))
    player.open(ask("do the first half"))
    assert spoke(player, ask("summary: halves", "c1 one", "ok"))[0] == "child 1"


def test_a_retry_after_a_failure_stays_in_its_lane() -> None:
    failing = lane("child 1", "same", "after all", parent="parent")
    failing.calls.insert(0, Call(1, Throw([], "overloaded", "529"), failing.file, 5, 1, 1))
    failing.calls[1].ordinal = 2
    player = Player(
        [TWINS[0], failing, lane("child 2", "same", "other", parent="parent")], allow_arrival_order=True
    )
    player.open(ask("go"))
    assert isinstance(player.open(ask("same")).entry, Throw)
    assert spoke(player, ask("same")) == ("child 1", 2, "after all")
    assert spoke(player, ask("same"))[0] == "child 2"


def test_a_fork_without_a_session_id_is_not_taken_for_its_parent() -> None:
    lanes = [lane("parent", "remember", "one", "two"), lane("child 1", "what was it", "it", parent="parent")]
    player = Player(lanes)
    player.open(ask("remember"))
    fork = ask("remember", "one")
    fork.messages.append({"role": "user", "text": "what was it"})
    assert spoke(player, fork)[0] == "child 1"
    assert spoke(player, ask("remember", "one", "it")) == ("parent", 2, "two")


def test_tool_arguments_are_known_however_the_wire_writes_them() -> None:
    block = {"type": "tool-call", "id": "c", "name": "read", "arguments": '{"path":"a b","deep":[{"x":"é"}]}'}
    chunks: list[dict[str, Any]] = [
        {"type": "block-start", "index": 0, "blockType": "tool-call"},
        {"type": "block-end", "index": 0, "block": block},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
    ]
    lanes = [lane("parent", "a", "x"), lane("child 1", "b", "y", "z", parent="parent")]
    lanes[1].calls[0] = Call(1, Chunks(chunks), "session.1.jsonl", 5, 1, 1)
    player = Player(lanes)
    player.open(ask("a"))
    player.open(ask("b"))
    assert spoke(player, ask("rewritten", '{ "deep": [ {"x": "é"} ], "path": "a b" }', "ok")) == (
        "child 1",
        2,
        "z",
    )


def test_a_player_goes_on_where_the_journal_of_an_earlier_life_ends() -> None:
    lines: list[dict[str, Any]] = []
    player = Player(FAMILY, lines.append)
    player.open(ask("do it", session="p"))
    player.open(ask("do the first half", session="c", parent="p"))
    second = Player(FAMILY, lines.append, history=list(lines))
    assert spoke(second, ask("anything", session="c"))[:2] == ("child 1", 2)
    assert spoke(second, ask("anything", session="p"))[:2] == ("parent", 2)
    assert check_consumption(FAMILY, lines) == [
        'lane "child 2": 2 of 2 model calls were never made, first the 1st model call (turn 1, step 1) at session.2.jsonl:10'
    ]


def test_a_session_that_is_loaded_under_a_new_id_is_known_by_its_conversation() -> None:
    lines: list[dict[str, Any]] = []
    Player(FAMILY, lines.append).open(ask("do it", session="old"))
    player = Player(FAMILY, history=lines)
    assert spoke(player, ask("do it", "one", "go on", session="new"))[:2] == ("parent", 2)
    assert player.unconsumed()[0].startswith('lane "child 1"')


@pytest.mark.parametrize(
    "line",
    [
        {"lane": "child 9", "ordinal": 1},
        {"lane": "parent", "ordinal": 2},
        {"lane": "child 1", "ordinal": "1"},
        {},
    ],
)
def test_a_journal_of_another_recording_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(FixtureError, match="journal of this run does not fit"):
        Player(FAMILY, history=[{"kind": "call", **line}])


def test_a_player_refuses_an_unfinished_call_at_once() -> None:
    broken = lane("parent", "x", "one")
    broken.calls[0] = Call(1, Unfinished([]), "session.jsonl", 3, 1, 1)
    with pytest.raises(FixtureError, match="streams 0 chunks, never ends"):
        Player([broken])


def test_consumption_tells_calls_left_over_served_twice_and_out_of_order() -> None:
    lanes = [lane("parent", "x", "one", "two")]

    def calls(*ordinals: int, name: str = "parent") -> list[dict[str, Any]]:
        return [{"kind": "call", "lane": name, "ordinal": ordinal, "session": None} for ordinal in ordinals]

    assert check_consumption(lanes, calls(1, 2)) == []
    assert check_consumption(lanes, calls(1)) == [
        'lane "parent": 1 of 2 model calls were never made, first the 2nd model call (turn 1, step 2) at session.jsonl:20'
    ]
    assert check_consumption(lanes, calls(1, 1, 2)) == [
        'lane "parent" was served call 1 where the 2nd was due'
    ]
    assert check_consumption(lanes, calls(1, 2, 3)) == ['lane "parent" has 2 calls, 3 were served']
    assert check_consumption(lanes, calls(1, 2) + calls(1, name="child 3")) == [
        'the journal names lane "child 3", which the recording lacks'
    ]


@given(st.permutations(["p", "p", "p", "a", "a", "b", "b", "b", "b"]), st.booleans())
def test_any_interleaving_keeps_the_order_of_each_lane(order: list[str], has_sessions: bool) -> None:
    counts = {name: order.count(name) for name in "pab"}
    words = {"p": "alpha", "a": "beta", "b": "gamma"}
    lanes = [
        lane("parent", "alpha", *[f"alpha {at}" for at in range(counts["p"])]),
        lane("child 1", "beta", *[f"beta {at}" for at in range(counts["a"])], parent="parent"),
        lane("child 2", "gamma", *[f"gamma {at}" for at in range(counts["b"])], parent="parent"),
    ]
    lines: list[dict[str, Any]] = []
    player = Player(lanes, lines.append)
    talk = {name: [words[name]] for name in words}
    for name in order:
        session = {"session": name} if has_sessions else {}
        _, _, text = spoke(player, ask(*talk[name], **session))
        assert text == f"{words[name]} {len(talk[name]) // 2}"
        talk[name] += [text, f"result {len(talk[name])}"]
    assert player.unconsumed() == []
    assert check_consumption(lanes, lines) == []
