"""The ACP peer: conformance, and the real client of the protocol against it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.transport.host import Host
from replay.transport.peers.acp import PROTOCOL
from replay.transport.peers.in_process import stdio_peer
from replay.transport.peers.json_lines import JsonLinesPeer
from replay.transport.status import CONSUMED
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound
from tests.transport.peer_conformance import CHECKS, PeerCase, transcript_of
from tests.transport.wire_client import LinePeer, launcher

_REQUESTS: list[dict[str, Any]] = [
    {"method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}},
    {"method": "session/new", "params": {"cwd": "/w", "mcpServers": []}},
    {"method": "session/prompt", "params": {"sessionId": "s-1", "prompt": [{"type": "text", "text": "hi"}]}},
]
_RESULTS: list[dict[str, Any]] = [
    {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
    {"sessionId": "s-1"},
    {"stopReason": "end_turn"},
]


def update(text: str) -> dict[str, Any]:
    """A piece of the agent's message."""
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": content}}


def exchange(number: int) -> list[Entry]:
    request = {"jsonrpc": "2.0", "id": number, **_REQUESTS[number]}
    answer = {"jsonrpc": "2.0", "id": number, "result": _RESULTS[number]}
    return [
        ExpectOutbound(request, f"ask {number}"),
        EmitInbound(update(f"of {number}"), f"update {number}"),
        EmitInbound(answer, f"answer {number}"),
    ]


class Talker(LinePeer):
    """Live ids are strings, so that none is right by chance."""

    def begin(self, number: int) -> None:
        self.send({"jsonrpc": "2.0", "id": f"live-{number}", **_REQUESTS[number]})

    def complete(self, number: int) -> None:
        answer = {"jsonrpc": "2.0", "id": f"live-{number}", "result": _RESULTS[number]}
        assert self.receive_until(f"live-{number}") == [update(f"of {number}"), answer]

    def send_wrong(self) -> None:
        self.send({"jsonrpc": "2.0", "id": 77, "method": "session/list", "params": {}})

    def send_garbage(self) -> None:
        self.send_bytes(b"no frame at all\n")

    def close(self) -> None:
        self.close_input()


def connect(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> Talker:
    return Talker(command, environment, directory)


CASE = PeerCase("acp", PROTOCOL, exchange, connect)


@pytest.mark.parametrize("check", CHECKS)
def test_acp_peer(check: Callable[[PeerCase, Path], None], tmp_path: Path) -> None:
    check(CASE, tmp_path)


def test_peer_of_the_process_is_one_of_several_in_process(tmp_path: Path) -> None:
    async def talk(host: Host) -> list[bytes]:
        with stdio_peer(host.path, PROTOCOL, JsonLinesPeer()) as peer:
            reader, writer = await asyncio.open_connection(sock=peer.socket)
            writer.write(
                b'{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}\n'
            )
            lines = [await reader.readline(), await reader.readline()]
            writer.close()
            await writer.wait_closed()
        assert peer.ending is None and peer.error is None
        return lines

    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        lines = asyncio.run(talk(host))
        [status] = host.finish()
    assert [b'"id":5' in line for line in lines] == [False, True]
    assert status.outcome == CONSUMED


# -- the client of the package agent-client-protocol, which is nobody's of ours ------------------------------------

_PERMISSION: dict[str, Any] = {
    "sessionId": "s-1",
    "toolCall": {"toolCallId": "t-1", "title": "Write notes.txt", "kind": "edit", "status": "pending"},
    "options": [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ],
}


def conversation() -> list[Entry]:
    """initialize, session/new, and a prompt in which the agent asks for permission."""
    answered = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    return [
        ExpectOutbound(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": "{{any}}"}, "initialize"
        ),
        EmitInbound({"jsonrpc": "2.0", "id": 0, "result": _RESULTS[0]}, "initialized"),
        ExpectOutbound(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "session/new",
                "params": {"cwd": "{{workspace}}", "mcpServers": []},
            },
            "session/new",
        ),
        EmitInbound({"jsonrpc": "2.0", "id": 1, "result": _RESULTS[1]}, "created"),
        ExpectOutbound(
            {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": "{{any}}"}, "prompt"
        ),
        EmitInbound(update("May I? "), "text"),
        EmitInbound(
            {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": _PERMISSION},
            "permission",
        ),
        ExpectOutbound({"jsonrpc": "2.0", "id": 0, "result": answered}, "decision"),
        EmitInbound(update("Done."), "text"),
        EmitInbound({"jsonrpc": "2.0", "id": 2, "result": _RESULTS[2]}, "ended"),
    ]


def test_real_client_plays_a_turn_with_a_permission(tmp_path: Path) -> None:
    acp = pytest.importorskip("acp")
    texts: list[str] = []
    asked: list[str] = []

    class Client:
        def on_connect(self, conn: object) -> None:
            return None

        async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
            asked.append(tool_call.tool_call_id)
            outcome = acp.schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
            return acp.RequestPermissionResponse(outcome=outcome)

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            texts.append(update.content.text)

    async def talk(host: Host, executable: str) -> tuple[str, str]:
        async with acp.spawn_agent_process(Client(), executable, env=host.environment()) as (connection, _):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
            session = await connection.new_session(cwd=str(tmp_path), mcp_servers=[])
            text = [acp.text_block("Write notes.txt")]
            answer = await connection.prompt(prompt=text, session_id=session.session_id)
            return session.session_id, answer.stop_reason

    executable = launcher(tmp_path / "bin", "acp")
    with Host([transcript_of(CASE, conversation())], workspace=tmp_path) as host:
        assert asyncio.run(talk(host, executable)) == ("s-1", "end_turn")
        host.wait_for("text", 2)
        [status] = host.finish()
    assert status.outcome == CONSUMED, status
    assert asked == ["t-1"]
    assert texts == ["May I? ", "Done."]
