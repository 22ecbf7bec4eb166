"""The host's loop: one thread, one selector, every socket. No timer but the transcript's own, no polling.

    accept -> lines -> message -> the transcript it belongs to -> what is due -> lines -> write

The virtual clock moves here and nowhere else: to the next entry's time, when all that is missing is time and no
connection has bytes pending. Writing never blocks the loop; what a peer does not take yet waits in its connection.
"""

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from replay.errors import DivergenceError, ReplayError
from replay.transport.commands import Commands, render_answer
from replay.transport.lines import Lines
from replay.transport.message import (
    Control,
    Diverged,
    End,
    Inbound,
    Open,
    Opened,
    Outbound,
    decode_peer,
    encode,
)
from replay.transport.playing import Message, Playing, exit_message

__all__ = ["Connection", "Service"]

_READ_BYTES = 1 << 18
_MAX_CONNECTIONS = 512


class Connection:
    """The host's end of one socket: a peer's once it opened, else a controller's."""

    __slots__ = ("answer", "is_closing", "lines", "number", "pid", "playing", "socket", "unwritten")

    def __init__(self, number: int, connected: socket.socket) -> None:
        self.number = number
        self.socket = connected
        self.lines = Lines("a peer")
        self.unwritten: deque[bytes] = deque()
        self.playing: Playing | None = None
        self.pid = 0
        self.is_closing = False
        """Nothing more is said, and what comes is thrown away; the socket stays until the other end closes."""
        self.answer: Callable[[dict[str, Any] | ReplayError], None] | None = None


