"""The OpenCode server that a peer is: order of what it writes, subscriptions, ends, and what it refuses."""

import contextlib
import threading
from collections.abc import Iterator

import h11
import pytest

from replay.transport.message import Close, Diverged, Exit, Inbound
from tests.transport.opencode_edge import Edge, HttpClient, event, response

ROUNDS = 40
CUT = (h11.RemoteProtocolError, ConnectionError)


@contextlib.contextmanager
def subscribed(
    edge: Edge, target: str = "/event", operation: str = "event.subscribe"
) -> Iterator[HttpClient]:
    with HttpClient(edge.port) as stream:
        stream.subscribe(target)
        edge.asked(operation)
        yield stream


def test_request_is_announced_and_answered() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        client.send("POST", "/session", {"title": "t"})
        asked = edge.asked("session.create")
        assert asked.frame == {"type": "session.create", "input": {"title": "t"}}
        edge.say(response(asked, {"id": "ses_1"}))
        assert client.answer() == (200, {"id": "ses_1"})
        client.send("POST", "/session/ses_1/prompt_async", {"parts": []})
        edge.say(response(edge.asked("session.promptAsync")))
        assert client.answer() == (204, None)


def test_error_has_its_status() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        client.send("GET", "/session/ses_1")
        asked = edge.asked("session.get")
        refusal = {"type": "sdk.response", "operation": "session.get", "error": {"name": "X"}, "status": 409}
        edge.say(Inbound(refusal, asked.ref))
        assert client.answer() == (409, {"name": "X"})


def test_answers_go_to_the_requests_that_they_answer() -> None:
    with Edge() as edge, HttpClient(edge.port) as first, HttpClient(edge.port) as second:
        first.send("GET", "/session/a")
        asked_first = edge.asked("session.get")
        second.send("GET", "/session/b")
        asked_second = edge.asked("session.get")
        edge.say(response(asked_second, "b"), response(asked_first, "a"))
        assert (first.answer(), second.answer()) == ((200, "a"), (200, "b"))


def test_event_is_written_before_the_response_behind_it() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge) as one, subscribed(edge) as two:
        assert one.event()["type"] == two.event()["type"] == "server.connected"
        for number in range(ROUNDS):
            client.send("POST", "/session/s/abort")
            asked = edge.asked("session.abort")
            edge.say(event("session.idle", number=number), response(asked, True))
            assert client.answer() == (200, True)
            assert one.is_readable() and two.is_readable()
            assert one.event()["properties"] == two.event()["properties"] == {"number": number}


def test_response_is_written_before_the_event_behind_it() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge) as stream:
        assert stream.event()["type"] == "server.connected"
        for _ in range(ROUNDS):
            client.send("POST", "/session/s/abort")
            asked = edge.asked("session.abort")
            edge.say(response(asked, True), event("session.idle"))
            assert stream.event()["type"] == "session.idle"
            assert client.is_readable()
            assert client.answer() == (200, True)


def test_subscription_is_announced_before_a_request_that_follows_its_head() -> None:
    for _ in range(ROUNDS):
        with Edge() as edge, HttpClient(edge.port) as stream, HttpClient(edge.port) as client:
            stream.subscribe()
            client.send("POST", "/session")
            edge.asked("event.subscribe")
            asked = edge.asked("session.create")
            edge.say(event("session.created"), response(asked, {}))
            assert client.answer() == (200, {})
            assert [stream.event()["type"] for _ in range(2)] == ["server.connected", "session.created"]


def test_stream_has_the_head_and_the_first_event_of_the_real_one() -> None:
    with Edge() as edge, HttpClient(edge.port) as stream:
        head = stream.subscribe("/event?directory=%2Fw")
        assert head["content-type"] == "text/event-stream"
        assert head["transfer-encoding"] == "chunked"
        assert edge.asked("event.subscribe").frame == {"type": "event.subscribe", "directory": "/w"}
        first = stream.event()
        assert first["type"] == "server.connected" and first["properties"] == {}


def test_streams_of_other_operations_have_events_of_their_own() -> None:
    with (
        Edge() as edge,
        subscribed(edge) as plain,
        subscribed(edge, "/global/event", "global.event") as whole,
    ):
        assert whole.event()["payload"]["type"] == "server.connected"
        assert plain.event()["type"] == "server.connected"
        edge.say(
            Inbound({"type": "sdk.event", "stream": "global.event", "event": {"payload": {"type": "x"}}}),
            event("y"),
        )
        assert whole.event() == {"payload": {"type": "x"}}
        assert plain.event()["type"] == "y"


def test_recorded_event_of_a_connection_is_not_repeated() -> None:
    with Edge() as edge, subscribed(edge) as stream:
        edge.say(event("server.connected"), event("server.heartbeat"), event("x"))
        assert [stream.event()["type"] for _ in range(2)] == ["server.connected", "x"]


