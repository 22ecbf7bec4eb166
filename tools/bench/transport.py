"""How fast the transport engine plays, against reading and writing the same lines of JSON and nothing else.

One process of the Codex protocol: turns of a request, its answer and a stream of deltas. Outbound lines are parsed and
matched, each with another id than the recorded one; inbound frames are asked for and written. The clock of a direction
runs only while that direction is at work. Repetitions are interleaved: what else runs on the machine meets all alike.
"""

import gc
import statistics
from time import process_time_ns
from typing import Any, NamedTuple

import orjson

from replay.transport.engine import Emit, Engine
from replay.transport.profile import profile
from replay.transport.transcript import Transcript, read_transcript

__all__ = ["Rate", "measure_transport"]

_PROTOCOL = "codex.app-server"
_DELTAS = 20
_TEXT = "a delta of a message, about as long as what a model sends at once"


class Rate(NamedTuple):
    """A step: frames a second of CPU, and how many times the CPU that the bare one takes."""

    step: str
    frames_per_second: float
    ratio: float


class _Costs(NamedTuple):
    """Nanoseconds of CPU of one repetition."""

    bare_outbound: int
    outbound: int
    bare_inbound: int
    inbound: int
    bare_file: int
    file: int


def measure_transport(turns: int, repetitions: int) -> list[Rate]:
    """Each direction, and the way from the file to an engine that can begin."""
    data = _make_transcript(turns)
    transcript = read_transcript(data, "bench.transcript.ndjson")
    outbound = [orjson.dumps(_request(turn + 1_000_000, turn)) for turn in range(turns)]
    costs = []
    for _ in range(repetitions):
        gc.collect()
        costs.append(_repetition(data, transcript, outbound))
    inbound = turns * (_DELTAS + 1)
    return [
        _rate("outbound: parse", turns, [(cost.bare_outbound, cost.bare_outbound) for cost in costs]),
        _rate("outbound: parse, match", turns, [(cost.outbound, cost.bare_outbound) for cost in costs]),
        _rate("inbound: write", inbound, [(cost.bare_inbound, cost.bare_inbound) for cost in costs]),
        _rate("inbound: emit, write", inbound, [(cost.inbound, cost.bare_inbound) for cost in costs]),
        _rate("file: parse", turns + inbound, [(cost.bare_file, cost.bare_file) for cost in costs]),
        _rate("file: read, prepare", turns + inbound, [(cost.file, cost.bare_file) for cost in costs]),
    ]


def _rate(step: str, frames: int, costs: list[tuple[int, int]]) -> Rate:
    # The ratio is taken within a repetition, where both have met the same machine.
    cpu = statistics.median(own for own, _ in costs)
    return Rate(step, frames / cpu * 1e9, statistics.median(own / bare for own, bare in costs))


def _repetition(data: bytes, transcript: Transcript, outbound: list[bytes]) -> _Costs:
    begin = process_time_ns()
    for line in data.split(b"\n")[:-1]:
        orjson.loads(line)
    bare_file = process_time_ns() - begin

    begin = process_time_ns()
    engine = Engine(read_transcript(data, transcript.place), profile(_PROTOCOL), workspace="/workspace")
    file = process_time_ns() - begin

    begin = process_time_ns()
    for line in outbound:
        orjson.loads(line)
    bare_outbound = process_time_ns() - begin

    frames = [orjson.loads(line)["frame"] for line in data.split(b"\n") if b'"emit_inbound"' in line]
    written = bytearray()
    begin = process_time_ns()
    for frame in frames:
        written += orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)
    bare_inbound = process_time_ns() - begin

    costs = _play(engine, outbound)
    return _Costs(bare_outbound, costs[0], bare_inbound, costs[1], bare_file, file)


def _play(engine: Engine, outbound: list[bytes]) -> tuple[int, int]:
    """Nanoseconds of both directions."""
    engine.open(1)
    written = bytearray()
    out_ns = in_ns = 0
    for line in outbound:
        begin = process_time_ns()
        engine.receive(1, orjson.loads(line))
        middle = process_time_ns()
        while isinstance(step := engine.step(0), Emit):
            written += orjson.dumps(step.frame, option=orjson.OPT_APPEND_NEWLINE)
        in_ns += process_time_ns() - middle
        out_ns += middle - begin
    assert engine.finish().is_consumed
    return out_ns, in_ns


def _make_transcript(turns: int) -> bytes:
    metadata = {
        "model": None,
        "cwdPolicy": "workspace",
        "capturedAt": "2026-01-01",
        "provenance": {"kind": "authored", "reason": "a benchmark"},
    }
    names = {"provider": "codex", "protocol": _PROTOCOL, "version": "1", "scenario": "bench"}
    lines: list[dict[str, Any]] = [{"type": "transcript_start", "schema": 1, **names, "metadata": metadata}]
    for turn in range(turns):
        lines.append({"type": "expect_outbound", "label": "turn/start", "frame": _request(turn, turn)})
        lines.append({"type": "emit_inbound", "frame": {"id": turn, "result": {"turn": {"id": f"t{turn}"}}}})
        lines += [{"type": "emit_inbound", "label": "delta", "frame": _delta(turn)} for _ in range(_DELTAS)]
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def _request(ref: int, turn: int) -> dict[str, Any]:
    text = {"type": "text", "text": f"prompt {turn}", "text_elements": []}
    params = {"threadId": "thread", "input": [text], "cwd": "/workspace", "model": "m", "effort": None}
    return {"id": ref, "method": "turn/start", "params": params}


def _delta(turn: int) -> dict[str, Any]:
    params = {"threadId": "thread", "turnId": f"t{turn}", "itemId": "item", "delta": _TEXT}
    return {"method": "item/agentMessage/delta", "params": params}
