"""A Cursor agent through its SDK's client: an object with the SDK's own methods, made by a function that is injected.

Settings: `client` = "module:function", an async function that takes the ProviderConfig and gives the client. With the
provider's SDK that is the launch of its bridge; whatever has the methods of `Client` will do.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from scenarios.reference_orchestrator.adapters.base import (
    AdapterContext,
    Answer,
    Capabilities,
    ProviderConfig,
    Rollback,
    TurnOptions,
)
from scenarios.reference_orchestrator.errors import ProviderError
from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.normalisers.cursor import CursorNormaliser
from scenarios.reference_orchestrator.providers import ExitStatus, RuntimeExited

__all__ = ["Agent", "Client", "ClientFactory", "CursorAdapter", "Run"]


class Run(Protocol):
    """Iterating gives the updates, and ends with the run."""

    id: str

    def __aiter__(self) -> AsyncIterator[object]: ...

    async def wait(self) -> object: ...

    async def cancel(self) -> None: ...


class Agent(Protocol):
    agent_id: str

    async def send(self, message: str, options: Mapping[str, Any]) -> Run: ...

    async def close(self) -> None: ...


class Client(Protocol):
    async def create_agent(self, options: Mapping[str, Any]) -> Agent: ...

    async def resume_agent(self, agent_id: str, options: Mapping[str, Any]) -> Agent: ...

    async def aclose(self) -> None: ...


ClientFactory = Callable[[ProviderConfig], Awaitable[Client]]


class CursorAdapter:
    capabilities = Capabilities(approvals=False, subagents=True)

    def __init__(self, context: AdapterContext, connect: ClientFactory | None = None) -> None:
        self._context = context
        self._connect = connect or _factory(context.config)
        self._normaliser = CursorNormaliser()
        self._client: Client | None = None
        self._agent: Agent | None = None
        self._run: Run | None = None
        self._playing: asyncio.Task[None] | None = None
        self._is_over = False

    async def open(self, resume: str | None) -> None:
        try:
            self._client = await self._connect(self._context.config)
        except Exception as error:
            raise ProviderError(f"cannot reach cursor: {error}") from error
        options: JsonObject = {"mode": "agent", "local": {"cwd": self._context.workspace}} | self._model()
        if resume is not None:
            asked = {"type": "agent.open", "operation": "resume", "agentId": resume, "options": options}
            try:
                await self._open(asked, self._client.resume_agent(resume, options))
            except ProviderError:
                pass
            else:
                return
        asked = {"type": "agent.open", "operation": "create", "options": options}
        await self._open(asked, self._client.create_agent(options))

    async def start_turn(self, text: str, options: TurnOptions) -> None:
        if self._agent is None:
            raise ProviderError("the session is not open")
        choices: JsonObject = {"mode": "plan" if options.mode == "plan" else "agent"} | self._model()
        asked = {"type": "run.start", "agentId": self._agent.agent_id, "message": text, "options": choices}
        self._sent(asked)
        self._playing = asyncio.create_task(self._play(self._agent.send(text, choices)))

    async def steer(self, text: str) -> None:
        raise ProviderError("cursor has no way to steer a run")

    async def interrupt(self) -> None:
        if self._run is None:
            return
        self._sent({"type": "run.cancel", "runId": self._run.id})
        # A run that has ended meanwhile cannot be cancelled and need not be.
        with contextlib.suppress(Exception):
            await self._run.cancel()

    async def answer(self, request_id: str, answer: Answer) -> None:
        raise ProviderError("cursor asks nothing")

    async def rollback(self, rollback: Rollback) -> None:
        raise ProviderError("cursor has no way to drop runs")

    async def close(self) -> None:
        if self._agent is not None and not self._is_over:
            self._sent({"type": "agent.close", "agentId": self._agent.agent_id})
            # An agent that is gone needs no closing.
            with contextlib.suppress(Exception):
                await self._agent.close()
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.wait({self._playing})
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        self._end("success", None)

    async def _open(self, asked: JsonObject, opening: Awaitable[Agent]) -> None:
        self._sent(asked)
        try:
            self._agent = await opening
        except Exception as error:
            self._received({"type": "sdk.error", "operation": "agent.open", "error": {"message": str(error)}})
            raise ProviderError(f"cursor refused to {asked['operation']} an agent: {error}") from error
        self._received({"type": "agent.opened", "agentId": self._agent.agent_id})

    async def _play(self, sending: Awaitable[Run]) -> None:
        """One run, from its message to its result."""
        try:
            run = await sending
        except Exception as error:
            self._received({"type": "sdk.error", "operation": "run.start", "error": {"message": str(error)}})
            return
        self._run = run
        try:
            self._received({"type": "run.started", "runId": run.id})
            async for event in run:
                update = _update_of(event)
                if update is not None:
                    self._received({"type": "interaction.update", "runId": run.id, "update": update})
            self._run = None
            self._received({"type": "run.completed", "result": _json_of(await run.wait())})
        except ProviderError as error:
            self._end("error", f"cursor broke the protocol: {error}")
        except Exception as error:
            self._end("error", f"cursor lost its run: {error}")

    def _model(self) -> JsonObject:
        model = self._context.config.model
        return {} if model is None else {"model": {"id": model}}

    def _sent(self, frame: JsonObject) -> None:
        for event in self._normaliser.sent(frame):
            self._context.emit(event)

    def _received(self, frame: JsonObject) -> None:
        for event in self._normaliser.received(frame):
            self._context.emit(event)

    def _end(self, status: ExitStatus, error: str | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._context.emit(RuntimeExited(status, error))


def _factory(config: ProviderConfig) -> ClientFactory:
    """Raises ProviderError where the settings name no function."""
    name = config.settings.get("client", "")
    module, _, function = name.partition(":")
    try:
        return cast(ClientFactory, getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise ProviderError(f"the setting client = {name!r} is no module:function: {error}") from error


def _update_of(event: object) -> JsonObject | None:
    """The update in what a run yields: JSON as it is, or the SDK's event that holds one among other things."""
    if isinstance(event, Mapping):
        return dict(event)
    update = getattr(event, "interaction_update", None)
    return None if update is None else _json_of(update)


def _json_of(value: object) -> JsonObject:
    """The SDK's records have the wire's members under Python's spelling."""
    if isinstance(value, Mapping):
        return dict(value)
    return {_camel(name): member for name, member in vars(value).items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
