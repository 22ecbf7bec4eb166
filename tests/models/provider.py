"""A provider on loopback that speaks chat completions from a script: one prepared answer a call, nothing of ours in it."""

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

__all__ = ["BREAK", "HOLD", "Answer", "Provider", "Seen", "broken", "refusal", "said", "tool", "whole"]

BREAK = b"<break>"
HOLD = b"<hold>"


class Answer(NamedTuple):
    """What one call gets. parts: sent as chunks; BREAK cuts the connection, HOLD waits for `Provider.release`."""

    parts: Sequence[bytes]
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "text/event-stream"),)


class Seen(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def _event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _delta(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _event({"id": "chatcmpl-x", "object": "chat.completion.chunk", "created": 17, "model": "live", "choices": [choice]})  # fmt: skip


def _end(reason: str, cached: int, timing: float) -> list[bytes]:
    """Finish, usage and timings as a local server sends them, the numbers of its own run included."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": cached},
        "total_time": timing,
    }
    last = {
        "choices": [],
        "usage": usage,
        "timings": {"prompt_ms": timing},
        "system_fingerprint": f"fp_{cached}",
    }
    return [_delta({}, reason), _event(last), b"data: [DONE]\n\n"]


def said(*pieces: str, cached: int = 0, timing: float = 1.5) -> Answer:
    """A streamed text."""
    return Answer([*(_delta({"content": piece}) for piece in pieces), *_end("stop", cached, timing)])


def tool(name: str, *arguments: str, call_id: str = "call_1") -> Answer:
    """A streamed tool call, its arguments in pieces."""
    first = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    parts = [_delta({"tool_calls": [first]})]
    parts += [_delta({"tool_calls": [{"index": 0, "function": {"arguments": each}}]}) for each in arguments]
    return Answer([*parts, *_end("tool_calls", 0, 1.5)])


def whole(text: str) -> Answer:
    """A reply in one piece."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 17,
        "model": "live",
        "choices": [choice],
        "usage": usage,
    }
    return Answer([json.dumps(body).encode()], headers=[("content-type", "application/json")])


def refusal(status: int, message: str, *headers: tuple[str, str]) -> Answer:
    """An error status."""
    body = json.dumps({"error": {"message": message, "type": "x", "code": None}}).encode()
    return Answer([body], status, [("content-type", "application/json"), *headers])


def broken(*pieces: str) -> Answer:
    """A stream that breaks after its pieces."""
    return Answer([*(_delta({"content": piece}) for piece in pieces), BREAK])


class Provider:
    """Gives out `answers` in order, and 500 after the last; one that is a function is made from what was `seen`."""

    def __init__(self, *answers: Answer | Callable[[list[Seen]], Answer]) -> None:
        self.answers = list(answers)
        self.seen: list[Seen] = []
        self.release = threading.Event()
        self.left = threading.Event()
        """Set once a client went away while its answer was held."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(owner: Provider) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                owner.seen.append(Seen(self.path, headers, body))
                next_one = owner.answers.pop(0) if owner.answers else refusal(500, "the script is over")
                answer = next_one if isinstance(next_one, Answer) else next_one(owner.seen)
            self.send_response(answer.status)
            for name, value in [*answer.headers, ("x-internal", "private")]:
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            for part in answer.parts:
                if part == BREAK:
                    return
                if part == HOLD:
                    self._hold()
                    continue
                self._chunk(part)
            self._chunk(b"")

        def _hold(self) -> None:
            """Until released, or until nobody reads any more."""
            self.connection.settimeout(0.02)
            while not owner.release.is_set():
                try:
                    if not self.connection.recv(1):
                        owner.left.set()
                        return
                except TimeoutError:
                    continue
                except OSError:
                    owner.left.set()
                    return

        def _chunk(self, data: bytes) -> None:
            try:
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            except OSError:
                owner.left.set()

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler
