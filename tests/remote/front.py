"""A front before an HTTP cache that is gone after so many requests, so that a cache can go away in the middle of a run."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ["Front", "open_front"]


class Front(ThreadingHTTPServer):
    """Hands requests to the cache at `upstream`: all, or `limit` of them. A later one finds its connection closed, then nobody."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: str, limit: int | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.limit = limit
        self.count = 0
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def is_gone(self) -> bool:
        return self.limit is not None and self.count > self.limit

    def admit(self) -> bool:
        """Count a request; whether it may pass. The first that may not ends the server."""
        with self._lock:
            self.count += 1
            if self.limit is not None and self.count == self.limit + 1:
                # shutdown() waits for the loop, and the loop may wait for this thread.
                threading.Thread(target=self.shutdown, daemon=True).start()
            return not self.is_gone


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def do_GET(self) -> None:
        self._forward(None)

    def do_PUT(self) -> None:
        self._forward(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the table is the output."""

    def _forward(self, body: bytes | None) -> None:
        if not self.server.admit():
            self.close_connection = True
            return
        connection = http.client.HTTPConnection(self.server.upstream)
        try:
            connection.request(self.command, self.path, body)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        self.send_response(response.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def open_front(upstream: str, limit: int | None = None) -> Iterator[Front]:
    front = Front(upstream, limit)
    serving = threading.Thread(target=_serve, args=(front,), daemon=True)
    serving.start()
    try:
        yield front
    finally:
        front.shutdown()
        serving.join()


def _serve(front: Front) -> None:
    with front:
        front.serve_forever(poll_interval=0.05)
