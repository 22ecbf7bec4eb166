"""The gateway under bytes that no well-behaved client sends, over raw sockets."""

import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from replay.models.gateway import Gateway
from replay.script import Player
from tests.models.recording import failure, hang, lanes_of, said

BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}'
WHOLE = BODY.replace(b"true", b"false")


@pytest.fixture
def serve(tmp_path):
    """Starts gateways; afterwards stops them and proves that neither thread nor descriptor is left."""
    gateways = []
    descriptors = len(list(Path("/proc/self/fd").iterdir()))

    def start(*entries, **options):
        player = Player(lanes_of(*(entries or [said("one"), said("two")])))
        gateway = Gateway(player, "openai_chat", cwd=str(tmp_path), **options)
        gateway.start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.stop()
        assert gateway.fault is None
    assert not [thread for thread in threading.enumerate() if thread.name == "gateway"]
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@contextmanager
def connection(gateway):
    host, port = gateway.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as it:
        yield it


def post(body, path=b"/v1/chat/completions", headers=b""):
    head = b"POST %b HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n" % (path, headers, len(body))
    return head + body


def read_all(it):
    data = b""
    while piece := it.recv(65536):
        data += piece
    return data


def read_response(it):
    """Status, headers and body of one response that has a Content-Length."""
    data = b""
    # Byte by byte: what follows the response belongs to the next one.
    while not data.endswith(b"\r\n\r\n"):
        piece = it.recv(1)
        assert piece, data
        data += piece
    head, body = data[:-4], b""
    first, *lines = head.split(b"\r\n")
    headers = dict(line.lower().split(b": ", 1) for line in lines)
    while len(body) < int(headers[b"content-length"]):
        body += it.recv(int(headers[b"content-length"]) - len(body))
    return int(first.split()[1]), headers, body


def exchange(gateway, request):
    """What the gateway answers to `request` before it closes the connection."""
    with connection(gateway) as it:
        it.sendall(request)
        status, headers, body = read_response(it)
        return status, headers, orjson.loads(body) if body else None


def message(reply):
    status, headers, body = reply
    assert headers[b"content-type"] == b"application/json"
    assert set(body["error"]) == {"message", "type", "param", "code"}
    return status, body["error"]["message"]


def test_connection_is_kept_alive_and_requests_may_be_pipelined(serve):
    gateway = serve()
    with connection(gateway) as it:
        it.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n" + post(WHOLE))
        assert read_response(it)[0] == 200
        body = read_response(it)[2]
        assert orjson.loads(body)["choices"][0]["message"]["content"] == "one"
        it.sendall(post(WHOLE))
        assert b"two" in read_response(it)[2]
        it.shutdown(socket.SHUT_WR)
        assert it.recv(1) == b""


def test_request_may_come_byte_by_byte(serve):
    gateway = serve()
    with connection(gateway) as it:
        for byte in post(WHOLE):
            it.sendall(bytes([byte]))
        assert read_response(it)[0] == 200


def test_stream_is_one_transfer_chunk_an_event(serve):
    gateway = serve(said("a", "b"))
    with connection(gateway) as it:
        it.sendall(post(BODY, headers=b"Connection: close\r\n"))
        head, _, body = read_all(it).partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower() and b"text/event-stream" in head
    chunks = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    assert chunks.pop() == b""
    assert len(chunks) == 5 and all(c.startswith(b"data: ") and c.endswith(b"\n\n") for c in chunks)


def test_broken_stream_ends_without_its_last_chunk(serve):
    gateway = serve(failure("x", "TRANSPORT", said("part")[:2]))
    with connection(gateway) as it:
        it.sendall(post(BODY))
        data = read_all(it)
    assert b"part" in data and not data.endswith(b"0\r\n\r\n") and b"[DONE]" not in data


def test_chunked_request_body_is_read(serve):
    gateway = serve()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%b\r\n" % (1, bytes([byte])) for byte in WHOLE) + b"0\r\n\r\n"
    assert exchange(gateway, head + body)[0] == 200


