"""The gateway's session logs: they hold what was asked once, and give the served lanes back."""

from itertools import permutations
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.models.call_log import ModelCall, assign_lanes, log_ids, log_rows, plain_key, request_rows
from replay.models.wire import WireRequest
from replay.script import derive_lanes
from replay.session import read_log
from tests.models.recording import said, tool_call

TOOLS = [{"type": "function", "function": {"name": "read"}}]


def block(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": block(text), **more}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": block(text)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(call_id: str, text: str) -> dict[str, Any]:
    content = [{"type": "tool-result", "toolCallId": call_id, "content": block(text)}]
    return {"role": "tool", "content": content}


def call(
    *messages: dict[str, Any],
    says: list[dict[str, Any]] | None = None,
    lane: str = "parent",
    ordinal: int = 1,
    tools: list[Any] = TOOLS,
    outcome: dict[str, Any] | None = None,
    **options: Any,
) -> ModelCall:
    made = ModelCall(WireRequest("m", list(messages), tools, options, True, False), plain_key)
    made.lane, made.ordinal = lane, ordinal
    made.chunks = said("ok") if says is None else says
    made.outcome = outcome or {"kind": "completed"}
    return made


SYSTEM = system("You are kind.")
READ = {"type": "tool-call", "id": "c1", "name": "read", "arguments": '{"path":"a"}'}
FIRST = call(SYSTEM, user("go"), says=tool_call(("c1", "read", '{"path":"a"}')))
# The wire writes arguments with a space.
BACK = assistant({**READ, "arguments": '{"path": "a"}'})
SECOND = call(SYSTEM, user("go"), BACK, result("c1", "text of a"), says=said("done"), ordinal=2)
THIRD = call(
    SYSTEM,
    user("go"),
    BACK,
    result("c1", "text of a"),
    assistant(*block("done")),
    user("more"),
    ordinal=3,
)


def kinds(rows: list[Any]) -> list[str]:
    return [row["type"] for row in rows if row["type"] != "assistant/chunk"]


def rows_of(kind: str, rows: list[Any]) -> list[Any]:
    return [row["data"] for row in rows if row["type"] == kind]


def derived(logs: list[list[Any]]) -> list[Any]:
    names = ["session.jsonl", *(f"session.{number}.jsonl" for number in range(1, len(logs)))]
    data = [b"".join(orjson.dumps(row) + b"\n" for row in rows) for rows in logs]
    return derive_lanes([read_log(text, name) for text, name in zip(data, names, strict=True)], strict=True)


def test_log_holds_each_message_once_in_its_place():
    (rows,) = log_rows([FIRST, SECOND, THIRD], "/w")
    assert kinds(rows) == [
        *("session", "turn/start", "user/message", "request/header", "call/start", "call/end"),
        *("tool/result", "call/start", "call/end"),
        *("turn/start", "user/message", "call/start", "call/end"),
    ]
    assert rows[0] == {"type": "session", "version": 0, "id": "gateway", "createdAt": 0, "cwd": "/w"}
    header = rows_of("request/header", rows)[0]
    assert header["header"] == {
        "config": {"model": "m", "stream": True}, "system": "You are kind.", "tools": TOOLS,
    }  # fmt: skip
    assert header["reason"] == "initial" and sorted(header["hashes"]) == ["system", "tools"]
    places = [(row["turn"], row["step"], row["call"]) for row in rows_of("call/start", rows)]
    assert places == [(1, 1, 1), (1, 2, 2), (2, 1, 3)]
    assert [row["request"] for row in rows_of("call/start", rows)] == [FIRST.key, SECOND.key, THIRD.key]
    told = rows_of("tool/result", rows)[0]
    assert (told["turn"], told["step"], told["message"]["source"]) == (1, 1, {"kind": "tool", "callId": "c1"})
    data = orjson.dumps(rows)
    for text in (b"You are kind.", b"text of a", b'"text":"go"', b'"text":"more"'):
        assert data.count(text) == 1


def test_derived_lanes_are_those_that_were_served():
    side = call(user("a title for: go"), says=said("Going"), lane="child 1", tools=[])
    failed = call(
        SYSTEM,
        user("other"),
        says=said("par")[:2],
        lane="child 2",
        outcome={"kind": "failed", "message": "hot", "code": "529", "retryAfterMs": 7},
    )
    hung = call(SYSTEM, user("other"), says=[], lane="child 2", ordinal=2, outcome={"kind": "cancelled"})
    calls = [FIRST, SECOND, side, failed, hung]
    lanes = derived(log_rows(calls, "/w"))
    assert [(lane.name, lane.parent_lane, lane.opening) for lane in lanes] == [
        ("parent", None, ["go"]),
        ("child 1", "parent", ["a title for: go"]),
        ("child 2", "parent", ["other"]),
    ]
    for made in calls:
        lane = next(lane for lane in lanes if lane.name == made.lane)
        again = lane.calls[made.ordinal - 1]
        assert (again.key, again.entry.chunks, again.entry.outcome) == (made.key, made.chunks, made.outcome)
    assert lanes[0].hashes == {part: FIRST.hashes[part] for part in ("system", "tools")}
    assert lanes[1].hashes == {}
    assert log_ids(3) == [lane.session for lane in lanes] == ["gateway", "gateway-1", "gateway-2"]


def test_extra_call_is_a_side_call_and_a_fork_says_where_it_begins():
    title = call(user("name this: go"), lane="child 1", tools=[])
    fork = call(SYSTEM, user("go"), BACK, result("c1", "text of a"), user("aside"), lane="child 2")
    calls = [FIRST, SECOND, title, fork]
    parent, first, second = log_rows(calls, "/w")
    assert "parentSession" not in parent[0]
    assert (first[0]["parentSession"], first[0]["origin"]) == ("gateway", "side-call")
    assert second[0]["parentSession"] == "gateway" and "origin" not in second[0]
    assert rows_of("request/fork", second) == [{"session": "gateway", "call": 1, "messages": 2}]
    assert [row["content"] for row in rows_of("user/message", second)] == [block("aside")]
    rows = request_rows(calls)
    assert rows[-1]["fork"] == {"lane": "parent", "ordinal": 1, "messages": 2}
    assert [message["role"] for message in rows[-1]["messages"]] == ["tool", "user"]


@pytest.mark.parametrize(
    ("sent", "logged"),
    [
        ([assistant(*block("do"), *block("ne"))], None),
        ([assistant({"type": "reasoning", "text": "hm"}, *block("done"))], [[*block("done")]]),
        ([assistant(*block("other"))], [block("other")]),
        ([], [[]]),
    ],
)
def test_answer_that_does_not_come_back_as_it_was_is_told(sent, logged):
    first = call(SYSTEM, user("go"), says=said("done", reasoning=["h"]))
    second = call(SYSTEM, user("go"), *sent, user("more"), ordinal=2)
    (rows,) = log_rows([first, second], "/w")
    found = rows_of("assistant/message", rows)
    if logged is None:
        assert found == []
    else:
        texts = [[b for b in row["message"]["content"] if b["type"] == "text"] for row in found]
        assert texts == logged and (found[0]["turn"], found[0]["step"]) == (1, 1)
    assert "request/messages" not in kinds(rows)


def test_failed_answer_that_comes_back_is_told():
    failed = {"kind": "failed", "message": "x", "code": "500"}
    first = call(user("go"), says=said("par")[:2], outcome=failed)
    second = call(user("go"), assistant(*block("par")), user("again"), ordinal=2)
    (rows,) = log_rows([first, second], "/w")
    assert [row["message"]["content"] for row in rows_of("assistant/message", rows)] == [block("par")]
    (rows,) = log_rows([first, call(user("go"), ordinal=2)], "/w")
    assert "assistant/message" not in kinds(rows)
    assert [(row["turn"], row["step"]) for row in rows_of("call/start", rows)] == [(1, 1), (1, 2)]


def test_rewritten_conversation_is_told_from_where_it_differs():
    compacted = call(SYSTEM, user("go"), user("summary"), ordinal=3)
    (rows,) = log_rows([FIRST, SECOND, compacted], "/w")
    assert rows_of("request/messages", rows) == [{"from": 1, "messages": [user("summary")]}]
    shorter = call(SYSTEM, user("go"), ordinal=3)
    (rows,) = log_rows([FIRST, SECOND, shorter], "/w")
    assert rows_of("request/messages", rows) == [{"from": 1, "messages": []}]


def test_header_is_told_again_where_it_changed_and_only_there():
    back = [assistant(*block("ok"))]
    first = call(system("a"), user("1"), max_tokens=5)
    same = call(system("a"), user("1"), *back, user("2"), ordinal=2, max_tokens=5)
    other = call(system("b"), user("1"), *back, user("2"), *back, user("3"), ordinal=3, max_tokens=5)
    more = call(
        system("b"), user("1"), *back, user("2"), *back, user("3"), *back, user("4"), ordinal=4, max_tokens=6
    )
    (rows,) = log_rows([first, same, other, more], "/w")
    told = rows_of("request/header", rows)
    assert [row["reason"] for row in told] == ["initial", "changed", "changed"]
    assert [row["header"]["config"]["max_tokens"] for row in told] == [5, 5, 6]
    assert "request/messages" not in kinds(rows)


def test_order_of_keys_is_in_the_key_and_a_cache_mark_moves_freely():
    one, other = ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}])
    assert call(user("x"), tools=one).key != call(user("x"), tools=other).key
    marked = {**block("go")[0], "extras": {"cache_control": {"type": "ephemeral"}}}
    first = call({"role": "user", "content": [marked]})
    second = call(user("go"), assistant(*block("ok")), user("more"), ordinal=2)
    (rows,) = log_rows([first, second], "/w")
    assert "request/messages" not in kinds(rows)


