"""A server for the tests of the recording proxy: what `opencode serve` answers, as far as they ask.

It tells two events beside the response to each prompt: one before it, one after. `POST /session` with the title `die` kills
it in the middle of its event stream.
"""

import json
import os
import queue
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STREAMS: list[queue.Queue[bytes]] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/event"):
            self.stream()
        elif self.path == "/global/health":
            self.answer(200, {"healthy": True, "version": "1"})
        else:
            self.answer(404, {"name": "NotFoundError", "data": {"message": self.path}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if body.get("title") == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.path == "/session":
            tell({"type": "session.created", "properties": {"directory": str(Path.cwd())}})
            self.answer(200, {"id": "ses_1", "title": body.get("title"), "directory": str(Path.cwd())})
            tell({"type": "session.idle", "properties": {"sessionID": "ses_1"}})
        else:
            self.answer(400, {"name": "BadRequestError", "data": {}})

    def answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events: queue.Queue[bytes] = queue.Queue()
        events.put(b'data: {"type":"server.connected","properties":{}}\n\n')
        STREAMS.append(events)
        while True:
            data = events.get()
            # In two chunks: a frame is no more than a reader of the stream makes of it.
            for piece in (data[:9], data[9:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()

    def log_message(self, *_: object) -> None:
        return


def tell(event: dict[str, object]) -> None:
    for events in list(STREAMS):
        events.put(b"data: " + json.dumps(event).encode() + b"\n\n")


def main() -> None:
    assert sys.argv[1:3] == ["serve", "--hostname"], sys.argv
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler)
    server.daemon_threads = True
    print("warming up", flush=True)
    print(f"opencode server listening on http://127.0.0.1:{server.server_port}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.serve_forever()


if __name__ == "__main__":
    main()
