"""Streams of the gateway beside a bare asyncio server that writes the same bytes, each in a process of its own.

The bare server reads a request and writes prepared frames, one chunk of the transfer coding each: no decoding, no lane,
no journal. What the gateway takes beyond it is what knowing the recording costs.
"""

import asyncio
import multiprocessing
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from replay.models import openai_chat
from replay.models.gateway import Gateway
from replay.models.wire import WireRequest
from replay.script import Player, derive_lanes
from replay.session import read_log

__all__ = ["BARE_SERVER", "GATEWAY_SERVER", "Load", "measure_streams"]

GATEWAY_SERVER = "gateway"
BARE_SERVER = "bare asyncio server"
_READ_BYTES = 1 << 18
_HEAD = (
    b"HTTP/1.1 200 \r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)


class Load(NamedTuple):
    """One server under one load. Milliseconds; `cpu` is the server's own, for all streams together."""

    first: float
    slowest_first: float
    wall: float
    cpu: float
    chunks_per_second: float


def measure_streams(streams: int, chunks: int) -> dict[str, Load]:
    """Both servers with `streams` calls at once, each answered with `chunks` pieces of text."""
    logs = [_log(number, chunks) for number in range(streams)]
    return {
        BARE_SERVER: _measure(_serve_bare, (chunks,), streams, chunks),
        GATEWAY_SERVER: _measure(_serve_gateway, (logs,), streams, chunks),
    }


def _measure(serve: Callable[..., None], arguments: tuple[Any, ...], streams: int, chunks: int) -> Load:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, *arguments))
    process.start()
    port = ours.recv()
    began = time.perf_counter()
    firsts = _ask(port, [_request(port, number) for number in range(streams)])
    wall = time.perf_counter() - began
    ours.send(None)
    cpu = ours.recv()
    process.join()
    return Load(
        statistics.median(firsts) * 1000,
        max(firsts) * 1000,
        wall * 1000,
        cpu * 1000,
        streams * chunks / wall,
    )


def _ask(port: int, requests: Sequence[bytes]) -> list[float]:
    """Send all requests at once and read every answer to its end; seconds to each one's first byte."""
    began = time.perf_counter()
    firsts: dict[int, float] = {}
    tails: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for request in requests:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(request)
            selector.register(connection, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                answering = key.fileobj
                assert isinstance(answering, socket.socket)
                data = answering.recv(_READ_BYTES)
                firsts.setdefault(key.fd, time.perf_counter() - began)
                tails[key.fd] = (tails.get(key.fd, b"") + data)[-64:]
                if not data or tails[key.fd].endswith(b"0\r\n\r\n"):
                    selector.unregister(answering)
                    answering.close()
                    if b"[DONE]" not in tails.pop(key.fd):
                        raise RuntimeError("a stream ended before its last event")
    if len(firsts) > len(requests):
        raise RuntimeError("a descriptor was used twice")
    return list(firsts.values())


def _serve_gateway(pipe: Connection, logs: list[bytes]) -> None:
    lanes = derive_lanes(
        [
            read_log(log, f"session.{number}.jsonl" if number else "session.jsonl")
            for number, log in enumerate(logs)
        ]
    )
    gateway = Gateway(Player(lanes), "openai_chat")
    port = urlsplit(gateway.start()).port
    cpu = time.process_time()
    pipe.send(port)
    pipe.recv()
    pipe.send(time.process_time() - cpu)
    gateway.stop()


def _serve_bare(pipe: Connection, chunks: int) -> None:
    request = WireRequest("m", [], [], {}, stream=True, wants_usage=False)
    frames = [
        b"%x\r\n%b\r\n" % (len(frame), frame)
        for frame in openai_chat.encode_stream(_chunks(0, chunks), request, "1", True)
    ]
    asyncio.run(_answer_bare(pipe, [*frames, b"0\r\n\r\n"]))


async def _answer_bare(pipe: Connection, frames: list[bytes]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        for frame in frames:
            writer.write(frame)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    cpu = time.process_time()
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(pipe.recv)
    pipe.send(time.process_time() - cpu)
    server.close()


def _request(port: int, number: int) -> bytes:
    message = {"role": "user", "content": _task(number)}
    body = orjson.dumps({"model": "m", "stream": True, "messages": [message]})
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (port, len(body), body)
    )


def _task(number: int) -> str:
    return f"Task {number}: count the words of file {number * 7919}."


def _chunks(number: int, chunks: int) -> list[dict[str, Any]]:
    texts = [f" word{number}-{at}" for at in range(chunks)]
    return [
        {"type": "block-start", "index": 0, "blockType": "text"},
        *({"type": "text-delta", "index": 0, "text": text} for text in texts),
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "".join(texts)}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]


def _log(number: int, chunks: int) -> bytes:
    header: dict[str, Any] = {"type": "session", "version": 0, "id": f"session-{number}", "createdAt": 0}
    if number:
        header["parentSession"] = "session-0"
    said = {"content": [{"type": "text", "text": _task(number)}], "role": "user"}
    rows: list[dict[str, Any]] = [header, {"type": "user/message", "data": said}]
    rows += (
        {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}
        for chunk in _chunks(number, chunks)
    )
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
