"""The peer of OpenCode: the loopback HTTP server that `opencode serve` is, over a transcript.

Order. Responses and events travel on different connections, and which comes first is a race that clients have to bear.
The host says one order, and the peer keeps it on the wire: the bytes of a frame are handed to the system, an event's to
every stream, before anything of the next frame is written. A client that reads the stream and waits for a response at
once may still take up either first, as with the real server; one that has seen an event before it goes on is sure that
what followed it was written after it. A stream that nobody reads takes as much as the system buffers, and then holds up
everything behind it.

A subscription is announced to the host when the stream's head and its `server.connected` are written, and no request is
announced before those that came earlier, so what the transcript emits after a subscription reaches its stream.

Threads: the server's, one a connection, and the one that calls `play`, which alone takes frames from the host.
"""

import os
import selectors
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from replay.errors import DivergenceError, UsageError
from replay.models.http_server import Answer, Server
from replay.models.sse import encode_event
from replay.transport.link import Link
from replay.transport.message import Diverged, Exit, Inbound
from replay.transport.peers import program
from replay.transport.wires import opencode as wire

if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn

    from replay.models.http_server import Exchange
    from replay.transport.link import Ending

__all__ = ["VERSION", "OpencodePeer", "OpencodeServer", "main", "serve"]

VERSION = "1.18.33"
"""What the health probe says: the server whose routes these are."""

_MAX_BODY_BYTES = 16 << 20
_JSON = [("content-type", "application/json")]
_STREAM = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),
]
_LOOPBACK = ("127.0.0.1", "localhost")


class _Body:
    """The pieces of one answer. The server lets go of it once they are written or the client is gone.

    `when_done` is called then, in the connection's thread, whichever it was: a client that leaves between a request and
    its answer must not stop the frames of the others.
    """

    __slots__ = ("_pieces", "_when_done")

    def __init__(self, pieces: Iterable[bytes], when_done: Callable[[], None]) -> None:
        self._pieces = pieces
        self._when_done = when_done

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)

    def __del__(self) -> None:
        self._when_done()


class _Call:
    """A request that waits for its response."""

    __slots__ = ("fallback", "is_answered", "is_sent", "response")

    def __init__(self, fallback: wire.Response | None) -> None:
        self.fallback = fallback
        """What it gets when the run leaves the transcript; None for what a divergence says."""
        self.response: wire.Response | None = None
        self.is_answered = threading.Event()
        self.is_sent = threading.Event()

    def answer(self, response: wire.Response | None) -> None:
        """Hand over the response, None to cut the connection; `is_sent` once it is written."""
        self.response = response
        self.is_answered.set()


class _Stream:
    """A subscription. Pieces go in; each comes back as done when it is written, or when the client is gone."""

    __slots__ = ("done", "frame", "pieces")

    def __init__(self, frame: dict[str, Any]) -> None:
        self.frame = frame
        self.pieces: SimpleQueue[bytes | None] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()


