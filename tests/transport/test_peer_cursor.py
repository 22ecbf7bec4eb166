"""The Cursor client object and the executable's translator, against a host that says what a test says."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from replay.errors import DivergenceError
from replay.transport.lines import Lines
from replay.transport.link import AsyncLink
from replay.transport.message import (
    Close,
    Diverged,
    Exit,
    FromHost,
    FromPeer,
    Inbound,
    Outbound,
    decode_peer,
    encode,
)
from replay.transport.peers import Outbound as PeerOutbound
from replay.transport.peers import Write
from replay.transport.peers.cursor import CursorAgent, CursorClient, CursorError, CursorPeer, CursorRun

PATIENCE_S = 20.0
OPTIONS = {"model": {"id": "replay"}, "mode": "agent"}


class Side:
    """The host's end of a client's link."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lines = Lines("a peer")
        self._heard: list[FromPeer] = []

    def say(self, *messages: FromHost) -> None:
        self._writer.write(b"".join(map(encode, messages)))

    def hang_up(self) -> None:
        self._writer.close()

    async def hear(self) -> FromPeer:
        while not self._heard:
            data = await self._reader.read(1 << 16)
            assert data, "the client closed its link"
            self._heard += map(decode_peer, self._lines.feed(data))
        return self._heard.pop(0)

    async def asked(self, frame: dict[str, Any]) -> Any:
        """The next message, which is `frame`; its ref."""
        message = await self.hear()
        assert isinstance(message, Outbound) and message.frame == frame, message
        return message.ref

    async def opened(self, client: CursorClient, agent_id: str = "agent-1") -> CursorAgent:
        opening = asyncio.create_task(client.create_agent(OPTIONS))
        ref = await self.asked({"type": "agent.open", "operation": "create", "options": OPTIONS})
        self.say(Inbound({"type": "agent.opened", "agentId": agent_id}, ref))
        return await opening

    async def started(self, agent: CursorAgent, run_id: str) -> CursorRun:
        sending = asyncio.create_task(agent.send("hello", OPTIONS))
        start = {"type": "run.start", "agentId": agent.agent_id, "message": "hello", "options": OPTIONS}
        self.say(started(await self.asked(start), run_id))
        return await sending


def started(ref: Any, run_id: str) -> Inbound:
    return Inbound({"type": "run.started", "runId": run_id, "agentId": "agent-1"}, ref)


def update(run_id: str, text: str) -> Inbound:
    return Inbound(
        {"type": "interaction.update", "runId": run_id, "update": {"type": "text-delta", "text": text}}
    )


def completed(run_id: str, status: str = "finished") -> Inbound:
    return Inbound({"type": "run.completed", "result": {"id": run_id, "status": status}})


