"""A peer's end of the host's socket: Link blocks or serves a loop, AsyncLink is the same on asyncio.

A link is one connection of one provider process. `receive` answers None once the host is gone or has nothing more to
say; a refused opening raises. Only the framing and the socket live here: what a frame means is the peer's affair.
"""

import os
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from replay.errors import DivergenceError, UsageError
from replay.transport.lines import Lines
from replay.transport.message import (
    Close,
    Diverged,
    End,
    Exit,
    Inbound,
    Open,
    Opened,
    Outbound,
    decode_host,
    encode,
)

if TYPE_CHECKING:
    import asyncio

__all__ = ["AsyncLink", "Ending", "Link", "connect", "socket_error"]

type Ending = Exit | Diverged | None
"""How a connection ended: as the transcript says, by leaving it, or because the host went away."""

_READ_BYTES = 1 << 18
# struct sockaddr_un of Linux, with the zero byte; the BSDs have 104.
MAX_SOCKET_PATH_BYTES = 107


class Link:
    """The blocking link. `send`, `end` and `close` may be called from several threads, `receive` from one."""

    __slots__ = ("_lines", "_lock", "_read", "_socket", "answered", "connection", "workspace")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._lines = Lines("the host")
        self._read: deque[Inbound | Exit | Diverged] = deque()
        self._lock = threading.Lock()
        self.connection = 0
        self.workspace = ""
        self.answered: Sequence[str] = ()
        """Kinds of outbound requests whose answers the transcript holds."""

    @classmethod
    def dial(cls, path: str, protocol: str, transcript: str = "", process: str = "") -> Self:
        """A link that the host at `path` has opened.

        Raises UsageError where nobody listens there, DivergenceError where the host refuses: no such transcript, or
        one that expects no further connection.
        """
        link = cls(connect(path))
        link._write(encode(Open(protocol, transcript, process, os.getpid())))
        while True:
            data = link._socket.recv(_READ_BYTES)
            if not data:
                link._socket.close()
                raise DivergenceError("the host closed the connection before it answered")
            for line in link._lines.feed(data):
                message = decode_host(line)
                if isinstance(message, Opened):
                    link.connection, link.workspace, link.answered = message
                elif isinstance(message, Diverged) and not link.connection:
                    link._socket.close()
                    raise DivergenceError(message.message)
                else:
                    link._read.append(message)
            if link.connection:
                return link

    def send(self, frame: Any, ref: Any = None) -> None:
        """Hand a frame of the orchestrator to the host. A host that is gone is noticed by `receive`."""
        self._write(encode(Outbound(frame, ref)))

    def end(self) -> None:
        """The orchestrator will send no more and still listens."""
        self._write(encode(End()))

    def close(self, error: str = "") -> None:
        """The orchestrator closed, or broke the wire (`error`, a sentence). Receive on until None."""
        self._write(encode(Close(error)))

    def receive(self) -> Inbound | Exit | Diverged | None:
        """The next message; waits for it. None when the host closed the connection."""
        while not self._read:
            if not self._pull():
                return None
        return self._read.popleft()

    def receive_ready(self) -> list[Inbound | Exit | Diverged | None]:
        """What is there already, after `fileno` turned readable; a None at its end is the host's end.

        Also hands out what `dial` read beyond its answer, so a loop asks once before it waits.
        """
        is_open = self._pull(socket.MSG_DONTWAIT)
        ready: list[Inbound | Exit | Diverged | None] = list(self._read)
        self._read.clear()
        if not is_open:
            ready.append(None)
        return ready

    def fileno(self) -> int:
        """The descriptor to wait for in a loop of one's own."""
        return self._socket.fileno()

    def disconnect(self) -> None:
        """Give the socket back; wakes a thread that waits in `receive`, which answers None."""
        try:  # noqa: SIM105 - contextlib is one import more at every start
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _pull(self, flags: int = 0) -> bool:
        """Read once; False at the end."""
        try:
            data = self._socket.recv(_READ_BYTES, flags)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for line in self._lines.feed(data):
            message = decode_host(line)
            if not isinstance(message, Opened):
                self._read.append(message)
        return bool(data)

    def _write(self, data: bytes) -> None:
        with self._lock:
            try:
                self._socket.sendall(data)
            except OSError:
                # The host closed first. What it said before that is still to be read, and says why.
                return


class AsyncLink:
    """The link on asyncio, for one task that receives and any that send."""

    __slots__ = ("_lines", "_read", "_reader", "_writer", "answered", "connection", "workspace")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = Lines("the host")
        self._read: deque[Inbound | Exit | Diverged | Opened] = deque()
        self.connection = 0
        self.workspace = ""
        self.answered: Sequence[str] = ()
        """Kinds of outbound requests whose answers the transcript holds."""

    @classmethod
    async def dial(cls, path: str, protocol: str, transcript: str = "", process: str = "") -> Self:
        """A link that the host at `path` has opened; raises as Link.dial does."""
        import asyncio

        try:
            reader, writer = await asyncio.open_unix_connection(path)
        except OSError as error:
            raise socket_error(path, error) from None
        link = cls(reader, writer)
        await link._write(encode(Open(protocol, transcript, process, os.getpid())))
        answer = await link._next()
        if isinstance(answer, Opened):
            link.connection, link.workspace, link.answered = answer
            return link
        await link.disconnect()
        if isinstance(answer, Diverged):
            raise DivergenceError(answer.message)
        raise DivergenceError("the host closed the connection before it answered")

    async def send(self, frame: Any, ref: Any = None) -> None:
        """Hand a frame of the orchestrator to the host."""
        await self._write(encode(Outbound(frame, ref)))

    async def end(self) -> None:
        """The orchestrator will send no more and still listens."""
        await self._write(encode(End()))

    async def close(self, error: str = "") -> None:
        """The orchestrator closed, or broke the wire (`error`, a sentence). Receive on until None."""
        await self._write(encode(Close(error)))

    async def receive(self) -> Inbound | Exit | Diverged | None:
        """The next message; waits for it. None when the host closed the connection."""
        message = await self._next()
        assert not isinstance(message, Opened)
        return message

    async def disconnect(self) -> None:
        """Give the socket back."""
        self._writer.close()
        try:  # noqa: SIM105 - contextlib is one import more at every start
            await self._writer.wait_closed()
        except OSError:
            pass

    async def _next(self) -> Inbound | Exit | Diverged | Opened | None:
        while not self._read:
            try:
                data = await self._reader.read(_READ_BYTES)
            except OSError:
                return None
            if not data:
                return None
            self._read.extend(decode_host(line) for line in self._lines.feed(data))
        return self._read.popleft()

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            # As in Link: the host's last words are still to be read.
            return


def connect(path: str) -> socket.socket:
    """A stream socket connected to the host at `path`. Raises UsageError where nobody listens there."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.connect(path)
    except OSError as error:
        connected.close()
        raise socket_error(path, error) from None
    return connected


def socket_error(path: str, error: OSError) -> UsageError:
    """Why a socket of that name cannot be used, for a person."""
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH_BYTES:
        return UsageError(
            f"the socket's path has {length} bytes and a system takes {MAX_SOCKET_PATH_BYTES}: {path}",
            fix="let the host choose the directory, or give it one with a shorter name",
        )
    return UsageError(
        f"no host listens at {path}: {error.strerror or error}",
        fix="AGENT_REPLAY_TRANSPORT is set by the test that holds the host; run the orchestrator from it",
    )