class Service:
    """Serves `playings` on a listening socket until `stop`. `call` is for other threads, the rest for the loop's own."""

    def __init__(
        self,
        playings: Sequence[Playing],
        listener: socket.socket,
        workspace: str,
        own_pid: int,
        diverged: Callable[[Playing], None],
        *,
        is_virtual: bool,
    ) -> None:
        """diverged: called once for each transcript that the run leaves."""
        self._playings = playings
        self._listener = listener
        self._workspace = workspace
        self._own_pid = own_pid
        self._diverged = diverged
        self._is_virtual = is_virtual
        self._virtual_ms = 0
        self._started_at = time.monotonic()
        self._told: set[str] = set()
        self._connections: dict[int, Connection] = {}
        self._opened = 0
        self._calls: deque[Callable[[], None]] = deque()
        self._wake_read, self._wake_write = socket.socketpair()
        self._is_stopped = False
        self._finish_by: float | None = None
        self._selector = selectors.DefaultSelector()
        self.commands = Commands(playings, self.now_ms)
        self.fault: BaseException | None = None
        self._lock = threading.Lock()
        self._is_over = False

    def now_ms(self) -> int:
        """Milliseconds since the host began, on its own clock."""
        return self._virtual_ms if self._is_virtual else int((time.monotonic() - self._started_at) * 1000)

    def call(self, function: Callable[[], None]) -> bool:
        """Have the loop run something, from any thread; False where the loop is over, and nothing will."""
        with self._lock:
            if self._is_over:
                return False
            self._calls.append(function)
            try:  # noqa: SIM105 - contextlib is one import more at every start
                self._wake_write.send(b"\0")
            except BlockingIOError:
                pass  # Full of wakes that the loop has yet to see.
        return True

    def finish(self, grace_s: float) -> None:
        """End the loop when the peers in other processes have closed; after `grace_s` seconds in any case."""
        self.call(lambda: self._set_limit(grace_s))

    def run(self) -> None:
        """The loop; returns when it is finished and every socket is closed."""
        try:
            self._listener.setblocking(False)
            self._wake_read.setblocking(False)
            self._wake_write.setblocking(False)
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
            self._selector.register(self._wake_read, selectors.EVENT_READ, self._wake)
            while not self._is_stopped:
                self._step()
        except BaseException as error:
            self.fault = error
        finally:
            with self._lock:
                self._is_over = True
            self._run_calls()
            self.commands.abandon()
            self._close_all()

    def _set_limit(self, grace_s: float) -> None:
        self._finish_by = time.monotonic() + grace_s

    def _step(self) -> None:
        self._advance()
        limit_s, jump_to_ms = self._patience()
        ready = self._selector.select(limit_s)
        for key, mask in ready:
            key.data(mask)
        if ready:
            return
        if jump_to_ms is not None:
            # Nothing is pending anywhere, so the time that the transcript asks for may pass.
            self._virtual_ms = max(self._virtual_ms, jump_to_ms)
        elif self._finish_by is not None and self._may_end():
            self._is_stopped = True

    def _patience(self) -> tuple[float | None, int | None]:
        """How long to wait for bytes, in seconds, and where a virtual clock goes if there are none."""
        dues = [playing.waits_until_ms for playing in self._playings if playing.waits_until_ms is not None]
        limit_s: float | None = None
        if dues and self._is_virtual:
            # The rest of a line that has begun is on its way, though it may not be here yet.
            if not any(connection.lines.is_inside for connection in self._connections.values()):
                return 0, min(dues)
        elif dues:
            limit_s = max(0.0, self._started_at + min(dues) / 1000 - time.monotonic())
        if self._finish_by is not None:
            left_s = 0.0 if self._may_end() else max(0.0, self._finish_by - time.monotonic())
            limit_s = left_s if limit_s is None else min(limit_s, left_s)
        return limit_s, None

    def _may_end(self) -> bool:
        """Whether nobody outside of this process is still connected, or has had time enough to leave."""
        if self._finish_by is not None and time.monotonic() >= self._finish_by:
            return True
        return not any(
            connection.playing is not None and connection.pid != self._own_pid
            for connection in self._connections.values()
        )

    def _advance(self) -> None:
        """Send whatever is due, and tell who waits."""
        for playing in self._playings:
            due = playing.advance(self.now_ms())
            # Before anybody hears of a divergence, its file is there.
            if playing.error is not None and playing.name not in self._told:
                self._told.add(playing.name)
                self._diverged(playing)
            for number, message in due:
                connection = self._connections.get(number)
                if connection is not None:
                    self._deliver(connection, message)
        self.commands.settle()

    # -- sockets

    def _accept(self, _mask: int) -> None:
        try:
            connected, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) >= _MAX_CONNECTIONS:
            connected.close()
            return
        connected.setblocking(False)
        self._opened += 1
        connection = Connection(self._opened, connected)
        self._connections[connection.number] = connection
        self._selector.register(connected, selectors.EVENT_READ, lambda mask: self._ready(connection, mask))

    def _wake(self, _mask: int) -> None:
        try:
            self._wake_read.recv(4096)
        except BlockingIOError:
            return
        self._run_calls()

    def _run_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()

    def _ready(self, connection: Connection, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
        if mask & selectors.EVENT_READ and connection.number in self._connections:
            self._read(connection)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose(connection)
            return
        if connection.is_closing:
            return
        try:
            for line in connection.lines.feed(data):
                if not connection.is_closing:
                    self._receive(connection, line)
        except DivergenceError as error:
            self._refuse(connection, error)

    def _lose(self, connection: Connection) -> None:
        """The other end is gone, by closing or by dying."""
        self._forget(connection)
        if connection.answer is not None:
            self.commands.forget(connection.answer)
        if connection.playing is not None and not connection.is_closing:
            connection.playing.close(connection.number, self.now_ms())

    def _forget(self, connection: Connection) -> None:
        self._connections.pop(connection.number, None)
        self._selector.unregister(connection.socket)
        connection.socket.close()

    def _write(self, connection: Connection, data: bytes) -> None:
        connection.unwritten.append(data)
        if len(connection.unwritten) == 1:
            self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        while connection.unwritten:
            data = connection.unwritten.popleft()
            try:
                written = connection.socket.send(data)
            except BlockingIOError:
                written = 0
            except OSError:
                # Gone; the end of its stream is noticed by reading.
                connection.unwritten.clear()
                break
            if written < len(data):
                connection.unwritten.appendleft(data[written:])
                self._watch(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
                return
        self._watch(connection, selectors.EVENT_READ)
        if connection.is_closing:
            try:  # noqa: SIM105 - contextlib is one import more at every start
                connection.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def _watch(self, connection: Connection, events: int) -> None:
        key = self._selector.get_key(connection.socket)
        if key.events != events:
            self._selector.modify(connection.socket, events, key.data)

    def _close(self, connection: Connection) -> None:
        """Say no more. The socket itself goes when the other end closes it, so that no last word is lost to a reset."""
        if not connection.is_closing:
            connection.is_closing = True
            if not connection.unwritten:
                self._flush(connection)

    def _close_all(self) -> None:
        for connection in list(self._connections.values()):
            self._forget(connection)
        self._selector.close()
        for each in (self._listener, self._wake_read, self._wake_write):
            each.close()

    # -- messages

    def _deliver(self, connection: Connection, message: Message) -> None:
        """Send a message; any but a frame is the last."""
        if message is not None:
            try:
                self._write(connection, encode(message))
            except DivergenceError as error:
                self._refuse(connection, error)
        if not isinstance(message, Inbound):
            self._close(connection)

    def _receive(self, connection: Connection, line: bytes) -> None:
        message = decode_peer(line)
        playing = connection.playing
        if isinstance(message, Control):
            if playing is not None:
                raise DivergenceError(f"a peer sent the op {message.op}, which is a controller's")
            self._control(connection, message)
        elif isinstance(message, Open):
            if playing is not None:
                raise DivergenceError("a peer sent the op open twice")
            self._open(connection, message)
        elif playing is None:
            raise DivergenceError("a peer sent something before the op open")
        elif isinstance(message, Outbound):
            playing.receive(connection.number, message.frame, message.ref, self.now_ms(), line)
        elif isinstance(message, End):
            playing.end(connection.number, self.now_ms())
        elif message.error:
            playing.break_off(message.error, self.now_ms(), connection.number)
        else:
            self._hang_up(connection, playing)
        # What one frame makes due goes out before the next is looked at, as if they had come apart.
        self._advance()

    def _control(self, connection: Connection, message: Control) -> None:
        if connection.answer is None:
            connection.answer = lambda answer: self._write(connection, render_answer(answer))
        self.commands.run(message, connection.answer)

    def _open(self, connection: Connection, message: Open) -> None:
        connection.pid = message.pid
        try:
            playing = self._choose(message)
        except DivergenceError as error:
            self._deliver(connection, Diverged(error.explained()))
            # Nobody else would tell that the orchestrator went where no transcript is.
            clean = [playing for playing in self._playings if playing.error is None]
            if clean:
                clean[0].break_off(error.what, self.now_ms())
            return
        connection.playing = playing
        if playing.error is not None:
            self._deliver(connection, Diverged(playing.error.explained()))
            return
        playing.open(connection.number, message.process, self.now_ms())
        if playing.error is None:
            self._write(connection, encode(Opened(connection.number, self._workspace, playing.answered())))

    def _hang_up(self, connection: Connection, playing: Playing) -> None:
        consumed = playing.close(connection.number, self.now_ms())
        if consumed is not None:
            self._deliver(connection, exit_message(consumed))
        elif playing.error is None:
            self._close(connection)

    def _choose(self, message: Open) -> Playing:
        """The transcript that a peer asks for. Raises DivergenceError."""
        spoken = [each for each in self._playings if each.protocol == message.protocol]
        if message.transcript:
            named = [each for each in spoken if each.name == message.transcript] or [
                each for each in spoken if each.transcript.start.provider == message.transcript
            ]
        else:
            named = spoken
        if len(named) == 1:
            return named[0]
        asked = f'"{message.transcript}" of the protocol' if message.transcript else "the protocol"
        known = ", ".join(f'"{each.name}" ({each.protocol})' for each in self._playings)
        raise DivergenceError(
            f'the orchestrator started a peer for {asked} "{message.protocol}", '
            f"and {'several transcripts are' if named else 'no transcript is'} that: {known}",
            fix="AGENT_REPLAY_TRANSCRIPT=NAME in the peer's environment says which" if named else "",
        )

    def _refuse(self, connection: Connection, error: DivergenceError) -> None:
        """End a connection on which something came that is no message."""
        playing = connection.playing
        if playing is None:
            if connection.answer is not None:
                self._write(connection, render_answer(error))
            else:
                self._write(connection, encode(Diverged(error.explained())))
            self._close(connection)
            return
        playing.break_off(error.what, self.now_ms(), connection.number)
        self._advance()
        self._close(connection)
