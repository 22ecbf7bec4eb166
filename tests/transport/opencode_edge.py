"""Both ends of an OpenCode peer for tests: a host that says what a test says, and a client of bare sockets."""

import socket
import threading
from typing import Any, Self

import h11
import orjson

from replay.models.sse import EventDecoder
from replay.transport.lines import Lines
from replay.transport.link import Ending, Link
from replay.transport.message import FromHost, FromPeer, Inbound, Outbound, decode_peer, encode
from replay.transport.peers.opencode import OpencodePeer

__all__ = ["Edge", "HttpClient", "event", "response"]

_PATIENCE_S = 20.0


def event(kind: str, **properties: Any) -> Inbound:
    """An event of the ordinary stream."""
    return Inbound({"type": "sdk.event", "event": {"type": kind, "properties": properties}})


def response(asked: Outbound, data: Any = None, **rest: Any) -> Inbound:
    """The answer to what the peer announced."""
    return Inbound(
        {"type": "sdk.response", "operation": asked.frame["type"], "data": data, **rest}, asked.ref
    )


class Edge:
    """A peer that plays on a thread, and the host's end of its link."""

    def __init__(self) -> None:
        self._host, theirs = socket.socketpair()
        self._host.settimeout(_PATIENCE_S)
        self._lines = Lines("a peer")
        self._heard: list[FromPeer] = []
        self.link = Link(theirs)
        self.peer = OpencodePeer(self.link)
        self.port = self.peer.start()
        self.ending: Ending = None
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        self.ending = self.peer.play()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._host.close()
        self._thread.join(_PATIENCE_S)
        assert not self._thread.is_alive()
        self.link.disconnect()

    def hang_up(self) -> None:
        """The host goes away."""
        self._host.close()

    def say(self, *messages: FromHost) -> None:
        """Send messages in one piece."""
        self._host.sendall(b"".join(map(encode, messages)))

    def hear(self) -> FromPeer:
        """The next message of the peer."""
        while not self._heard:
            data = self._host.recv(1 << 16)
            assert data, "the peer closed its link"
            self._heard += map(decode_peer, self._lines.feed(data))
        return self._heard.pop(0)

    def asked(self, operation: str) -> Outbound:
        """The next message, which is a request of `operation`."""
        message = self.hear()
        assert isinstance(message, Outbound) and message.frame["type"] == operation, message
        return message

    def is_quiet(self) -> bool:
        """Whether the peer said nothing that was not heard."""
        self._host.setblocking(False)
        try:
            return not self._heard and not self._host.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        finally:
            self._host.settimeout(_PATIENCE_S)

    def wait(self) -> Ending:
        """How play ended."""
        self._thread.join(_PATIENCE_S)
        assert not self._thread.is_alive()
        return self.ending


class HttpClient:
    """One connection to the peer, without any waiting that a test did not ask for."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
        self._protocol = h11.Connection(h11.CLIENT)
        self._decoder = EventDecoder()
        self._events: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, method: str, target: str, body: Any = None, **headers: str) -> None:
        """Send a request; its answer is not waited for."""
        if self._protocol.our_state is not h11.IDLE:
            self._protocol.start_next_cycle()
        data = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        names = [("host", "127.0.0.1"), ("content-length", str(len(data))), *headers.items()]
        parts = [
            h11.Request(method=method, target=target, headers=names),
            h11.Data(data=data),
            h11.EndOfMessage(),
        ]
        self.socket.sendall(b"".join(self._protocol.send(part) or b"" for part in parts))

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request and read its answer."""
        self.send(method, target, body, **headers)
        return self.answer()

    def answer(self) -> tuple[int, Any]:
        """Status and body, parsed where there is one. Raises h11.RemoteProtocolError where the connection is cut."""
        head = self._next()
        assert isinstance(head, h11.Response)
        body = b""
        while isinstance(part := self._next(), h11.Data):
            body += part.data
        return head.status_code, orjson.loads(body) if body else None

    def subscribe(self, target: str = "/event") -> dict[str, str]:
        """Open a stream and read its head."""
        self.send("GET", target)
        head = self._next()
        assert isinstance(head, h11.Response) and head.status_code == 200
        return {name.decode(): value.decode() for name, value in head.headers}

    def event(self) -> Any:
        """The next event of the stream, None at its clean end. Raises h11.RemoteProtocolError where it is cut."""
        while not self._events:
            part = self._next()
            if not isinstance(part, h11.Data):
                return None
            self._events += [orjson.loads(one.data) for one in self._decoder.feed(bytes(part.data))]
        return self._events.pop(0)

    def is_readable(self) -> bool:
        """Whether bytes are there now."""
        self.socket.setblocking(False)
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False
        finally:
            self.socket.settimeout(_PATIENCE_S)

    def _next(self) -> Any:
        while (part := self._protocol.next_event()) is h11.NEED_DATA:
            self._protocol.receive_data(self.socket.recv(1 << 16))
        return part
