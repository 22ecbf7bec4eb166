"""The client's HTTP, byte by byte: what a server may write, and what it may not."""

import asyncio
from typing import cast

import pytest

from scenarios.reference_orchestrator.adapters.opencode_http import Connection, ConnectionLost
from scenarios.reference_orchestrator.errors import ProviderError

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


class _Fed:
    """A connection whose answer comes in pieces of `step` bytes."""

    def __init__(self, data: bytes, step: int) -> None:
        self._reader = asyncio.StreamReader(limit=1024)
        self._feeding = asyncio.create_task(self._feed(data, step))
        self.connection = Connection(self._reader, cast(asyncio.StreamWriter, None))

    async def _feed(self, data: bytes, step: int) -> None:
        for at in range(0, len(data), step):
            self._reader.feed_data(data[at : at + step])
            await asyncio.sleep(0)
        self._reader.feed_eof()


@pytest.mark.parametrize("step", [1, 7, 4096])
@pytest.mark.parametrize(
    ("data", "status", "body"),
    [
        (HEAD + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (HEAD + b"content-length: 2\r\n\r\n{}rest", 200, b"{}"),
        (HEAD + b"\r\nall of it", 200, b"all of it"),
        (CHUNKED + b"2\r\n{\n\r\n1;x=y\r\n}\r\n0\r\n\r\n", 200, b"{\n}"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, b""),
    ],
)
def test_answer_is_read_in_any_pieces(data: bytes, status: int, body: bytes, step: int) -> None:
    async def act() -> None:
        response = await _Fed(data, step).connection.response()
        assert (response.status, response.body) == (status, body)

    asyncio.run(act())


@pytest.mark.parametrize("step", [1, 5, 4096])
def test_events_are_read_in_any_pieces(step: int) -> None:
    stream = b": hello\n\ndata: a\r\n\r\nid: 3\ndata:b\ndata: c\n\nevent: x\n\ndata: d\n\n"
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(stream[at : at + 9]), stream[at : at + 9]) for at in range(0, len(stream), 9)
    )

    async def act() -> list[bytes]:
        fed = _Fed(CHUNKED + chunks + b"0\r\n\r\n", step)
        return [data async for data in await fed.connection.stream()]

    assert asyncio.run(act()) == [b"a", b"b\nc", b"d"]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP: SSH-2.0-x"),
        (HEAD + b"Content-Length: two\r\n\r\n", "does not speak HTTP"),
        (CHUNKED + b"zz\r\n", "does not speak HTTP"),
        (HEAD + b"X: " + b"x" * 4096 + b"\r\n\r\n", "does not speak HTTP"),
    ],
)
def test_what_is_no_http_is_an_error(data: bytes, complaint: str) -> None:
    async def act() -> None:
        await _Fed(data, 4096).connection.response()

    with pytest.raises(ProviderError, match=complaint):
        asyncio.run(act())


@pytest.mark.parametrize("data", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{}", CHUNKED + b"5\r\nab"])
def test_answer_that_ends_too_early_is_a_lost_connection(data: bytes) -> None:
    async def act() -> None:
        await _Fed(data, 4096).connection.response()

    with pytest.raises(ConnectionLost):
        asyncio.run(act())


def test_stream_that_is_refused_is_an_error() -> None:
    async def act() -> None:
        await _Fed(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 4096).connection.stream()

    with pytest.raises(ProviderError, match="answered with status 401"):
        asyncio.run(act())
