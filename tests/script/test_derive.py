from typing import Any

import pytest

from replay.errors import FixtureError
from replay.script import Chunks, Hang, Lane, Throw, Unfinished, check_lanes, derive_lanes, nth
from replay.session import SessionLog, read_log
from tests.session.log_lines import answer, begin, chunk, delta, end, finish, header, log_bytes, mark, user


def log(*events: dict[str, Any], file: str = "session.jsonl", **head: Any) -> SessionLog:
    return read_log(log_bytes(*events, head=header(**head)), file)


def only(*events: dict[str, Any], **head: Any) -> Lane:
    (lane,) = derive_lanes([log(*events, **head)])
    return lane


def said(lane: Lane) -> list[str]:
    return ["".join(piece["text"] for piece in call.entry.expand() if "text" in piece) for call in lane.calls]


PACKED = {
    "type": "text-chunks",
    "data": {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"]},
}
STEP_END = {"type": "step/end", "data": {"turn": 1, "step": 1}}
COMPLETED: dict[str, Any] = {"outcome": {"kind": "completed"}}


def test_a_log_without_marks_is_split_at_each_finish() -> None:
    lane = only(user("hi"), *answer("one"), *answer("two"), *answer("three", step=2))
    assert said(lane) == ["one", "two", "three"]
    assert [(call.ordinal, call.line, call.turn, call.step) for call in lane.calls] == [
        (1, 3, 1, 1),
        (2, 7, 1, 1),
        (3, 11, 1, 2),
    ]
    assert all(isinstance(call.entry, Chunks) for call in lane.calls)


@pytest.mark.parametrize("place", [{"turn": 257, "step": 1}, {"turn": 1, "step": 100_000}])
def test_a_call_of_a_long_session_is_one_call(place: dict[str, int]) -> None:
    lane = only(user("hi"), *answer("one", **place), *answer("two", **place))
    assert said(lane) == ["one", "two"]
    assert all(isinstance(call.entry, Chunks) for call in lane.calls)


def test_a_finish_alone_is_a_call() -> None:
    lane = only(finish("error"), {"type": "llm/retry", "data": {}}, *answer("recovered"))
    assert [len(call.entry.chunks) for call in lane.calls] == [1, 4]


def test_packed_runs_are_served_one_by_one() -> None:
    lane = only(begin(), PACKED, end("abc"), finish())
    texts = [{"type": "text-delta", "index": 0, "text": text} for text in "abc"]
    assert lane.calls[0].entry.chunks[1:4] == texts


def test_other_rows_between_chunks_are_no_chunks() -> None:
    lane = only(
        begin(), {"type": "session/title", "data": {"title": "x"}}, user("aside"), delta("x"), finish()
    )
    assert [piece["type"] for piece in lane.calls[0].entry.chunks] == ["block-start", "text-delta", "finish"]


@pytest.mark.parametrize(
    "after",
    [
        [],
        [STEP_END],
        [{"type": "turn/end", "data": {"turn": 1}}],
        [{"type": "assistant/message", "data": {"turn": 1, "step": 1, "message": {}}}],
        answer("next", step=2),
        answer("next", turn=2),
        [begin(), delta("again"), finish()],
    ],
    ids=["end of file", "step/end", "turn/end", "message", "next step", "next turn", "block starts anew"],
)
def test_a_call_without_finish_is_kept_and_named(after: list[dict[str, Any]]) -> None:
    lane = only(*answer("before", step=0), user("hi"), begin(), delta("part"), *after)
    assert isinstance(lane.calls[1].entry, Unfinished)
    with pytest.raises(FixtureError) as caught:
        check_lanes([lane])
    assert (
        str(caught.value) == "session.jsonl:7: 2nd model call (turn 1, step 1) streams 2 chunks, never ends"
    )
    assert caught.value.fix == (
        'in replay.override.json (at counts from 0): {"patches":[{"at":1,"entry":{"kind":"hang"}}]}'
    )


def test_chunks_after_the_message_of_their_step_are_a_call_of_their_own() -> None:
    message = {"type": "assistant/message", "data": {"turn": 1, "step": 1, "message": {}}}
    lane = only(begin(), delta("part"), message, begin(1), finish())
    assert [(call.entry.kind, len(call.entry.chunks)) for call in lane.calls] == [
        ("unfinished", 2),
        ("chunks", 2),
    ]


def test_the_fix_for_a_child_names_its_lane() -> None:
    logs = [log(*answer("x")), log(begin(), file="a/session.1.jsonl", id="s-2", parentSession="s-1")]
    with pytest.raises(FixtureError) as caught:
        check_lanes(derive_lanes(logs))
    assert str(caught.value).startswith(
        "a/session.1.jsonl:2: 1st model call (turn 1, step 1) streams 1 chunk,"
    )
    assert '{"lane":"child 1","at":0,' in caught.value.fix


def test_marks_say_where_calls_begin_and_how_they_end() -> None:
    failed: dict[str, Any] = {"outcome": {"kind": "failed", "message": "overloaded", "code": "529"}}
    lane = only(
        mark("start", 1), mark("end", 1, **failed),
        mark("start", 2), begin(), delta("part"), mark("end", 2, **failed),
        mark("start", 3), begin(), delta("half"), mark("end", 3, outcome={"kind": "cancelled"}),
        mark("start", 4), *answer("whole"), finish(), mark("end", 4, **COMPLETED),
        mark("start", 5), begin(), PACKED, mark("end", 5, **COMPLETED),
    )  # fmt: skip
    entries = [call.entry for call in lane.calls]
    assert entries[0] == Throw([], "overloaded", "529")
    assert entries[1] == Throw(
        [begin()["data"]["chunk"], delta("part")["data"]["chunk"]], "overloaded", "529"
    )
    assert entries[2] == Hang([begin()["data"]["chunk"], delta("half")["data"]["chunk"]])
    assert isinstance(entries[3], Chunks)
    assert [piece["type"] for piece in entries[3].expand()][-2:] == ["finish", "finish"]
    assert len(entries[4].chunks) == 4
    assert [call.line for call in lane.calls] == [2, 4, 8, 12, 19]


def test_marked_calls_of_different_steps_may_overlap() -> None:
    one: dict[str, Any] = {"turn": 1, "step": 1}
    two: dict[str, Any] = {"turn": 1, "step": 2}
    lane = only(
        mark("start", 1, **one), begin(**one), mark("start", 2, **two), begin(**two), delta("b", **two), delta("a", **one),
        finish(**two), mark("end", 2, **two, **COMPLETED), finish(**one), mark("end", 1, **one, **COMPLETED),
    )  # fmt: skip
    assert said(lane) == ["a", "b"]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([mark("start", 1), mark("start", 2)], "session.jsonl:3 $.data: begins while the call of line 2"),
        (
            [mark("start", 1), mark("end", 2, **COMPLETED)],
            "session.jsonl:3 $.data.call: ends call 2, which is not open",
        ),
        (
            [mark("end", 1, **COMPLETED)],
            "session.jsonl:2 $.data.call: ends a model call that no call/start began",
        ),
        (
            [mark("start", 1), mark("end", 1, **COMPLETED), mark("start", 1)],
            "session.jsonl:4 $.data.call: must be more than 1, the call before it, not 1",
        ),
        (
            [mark("start", 1), mark("end", 1, **COMPLETED), *answer("x")],
            "session.jsonl:4: chunks of turn 1, step 1 stand outside every marked model call",
        ),
    ],
)
def test_marks_that_do_not_fit_are_refused(events: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        only(*events)
    assert str(caught.value).startswith(message)


def test_a_marked_call_that_never_ends_needs_an_override() -> None:
    lane = only(mark("start", 1), begin())
    with pytest.raises(FixtureError, match=r"session.jsonl:2: 1st model call .* streams 1 chunk, never ends"):
        check_lanes([lane])


def test_a_fork_does_not_repeat_what_it_inherited() -> None:
    seed = [user("remember X"), begin(), PACKED, end("abc"), finish()]
    own = [{"type": "session/end-seed", "data": {}}, user("what was it?"), *answer("X", turn=2)]
    parent = log(*seed)
    child = log(*seed, *own, file="session.1.jsonl", id="s-2", parentSession="s-1", seedLength=7)
    lanes = derive_lanes([parent, child])
    assert [(lane.name, lane.parent_lane, lane.opening) for lane in lanes] == [
        ("parent", None, ["remember X"]),
        ("child 1", "parent", ["what was it?"]),
    ]
    assert said(lanes[1]) == ["X"]


@pytest.mark.parametrize(
    ("length", "message"),
    [(3, "is 3, which ends inside the packed row on line 4"), (9, "is 9, but the log has only 7 events")],
)
def test_a_seed_that_ends_nowhere_is_refused(length: int, message: str) -> None:
    with pytest.raises(FixtureError) as caught:
        only(user("x"), begin(), PACKED, end("abc"), finish(), seedLength=length)
    assert str(caught.value) == f"session.jsonl:1 $.seedLength: {message}"


def test_lanes_are_named_after_their_files_and_know_their_parents() -> None:
    logs = [
        log(parentSession="not recorded"),
        log(file="x/session.1.jsonl", id="s-2", parentSession="s-1"),
        log(file="x/session.2.jsonl", id="s-3", parentSession="s-2"),
        log(file="x/session.3.jsonl", id="s-4", parentSession="unknown"),
        log(file="x/session.4.jsonl", id="s-5"),
    ]
    found = [(lane.name, lane.parent_lane) for lane in derive_lanes(logs)]
    assert found == [
        ("parent", None),
        ("child 1", "parent"),
        ("child 2", "child 1"),
        ("child 3", "parent"),
        ("child 4", None),
    ]


def test_ordinals_are_written_as_people_do() -> None:
    found = [nth(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)]
    assert found == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]


