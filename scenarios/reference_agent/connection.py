"""The connection to the client: stdin and stdout until one of them ends or a signal comes."""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, cast

from acp.agent.connection import AgentSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.stdio import stdio_streams

from scenarios.reference_agent.server import ReferenceAgent

if TYPE_CHECKING:
    from acp import Agent

__all__ = ["serve_stdio"]

MAX_LINE_BYTES = 50 * 1024 * 1024
# A client that stopped reading must not keep us, nor may a tool that will not end.
GOODBYE_SECONDS = 3.0
CANCEL_REQUEST = "$/cancel_request"


async def serve_stdio(agent: ReferenceAgent, stopping: asyncio.Event) -> None:
    """Serve until stdin ends or `stopping` is set, then end all turns, write all logs and say goodbye."""
    logging.getLogger().handlers[0].addFilter(lambda record: CANCEL_REQUEST not in record.getMessage())
    prompts = Prompts(agent)
    reader, writer = await stdio_streams(limit=MAX_LINE_BYTES)
    connection = AgentSideConnection(
        cast("Agent", agent),
        writer,
        reader,
        listening=False,
        use_unstable_protocol=True,
        observers=[prompts],
    )
    listening = asyncio.create_task(connection.listen())
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait({listening, stopped}, return_when=asyncio.FIRST_COMPLETED)
    # The turns end first: what they still have to say must find the connection open.
    try:
        async with asyncio.timeout(GOODBYE_SECONDS):
            await agent.close()
            await prompts.answered.wait()
            hung_up = False
    except TimeoutError:
        agent.hang_up()
        await agent.close()
        hung_up = True
    for task in (listening, stopped):
        task.cancel()
    if not hung_up:
        with contextlib.suppress(ConnectionError, TimeoutError):
            await asyncio.wait_for(connection.close(), GOODBYE_SECONDS)
    for result in await asyncio.gather(listening, stopped, return_exceptions=True):
        if isinstance(result, Exception):
            logging.error("the connection broke: %s", result)


class Prompts:
    """The prompts that wait for their answer, seen from the frames that pass.

    `$/cancel_request` names a request by its id; the SDK has no method for it yet, so this is where it is obeyed.
    """

    def __init__(self, agent: ReferenceAgent) -> None:
        self.agent = agent
        self.waiting: dict[Any, str] = {}
        self.answered = asyncio.Event()
        self.answered.set()

    def __call__(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" not in message:
                self.end(message.get("id"))
            return
        params = message.get("params")
        if not isinstance(params, dict):
            return
        if message.get("method") == "session/prompt":
            self.waiting[message.get("id")] = params.get("sessionId", "")
            self.answered.clear()
        elif message.get("method") == CANCEL_REQUEST:
            session = self.agent.sessions.get(self.waiting.get(params.get("requestId"), ""))
            if session is not None:
                session.cancel("request")

    def end(self, request_id: Any) -> None:
        self.waiting.pop(request_id, None)
        if not self.waiting:
            self.answered.set()
