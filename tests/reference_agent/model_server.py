"""A chat completions server on loopback that gives out prepared answers, one a request."""

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["Answer", "ModelServer", "call", "finish", "text"]

type Part = dict[str, Any] | str
type Answer = Sequence[Part] | int
"""Deltas and finishes to stream, `"break"` to cut the connection, `"hold"` to wait for `release`; or a status."""


def text(content: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}}]}


def call(index: int, call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"index": index, "id": call_id, "type": "function", "function": function}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [made]}}]}


def finish(reason: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


class ModelServer:
    """`choose` picks the answer for a request's body; by default they are given out in order."""

    def __init__(
        self, answers: Sequence[Answer], choose: Callable[[dict[str, Any]], Answer] | None = None
    ) -> None:
        self.answers = list(answers)
        self.choose = choose or (lambda body: self.answers.pop(0))
        self.requests: list[dict[str, Any]] = []
        self.release = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        # How long its shutdown takes at most: with the default, half a second for each test.
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"http://127.0.0.1:{self.server.server_port}/v1", "OPENAI_API_KEY": "k"}

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


def handler_for(owner: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            owner.requests.append(body)
            answer = owner.choose(body)
            if isinstance(answer, int):
                self.refuse(answer)
            else:
                self.stream(answer)

        def refuse(self, status: int) -> None:
            payload = json.dumps({"error": {"message": "prepared failure"}}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def stream(self, parts: Sequence[Part]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in parts:
                if part == "break":
                    self.close_connection = True
                    return
                if part == "hold":
                    owner.release.wait()
                    continue
                self.write_chunk(f"data: {json.dumps(part)}\n\n".encode())
            self.write_chunk(b"data: [DONE]\n\n")
            self.write_chunk(b"")

        def write_chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler
