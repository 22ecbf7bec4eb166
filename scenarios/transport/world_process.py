"""The orchestrator as a process of its own, to be killed in the middle of its work."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from typing import Any

import orjson

from scenarios.reference_orchestrator.commands import Receipt
from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.orchestrator import Settings
from scenarios.transport.places import Places

__all__ = ["Spawned"]

MAX_LINE_BYTES = 16 * 1024 * 1024


class Spawned:
    """The program of main.py with the clock and the ids of the world, on the world's store."""

    def __init__(
        self, process: asyncio.subprocess.Process, new_command_id: Callable[[], str], patience_s: float
    ) -> None:
        self._process = process
        self._new_command_id = new_command_id
        self._patience_s = patience_s
        self._events: list[JsonObject] = []

    @classmethod
    async def start(
        cls,
        places: Places,
        settings: Settings,
        seed: int,
        start_ms: int,
        new_command_id: Callable[[], str],
        patience_s: float,
    ) -> Spawned:
        config = places.store / "config.json"
        providers = {name: kept._asdict() for name, kept in settings.providers.items()}
        rest = {"idle_ms": settings.idle_ms, "recovery": settings.recovery}
        config.write_bytes(orjson.dumps({"providers": providers, **rest}))
        # The path of this interpreter: where its modules lie is the business of whoever started it.
        boot = f"import sys; sys.path[:] = {sys.path!r}; from scenarios.reference_orchestrator.main import main; sys.exit(main(sys.argv[1:]))"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-B", "-c", boot),
            *(
                "--store",
                str(places.store),
                "--config",
                str(config),
                "--seed",
                str(seed),
                "--clock",
                str(start_ms),
            ),
            env=places.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
        )
        return cls(process, new_command_id, patience_s)

    async def accepted(self, command_type: str, **fields: Any) -> Receipt:
        """Send a command that must be accepted."""
        assert self._process.stdin is not None
        command = {"type": command_type, "command_id": self._new_command_id(), **fields}
        self._process.stdin.write(orjson.dumps(command) + b"\n")
        await self._process.stdin.drain()
        while True:
            message = await self._message(f"a receipt for {command_type}")
            assert "error" not in message, message
            if "receipt" in message:
                receipt = Receipt(**message["receipt"])
                assert receipt.status == "accepted", f"{command_type} was rejected: {receipt.reason}"
                return receipt

    async def wait_for(self, event_type: str, n: int = 1, **fields: Any) -> JsonObject:
        """The data of the n-th event of that type with those fields since the process was started."""
        found: list[JsonObject] = []
        seen = 0
        while True:
            for event in self._events[seen:]:
                data = event["data"]
                if event["type"] == event_type and all(data[name] == value for name, value in fields.items()):
                    found.append(data)
            seen = len(self._events)
            if len(found) >= n:
                return found[n - 1]
            await self._message(f"event {n} of {event_type}")

    async def kill(self) -> None:
        """SIGKILL: nothing is told, nothing is closed."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def _message(self, what: str) -> JsonObject:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(self._patience_s):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise AssertionError(f"no {what} in {self._patience_s:.0f} s from the process") from None
        assert line, f"the process ended before {what}"
        message: JsonObject = orjson.loads(line)
        if "event" in message:
            self._events.append(message["event"])
        return message