def test_client_that_waits_for_continue_gets_it(serve):
    gateway = serve()
    with connection(gateway) as it:
        it.sendall(post(WHOLE, headers=b"Expect: 100-continue\r\n")[: -len(WHOLE)])
        assert it.recv(100).startswith(b"HTTP/1.1 100 ")
        it.sendall(WHOLE)
        assert read_response(it)[0] == 200


def test_http_1_0_client_is_served_until_the_connection_closes(serve):
    gateway = serve()
    with connection(gateway) as it:
        it.sendall(post(BODY).replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert read_all(it).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("request_bytes", "status", "text"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404, "GET / is no route"),
        (b"GET /v1/models/ HTTP/1.1\r\nHost: x\r\n\r\n", 404, "no route"),
        (b"GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n", 405, "POST"),
        (b"DELETE /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n", 405, "POST"),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, "no route"),
        (post(WHOLE, path=b"/chat/completions"), 404, "no route"),
        (post(b"{"), 400, "the body is not JSON"),
        (post(b""), 400, "the body is not JSON"),
        (post(b"\xff\xfe"), 400, "the body is not JSON"),
        (post(b"[" * 100000), 400, "the body is not JSON"),
        (post(WHOLE, headers=b"Content-Encoding: gzip\r\n"), 415, "gzip"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "TLS"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/1.1"),
        (b"rubbish\r\n\r\n", 400, "HTTP/1.1"),
        (b"\x00" * 50 + b"\r\n\r\n", 400, "HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 70000, 431, "HTTP/1.1"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "HTTP/1.1"),
        (
            post(b"", headers=b"").replace(b"Content-Length: 0", b"Content-Length: 99999"),
            413,
            "larger than 1000",
        ),
        (post(b"x" * 200000), 413, "larger than 1000"),
    ],
)
def test_abuse_is_answered_in_the_provider_s_shape(serve, request_bytes, status, text):
    gateway = serve(max_body_bytes=1000) if status == 413 else serve()
    seen_status, seen_text = message(exchange(gateway, request_bytes))
    assert seen_status == status and text in seen_text
    assert gateway.calls == [] and gateway.divergence is None
    assert b"one" in read_one(gateway), "the gateway serves on"


@pytest.mark.parametrize(
    "line", ["authorization : Bearer sk-secret", "x: y\r\nsk-secret", "x: \x01sk-secret"]
)
def test_request_that_is_unreadable_is_not_quoted(serve, line):
    gateway = serve()
    for request in (
        f"POST / HTTP/1.1\r\nHost: x\r\n{line}\r\n\r\n",
        "GET /v1?key=sk-secret HTTP/1.1 x\r\n\r\n",
    ):
        assert "sk-secret" not in message(exchange(gateway, request.encode()))[1]
    assert len(gateway.findings) == 2 and "sk-secret" not in str(gateway.findings)


def read_one(gateway):
    with connection(gateway) as it:
        it.sendall(post(WHOLE))
        return read_response(it)[2]


def test_client_that_sends_all_before_it_reads_gets_the_refusal(serve):
    gateway = serve(max_body_bytes=1000)
    assert message(exchange(gateway, post(b"x" * 20_000_000)))[0] == 413


def test_chunked_body_beyond_the_bound_is_refused(serve):
    gateway = serve(max_body_bytes=1000)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert message(exchange(gateway, head + b"800\r\n" + b"x" * 0x800 + b"\r\n"))[0] == 413


@pytest.mark.parametrize("path", ["/", "/v1/chat/completions", "/v1/models", "/health"])
def test_head_has_no_body(serve, path):
    gateway = serve()
    with connection(gateway) as it:
        it.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        data = read_all(it)
    assert data.startswith(b"HTTP/1.1 200 " if path == "/v1/models" else b"HTTP/1.1 40")
    assert data.endswith(b"\r\n\r\n") and b"application/json" in data
    assert gateway.findings == []


