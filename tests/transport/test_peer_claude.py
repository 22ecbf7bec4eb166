"""The claude peer: conformance, its command line, and requests that a transcript does not answer itself."""

import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from replay.errors import DivergenceError, UsageError
from replay.transport.host import Host
from replay.transport.message import Exit
from replay.transport.peers import Outbound, Write, stdio
from replay.transport.peers.claude import PROTOCOL, ClaudePeer, in_process
from replay.transport.status import CONSUMED, DIVERGED
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit
from tests.transport.peer_conformance import CHECKS, PeerCase, transcript_of
from tests.transport.wire_client import LinePeer, launcher

if TYPE_CHECKING:
    from replay.transport.link import Link

ARGV = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--model=m"]
OPEN = {"type": "query.open", "options": {"model": "m"}}


def offer(text: str) -> dict[str, Any]:
    """A user's message as a client writes it."""
    return {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}


def ask(number: int, subtype: str, **rest: Any) -> dict[str, Any]:
    return {
        "type": "control_request",
        "request_id": f"live-{number}",
        "request": {"subtype": subtype, **rest},
    }


def says(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def exchange(number: int) -> list[Entry]:
    outbound: list[dict[str, Any]] = [
        OPEN,
        {"type": "query.set_model", "model": "n"},
        {"type": "prompt.offer", "message": offer("hi")},
    ]
    inbound: list[dict[str, Any]] = [
        {"type": "query.opened", "response": {"commands": []}},
        {"type": "control.response", "operation": "query.set_model"},
        says("hello"),
    ]
    return [
        ExpectOutbound(outbound[number], f"ask {number}"),
        EmitInbound(says(f"of {number}"), f"message {number}"),
        EmitInbound(inbound[number], f"answer {number}"),
    ]


class Talker(LinePeer):
    def begin(self, number: int) -> None:
        self.send([ask(0, "initialize", hooks=None), ask(1, "set_model", model="n"), offer("hi")][number])

    def complete(self, number: int) -> None:
        body: dict[str, Any] = {"subtype": "success", "request_id": f"live-{number}"} | (
            {} if number else {"response": {"commands": []}}
        )
        answer = says("hello") if number == 2 else {"type": "control_response", "response": body}
        assert [self.receive(), self.receive()] == [says(f"of {number}"), answer]

    def send_wrong(self) -> None:
        self.send(offer("something else"))

    def send_garbage(self) -> None:
        self.send_bytes(b'{"type":"control_request","request_id":"x"}\n')

    def close(self) -> None:
        self.close_input()


def connect(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> Talker:
    return Talker([*command, *ARGV], environment, directory)


CASE = PeerCase("claude", PROTOCOL, exchange, connect, is_flagged=False)


@pytest.mark.parametrize("check", CHECKS)
def test_claude_peer(check: Callable[[PeerCase, Path], None], tmp_path: Path) -> None:
    check(CASE, tmp_path)


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_version_is_printed_without_a_host(flag: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [launcher(tmp_path / "bin", "claude"), flag], capture_output=True, check=True, env={}
    )
    assert (ran.stdout, ran.stderr) == (b"2.1.197 (Claude Code)\n", b"")


class RecordedLink:
    """A host that says nothing until the peer ends, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._socket, self._other = socket.socketpair()

    def send(self, frame: dict[str, Any], ref: Any = None) -> None:
        self.told.append(frame["type"])

    def end(self) -> None:
        self.told.append("(end)")
        self._other.close()

    def close(self, error: str = "") -> None:
        self.told.append("(close)")
        self._other.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_ready(self) -> list[None]:
        return [None] if self.told and self.told[-1].startswith("(") else []


def test_end_of_stdin_is_the_end_of_input_and_no_close() -> None:
    link = RecordedLink()
    read, write = os.pipe()
    os.write(write, orjson.dumps(offer("hi")) + b"\n")
    os.close(write)
    stdio.serve(cast("Link", link), ClaudePeer(ARGV), read, 1)
    assert link.told == ["query.open", "prompt.offer", "(end)"]


def test_prompt_on_the_command_line_needs_no_stdin(tmp_path: Path) -> None:
    # A flag of that name is the CLI's here, and no peer's.
    opening = {"type": "query.open", "options": {"model": "m", "extraArgs": {"workspace": "/w"}}}
    entries = [ExpectOutbound(opening), *exchange(2), RuntimeExit("success")]
    with Host([transcript_of(CASE, entries)], workspace=tmp_path) as host:
        ran = subprocess.run(
            [launcher(tmp_path / "bin", "claude"), "-p", *ARGV[:3], "--model=m", "--workspace=/w", "hi"],
            stdin=subprocess.DEVNULL, capture_output=True, check=True, env=host.environment(),
        )  # fmt: skip
        [status] = host.finish()
    assert [orjson.loads(line) for line in ran.stdout.splitlines()] == [says("of 2"), says("hello")]
    assert status.outcome == CONSUMED


def test_command_line_that_no_peer_can_serve_is_a_sentence(tmp_path: Path) -> None:
    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        ran = subprocess.run(
            [launcher(tmp_path / "bin", "claude"), "-p", "--output-format", "json", "hi"],
            stdin=subprocess.DEVNULL, capture_output=True, check=False, env=host.environment(),
        )  # fmt: skip
        [status] = host.finish()
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"stream-json only" in ran.stderr and b"fix: " in ran.stderr
    assert status.outcome == DIVERGED
    with pytest.raises(UsageError):
        ClaudePeer(["--output-format", "json"])


def test_plain_text_on_stdin_is_refused_with_a_fix() -> None:
    with pytest.raises(DivergenceError, match="plain text") as caught:
        ClaudePeer(["-p", "--output-format", "stream-json"]).receive(b"hi")
    assert "--input-format stream-json" in caught.value.fix


def test_request_without_a_recorded_answer_gets_the_least_one_at_once() -> None:
    peer = ClaudePeer(ARGV, answered=("query.interrupt",))

    def steps(line: dict[str, Any]) -> list[Any]:
        return [
            step.frame["type"] if isinstance(step, Outbound) else orjson.loads(step.data)["response"]
            for step in peer.receive(orjson.dumps(line))
        ]

    success = {"subtype": "success", "request_id": "live-1"}
    assert steps(ask(1, "initialize")) == ["query.open", {**success, "response": {}}]
    assert steps(ask(1, "set_model", model="n")) == ["query.set_model", success]
    assert steps(ask(1, "interrupt")) == ["query.interrupt"]
    assert steps(offer("hi")) == ["prompt.offer"]


def test_handle_of_the_host_comes_back_as_it_was() -> None:
    peer = ClaudePeer(ARGV)
    list(peer.receive(orjson.dumps(ask(1, "initialize"))))
    frame = {
        "type": "permission.request",
        "toolName": "Bash",
        "input": {},
        "options": {"toolUseID": "toolu_1"},
    }
    [write] = peer.deliver(frame, 7)
    assert isinstance(write, Write)
    line = orjson.loads(write.data)
    body = {"subtype": "success", "request_id": line["request_id"], "response": {"behavior": "allow"}}
    [answer] = peer.receive(orjson.dumps({"type": "control_response", "response": body}))
    result = {"behavior": "allow", "toolUseID": "toolu_1"}
    assert answer == Outbound({"type": "permission.response", "result": result}, 7)


def test_peer_in_this_process_plays_to_an_orchestrator_in_this_process(tmp_path: Path) -> None:
    entries = [*exchange(0), RuntimeExit("success")]
    with Host([transcript_of(CASE, entries)], workspace=tmp_path) as host:
        with in_process(host.path, ARGV) as peer, peer.socket.makefile("rwb") as pipe:
            pipe.write(orjson.dumps(ask(0, "initialize")) + b"\n")
            pipe.flush()
            lines = [orjson.loads(pipe.readline()) for _ in range(2)]
        [status] = host.finish()
    assert [line["type"] for line in lines] == ["assistant", "control_response"]
    assert (peer.ending, status.outcome) == (Exit("success"), CONSUMED)