def test_two_logs_of_one_session_are_refused() -> None:
    with pytest.raises(
        FixtureError, match=r'session.1.jsonl:1 \$.id: the session id "s-1" is also that of lane "parent"'
    ):
        derive_lanes([log(), log(file="session.1.jsonl")])


def test_the_opening_is_what_the_user_said_before_the_first_call() -> None:
    plugin = user("context", source={"kind": "plugin"})
    assert only(user("one"), plugin, user("two"), *answer("x"), user("later")).opening == ["one", "two"]
    assert only(plugin, *answer("x")).opening == ["context"]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([begin(), delta("ab"), end("aXc")], '$.data.chunk.block.text: contradicts the deltas of block 0 from the 2nd character: "Xc", the deltas say "b"'),
        ([begin(), PACKED, end("ab")], '$.data.chunk.block.text: contradicts the deltas of block 0 from the 3rd character: "", the deltas say "c"'),
        ([begin(kind="reasoning"), delta("x")], "$.data.chunk: is a text-delta for block 0, which is a reasoning block"),
        ([begin(kind="reasoning"), PACKED], "$.data: is a text-delta for block 0, which is a reasoning block"),
        ([begin(), end(""), delta("x")], "$.data.chunk: is a text-delta for block 0, which is not open"),
        ([begin(), end(""), end("")], "$.data.chunk: ends block 0, which is not open"),
        ([begin(kind="reasoning"), end("")], '$.data.chunk.block.type: is "text", but block 0 began as "reasoning"'),
    ],
)  # fmt: skip
def test_only_the_strict_check_compares_blocks_with_their_deltas(
    events: list[dict[str, Any]], message: str
) -> None:
    found = log(*events, finish())
    derive_lanes([found])
    with pytest.raises(FixtureError) as caught:
        derive_lanes([found], strict=True)
    assert str(caught.value).partition(" ")[2] == message


def test_a_block_that_came_whole_contradicts_nothing() -> None:
    call = {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}
    whole = chunk({"type": "block-end", "index": 1, "block": call})
    derive_lanes([log(begin(), end("whole"), begin(1, "tool-call"), whole, finish())], strict=True)