def played(scene: Callable[[CursorClient, Side], Awaitable[None]]) -> None:
    """Run a scene with both ends of a link."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        side = Side(*await asyncio.open_connection(sock=ours))
        client = CursorClient(AsyncLink(*await asyncio.open_connection(sock=theirs)))
        async with asyncio.timeout(PATIENCE_S):
            await scene(client, side)
            side.hang_up()
            await client.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_run_yields_its_updates_and_its_result() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        agent = await side.opened(client)
        assert agent.agent_id == "agent-1"
        run = await side.started(agent, "run-1")
        assert run.id == "run-1"
        side.say(update("run-1", "a"), update("run-1", "b"), completed("run-1"))
        assert [one["text"] async for one in run] == ["a", "b"]
        assert await run.wait() == {"id": "run-1", "status": "finished"}
        assert [one async for one in run] == []
        await agent.close()
        assert await side.asked({"type": "agent.close", "agentId": "agent-1"}) is None

    played(scene)


def test_updates_before_the_answer_that_names_the_run_are_kept() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        agent = await side.opened(client)
        sending = asyncio.create_task(agent.send("hello"))
        ref = await side.asked({"type": "run.start", "agentId": "agent-1", "message": "hello"})
        side.say(update("run-1", "early"), completed("run-1"), started(ref, "run-1"))
        assert [one["text"] async for one in await sending] == ["early"]

    played(scene)


def test_runs_of_two_agents_are_kept_apart() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        first = await side.started(await side.opened(client, "agent-1"), "run-1")
        second = await side.started(await side.opened(client, "agent-2"), "run-2")
        side.say(update("run-2", "b"), update("run-1", "a"), completed("run-2", "error"), completed("run-1"))
        assert [one["text"] async for one in first] == ["a"]
        assert [one["text"] async for one in second] == ["b"]
        assert (await first.wait())["status"] == "finished"
        assert (await second.wait())["status"] == "error"

    played(scene)


def test_answers_out_of_order_reach_their_calls() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        agent = await side.opened(client)
        sending = asyncio.create_task(agent.send("hello"))
        start = await side.asked({"type": "run.start", "agentId": "agent-1", "message": "hello"})
        listing = asyncio.create_task(agent.list_messages())
        listed = await side.asked({"type": "agent.messages.list", "agentId": "agent-1"})
        side.say(Inbound({"type": "agent.messages", "agentId": "agent-1", "messages": [1]}, listed))
        assert await listing == [1]
        side.say(started(start, "run-1"))
        assert (await sending).id == "run-1"

    played(scene)


def test_agent_is_resumed_by_its_id() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        opening = asyncio.create_task(client.resume_agent("agent-7", OPTIONS))
        ref = await side.asked(
            {"type": "agent.open", "operation": "resume", "agentId": "agent-7", "options": OPTIONS}
        )
        side.say(Inbound({"type": "agent.opened", "agentId": "agent-7"}, ref))
        assert (await opening).agent_id == "agent-7"

    played(scene)


def test_cancelled_run_ends_by_its_result_and_not_before() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        run = await side.started(await side.opened(client), "run-1")
        await run.cancel()
        await side.asked({"type": "run.cancel", "runId": "run-1"})
        side.say(update("run-1", "late"), completed("run-1", "cancelled"))
        assert [one["text"] async for one in run] == ["late"]
        assert (await run.wait())["status"] == "cancelled"
        with pytest.raises(CursorError, match="run run-1 has ended"):
            await run.cancel()

    played(scene)


def test_refused_call_raises_what_the_provider_said() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        opening = asyncio.create_task(client.create_agent())
        ref = await side.asked({"type": "agent.open", "operation": "create", "options": {}})
        refusal = {"message": "no such model", "code": "bad_model"}
        side.say(Inbound({"type": "sdk.error", "operation": "agent.open", "error": refusal}, ref))
        with pytest.raises(CursorError, match="no such model") as raised:
            await opening
        assert raised.value.error == refusal

    played(scene)


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (Exit("error", "the agent crashed"), "the agent crashed"),
        (Exit("success"), "runtime ended: success"),
        (Diverged("entry 4 wanted agent.close"), "entry 4 wanted agent.close"),
        (None, "the connection is closed"),
    ],
)
def test_end_of_the_runtime_ends_calls_and_runs(end: FromHost | None, text: str) -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        agent = await side.opened(client)
        run = await side.started(agent, "run-1")
        listing = asyncio.create_task(agent.list_messages())
        await side.asked({"type": "agent.messages.list", "agentId": "agent-1"})
        side.say(update("run-1", "a"))
        if end is not None:
            side.say(end)
        side.hang_up()
        seen = []
        with pytest.raises(CursorError, match=text):
            async for one in run:
                seen.append(one["text"])
        assert seen == ["a"]
        for call in (run.wait(), listing, agent.send("more")):
            with pytest.raises(CursorError, match=text):
                await call
        assert client.ending == end

    played(scene)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ({"type": "run.started", "runId": "run-9"}, "answers with run.started, and no call waits for it"),
        ({"type": "interaction.update", "update": {}}, "inbound interaction.update that names no run"),
        (
            {"type": "run.completed", "result": {"status": "finished"}},
            "inbound run.completed that names no run",
        ),
    ],
)
def test_frame_that_no_agent_sends_is_the_transcript_s_fault(frame: dict[str, Any], text: str) -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        side.say(Inbound(frame))
        message = await side.hear()
        assert isinstance(message, Close) and text in message.error

    played(scene)


def test_closing_the_client_closes_the_link() -> None:
    async def scene(client: CursorClient, side: Side) -> None:
        closing = asyncio.create_task(client.aclose())
        assert isinstance(await side.hear(), Close)
        side.hang_up()
        await closing

    played(scene)


def test_line_is_a_frame_with_a_ref_beside_it() -> None:
    peer = CursorPeer()
    assert peer.receive(b'{"type":"run.cancel","runId":"r","ref":"x"}') == (
        PeerOutbound({"type": "run.cancel", "runId": "r"}, "x"),
    )
    assert peer.receive(b'{"type":"run.cancel","runId":"r"}') == (
        PeerOutbound({"type": "run.cancel", "runId": "r"}),
    )
    [written] = peer.deliver({"type": "agent.opened"}, 3)
    assert isinstance(written, Write) and orjson.loads(written.data) == {"type": "agent.opened", "ref": 3}
    [written] = peer.deliver({"type": "run.completed"}, None)
    assert isinstance(written, Write) and written.data == b'{"type":"run.completed"}\n'


@pytest.mark.parametrize("line", [b'{"type":"x","ref":true}', b'{"type":"x","ref":[1]}', b"[]", b"{"])
def test_line_that_is_no_frame_is_refused(line: bytes) -> None:
    with pytest.raises(DivergenceError):
        CursorPeer().receive(line)
