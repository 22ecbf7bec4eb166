"""What a scenario of scenarios/transport plays in: the whole reference orchestrator with nothing replaced but its runtime
services, and the peers in the place of the providers.

    async def play(world: World) -> None:
        thread = world.create_thread()
        run = world.send(thread, "Say hello.")
        await world.wait_for("run_ended", run_id=run)
        assert world.thread(thread).run(run).status == "completed"

The clock stands still until `advance`, ids come from a seed. Nothing sleeps: `wait_for` waits for a stored event, `played`
for an entry of the transcript, and a wait that is too long says what it waited for.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from replay.transport.control import AsyncControl
from scenarios.reference_orchestrator.commands import Receipt, command_from_json
from scenarios.reference_orchestrator.events import StoredEvent, type_of
from scenarios.reference_orchestrator.orchestrator import Orchestrator, Settings
from scenarios.reference_orchestrator.projection import Projection, Thread
from scenarios.reference_orchestrator.projector import project
from scenarios.reference_orchestrator.services import SeededIds, Services, VirtualClock
from scenarios.reference_orchestrator.store import EventStore, read_events
from scenarios.transport.places import Places, init_repository
from scenarios.transport.world_process import Spawned

__all__ = ["START_MS", "World", "open_world"]

# Real seconds that one wait may take on a busy machine; a test that passes never comes near it.
PATIENCE_S = 30.0
START_MS = 1_750_000_000_000
SEED = 7


class WorldClock(VirtualClock):
    """Stands still until it is moved; for a world that has failed, every wait is over."""

    _is_over = False

    async def sleep_until(self, due_ms: int) -> None:
        if not self._is_over:
            await super().sleep_until(due_ms)

    def give_up(self) -> None:
        self._is_over = True


class World:
    """Made by `open_world`. `settings` of the orchestrator may be replaced before `start`, or between two lives of it."""

    def __init__(self, places: Places, control: AsyncControl) -> None:
        self.places = places
        self.settings = Settings(places.providers(), places.environment, idle_ms=0)
        self.clock = WorldClock(START_MS)
        self._control = control
        self._commands = 0
        self._store: EventStore | None = None
        self._orchestrator: Orchestrator | None = None
        self._spawned: Spawned | None = None

    # The orchestrator's life.

    @property
    def store_path(self) -> Path:
        return self.places.store / "events.sqlite"

    def start(self) -> None:
        """Begin, or begin again on the same store. The other methods do it themselves."""
        if self._orchestrator is None:
            self._store = EventStore(self.store_path)
            services = Services(self.clock, SeededIds(SEED, self._store.last_sequence))
            self._orchestrator = Orchestrator(self._store, self.places.store, self.settings, services)
            self._orchestrator.start()

    async def close(self) -> None:
        """End it in an orderly way: sessions are closed, runs that are active stay for the next life."""
        if self._spawned is not None:
            await self._spawned.kill()
        if self._orchestrator is not None and self._store is not None:
            await self._orchestrator.close()
            self._store.close()
            self._orchestrator = self._store = None

    @property
    def orchestrator(self) -> Orchestrator:
        self.start()
        assert self._orchestrator is not None
        return self._orchestrator

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)

    async def spawn(self) -> Spawned:
        """The orchestrator as a process of its own, while this one has none: to be killed. Then go on here."""
        assert self._orchestrator is None, "close the orchestrator first: a store has one writer"
        self._spawned = await Spawned.start(
            self.places, self.settings, SEED, START_MS, self._new_command_id, PATIENCE_S
        )
        return self._spawned

    # Commands.

    def _new_command_id(self) -> str:
        self._commands += 1
        return f"command-{self._commands}"

    def dispatch(self, command_type: str, **fields: Any) -> Receipt:
        """Any command, by its JSON name and fields; `command_id` is counted unless it is given."""
        raw = {"type": command_type, "command_id": self._new_command_id(), **fields}
        return self.orchestrator.dispatch(command_from_json(raw))

    def accepted(self, command_type: str, **fields: Any) -> Receipt:
        """`dispatch`, for a command that must be accepted."""
        receipt = self.dispatch(command_type, **fields)
        assert receipt.status == "accepted", f"{command_type} was rejected: {receipt.reason}"
        return receipt

    def create_thread(self, provider: str = "", **options: str) -> str:
        """A thread of the only provider, or of that one. The options are TurnOptions of all its runs. Returns its id."""
        receipt = self.accepted(
            "create_thread",
            provider=provider or next(iter(self.settings.providers)),
            workspace=str(self.places.workspace),
            options=options,
        )
        return receipt.created_id

    def send(self, thread_id: str, text: str, **options: str) -> str:
        """A message that starts a run. Returns the run's id."""
        return self.accepted("start_turn", thread_id=thread_id, text=text, options=options).created_id

    def queue(self, thread_id: str, text: str, **options: str) -> str:
        """A message that waits for its turn. Returns the run's id."""
        return self.accepted("queue_message", thread_id=thread_id, text=text, options=options).created_id

    # What is known.

    @property
    def projection(self) -> Projection:
        """Folded anew from the store, as a reader of it would."""
        return project(self.events())

    def thread(self, thread_id: str) -> Thread:
        return self.projection.threads[thread_id]

    def events(self, *types: str) -> list[StoredEvent]:
        """All that is stored, or that of some types."""
        return [kept for kept in read_events(self.store_path) if not types or type_of(kept.event) in types]

    async def wait_for(self, event_type: str, n: int = 1, **fields: Any) -> StoredEvent:
        """The n-th stored event of that type with those fields, at once if it is there already."""
        wanted = ", ".join((event_type, *(f"{name}={value!r}" for name, value in fields.items())))
        return await self._bounded(self._find(event_type, n, fields), f"event {n} of {wanted}")

    async def _find(self, event_type: str, n: int, fields: dict[str, Any]) -> StoredEvent:
        async for stored in self.orchestrator.feed.stream():
            data = stored.event._asdict()
            if type_of(stored.event) == event_type and all(
                data[name] == value for name, value in fields.items()
            ):
                n -= 1
            if n == 0:
                return stored
        raise AssertionError(f"the orchestrator was closed before {event_type}")

    async def wait_for_answer(self, thread_id: str, start: str = "") -> None:
        """Return when a message of the agent has words, and begins so: they may come after the end of its turn."""
        await self._bounded(self._find_answer(thread_id, start), f"answer that begins with {start!r}")

    async def _find_answer(self, thread_id: str, start: str) -> None:
        async for _ in self.orchestrator.feed.stream():
            said = (
                node for node in self.thread(thread_id).nodes.values() if node.item_kind == "agent_message"
            )
            if any(node.text and node.text.startswith(start) for node in said):
                return
        raise AssertionError(f"the orchestrator was closed before an answer began with {start!r}")

    async def _bounded[T](self, awaited: Awaitable[T], what: str) -> T:
        waiting = asyncio.ensure_future(awaited)
        failure = self.orchestrator.failure
        either: set[asyncio.Future[Any]] = {waiting, failure}
        await asyncio.wait(either, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        waiting.cancel()
        if failure.done():
            failure.result()
        last = [type_of(stored.event) for stored in self.events()[-5:]]
        raise AssertionError(f"no {what} in {PATIENCE_S:.0f} s; the last events are {', '.join(last)}")

    # The transcripts.

    async def hold(self, label: str, transcript: str = "") -> None:
        """Hold an inbound entry, "label" or "label#2", until it is released."""
        await self._control.hold(label, transcript)

    async def release(self, gate: str, transcript: str = "") -> None:
        await self._control.release(gate, transcript)

    async def played(self, label: str, n: int = 1, transcript: str = "") -> None:
        """Return when the n-th entry of that label was played."""
        await self._bounded(self._control.wait(label, n, transcript), f"entry {n} of {label!r} played")

    async def frames(self, transcript: str = "") -> tuple[int, int]:
        """How many frames went out to the provider and came in from it until now."""
        statuses = await self._control.status()
        found = [
            status for status in statuses if transcript in ("", status["transcript"], status["provider"])
        ]
        counts = [status["frames"] for status in found]
        return sum(count["outbound"] for count in counts), sum(count["inbound"] for count in counts)

    def dump(self) -> None:
        """Leave the surfaces `projection` and `events` for the runner."""
        events = self.events() if self.store_path.exists() else []
        lines = [orjson.dumps(stored.to_json()) for stored in events]
        self.places.leave("projection.json", orjson.dumps(project(events).to_json()))
        self.places.leave("events.jsonl", b"".join(line + b"\n" for line in lines))


@asynccontextmanager
async def open_world(places: Places) -> AsyncIterator[World]:
    """A fresh store and a workspace that is a git repository. On the way out everything ends and the surfaces are left."""
    shutil.rmtree(places.store, ignore_errors=True)
    places.store.mkdir(parents=True)
    await init_repository(places.workspace, places.environment)
    control = await AsyncControl.dial(places.socket)
    world = World(places, control)
    try:
        yield world
    except BaseException:
        # A provider that a gate still holds would be waited for until its time is up, and time stands still.
        world.clock.give_up()
        raise
    finally:
        try:
            await world.close()
        finally:
            world.dump()
            await control.close()
