"""A small HTTP/1.1 server on loopback: a thread for each connection, h11 for the protocol, no timer anywhere.

It knows nothing of models. An `Application` turns an `Exchange` into an `Answer`; this file frames, bounds, keeps
alive and, where the answer says so, breaks the stream or holds it. `stop` wakes every thread by shutting its
socket down and joins it, so that neither a thread nor a socket is left. Encryption, HTTP/2 and any address but
127.0.0.1 are absent on purpose.
"""

import selectors
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import h11

from replay.models.client import Client

if TYPE_CHECKING:
    from typing import Protocol

    class Application(Protocol):
        """What answers. Both are called from the connections' threads, several at once."""

        def answer(self, exchange: Exchange) -> Answer: ...
        def answer_unreadable(self, status: int, message: str) -> Answer: ...
        def fail(self, error: BaseException) -> None: ...


__all__ = ["BREAK", "END", "HOLD", "RESET", "Answer", "Exchange", "Server"]

END = "end"
BREAK = "break"
HOLD = "hold"
RESET = "reset"

_READ_BYTES = 1 << 16
_BATCH_BYTES = 1 << 14
_MAX_HEAD_BYTES = 1 << 16
_MAX_LINGER_BYTES = 1 << 26
_LINGER_NOT = struct.pack("ii", 1, 0)
_TLS_HANDSHAKE = b"\x16\x03"


class Exchange(NamedTuple):
    """One request. target: as it stood in the request line. encoding: Content-Encoding.

    headers: all of them, names in lower case. client: who asked.
    """

    method: str
    target: str
    encoding: str
    body: bytes
    headers: list[tuple[str, str]]
    client: Client


class Answer(NamedTuple):
    """One response.

    body: pieces, each sent as a chunk of its own if `streamed`, else sent as one whole. ending: END completes the
    response; BREAK closes the connection before it is complete; RESET resets it there, and sends nothing at all of a
    whole response without a body; HOLD keeps it open and incomplete until the client leaves or the server stops.
    then: called once the body is out, before a HOLD waits. live: the pieces come as time passes, so none waits for the
    next to share a write.
    """

    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]
    streamed: bool = False
    ending: str = END
    then: Callable[[], None] | None = None
    live: bool = False


class Server:
    """Listens on 127.0.0.1 between `start` and `stop`. Use once."""

    def __init__(self, application: Application, max_body_bytes: int) -> None:
        self._application = application
        self._max_body_bytes = max_body_bytes
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._stopping = False
        self._acceptor = threading.Thread(target=self._accept, name="gateway", daemon=True)
        self.port = 0

    def start(self, port: int = 0) -> int:
        """Binds `port`, or a free one for 0, listens and returns it."""
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(512)
        self.port = self._listener.getsockname()[1]
        self._acceptor.start()
        return self.port

    def stop(self) -> None:
        """Ends every connection and returns when no thread and no socket is left. May be called again."""
        with self._lock:
            self._stopping = True
            connections = dict(self._connections)
        if self._acceptor.ident is not None:
            _shut_down(self._listener)
            self._acceptor.join()
        self._listener.close()
        for thread, connection in connections.items():
            _shut_down(connection)
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if not self._stopping:
                    self._application.fail(error)
                return
            with self._lock:
                if self._stopping:
                    connection.close()
                    return
                # A thread stays listed until it has ended, or stop() could return just before that.
                self._connections = {
                    thread: each for thread, each in self._connections.items() if thread.is_alive()
                }
                thread = threading.Thread(target=self._serve, args=(connection,), name="gateway", daemon=True)
                self._connections[thread] = connection
                # Started under the lock: stop() must not join a thread that has not begun.
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Connection(connection, self._application, self._max_body_bytes).run()
        except OSError:
            # The client left, or stop() shut the socket down: both are ordinary ends.
            pass
        except BaseException as error:
            self._application.fail(error)
        finally:
            connection.close()


def _shut_down(connection: socket.socket) -> None:
    try:  # noqa: SIM105 - contextlib is one import more at every start
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class _BodyTooLarge(Exception):
    pass


