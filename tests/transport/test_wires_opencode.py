"""OpenCode's wire: each operation there and back, where parameters go, errors, and what is of one connection only."""

from typing import Any

import orjson
import pytest

from replay.errors import DivergenceError, FixtureError
from replay.transport.wires import opencode as wire
from replay.transport.wires.opencode_operations import OPERATIONS, find_operation

VALUES: dict[str, Any] = {"number": 12, "boolean": True, "string": "x&y=z+ü"}


def post(target: str, body: object, **headers: str) -> wire.Request:
    names = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return wire.Request("POST", target, names, orjson.dumps(body))


def test_table_has_the_operations_that_orchestrators_use() -> None:
    assert len(OPERATIONS) == 146
    routes = {(row.method, row.path) for row in OPERATIONS.values()}
    assert len(routes) == len(OPERATIONS)
    for name in (
        "event.subscribe",
        "session.promptAsync",
        "permission.reply",
        "question.reply",
        "session.children",
    ):
        assert name in OPERATIONS


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_goes_to_the_wire_and_comes_back(name: str) -> None:
    operation = OPERATIONS[name]
    given: dict[str, Any] = {part[1:-1]: "a/b c%é" for part in operation.path if part.startswith("{")}
    given |= {key: VALUES[kind] for key, kind in operation.query.items()}
    if operation.body:
        given[operation.body] = {"nested": [1, {"deep": None}]}
    elif operation.method != "GET":
        given["title"] = "a title"
    frame = {"type": name, "input": given, "directory": "/some where/ü"} if given else {"type": name}
    assert wire.frame_of_request(wire.request_of_frame(frame)) == frame


def test_literal_segment_is_no_parameter() -> None:
    found = find_operation("GET", ("session", "status"))
    assert found is not None and found[0].name == "session.status"
    found = find_operation("GET", ("session", "ses_1"))
    assert found is not None and found[0].name == "session.get" and found[1] == {"sessionID": "ses_1"}


@pytest.mark.parametrize(
    "target", ["/nope", "/session/", "/session//message", "/", "", "//session", "/session/a/b/c/d/e/f"]
)
def test_other_route_is_a_frame_that_names_it(target: str) -> None:
    assert wire.frame_of_request(wire.Request("GET", target)) == {
        "type": "http.request",
        "input": {"method": "GET", "path": target},
    }


def test_directory_of_query_and_of_header_stand_beside_the_input() -> None:
    expected = {"type": "session.get", "input": {"sessionID": "s"}, "directory": "/a b"}
    for request in (
        wire.Request("GET", "/session/s?directory=%2Fa%20b"),
        wire.Request("GET", "/session/s?directory=/a+b"),
        wire.Request("GET", "/session/s", [("x-opencode-directory", "%2Fa%20b"), ("accept", "*/*")]),
    ):
        assert wire.frame_of_request(request) == expected
    newer = wire.frame_of_request(
        wire.Request("GET", "/api/session/s?location%5Bdirectory%5D=%2Fd&location[workspace]=w")
    )
    assert newer == {
        "type": "v2.session.get",
        "input": {"sessionID": "s"},
        "directory": "/d",
        "workspace": "w",
    }


def test_query_values_have_their_parameter_s_type() -> None:
    frame = wire.frame_of_request(
        wire.Request("GET", "/session?roots=true&limit=20&search=12&start=x&other=1&other=2")
    )
    assert frame["input"] == {"roots": True, "limit": 20, "search": "12", "start": "x", "other": ["1", "2"]}
    assert wire.frame_of_request(wire.Request("GET", "/session?limit=true&roots=1"))["input"] == {
        "limit": "true",
        "roots": "1",
    }


def test_body_that_cannot_stand_beside_the_path_is_kept_whole() -> None:
    assert wire.frame_of_request(post("/session/s/abort", ["a"])) == {
        "type": "session.abort",
        "input": {"sessionID": "s", "body": ["a"]},
    }
    clash = {"type": "session.abort", "input": {"sessionID": "s", "body": {"sessionID": "other"}}}
    assert wire.frame_of_request(post("/session/s/abort", {"sessionID": "other"})) == clash
    assert wire.frame_of_request(wire.request_of_frame(clash)) == clash


def test_empty_input_is_left_out() -> None:
    assert wire.frame_of_request(post("/session", {})) == {"type": "session.create"}
    assert wire.request_of_frame({"type": "session.create", "input": {}}).body == b""


def test_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(DivergenceError, match=r"a body to session\.create that is no JSON"):
        wire.frame_of_request(wire.Request("POST", "/session", [], b"{bad"))


