"""The OpenCode peer as a process: conformance, its command line, and how it ends."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.transport.host import Host
from replay.transport.peers.opencode import VERSION, OpencodeServer
from replay.transport.status import CONSUMED, DIVERGED
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound
from replay.transport.wires.opencode import PROTOCOL
from tests.transport.opencode_edge import HttpClient
from tests.transport.peer_conformance import CHECKS, PeerCase, transcript_of
from tests.transport.wire_client import LIMIT_S, LinePeer, launcher

SESSION: dict[str, Any] = {"id": "ses_1", "title": "t"}


def update(number: int) -> dict[str, Any]:
    """The event of an exchange."""
    return {"id": f"evt_{number}", "type": "session.updated", "properties": {"number": number}}


def exchange(number: int) -> list[Entry]:
    if number == 0:
        asked: list[Entry] = [
            ExpectOutbound({"type": "event.subscribe"}, "subscribe"),
            ExpectOutbound({"type": "session.create", "input": {"title": "t"}}, "ask 0"),
        ]
        answer: dict[str, Any] = {"type": "sdk.response", "operation": "session.create", "data": SESSION}
    else:
        given = {"sessionID": "ses_1", "parts": [{"type": "text", "text": f"prompt {number}"}]}
        asked = [ExpectOutbound({"type": "session.promptAsync", "input": given}, f"ask {number}")]
        answer = {"type": "sdk.response", "operation": "session.promptAsync", "data": None}
    return [
        *asked,
        EmitInbound({"type": "sdk.event", "event": update(number)}, f"update {number}"),
        EmitInbound(answer, f"answer {number}"),
    ]


class Talker(LinePeer):
    """An orchestrator of two connections: the stream, and one for everything else."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
        super().__init__([*command, "serve", "--hostname=127.0.0.1", "--port", "0"], environment, directory)
        self._open: list[HttpClient] = []

    def __exit__(self, *problem: object) -> None:
        for client in self._open:
            client.socket.close()
        super().__exit__(*problem)

    def begin(self, number: int) -> None:
        if number == 0:
            assert self.process.stdout is not None
            line = self.process.stdout.readline().decode()
            assert line.startswith("opencode server listening on http://127.0.0.1:"), line
            self._open = [HttpClient(int(line.rpartition(":")[2])) for _ in range(2)]
            self._open[0].subscribe()
            assert self._open[0].event()["type"] == "server.connected"
            self._open[1].send("POST", "/session", {"title": "t"})
        else:
            parts = [{"type": "text", "text": f"prompt {number}"}]
            self._open[1].send("POST", "/session/ses_1/prompt_async", {"parts": parts})

    def complete(self, number: int) -> None:
        stream, client = self._open
        assert stream.event() == update(number)
        assert client.answer() == ((200, SESSION) if number == 0 else (204, None))

    def send_wrong(self) -> None:
        self._open[1].send("POST", "/session/ses_1/abort")

    def send_garbage(self) -> None:
        self._open[1].send("POST", "/session", b"{no json")

    def close(self) -> None:
        self.process.terminate()


def connect(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> Talker:
    return Talker(command, environment, directory)


CASE = PeerCase("opencode", PROTOCOL, exchange, connect, closed=-signal.SIGTERM)


@pytest.mark.parametrize("check", CHECKS)
def test_opencode_peer(check: Callable[[PeerCase, Path], None], tmp_path: Path) -> None:
    check(CASE, tmp_path)


def test_peer_in_this_process_plays_to_the_end(tmp_path: Path) -> None:
    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        with OpencodeServer(host.path) as server, HttpClient(int(server.url.rpartition(":")[2])) as client:
            client.subscribe()
            with HttpClient(int(server.url.rpartition(":")[2])) as other:
                assert other.ask("POST", "/session", {"title": "t"}) == (200, SESSION)
            assert [client.event()["type"] for _ in range(2)] == ["server.connected", "session.updated"]
        assert server.ending is None
        [status] = host.finish()
    assert status.outcome == CONSUMED, status


def test_server_without_a_pipe_on_stdin_lives_on(tmp_path: Path) -> None:
    executable = launcher(tmp_path / "bin", "opencode")
    with (
        Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host,
        subprocess.Popen(
            [executable, "serve"],
            env=host.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(b":")[2])
        with HttpClient(port) as client:
            assert client.ask("GET", "/global/health") == (200, {"healthy": True, "version": VERSION})
        process.terminate()
        process.wait(LIMIT_S)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["serve", "--hostname", "0.0.0.0"], "listens on 127.0.0.1 only"),
        (["serve", "--port", "x"], "--port 'x' is no port number"),
        (["serve", "--port=70000"], "--port '70000' is no port number"),
    ],
)
def test_address_that_cannot_be_served_is_refused(tmp_path: Path, arguments: list[str], text: str) -> None:
    executable = launcher(tmp_path / "bin", "opencode")
    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        done = subprocess.run(
            [executable, *arguments],
            env=host.environment(),
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        [status] = host.finish()
    assert done.returncode == 2 and text in done.stderr.decode() and "fix: " in done.stderr.decode()
    assert status.outcome == DIVERGED


def test_taken_port_is_said(tmp_path: Path) -> None:
    executable = launcher(tmp_path / "bin", "opencode")
    entries = [entry._replace(process=name) for name in ("", "two") for entry in exchange(0)]
    with (
        Host([transcript_of(CASE, entries)], workspace=tmp_path) as host,
        OpencodeServer(host.path) as server,
    ):
        port = server.url.rpartition(":")[2]
        done = subprocess.run(
            [executable, "serve", "--port", port],
            env={**host.environment(), "AGENT_REPLAY_PROCESS": "two"},
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == 2 and f"port {port} of 127.0.0.1 cannot be listened on" in done.stderr.decode()


def test_version_needs_no_host(tmp_path: Path) -> None:
    done = subprocess.run(
        [launcher(tmp_path / "bin", "opencode"), "--version"],
        env={"PATH": os.defpath},
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout == f"{VERSION}\n".encode()