def test_subscriber_that_left_holds_up_nobody() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge) as stays:
        with subscribed(edge):
            pass
        for number in range(ROUNDS):
            edge.say(event("x", number=number))
        client.send("GET", "/session/s")
        edge.say(response(edge.asked("session.get"), {}))
        assert client.answer() == (200, {})
        assert stays.event()["type"] == "server.connected"
        assert [stays.event()["properties"]["number"] for _ in range(ROUNDS)] == list(range(ROUNDS))


def test_client_that_left_before_its_response_holds_up_nobody() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        with HttpClient(edge.port) as leaver:
            leaver.send("GET", "/session/s")
            gone = edge.asked("session.get")
        client.send("GET", "/session/s")
        asked = edge.asked("session.get")
        edge.say(response(gone, {"text": "x" * (1 << 20)}), response(asked, 2))
        assert client.answer() == (200, 2)


def test_probe_is_answered_without_the_transcript() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        for _ in range(3):
            status, body = client.ask("GET", "/global/health")
            assert status == 200 and body["healthy"] is True and body["version"]
        assert client.ask("GET", "/api/health") == (200, {"healthy": True})
        assert client.ask("HEAD", "/global/health")[0] == 200
        assert edge.is_quiet()


def test_other_route_is_a_clean_404_and_is_named_to_the_host() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        client.send("GET", "/nope?x=1")
        assert edge.asked("http.request").frame["input"] == {"method": "GET", "path": "/nope"}
        edge.say(Diverged("no"))
        status, body = client.answer()
        assert status == 404 and "GET /nope" in body["data"]["message"]
        assert edge.wait() == Diverged("no")


def test_body_that_is_no_json_breaks_the_wire() -> None:
    with Edge() as edge, HttpClient(edge.port) as client:
        client.send("POST", "/session", b"{bad")
        message = edge.hear()
        assert isinstance(message, Close) and "a body to session.create that is no JSON" in message.error
        edge.say(Diverged(message.error))
        status, body = client.answer()
        assert status == 400 and "no JSON" in body["data"]["message"]


def test_what_is_no_http_is_refused_and_ends_nothing() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, HttpClient(edge.port) as other:
        client.socket.sendall(b"NONSENSE\r\n\r\n")
        assert client.socket.recv(1 << 16).startswith(b"HTTP/1.1 400")
        assert other.ask("GET", "/api/health") == (200, {"healthy": True})
        assert edge.is_quiet()


def test_divergence_is_told_to_whoever_waits() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge) as stream:
        client.send("GET", "/session/s")
        edge.asked("session.get")
        edge.say(Diverged("entry 3 wanted session.create"))
        assert client.answer() == (
            500,
            {"name": "ReplayDivergence", "data": {"message": "entry 3 wanted session.create"}},
        )
        assert stream.event()["type"] == "server.connected"
        assert stream.event() is None
        assert edge.wait() == Diverged("entry 3 wanted session.create")


def test_success_ends_the_streams_cleanly_and_cuts_what_waits() -> None:
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge) as stream:
        client.send("GET", "/session/s")
        edge.asked("session.get")
        edge.say(event("session.idle"), Exit("success"))
        assert [stream.event()["type"] for _ in range(2)] == ["server.connected", "session.idle"]
        assert stream.event() is None
        with pytest.raises(CUT):
            client.answer()
        assert edge.wait() == Exit("success")
        with pytest.raises(ConnectionRefusedError):
            HttpClient(edge.port)


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_other_ends_cut_the_streams(status: str) -> None:
    with Edge() as edge, subscribed(edge) as stream:
        edge.say(event("session.idle"), Exit(status, "the provider crashed"))
        assert [stream.event()["type"] for _ in range(2)] == ["server.connected", "session.idle"]
        with pytest.raises(CUT):
            stream.event()
        assert edge.wait() == Exit(status, "the provider crashed")


def test_host_that_goes_away_ends_the_server() -> None:
    with Edge() as edge, subscribed(edge) as stream, HttpClient(edge.port) as idle:
        assert idle.ask("GET", "/api/health")[0] == 200
        assert stream.event()["type"] == "server.connected"
        edge.hang_up()
        assert edge.wait() is None
        with pytest.raises(CUT):
            stream.event()


def test_frames_that_no_server_sends_are_the_transcript_s_fault() -> None:
    with Edge() as edge:
        edge.say(Inbound({"type": "sdk.response", "operation": "session.get", "data": 1}, 7))
        message = edge.hear()
        assert (
            isinstance(message, Close) and "answers session.get, which no request waits for" in message.error
        )
        edge.say(Inbound({"type": "thing"}))
        message = edge.hear()
        assert isinstance(message, Close) and "of type 'thing'" in message.error


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    with Edge() as edge, HttpClient(edge.port) as client, subscribed(edge):
        client.send("GET", "/session/s")
        edge.asked("session.get")
        assert len(threading.enumerate()) > len(before)
    assert set(threading.enumerate()) == before
