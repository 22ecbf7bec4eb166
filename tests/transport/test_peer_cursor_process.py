"""The Cursor peer as a process, over pipes and over a socket, and the client object against a real host."""

import asyncio
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.transport.host import Host
from replay.transport.peers.cursor import CursorClient
from replay.transport.status import CONSUMED
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit
from replay.transport.wires.cursor import PROTOCOL
from tests.transport.peer_conformance import CHECKS, PeerCase, transcript_of
from tests.transport.wire_client import LIMIT_S, LinePeer, launcher

OPTIONS: dict[str, Any] = {"model": {"id": "replay"}}
OPEN: dict[str, Any] = {"type": "agent.open", "operation": "create", "options": OPTIONS}
OPENED: dict[str, Any] = {"type": "agent.opened", "agentId": "agent-1"}


def start(number: int) -> dict[str, Any]:
    return {"type": "run.start", "agentId": "agent-1", "message": f"prompt {number}", "options": OPTIONS}


def answers(number: int) -> list[dict[str, Any]]:
    """What follows a start: its answer first."""
    run = f"run-{number}"
    return [
        {"type": "run.started", "runId": run, "agentId": "agent-1"},
        {"type": "interaction.update", "runId": run, "update": {"type": "text-delta", "text": "hi"}},
        {"type": "run.completed", "result": {"id": run, "status": "finished", "result": "hi"}},
    ]


def exchange(number: int) -> list[Entry]:
    if number == 0:
        return [ExpectOutbound(OPEN, "ask 0"), EmitInbound(OPENED, "answer 0")]
    labels = (f"answer {number}", f"update {number}", f"end {number}")
    frames = zip(answers(number), labels, strict=True)
    return [ExpectOutbound(start(number), f"ask {number}"), *(EmitInbound(*each) for each in frames)]


class Talker(LinePeer):
    """Calls carry a ref of their own."""

    def begin(self, number: int) -> None:
        self.send({**(start(number) if number else OPEN), "ref": f"live-{number}"})

    def complete(self, number: int) -> None:
        first, *rest = answers(number) if number else [OPENED]
        assert self.receive() == {**first, "ref": f"live-{number}"}
        assert [self.receive() for _ in rest] == rest

    def send_wrong(self) -> None:
        self.send({"type": "agent.messages.list", "agentId": "agent-1"})

    def send_garbage(self) -> None:
        self.send_bytes(b"no frame at all\n")

    def close(self) -> None:
        self.close_input()


def connect(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> Talker:
    return Talker(command, environment, directory)


CASE = PeerCase("cursor", PROTOCOL, exchange, connect)


@pytest.mark.parametrize("check", CHECKS)
def test_cursor_peer(check: Callable[[PeerCase, Path], None], tmp_path: Path) -> None:
    check(CASE, tmp_path)


def test_client_object_plays_to_the_end_and_resumes(tmp_path: Path) -> None:
    resume = {"type": "agent.open", "operation": "resume", "agentId": "agent-1", "options": OPTIONS}
    close = {"type": "agent.close", "agentId": "agent-1"}
    entries = [
        *exchange(0),
        *exchange(1),
        ExpectOutbound(close, "close"),
        ExpectOutbound(resume, "resume"),
        EmitInbound(OPENED, "resumed"),
        *exchange(2),
        ExpectOutbound(close, "close"),
    ]

    async def orchestrate(path: str) -> list[Any]:
        seen: list[Any] = []
        async with await CursorClient.dial(path) as client:
            async with await client.create_agent(OPTIONS) as agent:
                run = await agent.send("prompt 1", OPTIONS)
                seen += [update async for update in run]
                seen.append(await run.wait())
            async with await client.resume_agent(agent.agent_id, OPTIONS) as agent:
                seen.append(await (await agent.send("prompt 2", OPTIONS)).wait())
        return seen

    with Host([transcript_of(CASE, entries)], workspace=tmp_path) as host:
        seen = asyncio.run(orchestrate(host.path))
        [status] = host.finish()
    assert status.outcome == CONSUMED, status
    assert seen == [answers(1)[1]["update"], answers(1)[2]["result"], answers(2)[2]["result"]]


def listening(host: Host, directory: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [launcher(directory / "bin", "cursor"), "--listen"],
        env=host.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def port_of(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    assert line.startswith("cursor peer listening on 127.0.0.1:"), line
    return int(line.rpartition(":")[2])


def test_socket_carries_the_same_lines(tmp_path: Path) -> None:
    entries = [*exchange(0), *exchange(1), RuntimeExit("error", code=4)]
    with (
        Host([transcript_of(CASE, entries)], workspace=tmp_path) as host,
        listening(host, tmp_path) as process,
    ):
        with (
            socket.create_connection(("127.0.0.1", port_of(process)), LIMIT_S) as wire,
            wire.makefile("rwb") as lines,
        ):
            for frame, count in ((OPEN, 1), (start(1), 3)):
                lines.write(orjson.dumps(frame) + b"\n")
                lines.flush()
                got = [orjson.loads(lines.readline()) for _ in range(count)]
                assert got == ([OPENED] if count == 1 else answers(1))
            assert lines.readline() == b""
        assert process.wait(LIMIT_S) == 4
        [status] = host.finish()
    assert status.outcome == CONSUMED, status


@pytest.mark.parametrize("gone", ["host", "parent"])
def test_listening_peer_that_nobody_dials_ends_with_its_host_and_its_parent(
    tmp_path: Path, gone: str
) -> None:
    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        process = listening(host, tmp_path)
        port_of(process)
        if gone == "parent":
            assert process.stdin is not None
            process.stdin.close()
            process.wait(LIMIT_S)
    with process:
        process.wait(LIMIT_S)
