"""The peer of a Cursor agent: a client object in the orchestrator's process, and the same over a socket.

`CursorClient` has the shape of the provider's asynchronous SDK: open an agent, send it a message, iterate over the run's
updates, wait for its result, cancel it, close. What a call returns and what a run yields are the frames' own objects. Other
languages take the executable, which speaks the frames themselves, one a line: on stdin and stdout, or with --listen on a
loopback port for one connection. A line to it may carry a "ref", which the line that answers it repeats.
"""

import os
import select
import socket
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from replay.errors import DivergenceError, ReplayError
from replay.transport.lines import parse_line
from replay.transport.message import Diverged, Exit, Inbound
from replay.transport.peers import Outbound, Write
from replay.transport.wires import cursor as wire

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from types import TracebackType
    from typing import NoReturn

    from replay.transport.link import AsyncLink, Ending, Link
    from replay.transport.peers.program import Call

__all__ = ["CursorAgent", "CursorClient", "CursorError", "CursorPeer", "CursorRun", "main", "serve"]


class CursorError(Exception):
    """What the SDK raises: the provider refused a call, or is gone. `error` is the provider's own object."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.error = error
        super().__init__(str(error.get("message") or error))


class CursorClient:
    """The SDK's client over one link. Use as `async with await CursorClient.dial(…) as client`."""

    def __init__(self, link: AsyncLink) -> None:
        # Here and not above: the executable has no use for it, and it takes longer than the rest of its start.
        import asyncio

        self._link = link
        self._calls: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._runs: dict[str, CursorRun] = {}
        self._asked = 0
        self._end: CursorError | None = None
        self.ending: Ending = None
        """How the transcript ended the connection, when it did."""
        self._loop = asyncio.get_running_loop()
        self._reader = self._loop.create_task(self._read())

    @classmethod
    async def dial(cls, path: str, transcript: str = "", process: str = "") -> Self:
        """A client of the host whose socket is at `path`; raises as Link.dial does."""
        from replay.transport.link import AsyncLink

        return cls(await AsyncLink.dial(path, wire.PROTOCOL, transcript, process))

    async def create_agent(self, options: Mapping[str, Any] | None = None) -> CursorAgent:
        """A new agent."""
        return await self._open(wire.open_frame(options or {}))

    async def resume_agent(self, agent_id: str, options: Mapping[str, Any] | None = None) -> CursorAgent:
        """An agent that was there before."""
        return await self._open(wire.open_frame(options or {}, agent_id))

    async def aclose(self) -> None:
        """Close the connection; every run that is left ends with a CursorError."""
        await self._link.close()
        await self._reader
        await self._link.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _open(self, frame: dict[str, Any]) -> CursorAgent:
        opened = await self._call(frame)
        return CursorAgent(self, str(opened.get("agentId", "")))

    async def _call(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Send a call and wait for its answer. Raises CursorError where that is an error or never comes."""
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._calls[number] = answer
        try:
            await self._tell(frame, number)
            return await answer
        finally:
            self._calls.pop(number, None)

    async def _tell(self, frame: dict[str, Any], number: int | None = None) -> None:
        if self._end is not None:
            raise self._end
        await self._link.send(frame, number)

    def _run(self, run_id: str) -> CursorRun:
        """The run of that id. Its updates may come before the answer that names it."""
        if run_id not in self._runs:
            self._runs[run_id] = CursorRun(self, run_id)
            # A run.started and the end may come in one read: its waiter runs after the end was told to the others.
            if self._end is not None:
                self._runs[run_id]._fail(self._end)
        return self._runs[run_id]

    async def _read(self) -> None:
        error = {"message": "the connection is closed"}
        try:
            while isinstance(message := await self._link.receive(), Inbound):
                try:
                    self._deliver(message.frame, message.ref)
                except DivergenceError as wrong:
                    await self._link.close(wrong.explained())
            self.ending = message
            if isinstance(message, Diverged):
                error = {"message": message.message}
            elif isinstance(message, Exit):
                error = {"message": message.error or f"the agent's runtime ended: {message.status}"}
        except ReplayError as wrong:
            error = {"message": str(wrong)}
        finally:
            self._give_up(CursorError(error))

    def _deliver(self, frame: dict[str, Any], ref: Any) -> None:
        kind = frame.get("type")
        if kind == "interaction.update":
            self._run(wire.run_of(frame))._take(frame.get("update"))
            return
        if kind == "run.completed":
            self._run(wire.run_of(frame))._complete(frame["result"])
            return
        call = self._calls.get(ref)
        if call is None or call.done():
            raise DivergenceError(f"the transcript answers with {kind}, and no call waits for it")
        if kind == "sdk.error":
            call.set_exception(CursorError(frame.get("error") or {}))
        elif kind in wire.ANSWERS.values():
            call.set_result(frame)
        else:
            raise DivergenceError(
                f"the transcript has an inbound frame of type {kind!r}, which no agent sends"
            )

    def _give_up(self, error: CursorError) -> None:
        self._end = error
        for call in self._calls.values():
            if not call.done():
                call.set_exception(error)
        for run in self._runs.values():
            run._fail(error)


class CursorAgent:
    """An open agent."""

    def __init__(self, client: CursorClient, agent_id: str) -> None:
        self._client = client
        self.agent_id = agent_id

    async def send(
        self, message: str | Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> CursorRun:
        """Send a message; the run it starts."""
        started = await self._client._call(wire.start_frame(self.agent_id, message, options))
        return self._client._run(wire.run_of(started))

    async def list_messages(self) -> list[Any]:
        """What was said so far."""
        listed = await self._client._call(wire.messages_frame(self.agent_id))
        return list(listed.get("messages") or ())

    async def close(self) -> None:
        """Close the agent; it may be resumed."""
        await self._client._tell(wire.close_frame(self.agent_id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class CursorRun:
    """A run: iterate over its updates, by one task; wait for its result, by any."""

    def __init__(self, client: CursorClient, run_id: str) -> None:
        import asyncio

        self._client = client
        self.id = run_id
        self._updates: asyncio.Queue[Any] = asyncio.Queue()
        self._result: asyncio.Future[dict[str, Any]] = client._loop.create_future()
        # A run whose end nobody waits for is no error.
        self._result.add_done_callback(lambda result: result.cancelled() or result.exception())

    async def __aiter__(self) -> AsyncIterator[Any]:
        while (update := await self._updates.get()) is not _NO_MORE:
            yield update
        # So that a second iteration ends too.
        self._updates.put_nowait(_NO_MORE)
        self._result.result()

    async def wait(self) -> dict[str, Any]:
        """The result: {"id", "status", …}. Raises CursorError where the runtime ended first."""
        import asyncio

        return await asyncio.shield(self._result)

    async def cancel(self) -> None:
        """Ask the run to end; its result says when it did. Raises CursorError where it has ended."""
        if self._result.done():
            raise CursorError({"message": f"run {self.id} has ended and cannot be cancelled"})
        await self._client._tell(wire.cancel_frame(self.id))

    def _take(self, update: Any) -> None:
        self._updates.put_nowait(update)

    def _complete(self, result: dict[str, Any]) -> None:
        if self._result.done():
            raise DivergenceError(f"the transcript completes run {self.id} twice")
        self._result.set_result(result)
        self._updates.put_nowait(_NO_MORE)

    def _fail(self, error: CursorError) -> None:
        if not self._result.done():
            self._result.set_exception(error)
            self._updates.put_nowait(_NO_MORE)


_NO_MORE: Final = object()


class CursorPeer:
    """The translator of the executable: a frame is a line, with the caller's "ref" beside its own members."""

    ends_with_input = True

    def start(self) -> Iterable[Outbound | Write]:
        return ()

    def receive(self, line: bytes) -> Iterable[Outbound | Write]:
        frame = parse_line(line, "the orchestrator")
        ref = frame.pop("ref", None)
        if ref is not None and (isinstance(ref, bool) or not isinstance(ref, (int, str))):
            raise DivergenceError('the "ref" of a call is neither a whole number nor a string')
        return (Outbound(frame, ref),)

    def end(self) -> Iterable[Outbound | Write]:
        return ()

    def deliver(self, frame: Any, ref: Any) -> Iterable[Outbound | Write]:
        row = frame if ref is None else {**frame, "ref": ref}
        return (Write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)),)


def serve(link: Link, call: Call) -> Ending:
    """The edge of the executable."""
    from replay.transport.peers import stdio

    if "--listen" not in call.rest:
        return stdio.serve(link, CursorPeer())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        os.write(1, f"cursor peer listening on 127.0.0.1:{port}\n".encode())
        if not _is_dialled(listener, link):
            return None
        connected, _ = listener.accept()
    with connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stdio.serve(link, CursorPeer(), connected.fileno(), connected.fileno())


def _is_dialled(listener: socket.socket, link: Link) -> bool:
    """Wait for a connection; False where the host or the pipe on stdin ends first."""
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    # For their end only: what the host has to say is for the connection to come.
    waiting.register(link, 0)
    waiting.register(0, 0)
    return [descriptor for descriptor, _ in waiting.poll()] == [listener.fileno()]


def main() -> NoReturn:
    """The executable: `cursor [--listen]`."""
    from replay.transport.peers import program

    program.run(wire.PROTOCOL, serve)
