"""The orchestrator as a program: commands on stdin, receipts and events on stdout, a line of JSON each.

    {"type": "start_turn", "command_id": "1", "thread_id": "…", "text": "…"}    ->    {"receipt": {…}}, {"event": {…}} …

It ends when stdin does, or on SIGTERM. It may be killed at any time: started again on the same store it goes on. With
--seed its ids come from the seed, and with --clock its clock stands still but for `{"type": "advance", "ms": …}`.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from scenarios.reference_orchestrator.commands import command_from_json
from scenarios.reference_orchestrator.config import read_settings
from scenarios.reference_orchestrator.errors import OrchestratorError
from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.orchestrator import Orchestrator, Settings
from scenarios.reference_orchestrator.services import (
    RandomIds,
    SeededIds,
    Services,
    SystemClock,
    VirtualClock,
)
from scenarios.reference_orchestrator.store import EventStore

__all__ = ["main"]

MAX_LINE_BYTES = 16 * 1024 * 1024


class Program:
    def __init__(self, orchestrator: Orchestrator, clock: SystemClock | VirtualClock) -> None:
        self._orchestrator = orchestrator
        self._clock = clock

    def take(self, line: bytes) -> None:
        """One line of stdin; what is wrong with it is told on stdout, since the next one may be right."""
        try:
            raw = orjson.loads(line)
            if isinstance(self._clock, VirtualClock) and raw.get("type") == "advance":
                self._clock.advance(raw["ms"])
            else:
                write({"receipt": self._orchestrator.dispatch(command_from_json(raw))._asdict()})
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
            write({"error": f"not a command: {error!r}"})
        except OrchestratorError as error:
            write({"error": str(error)})

    async def tell(self, after: int) -> None:
        async for event in self._orchestrator.feed.stream(after):
            write({"event": event.to_json()})


async def serve(
    store: EventStore,
    scratch: Path,
    settings: Settings,
    services: Services,
    take_over: Callable[[Orchestrator], Program],
) -> None:
    orchestrator = Orchestrator(store, scratch, settings, services)
    program = take_over(orchestrator)
    telling = asyncio.create_task(program.tell(store.last_sequence))
    orchestrator.start()
    lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.feed_eof)
    reading = asyncio.create_task(read(lines, program))
    await asyncio.wait({reading, orchestrator.failure}, return_when=asyncio.FIRST_COMPLETED)
    await orchestrator.close()
    await telling
    if orchestrator.failure.done():
        orchestrator.failure.result()
    await reading


async def read(lines: asyncio.StreamReader, program: Program) -> None:
    async for line in lines:
        if line.strip():
            program.take(line)


def write(message: JsonObject) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="orchestrator", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--store", type=Path, required=True, help="a directory for the event store, made if missing"
    )
    parser.add_argument("--config", type=Path, required=True, help="JSON: the providers")
    parser.add_argument("--seed", type=int, help="make ids from this number")
    parser.add_argument("--clock", type=int, help="stand still at this time, in ms since the epoch")
    options = parser.parse_args(arguments)
    store = None
    try:
        settings = read_settings(options.config, os.environ)
        options.store.mkdir(parents=True, exist_ok=True)
        store = EventStore(options.store / "events.sqlite")
        ids = RandomIds() if options.seed is None else SeededIds(options.seed, store.last_sequence)
        clock = SystemClock() if options.clock is None else VirtualClock(options.clock)
        asyncio.run(
            serve(store, options.store, settings, Services(clock, ids), lambda made: Program(made, clock))
        )
    except OrchestratorError as error:
        print(f"orchestrator: {error}", file=sys.stderr)
        return 2
    finally:
        if store is not None:
            store.close()
    return 0