class OpencodePeer:
    """One server over one link: `start`, then `play` until something ends it."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._server = Server(self, _MAX_BODY_BYTES)
        self._lock = threading.Condition()
        self._calls: dict[int, _Call] = {}
        self._asked = 0
        self._opening = 0
        """Streams whose head is not written yet."""
        self._streams: list[_Stream] = []
        self._is_over = False
        self._divergence: wire.Response | None = None
        self._ends_cleanly = False

    def start(self, port: int = 0) -> int:
        """Listen on 127.0.0.1, on a free port for 0, and return the port. Raises UsageError where it is taken."""
        try:
            return self._server.start(port)
        except OSError as error:
            raise UsageError(
                f"port {port} of 127.0.0.1 cannot be listened on: {error.strerror}", fix="give --port 0"
            ) from None

    def play(self, stdin: int | None = None) -> Ending:
        """Serve until the host ends the connection; then nothing listens any more and no thread is left.

        stdin: a descriptor whose end closes the connection, for a process that lives as long as its parent's pipe.
        """
        try:
            ending = self._play(stdin)
        except BaseException:
            # A signal, or a host that makes no sense: nobody is waited for.
            self._end(None, is_patient=False)
            raise
        self._end(ending, is_patient=True)
        return ending

    def _play(self, stdin: int | None) -> Ending:
        with selectors.PollSelector() as selector:
            selector.register(self._link, selectors.EVENT_READ)
            if stdin is not None:
                selector.register(stdin, selectors.EVENT_READ)
            ready = self._link.receive_ready()
            while True:
                for message in ready:
                    if not isinstance(message, Inbound):
                        return message
                    self._deliver(message)
                ready = []
                for key, _ in selector.select():
                    if key.fileobj is self._link:
                        ready = self._link.receive_ready()
                    elif _is_at_end(key.fd):
                        selector.unregister(key.fileobj)
                        self._link.close()

    # What the server calls, from its connections' threads.

    def answer(self, exchange: Exchange) -> Answer:
        """The answer to a request, once the transcript has one."""
        request = wire.Request(exchange.method, exchange.target, exchange.headers, exchange.body)
        if wire.is_probe(request):
            return Answer(200, _JSON, [wire.health(request, VERSION)])
        try:
            frame = wire.frame_of_request(request)
        except DivergenceError as error:
            return self._ask(error, _error(400, "BadRequest", error.what))
        if wire.is_stream(frame["type"]):
            return self._open(frame)
        if frame["type"] != wire.UNKNOWN_ROUTE:
            return self._ask(frame, None)
        route = f"{request.method} {frame['input']['path']}"
        return self._ask(frame, _error(404, "NotFoundError", f"no recorded operation has the route {route}"))

    def answer_unreadable(self, status: int, message: str) -> Answer:
        """What was no HTTP/1.1 says nothing about the run."""
        return Answer(status, _JSON, [_error(status, "BadRequest", message).body])

    def fail(self, error: BaseException) -> None:
        """A fault of this peer, which ends the run as one."""
        self._link.close(f"the peer of OpenCode failed: {type(error).__name__}: {error}")

    def _ask(self, asked: dict[str, Any] | DivergenceError, fallback: wire.Response | None) -> Answer:
        call = _Call(fallback)
        with self._lock:
            self._lock.wait_for(lambda: not self._opening)
            if self._is_over:
                return _answer(self._last_word(call), lambda: None)
            self._asked += 1
            self._calls[self._asked] = call
            # Under the lock: the host has to hear of requests in the order of their numbers.
            if isinstance(asked, DivergenceError):
                self._link.close(asked.explained())
            else:
                self._link.send(asked, self._asked)
        call.is_answered.wait()
        return _answer(call.response, call.is_sent.set)

    def _open(self, frame: dict[str, Any]) -> Answer:
        stream = _Stream(frame)
        with self._lock:
            self._opening += 1
        opening = [stream]

        def is_open() -> None:
            with self._lock:
                if opening:
                    opening.clear()
                    self._opening -= 1
                    self._lock.notify_all()

        def is_gone() -> None:
            is_open()
            with self._lock:
                if stream in self._streams:
                    self._streams.remove(stream)
            stream.done.put(None)

        body = _Body(self._pieces(stream, is_open), is_gone)
        return Answer(200, _STREAM, body, streamed=True, live=True)

    def _pieces(self, stream: _Stream, is_open: Callable[[], None]) -> Iterator[bytes]:
        """What a stream is made of; asked for the next piece when the one before is written."""
        first = wire.connected_event(stream.frame["type"])
        if first is not None:
            yield encode_event(first)
        with self._lock:
            if self._is_over:
                return
            self._streams.append(stream)
            self._asked += 1
            self._link.send(stream.frame, self._asked)
        is_open()
        while (piece := stream.pieces.get()) is not None:
            yield piece
            stream.done.put(None)
        if not self._ends_cleanly:
            # The server takes it for a client that left, and closes without the last chunk.
            raise ConnectionAbortedError

    # What the host's frames do, in the thread of `play`.

    def _deliver(self, message: Inbound) -> None:
        frame = message.frame
        kind = frame.get("type") if isinstance(frame, dict) else None
        if kind == "sdk.event":
            if not wire.is_of_connection(frame):
                self._emit(frame)
            return
        with self._lock:
            call = self._calls.pop(message.ref, None) if isinstance(message.ref, int) else None
        if kind == "sdk.response" and call is not None:
            call.answer(wire.response_of_frame(frame))
            call.is_sent.wait()
        elif kind == "sdk.response":
            self._link.close(f"the transcript answers {frame.get('operation')}, which no request waits for")
        else:
            self._link.close(
                f"the transcript has an inbound frame of type {kind!r}, which no OpenCode server sends"
            )

    def _emit(self, frame: dict[str, Any]) -> None:
        with self._lock:
            streams = list(self._streams)
        waited = []
        for stream in streams:
            data = wire.event_data(frame, stream.frame)
            if data is not None:
                stream.pieces.put(encode_event(data))
                waited.append(stream)
        for stream in waited:
            stream.done.get()

    def _end(self, ending: Ending, *, is_patient: bool) -> None:
        """Everyone gets the last word and the server stops. is_patient: once it is written."""
        with self._lock:
            self._is_over = True
            self._ends_cleanly = isinstance(ending, Exit) and ending.status == "success"
            if isinstance(ending, Diverged):
                # The published client reconnects to a stream that was cut for ever, and the test would time out.
                self._ends_cleanly = True
                self._divergence = _error(500, "ReplayDivergence", ending.message)
            calls, streams = list(self._calls.values()), list(self._streams)
        for call in calls:
            call.answer(self._last_word(call))
        for stream in streams:
            stream.pieces.put(None)
        if is_patient:
            for call in calls:
                call.is_sent.wait()
            for stream in streams:
                stream.done.get()
        self._server.stop()

    def _last_word(self, call: _Call) -> wire.Response | None:
        """What a request gets when the connection is over: nothing where the server is gone as recorded."""
        return call.fallback or self._divergence


class OpencodeServer:
    """The peer on a thread of this process, for tests in Python: `with OpencodeServer(host.path) as server: server.url`.

    Leaving the block is what stopping the server is to an orchestrator; `ending` is there afterwards.
    """

    def __init__(self, path: str, transcript: str = "", process: str = "", port: int = 0) -> None:
        self._where = (path, wire.PROTOCOL, transcript, process)
        self._port = port
        self.url = ""
        self.ending: Ending = None

    def __enter__(self) -> Self:
        self._link = Link.dial(*self._where)
        peer = OpencodePeer(self._link)
        self.url = f"http://127.0.0.1:{peer.start(self._port)}"

        def play() -> None:
            self.ending = peer.play()

        self._thread = threading.Thread(target=play, name="opencode", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._link.close()
        self._thread.join()
        self._link.disconnect()


def serve(link: Link, call: program.Call) -> Ending:
    """The edge of the executable: says where it listens, as the real one does, and plays."""
    port = _port_of(call.rest)
    peer = OpencodePeer(link)
    url = f"http://127.0.0.1:{peer.start(port)}"
    os.write(1, f"opencode server listening on {url}\n".encode())
    mode = os.fstat(0).st_mode
    # A server is often started with nothing on stdin; only a pipe that closes says that the parent is gone.
    stdin = 0 if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None
    try:
        return peer.play(stdin)
    except BaseException:
        # A signal is how an orchestrator closes a server; a host of our own has to hear of it before it sums up.
        link.close()
        raise


def main() -> NoReturn:
    """The executable: `opencode serve --hostname H --port N`. Other arguments of the real one mean nothing here."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        os.write(1, f"{VERSION}\n".encode())
        sys.exit(0)
    program.run(wire.PROTOCOL, serve)


def _is_at_end(descriptor: int) -> bool:
    try:
        return not os.read(descriptor, 1 << 16)
    except OSError:
        return True


def _port_of(arguments: Iterable[str]) -> int:
    """The port that the arguments ask for, 0 where they ask for none. Raises UsageError on any but a loopback address."""
    found = {"--hostname": "127.0.0.1", "--port": "0"}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name in found:
            found[name] = value if equals else next(words, "")
    if found["--hostname"] not in _LOOPBACK:
        raise UsageError(
            f"--hostname {found['--hostname']}: a replay listens on 127.0.0.1 only",
            fix="give --hostname 127.0.0.1",
        )
    port = found["--port"]
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--port {port!r} is no port number", fix="give --port 0 for a free one")
    return int(port)


def _answer(response: wire.Response | None, when_sent: Callable[[], None]) -> Answer:
    if response is None:
        when_sent()
        # The server takes it for a client that left, and closes the connection.
        raise ConnectionAbortedError
    return Answer(response.status, _JSON if response.body else [], _Body([response.body], when_sent))


def _error(status: int, name: str, message: str) -> wire.Response:
    return wire.response_of_frame({"error": {"name": name, "data": {"message": message}}, "status": status})
