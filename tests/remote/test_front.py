"""A front before a cache: what it hands on, and how it is gone."""

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.remote.front import open_front


class Cache(BaseHTTPRequestHandler):
    """Keeps what is put."""

    protocol_version = "HTTP/1.1"
    kept: dict[str, bytes]

    def do_PUT(self) -> None:
        self.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201, b"")

    def do_GET(self) -> None:
        data = self.kept.get(self.path)
        self._answer(404 if data is None else 200, data or b"")

    def _answer(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Kept", (Cache,), {"kept": {}})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def ask(connection: http.client.HTTPConnection, method: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection.request(method, "/cas/1", body)
    response = connection.getresponse()
    return response.status, response.read()


def test_hands_everything_on(upstream: str) -> None:
    with open_front(upstream) as front:
        connection = http.client.HTTPConnection(front.endpoint.removeprefix("http://"))
        assert ask(connection, "GET") == (404, b"")
        assert ask(connection, "PUT", b"\x00\xff") == (201, b"")
        assert ask(connection, "GET") == (200, b"\x00\xff")
        connection.close()
    assert (front.count, front.is_gone) == (3, False)


def test_is_gone_after_its_last_request(upstream: str) -> None:
    with open_front(upstream, limit=1) as front:
        connection = http.client.HTTPConnection(front.endpoint.removeprefix("http://"))
        assert ask(connection, "GET") == (404, b"")
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            ask(connection, "GET")
        connection.close()
    assert front.is_gone
