"""The little of HTTP/1.1 that a client of a local OpenCode server needs: JSON requests and one event stream.

Each exchange has a connection of its own, so a slow answer holds up nothing. What the server sends is bounded.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from scenarios.reference_orchestrator.errors import ProviderError

__all__ = ["Connection", "ConnectionLost", "Response", "connect"]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 256 * 1024 * 1024
MAX_EVENT_BYTES = 64 * 1024 * 1024


class ConnectionLost(ProviderError):
    """The server is gone, or closed a connection that it had not answered."""


class Connection:
    """One request, already written, and its answer. Close it when done."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def response(self) -> Response:
        """Head and body. Raises ProviderError for what is no HTTP and for a connection that ends too early."""
        async with _complaining():
            status, headers = await self._head()
            body = b"".join([piece async for piece in self._body(headers, MAX_BODY_BYTES)])
        return Response(status, body)

    async def stream(self) -> AsyncIterator[bytes]:
        """Begin an event stream; returns when the server has taken it up. Yields the data of each event."""
        async with _complaining():
            status, headers = await self._head()
        if status != 200:
            raise ProviderError(f"the event stream was answered with status {status}")
        return self._events(headers)

    def close(self) -> None:
        self._writer.close()

    async def _events(self, headers: dict[str, str]) -> AsyncIterator[bytes]:
        held = b""
        data: list[bytes] = []
        async for piece in self._body(headers, None):
            lines = (held + piece).split(b"\n")
            held = lines.pop()
            if len(held) > MAX_EVENT_BYTES:
                raise ProviderError(f"an event is larger than {MAX_EVENT_BYTES} bytes")
            for line in lines:
                line = line.removesuffix(b"\r")
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line and data:
                    yield b"\n".join(data)
                    data = []

    async def _head(self) -> tuple[int, dict[str, str]]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        status = rest[:3]
        if not version.startswith("HTTP/1.") or not status.isdecimal():
            raise ProviderError(f"the server does not speak HTTP: {first[:80]}")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        return int(status), headers

    async def _body(self, headers: dict[str, str], most: int | None) -> AsyncIterator[bytes]:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            pieces = self._chunks()
        else:
            pieces = self._plain(headers.get("content-length"))
        total = 0
        async for piece in pieces:
            total += len(piece)
            if most is not None and total > most:
                raise ProviderError(f"an answer is larger than {most} bytes")
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            if size == 0:
                return
            while size:
                piece = await self._reader.read(min(size, 64 * 1024))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", size)
                size -= len(piece)
                yield piece
            await self._reader.readexactly(2)

    async def _plain(self, length: str | None) -> AsyncIterator[bytes]:
        """`length` None: up to the end of the connection."""
        left = int(length) if length is not None else None
        while left is None or left > 0:
            piece = await self._reader.read(64 * 1024 if left is None else min(left, 64 * 1024))
            if not piece and left is None:
                return
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left = None if left is None else left - len(piece)
            yield piece


class Response:
    """`body` is the whole of it, b"" for none."""

    __slots__ = ("body", "status")

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body


async def connect(host: str, port: int, method: str, path: str, body: bytes | None) -> Connection:
    """Write one request and return. Raises ProviderError if nobody listens."""
    async with _complaining():
        reader, writer = await asyncio.open_connection(host, port, limit=MAX_HEAD_BYTES)
        kind = "text/event-stream" if body is None and method == "GET" else "application/json"
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Connection: close",
            f"Accept: {kind}, */*",
        ]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        elif method != "GET":
            lines.append("Content-Length: 0")
        writer.write("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        await writer.drain()
    return Connection(reader, writer)


@contextlib.asynccontextmanager
async def _complaining() -> AsyncIterator[None]:
    """What goes wrong on a socket, as one sentence."""
    try:
        yield
    except asyncio.IncompleteReadError as error:
        raise ConnectionLost("the server closed a connection in the middle of an answer") from error
    except (asyncio.LimitOverrunError, ValueError) as error:
        raise ProviderError(f"the server does not speak HTTP: {error}") from error
    except OSError as error:
        raise ConnectionLost(f"the connection to the server failed: {error.strerror or error}") from error
