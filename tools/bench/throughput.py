"""How fast a large log goes through the replay path, against bare orjson.loads of the same lines.

Each step is timed from the bytes on, so a later one includes the earlier. Repetitions are interleaved: what else
runs on the machine meets all of them alike. Garbage is collected between them and not during, as in the runner.
"""

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from replay.script import derive_lanes
from replay.session import pack, read_log, unpack
from replay.surface import Normaliser, Volatile, served_ids
from tools.bench.replay_log import CWD

__all__ = ["BARE", "DERIVE", "Throughput", "measure_throughput"]

BARE, DERIVE = "bare orjson.loads", "decode + derive"


class Throughput(NamedTuple):
    """A step: median milliseconds of CPU, and how many times those of bare orjson.loads."""

    step: str
    cpu: float
    ratio: float


def measure_throughput(data: bytes, repetitions: int) -> list[Throughput]:
    """All steps over `data`, a session log."""
    lines = data.split(b"\n")[:-1]
    steps: dict[str, Callable[[], object]] = {
        BARE: lambda: _loads(lines),
        "decode": lambda: read_log(data, "session.jsonl"),
        DERIVE: lambda: _derive(data),
        "decode + derive + serve every chunk": lambda: _serve(data),
        "decode + derive + normalise": lambda: _normalise(data),
        "decode + derive + canonical rows + normalise": lambda: _canonical(data),
    }
    costs: dict[str, list[float]] = {step: [] for step in steps}
    gc.disable()
    for _ in range(repetitions):
        for step, run in steps.items():
            gc.collect()
            start = time.process_time()
            result = run()
            costs[step].append((time.process_time() - start) * 1000)
            del result
    gc.enable()
    # The ratio is taken within a repetition, where both have met the same machine.
    return [
        Throughput(
            step,
            statistics.median(own),
            statistics.median(one / bare for one, bare in zip(own, costs[BARE], strict=True)),
        )
        for step, own in costs.items()
    ]


def _loads(lines: list[bytes]) -> None:
    loads = orjson.loads
    for line in lines:
        loads(line)


def _derive(data: bytes) -> Any:
    log = read_log(data, "session.jsonl")
    return log, derive_lanes([log])


def _serve(data: bytes) -> int:
    _, lanes = _derive(data)
    return sum(1 for call in lanes[0].calls for _ in call.entry.expand())


def _normalise(data: bytes) -> Any:
    """The committed side: the rows as they are."""
    log, _ = _derive(data)
    return _normalised(log, [log.header.fields, *(row.fields for row in log.rows)])


def _canonical(data: bytes) -> Any:
    """The side of the run: an agent may have flushed anywhere, so its rows are packed anew."""
    log, _ = _derive(data)
    return _normalised(log, [log.header.fields, *pack(unpack(log.rows))])


def _normalised(log: Any, values: list[Any]) -> Any:
    normaliser = Normaliser(Volatile([("{{cwd}}", [CWD])], [log.header.id], served_ids([values])))
    return normaliser.normalise_all({"session": values})