def test_system_message_in_the_middle_stays_there():
    (rows,) = log_rows([call(SYSTEM, user("go"), system("mind the step"))], "/w")
    assert rows_of("system/message", rows)[0]["content"] == block("mind the step")
    assert rows_of("request/header", rows)[0]["header"]["system"] == "You are kind."


def test_without_a_call_there_is_the_parent_s_header():
    assert [len(rows) for rows in log_rows([], "/w")] == [1]
    diverged = call(user("x"), lane="", ordinal=0)
    assert log_rows([diverged], "/w") == log_rows([], "/w") and request_rows([diverged]) == []


def test_rows_do_not_depend_on_the_order_of_arrival():
    children = [call(user(f"task {k}"), lane=f"child {k}") for k in (1, 2)]
    expected = log_rows([FIRST, SECOND, *children], "/w")
    for calls in permutations([FIRST, SECOND, *children]):
        assert log_rows(calls, "/w") == expected


def test_request_rows_hold_place_key_header_and_what_is_new():
    rows = request_rows([FIRST, SECOND, THIRD])
    assert [(row["lane"], row["ordinal"], row["request"]) for row in rows] == [
        ("parent", 1, FIRST.key), ("parent", 2, SECOND.key), ("parent", 3, THIRD.key),
    ]  # fmt: skip
    assert rows[0]["header"] == {
        "config": {"model": "m", "stream": True}, "system": "{{system}}", "tools": "{{tools}}",
    }  # fmt: skip
    assert [row["messages"] for row in rows] == [[user("go")], [result("c1", "text of a")], [user("more")]]
    assert "header" not in rows[1]


