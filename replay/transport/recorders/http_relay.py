"""The recording proxy: a provider that is an HTTP server with event streams, and everything that crosses it.

`opencode serve --port N` starts the real server on a port of its own and serves on N what that answers: requests are told
before they are passed on, responses and events before they go back, each from whichever of the server's sockets it came,
so that the race between a response and its events is kept as it was. An event that several streams carry is told once.
Bytes of bodies and of event streams pass unchanged; only what HTTP says of the connection itself is made anew.
"""

import http.client
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from replay.errors import ReplayError
from replay.models.http_server import END, RESET, Answer, Exchange, Server
from replay.transport.recorders.passage import Sign
from replay.transport.recorders.relay import Log, forward_signals, kill_group, start_provider
from replay.transport.wires.opencode import (
    Request,
    frame_of_event,
    frame_of_request,
    frame_of_response,
    is_probe,
    is_stream,
)

__all__ = ["relay_http"]

_LISTENING: Final = re.compile(rb"^(.*listening on )http://[^\s:/]+:([0-9]{1,5})(.*)$", re.DOTALL)
_MAX_BODY_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 1 << 16
_HERE: Final = "127.0.0.1"
# Of one connection, or what this proxy does itself.
_OWN_HEADERS: Final = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "transfer-encoding",
        "upgrade",
    )
)


def relay_http(command: Sequence[str], environment: Mapping[str, str], log: Log) -> int:
    """Run the server behind the proxy; its status, minus a signal's number. Call from the main thread, once."""
    rest, port = _own_port(command)
    from_child, child_out = os.pipe()
    child = start_provider([*rest, "--hostname", _HERE, "--port", "0"], environment, 0, child_out)
    os.close(child_out)
    forward_signals(child, log)
    proxy = _Proxy(log)
    server = Server(proxy, _MAX_BODY_BYTES)
    said = threading.Thread(target=_say, args=(from_child, server, proxy, port), daemon=True)
    said.start()
    status = child.wait()
    kill_group(child.pid)
    log.tell(Sign.CLOSED)
    # Its sockets are closed by now, so no thread waits for it.
    server.stop()
    log.tell(Sign.EXIT, b"%d" % status)
    return status


def _own_port(command: Sequence[str]) -> tuple[list[str], int]:
    """The command without its address, and the port that it names; 0 for any."""
    rest: list[str] = []
    port = 0
    words = iter(command)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in ("--port", "--hostname"):
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if name == "--port" and value.isdecimal():
            port = int(value)
    return rest, port


def _say(source: int, server: Server, proxy: _Proxy, port: int) -> None:
    """Pass on the server's stdout, with this proxy's address in the place of its own."""
    with os.fdopen(source, "rb") as lines:
        for line in lines:
            found = _LISTENING.match(line)
            if found is not None and not proxy.port:
                proxy.port = int(found[2])
                line = b"%shttp://%s:%d%s" % (found[1], _HERE.encode(), server.start(port), found[3])
            try:
                os.write(1, line)
            except OSError:
                continue


class _Proxy:
    """The application of the proxy's server. port: of the real one, 0 until it listens."""

    def __init__(self, log: Log) -> None:
        self.port = 0
        self._log = log
        self._lock = threading.Lock()
        self._told_by: dict[str, object] = {}
        """Subscription -> the stream whose events are told."""

    def answer(self, exchange: Exchange) -> Answer:
        request = Request(exchange.method, exchange.target, exchange.headers, exchange.body)
        try:
            frame = None if is_probe(request) else frame_of_request(request)
        except ReplayError as error:
            self._log.spoil(str(error))
            frame = None
        if frame is not None:
            self._tell(Sign.OUTBOUND, frame)
        connection = http.client.HTTPConnection(_HERE, self.port)
        try:
            headers = {name: value for name, value in exchange.headers if name not in _OWN_HEADERS}
            connection.request(exchange.method, exchange.target, exchange.body or None, headers)
            response = connection.getresponse()
        except OSError, http.client.HTTPException:
            connection.close()
            return Answer(502, [], [], ending=RESET)
        kept = [
            (name.lower(), value) for name, value in response.getheaders() if name.lower() not in _OWN_HEADERS
        ]
        if frame is not None and is_stream(str(frame["type"])) and response.status == 200:
            return Answer(200, kept, self._events(frame, connection, response), streamed=True, live=True)
        return self._whole(frame, kept, connection, response)

    def answer_unreadable(self, status: int, message: str) -> Answer:
        self._log.spoil(f"the orchestrator sent what is no request: {message}")
        return Answer(status, [], [])

    def fail(self, error: BaseException) -> None:
        self._log.spoil(f"the recording proxy failed: {error!r}")

    def _whole(
        self,
        frame: dict[str, Any] | None,
        headers: list[tuple[str, str]],
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
    ) -> Answer:
        try:
            body = response.read()
        except OSError, http.client.HTTPException:
            return Answer(502, [], [], ending=RESET)
        finally:
            connection.close()
        if frame is not None:
            self._tell(Sign.INBOUND, frame_of_response(str(frame["type"]), response.status, body))
        return Answer(response.status, headers, [body], ending=END)

    def _events(
        self,
        frame: dict[str, Any],
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
    ) -> Iterator[bytes]:
        """The bytes of a stream as they come; each event is told before its last byte goes on."""
        name = orjson.dumps([frame["type"], frame.get("input")]).decode()
        stream = object()
        with self._lock:
            is_told = self._told_by.setdefault(name, stream) is stream
        held = b""
        try:
            while data := response.read1(_CHUNK_BYTES):
                held += data
                *blocks, held = re.split(rb"\r?\n\r?\n", held)
                for block in blocks if is_told else ():
                    self._tell_event(frame, block)
                yield data
        except http.client.HTTPException as error:
            # So that the orchestrator's stream breaks where this one did.
            raise ConnectionResetError from error
        finally:
            connection.close()
            with self._lock:
                if is_told:
                    self._told_by.pop(name, None)

    def _tell_event(self, subscription: dict[str, Any], block: bytes) -> None:
        lines = [
            line.removeprefix(b"data:").strip()
            for line in re.split(rb"\r?\n", block)
            if line.startswith(b"data:")
        ]
        if not lines:
            return
        try:
            event = frame_of_event(subscription, b"\n".join(lines))
        except ReplayError as error:
            self._log.spoil(str(error))
            return
        if event is not None:
            self._tell(Sign.INBOUND, event)

    def _tell(self, sign: Sign, frame: dict[str, Any]) -> None:
        self._log.tell(sign, orjson.dumps(frame))
