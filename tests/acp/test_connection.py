"""Connection: the table is complete, each breach has its name, answers may come in any order."""

import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.acp.connection import (
    ANSWERED,
    BREACHES,
    OPEN,
    TRANSITIONS,
    CancelRequested,
    Connection,
    Notification,
    Request,
    Response,
    encode,
    parse,
)
from replay.errors import AgentError, ReplayError


def reply(number: Any, **body: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, **(body or {"result": {}})}


def test_every_state_and_event_is_either_a_transition_or_a_named_breach() -> None:
    states = {state for state, _ in [*TRANSITIONS, *BREACHES]} | set(TRANSITIONS.values())
    events = {event for _, event in [*TRANSITIONS, *BREACHES]}
    for state in states:
        for event in events:
            assert ((state, event) in TRANSITIONS) != ((state, event) in BREACHES), (state, event)


def test_request_and_answer_are_matched_in_any_order() -> None:
    connection = Connection()
    first, frame = connection.request("a", {"x": 1})
    second, _ = connection.request("b", {})
    assert (first, second) == (1, 2)
    assert encode(frame) == b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}\n'
    assert connection.receive(reply(2)) == Response(2, "b", {}, None)
    assert connection.is_open(1)
    error = {"code": -1, "message": "no"}
    assert connection.receive(reply(1, error=error)) == Response(1, "a", None, error)
    assert not connection.is_open(1)


@pytest.mark.parametrize("number", [7, "1", None, -1])
def test_answer_to_an_unknown_id_is_named(number: Any) -> None:
    connection = Connection()
    connection.request("initialize", {})
    with pytest.raises(AgentError, match=r"a response \(id .*\) answers an id that was never sent"):
        connection.receive(reply(number))


def test_second_answer_is_named_with_its_method() -> None:
    connection = Connection()
    connection.request("initialize", {})
    connection.receive(reply(1))
    with pytest.raises(AgentError, match=r'a response to "initialize" \(id 1\) answers a second time'):
        connection.receive(reply(1))


def test_answer_after_a_restart_is_late() -> None:
    connection = Connection()
    connection.request("session/prompt", {})
    connection.restart()
    with pytest.raises(AgentError, match=r'"session/prompt" \(id 1\) answers late'):
        connection.receive(reply(1))
    assert connection.request("initialize", {})[0] == 2


def test_peer_may_reuse_an_id_once_it_is_answered_and_not_before() -> None:
    connection = Connection()
    frame = {"jsonrpc": "2.0", "id": "a", "method": "fs/read_text_file", "params": {}}
    assert connection.receive(frame) == Request("a", "fs/read_text_file", {})
    with pytest.raises(AgentError, match="uses the id of a request that is still open"):
        connection.receive(frame)
    assert connection.answer("a", 1) == {"jsonrpc": "2.0", "id": "a", "result": 1}
    assert connection.receive(frame) == Request("a", "fs/read_text_file", {})
    assert connection.refuse("a", -1, "no") == reply("a", error={"code": -1, "message": "no"})
    assert not connection.owes("a")


def test_peer_ids_begin_anew_after_a_restart() -> None:
    connection = Connection()
    frame = {"jsonrpc": "2.0", "id": 0, "method": "m"}
    connection.receive(frame)
    connection.restart()
    assert connection.receive(frame) == Request(0, "m", None)


def test_cancel_request_of_both_sides() -> None:
    connection = Connection()
    connection.request("session/prompt", {})
    assert connection.cancel(1)["params"] == {"requestId": 1}
    assert connection.is_open(1)
    error = {"code": -32800, "message": "cancelled"}
    assert connection.receive(reply(1, error=error)) == Response(1, "session/prompt", None, error)
    connection.receive({"jsonrpc": "2.0", "id": 5, "method": "m"})
    cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}
    assert connection.receive(cancel) == CancelRequested(5, OPEN)
    assert connection.owes(5)
    connection.answer(5, {})
    assert connection.receive(cancel) == CancelRequested(5, ANSWERED)
    unknown = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 6}}
    assert connection.receive(unknown) == CancelRequested(6, "new")
    # Not remembered: a request 6 may still come.
    assert connection.receive({"jsonrpc": "2.0", "id": 6, "method": "m"}) == Request(6, "m", None)


def test_notification() -> None:
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"a": 1}}
    assert Connection().receive(frame) == Notification("session/update", {"a": 1})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"Debug: up", 'not JSON .*: "Debug: up"'),
        (b"", 'not JSON .*: ""'),
        (b'"\\ud800"', "not JSON .*surrogate"),
        (b'{"a":"\xff"}', "not JSON .*UTF-8"),
        (b'{"a":NaN}', "not JSON"),
        (b"[{}]", "batch"),
        (b"12", "no JSON-RPC object"),
        (b"[" * 2000, "not JSON"),
    ],
)
def test_line_that_is_no_object_is_quoted(line: bytes, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        parse(line)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"method": "m"}, '"jsonrpc" is not "2.0"'),
        ({"jsonrpc": "1.0", "method": "m"}, '"jsonrpc" is not "2.0"'),
        ({"jsonrpc": "2.0"}, 'neither "method" nor "id"'),
        ({"jsonrpc": "2.0", "id": 1}, "exactly one"),
        ({"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}, "exactly one"),
        ({"jsonrpc": "2.0", "id": 1, "error": "no"}, '"error" is not an object'),
        ({"jsonrpc": "2.0", "id": 1.0, "result": 1}, '"id" is neither'),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, '"id" is neither'),
        ({"jsonrpc": "2.0", "id": [1], "result": {}}, '"id" is neither'),
        ({"jsonrpc": "2.0", "method": 3}, '"method" is not a string'),
        ({"jsonrpc": "2.0", "method": "m", "result": 3}, 'carries "result" or "error"'),
    ],
)
def test_malformed_frame_is_named(frame: dict[str, Any], said: str) -> None:
    connection = Connection()
    connection.request("initialize", {})
    with pytest.raises(AgentError, match=said):
        connection.receive(frame)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"])


@given(st.dictionaries(KEYS, VALUES | st.sampled_from(["2.0", "m", "$/cancel_request", 1, {"requestId": 1}])))
def test_any_object_gives_an_event_or_a_replay_error(frame: dict[str, Any]) -> None:
    connection = Connection()
    connection.request("initialize", {})
    with contextlib.suppress(ReplayError):
        connection.receive(frame)


@given(st.binary(max_size=60) | VALUES.map(orjson.dumps))
def test_any_line_gives_an_object_or_a_replay_error(line: bytes) -> None:
    try:
        assert isinstance(parse(line), dict)
    except ReplayError as error:
        assert "\n" not in str(error)