def test_frame_of_no_operation_makes_no_request() -> None:
    with pytest.raises(FixtureError, match=r'no operation "session\.fly"'):
        wire.request_of_frame({"type": "session.fly"})
    with pytest.raises(FixtureError, match=r'session\.get has no "sessionID"'):
        wire.request_of_frame({"type": "session.get"})


@pytest.mark.parametrize(
    ("operation", "status", "body", "frame"),
    [
        ("session.create", 200, b'{"id":"s"}', {"data": {"id": "s"}}),
        ("session.promptAsync", 204, b"", {"data": None}),
        ("session.abort", 200, b"true", {"data": True}),
        ("session.create", 201, b"{}", {"data": {}, "status": 201}),
        (
            "session.get",
            404,
            b'{"name":"NotFoundError"}',
            {"error": {"name": "NotFoundError"}, "status": 404},
        ),
        ("session.get", 502, b"", {"error": None, "status": 502}),
    ],
)
def test_response_there_and_back(operation: str, status: int, body: bytes, frame: dict[str, object]) -> None:
    whole = {"type": "sdk.response", "operation": operation, **frame}
    assert wire.frame_of_response(operation, status, body) == whole
    back = wire.response_of_frame(whole)
    assert back == (status, body or (b"" if status == 204 else b"null"))


def test_error_of_text_is_kept_and_data_of_text_is_refused() -> None:
    frame = wire.frame_of_response("session.get", 500, b"Internal \xff")
    assert frame["error"] == "Internal \ufffd"
    assert wire.response_of_frame(frame) == (500, '"Internal \ufffd"'.encode())
    with pytest.raises(FixtureError, match=r"the response to session\.get is no JSON"):
        wire.frame_of_response("session.get", 200, b"<html>")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"name": "NotFoundError", "data": {}}, 404),
        ({"_tag": "PermissionNotFoundError"}, 404),
        ({"_tag": "BadRequest"}, 400),
        ({"name": "UnknownError"}, 500),
        ("text", 500),
    ],
)
def test_error_without_a_status_has_that_of_its_name(error: object, status: int) -> None:
    assert (
        wire.response_of_frame({"type": "sdk.response", "operation": "session.get", "error": error}).status
        == status
    )


def test_event_there_and_back() -> None:
    subscription = {"type": "event.subscribe"}
    data = b'{"type":"session.idle","properties":{}}'
    frame = wire.frame_of_event(subscription, data)
    assert frame == {"type": "sdk.event", "event": {"type": "session.idle", "properties": {}}}
    assert wire.event_data(frame, subscription) == data
    assert wire.event_data(frame, {"type": "global.event"}) is None


def test_event_of_one_session_goes_to_that_session_s_stream() -> None:
    subscription = {"type": "v2.session.events", "input": {"sessionID": "a"}}
    frame = wire.frame_of_event(subscription, b'{"type":"x"}')
    assert frame is not None
    assert wire.event_data(frame, subscription) == b'{"type":"x"}'
    assert wire.event_data(frame, {"type": "v2.session.events", "input": {"sessionID": "b"}}) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"id":"evt_1","type":"server.connected","properties":{}}',
        b'{"type":"server.heartbeat","properties":{}}',
        b'{"payload":{"type":"server.connected","properties":{}}}',
    ],
)
def test_event_of_one_connection_is_not_recorded(data: bytes) -> None:
    assert wire.frame_of_event({"type": "event.subscribe"}, data) is None


@pytest.mark.parametrize("operation", [name for name, row in OPERATIONS.items() if row.is_stream])
def test_stream_begins_as_the_real_one_does(operation: str) -> None:
    first = wire.connected_event(operation)
    if operation == "v2.session.events":
        assert first is None
    else:
        assert first is not None and wire.frame_of_event({"type": operation}, first) is None


def test_probe_is_answered_in_the_form_of_its_route() -> None:
    old, new = wire.Request("GET", "/global/health"), wire.Request("HEAD", "/api/health?x=1")
    assert wire.is_probe(old) and wire.is_probe(new)
    assert wire.health(old, "1.2.3") == b'{"healthy":true,"version":"1.2.3"}'
    assert wire.health(new, "1.2.3") == b'{"healthy":true}'
    assert not wire.is_probe(wire.Request("POST", "/global/health"))


@pytest.mark.parametrize(
    ("text", "meaning"), [("100%", "100%"), ("%", "%"), ("%zz", "%zz"), ("%  ", "%  "), ("%41%", "A%")]
)
def test_broken_percent_signs_stand_for_themselves(text: str, meaning: str) -> None:
    frame = wire.frame_of_request(wire.Request("GET", "/find?pattern=" + text))
    assert frame["input"] == {"pattern": meaning}