@pytest.mark.parametrize(
    ("request_line", "host", "port"),
    [
        (b"CONNECT api.openai.com:443", "api.openai.com", 443),
        (b"CONNECT [2001:db8::1]:8443", "[2001:db8::1]", 8443),
        (b"GET http://example.com/x?key=s3cret", "example.com", 80),
        (b"POST https://user:s3cret@example.com:99/v1/chat/completions", "example.com", 99),
        (b"GET https://example.com", "example.com", 443),
    ],
)
def test_attempt_to_leave_loopback_is_refused_and_named(serve, request_line, host, port):
    gateway = serve()
    reply = exchange(gateway, request_line + b" HTTP/1.1\r\nHost: example.com\r\n\r\n")
    assert message(reply)[0] == 403
    (finding,) = gateway.findings
    assert (finding["kind"], finding["host"], finding["port"]) == ("egress", host, port)
    assert f"{host}:{port}" in finding["message"]
    assert "s3cret" not in str(gateway.findings) and "s3cret" not in str(reply)


def test_proxy_form_of_our_own_address_is_served(serve):
    gateway = serve()
    path = f"{gateway.origin}/v1/chat/completions?x=1".encode()
    assert exchange(gateway, post(WHOLE, path=path))[0] == 200
    assert gateway.findings == []


def test_address_that_only_begins_like_ours_is_foreign(serve):
    gateway = serve()
    exchange(gateway, f"GET {gateway.origin}9/x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert gateway.findings[0]["kind"] == "egress"


def test_player_is_asked_by_one_connection_at_a_time(tmp_path):
    class Watched(Player):
        inside = overlaps = 0

        def open(self, request):
            self.inside += 1
            self.overlaps += self.inside > 1
            # Long enough for the other connections to arrive: without the lock they would be inside too.
            time.sleep(0.01)
            try:
                return super().open(request)
            finally:
                self.inside -= 1

    player = Watched(lanes_of(*[said("x")] * 8))
    gateway = Gateway(player, "openai_chat")
    gateway.start()
    threads = [threading.Thread(target=read_one, args=(gateway,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gateway.stop()
    assert player.overlaps == 0 and player.unconsumed() == []


def test_client_that_leaves_mid_request_or_mid_stream_harms_nobody(serve):
    gateway = serve(said(*("x" * 1000 for _ in range(5000))), said("two"))
    with connection(gateway) as it:
        it.sendall(post(BODY)[:-5])
    with connection(gateway):
        pass
    with connection(gateway) as it:
        it.sendall(post(BODY))
        it.recv(10)
    assert b"two" in read_one(gateway)


def test_stop_ends_idle_unread_half_sent_and_held_connections(serve, tmp_path):
    gateway = serve(hang("ready"), said(*("x" * 1000 for _ in range(5000))))
    host, port = gateway.origin.removeprefix("http://").split(":")
    sockets = [socket.create_connection((host, int(port)), timeout=20) for _ in range(4)]
    idle, half, held, unread = sockets
    half.sendall(post(BODY)[:-5])
    held.sendall(post(BODY))
    while not (tmp_path / "ready").exists():
        pass
    unread.sendall(post(BODY))
    unread.recv(10)
    gateway.stop()
    assert idle.recv(1) == b""
    for each in sockets:
        each.close()


def test_gateway_that_never_started_stops(serve):
    Gateway(Player(lanes_of(said("x"))), "openai_chat").stop()


def test_listens_on_loopback_only(serve):
    gateway = serve()
    assert gateway.base_url.startswith("http://127.0.0.1:")
    port = int(gateway.origin.rpartition(":")[2])
    table = Path("/proc/net/tcp").read_text().split("\n")[1:]
    listeners = [row.split()[1] for row in table if row and row.split()[3] == "0A"]
    assert f"0100007F:{port:04X}" in listeners and f"00000000:{port:04X}" not in listeners


def test_fault_of_our_own_is_kept_for_the_runner(tmp_path):
    gateway = Gateway(Player(lanes_of(said("one"))), "openai_chat", cwd=str(tmp_path))
    gateway._player = None
    gateway.start()
    with connection(gateway) as it:
        it.sendall(post(BODY))
        assert it.recv(1) == b""
    gateway.stop()
    assert isinstance(gateway.fault, AttributeError)
