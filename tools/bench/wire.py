"""What the wire costs: judging a frame by the ACP schema, and the gateway's first byte."""

import socket
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from replay.acp import AGENT
from replay.models.gateway import Gateway
from replay.runner.main import read_tables
from replay.script import Player, derive_lanes
from replay.session import read_log

__all__ = ["FirstByte", "measure_first_byte", "measure_validation"]

# What the turn's client asks, by id.
_METHODS = {1: "initialize", 2: "session/new", 3: "session/prompt"}
_ROUNDS = 200


class FirstByte(NamedTuple):
    """Milliseconds from connecting to the first byte of the answer and to its end, and CPU of both sides."""

    first: float
    last: float
    cpu: float


def measure_validation(directory: Path, repetitions: int) -> tuple[float, float]:
    """Microseconds of CPU a frame of the turn's stdout takes to be judged, and to be decoded for comparison."""
    tables = read_tables()
    lines = (directory / "stdout.expected.jsonl").read_bytes().split(b"\n")[:-1]
    frames: list[dict[str, Any]] = [orjson.loads(line) for line in lines]
    judged: list[float] = []
    decoded: list[float] = []
    for _ in range(repetitions):
        start = time.process_time()
        for _ in range(_ROUNDS):
            for frame in frames:
                tables.validate(AGENT, frame, _METHODS.get(frame.get("id", 0), ""))
        between = time.process_time()
        for _ in range(_ROUNDS):
            for line in lines:
                orjson.loads(line)
        judged.append(between - start)
        decoded.append(time.process_time() - between)
    scale = 1e6 / (_ROUNDS * len(lines))
    return statistics.median(judged) * scale, statistics.median(decoded) * scale


def measure_first_byte(directory: Path, repetitions: int) -> FirstByte:
    """The turn's model call through a gateway of its own each time, streamed; medians."""
    log = (directory / "session.jsonl").read_bytes()
    costs = [_ask(log) for _ in range(repetitions)]
    return FirstByte(*(statistics.median(column) for column in zip(*costs, strict=True)))


def _ask(log: bytes) -> FirstByte:
    lanes = derive_lanes([read_log(log, "session.jsonl")])
    message = {"role": "user", "content": lanes[0].opening[-1]}
    body = orjson.dumps({"model": "m", "stream": True, "messages": [message]})
    gateway = Gateway(Player(lanes), "openai_chat")
    address = urlsplit(gateway.start())
    head = (
        f"POST {address.path}/chat/completions HTTP/1.1\r\nhost: {address.netloc}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    try:
        cpu = time.process_time()
        start = time.perf_counter()
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(head.encode() + body)
            answer = connection.recv(1 << 16)
            first = time.perf_counter()
            while data := connection.recv(1 << 16):
                answer += data
        last = time.perf_counter()
        used = time.process_time() - cpu
    finally:
        gateway.stop()
    if not answer.startswith(b"HTTP/1.1 200") or b"[DONE]" not in answer:
        raise RuntimeError(f"the gateway did not serve the call: {answer[:300]!r}")
    return FirstByte((first - start) * 1000, (last - start) * 1000, used * 1000)