# Lanes from calls in order of arrival.


def lanes_of(*calls: ModelCall) -> list[tuple[str, int]]:
    for made in calls:
        made.lane, made.ordinal = "", 0
    assign_lanes(calls)
    return [(made.lane, made.ordinal) for made in calls]


def test_main_conversation_is_the_one_with_tools_whatever_comes_first():
    title = call(user("a title for: go"), says=said("T"), tools=[])
    assert lanes_of(title, call(*FIRST.request.messages, says=FIRST.chunks), call(*SECOND.request.messages)) == [
        ("child 1", 1), ("parent", 1), ("parent", 2),
    ]  # fmt: skip
    few, many = call(user("a")), [call(user("b")), call(user("b"), assistant(*block("ok")), user("c"))]
    assert lanes_of(few, *many) == [("child 1", 1), ("parent", 1), ("parent", 2)]
    short, long = call(user("a")), call(user("b"), assistant(*block("old")), user("c"))
    assert lanes_of(short, long) == [("child 1", 1), ("parent", 1)]
    assert lanes_of(call(user("a")), call(user("b"))) == [("parent", 1), ("child 1", 1)]


def test_retry_stays_in_its_lane_and_a_repetition_after_an_answer_does_not():
    failed = {"kind": "failed", "message": "x", "code": "429"}
    tries = [call(user("a"), says=[], outcome=failed) for _ in range(2)]
    assert lanes_of(*tries, call(user("a"))) == [("parent", 1), ("parent", 2), ("parent", 3)]
    assert lanes_of(call(user("a")), call(user("a"))) == [("parent", 1), ("child 1", 1)]


def test_call_for_a_title_of_the_whole_conversation_does_not_split_it():
    back = [user("a"), assistant(*block("ok"))]
    title = call(*back, user("name this"), says=said("T"), tools=[])
    follow = call(*back, user("b"))
    assert lanes_of(call(user("a")), title, follow) == [("parent", 1), ("child 1", 1), ("parent", 2)]


def test_twins_go_on_apart():
    twins = [call(user("a")), call(user("a"))]
    follow = [call(user("a"), assistant(*block("ok")), user("b")) for _ in range(2)]
    lanes = lanes_of(*twins, *follow)
    assert sorted(lanes) == [("child 1", 1), ("child 1", 2), ("parent", 1), ("parent", 2)]


def test_rewritten_history_that_repeats_the_answer_goes_on():
    first = call(SYSTEM, user("a"), says=said("the answer"))
    second = call(SYSTEM, user("in short: a"), assistant(*block("the answer")), user("b"))
    other = call(user("in short: a"), assistant(*block("the answer")), user("b"), tools=[])
    assert lanes_of(first, second) == [("parent", 1), ("parent", 2)]
    assert lanes_of(first, other) == [("parent", 1), ("child 1", 1)]


@given(st.data())
def test_conversations_of_any_interleaving_are_told_apart(data):
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    order = data.draw(st.permutations([lane for lane, length in enumerate(lengths) for _ in range(length)]))
    talks: dict[int, list[Any]] = {lane: [SYSTEM, user(f"task {lane}")] for lane in range(len(lengths))}
    calls, owners = [], []
    for lane in order:
        text = f"answer {len(talks[lane])} of {lane}"
        calls.append(call(*talks[lane], says=said(text)))
        talks[lane] += [assistant(*block(text)), user(f"go on {len(talks[lane])}")]
        owners.append(lane)
    found = lanes_of(*calls)
    assert len({(owner, lane) for owner, (lane, _) in zip(owners, found, strict=True)}) == len(lengths)
    lanes = derived(log_rows(calls, "/w"))
    assert sorted(len(lane.calls) for lane in lanes) == sorted(lengths)
    for made in calls:
        again = next(lane for lane in lanes if lane.name == made.lane).calls[made.ordinal - 1]
        assert (again.key, again.entry.chunks) == (made.key, made.chunks)
