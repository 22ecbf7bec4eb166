"""A controller: whoever tests from outside of the host's process and holds, releases and waits through the socket.

Any language can write the same lines; this is the one in Python, blocking and on asyncio. One op at a time.
"""

import socket
from typing import TYPE_CHECKING, Any, Self

from replay.errors import DivergenceError
from replay.transport.lines import Lines, parse_line
from replay.transport.link import connect, socket_error
from replay.transport.message import Control as Op
from replay.transport.message import encode

if TYPE_CHECKING:
    import asyncio

__all__ = ["AsyncControl", "Control"]

_READ_BYTES = 1 << 16
_HOST = "the host"


class Control:
    """The blocking controller; a context manager. Each op raises DivergenceError with the host's reason."""

    __slots__ = ("_lines", "_read", "_socket")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._lines = Lines(_HOST)
        self._read: list[bytes] = []

    @classmethod
    def dial(cls, path: str) -> Self:
        """A controller of the host at `path`. Raises UsageError where nobody listens there."""
        return cls(connect(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hold(self, label: str, transcript: str = "") -> None:
        """Hold an inbound entry, "label" or "label#2", until `release`."""
        self._ask(Op("hold", label, transcript=transcript))

    def release(self, gate: str, transcript: str = "") -> None:
        """Release a gate of the transcript, or a label that was held."""
        self._ask(Op("release", gate, transcript=transcript))

    def wait(self, label: str, n: int = 1, transcript: str = "") -> None:
        """Return when the n-th entry of that label was played."""
        self._ask(Op("wait", label, n, transcript))

    def now(self) -> int:
        """The host's clock, in milliseconds since it began."""
        return int(self._ask(Op("now"))["ms"])

    def status(self) -> list[dict[str, Any]]:
        """The status of each transcript so far, as its file says it."""
        return list(self._ask(Op("status"))["statuses"])

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _ask(self, op: Op) -> dict[str, Any]:
        try:
            self._socket.sendall(encode(op))
        except OSError:
            raise _gone(op) from None
        while not self._read:
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError:
                data = b""
            if not data:
                raise _gone(op)
            self._read += self._lines.feed(data)
        return _checked(self._read.pop(0))


class AsyncControl:
    """The controller on asyncio; an async context manager."""

    __slots__ = ("_lines", "_read", "_reader", "_writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = Lines(_HOST)
        self._read: list[bytes] = []

    @classmethod
    async def dial(cls, path: str) -> Self:
        """A controller of the host at `path`. Raises UsageError where nobody listens there."""
        import asyncio

        try:
            return cls(*await asyncio.open_unix_connection(path))
        except OSError as error:
            raise socket_error(path, error) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def hold(self, label: str, transcript: str = "") -> None:
        """Hold an inbound entry, "label" or "label#2", until `release`."""
        await self._ask(Op("hold", label, transcript=transcript))

    async def release(self, gate: str, transcript: str = "") -> None:
        """Release a gate of the transcript, or a label that was held."""
        await self._ask(Op("release", gate, transcript=transcript))

    async def wait(self, label: str, n: int = 1, transcript: str = "") -> None:
        """Return when the n-th entry of that label was played."""
        await self._ask(Op("wait", label, n, transcript))

    async def now(self) -> int:
        """The host's clock, in milliseconds since it began."""
        return int((await self._ask(Op("now")))["ms"])

    async def status(self) -> list[dict[str, Any]]:
        """The status of each transcript so far, as its file says it."""
        return list((await self._ask(Op("status")))["statuses"])

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        try:  # noqa: SIM105 - contextlib is one import more at every start
            await self._writer.wait_closed()
        except OSError:
            pass

    async def _ask(self, op: Op) -> dict[str, Any]:
        self._writer.write(encode(op))
        while not self._read:
            try:
                data = await self._reader.read(_READ_BYTES)
            except OSError:
                data = b""
            if not data:
                raise _gone(op)
            self._read += self._lines.feed(data)
        return _checked(self._read.pop(0))


def _checked(line: bytes) -> dict[str, Any]:
    """An answer of the host. Raises DivergenceError where it is no."""
    answer = parse_line(line, _HOST)
    if answer.get("ok") is not True:
        raise DivergenceError(str(answer.get("error", "the host refused")))
    return answer


def _gone(op: Op) -> DivergenceError:
    return DivergenceError(f"the host ended before it answered the op {op.op}")