class _Connection:
    """The requests of one connection, one after the other."""

    def __init__(self, connection: socket.socket, application: Application, max_body_bytes: int) -> None:
        self._socket = connection
        self._application = application
        self._max_body_bytes = max_body_bytes
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)

    def run(self) -> None:
        """Serves until either side wants no more. Raises OSError when the client is gone."""
        first = self._socket.recv(_READ_BYTES)
        if first.startswith(_TLS_HANDSHAKE):
            self._refuse(400, "this is plain HTTP, the client began a TLS handshake: use an http:// base URL")
            return
        self._protocol.receive_data(first)
        while True:
            try:
                exchange = self._receive()
            except h11.RemoteProtocolError as error:
                # Behind a colon it quotes the request, which may hold a key.
                what = str(error).partition(":")[0]
                self._refuse(error.error_status_hint, f"the request is not HTTP/1.1: {what}")
                return
            except _BodyTooLarge:
                self._refuse(413, f"the body is larger than {self._max_body_bytes} bytes")
                return
            if exchange is None:
                return
            try:
                is_of_use = self._send(self._application.answer(exchange), exchange.method)
            finally:
                exchange.client.release()
            if not is_of_use or self._protocol.our_state is not h11.DONE:
                return
            self._protocol.start_next_cycle()

    def _receive(self) -> Exchange | None:
        """The next request, None when the client is done."""
        request: h11.Request | None = None
        pieces: list[bytes] = []
        size = 0
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                if self._protocol.they_are_waiting_for_100_continue:
                    continues = h11.InformationalResponse(status_code=100, headers=[])
                    self._socket.sendall(self._protocol.send(continues) or b"")
                self._protocol.receive_data(self._socket.recv(_READ_BYTES))
            elif isinstance(event, h11.Request):
                request = event
                if not request.http_version.startswith(b"1."):
                    version = request.http_version.decode("ascii")
                    raise h11.RemoteProtocolError(f"version {version}", error_status_hint=505)
                length = _header(request, b"content-length")
                if length and int(length) > self._max_body_bytes:
                    raise _BodyTooLarge
            elif isinstance(event, h11.Data):
                size += len(event.data)
                if size > self._max_body_bytes:
                    raise _BodyTooLarge
                pieces.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and request is not None:
                return Exchange(
                    request.method.decode("ascii"),
                    request.target.decode("ascii", "replace"),
                    _header(request, b"content-encoding"),
                    b"".join(pieces),
                    [(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers],
                    Client(self._socket),
                )
            else:
                return None

    def _send(self, answer: Answer, method: str) -> bool:
        """Writes a response; False if the connection is of no more use."""
        headers = list(answer.headers)
        if answer.streamed:
            self._write_head(answer.status, headers)
            self._write_pieces(answer.body, 0 if answer.live else _BATCH_BYTES)
        elif answer.ending != HOLD:
            self._write_whole(answer, headers, method)
        if answer.then is not None:
            answer.then()
        if answer.ending == HOLD:
            # Bytes that come while holding are the client's next request, which will never be served.
            while self._socket.recv(_READ_BYTES):
                pass
        if answer.ending == RESET:
            self._reset()
        if answer.ending != END:
            return False
        self._socket.sendall(self._protocol.send(h11.EndOfMessage()) or b"")
        return True

    def _write_whole(self, answer: Answer, headers: list[tuple[str, str]], method: str) -> None:
        body = b"".join(answer.body)
        if answer.ending == RESET and not body:
            return
        # A broken whole response promises one byte more than it sends.
        is_cut = answer.ending in (BREAK, RESET)
        self._write_head(answer.status, [*headers, ("content-length", str(len(body) + is_cut))])
        if body and method != "HEAD":
            self._socket.sendall(self._protocol.send(h11.Data(data=body)) or b"")

    def _reset(self) -> None:
        """Lets `close` reset the connection, once all that was written is on its way: a reset drops what is not."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 1)
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_WRITE)
            selector.select()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)

    def _write_head(self, status: int, headers: list[tuple[str, str]]) -> None:
        head = h11.Response(status_code=status, headers=headers, reason=b"")
        self._socket.sendall(self._protocol.send(head) or b"")

    def _write_pieces(self, pieces: Iterable[bytes], batch_bytes: int) -> None:
        """One chunk of the transfer coding a piece; the first is sent at once, later ones share a write.

        batch_bytes: as much is written at once.
        """
        batch: list[bytes] = []
        size = 0
        sent = False
        for piece in pieces:
            framed = self._protocol.send(h11.Data(data=piece)) or b""
            batch.append(framed)
            size += len(framed)
            if size >= batch_bytes or not sent:
                self._socket.sendall(b"".join(batch))
                batch.clear()
                size = 0
                sent = True
        if batch:
            self._socket.sendall(b"".join(batch))

    def _refuse(self, status: int, message: str) -> None:
        """Answers what cannot be read on, then takes in what the client still sends.

        Closing with unread bytes resets the connection, and the client would lose the answer.
        """
        answer = self._application.answer_unreadable(status, message)
        if self._protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = b"".join(answer.body)
            headers = [*answer.headers, ("content-length", str(len(body))), ("connection", "close")]
            self._write_head(answer.status, headers)
            self._socket.sendall(self._protocol.send(h11.Data(data=body)) or b"")
            self._socket.sendall(self._protocol.send(h11.EndOfMessage()) or b"")
        self._socket.shutdown(socket.SHUT_WR)
        taken = 0
        while taken < _MAX_LINGER_BYTES and (data := self._socket.recv(_READ_BYTES)):
            taken += len(data)


def _header(request: h11.Request, name: bytes) -> str:
    for key, value in request.headers:
        if key == name:
            return value.decode("latin-1")
    return ""
