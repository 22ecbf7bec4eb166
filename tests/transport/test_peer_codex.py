"""The peer of the Codex app-server: conformance, and what its JSON-RPC without "jsonrpc" asks of the host."""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.errors import FixtureError
from replay.transport.host import Host
from replay.transport.peers.codex import PROTOCOL
from replay.transport.status import CONSUMED, DIVERGED
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit, write_transcript
from tests.transport.peer_conformance import CHECKS, PeerCase, transcript_of
from tests.transport.wire_client import LinePeer, launcher

_METHODS = ("initialize", "thread/start", "turn/start")


def exchange(number: int) -> list[Entry]:
    return [
        ExpectOutbound({"id": number, "method": _METHODS[number], "params": {"n": number}}, f"ask {number}"),
        EmitInbound({"method": f"note/{number}", "params": {}}, f"note {number}"),
        EmitInbound({"id": number, "result": {"n": number}}, f"answer {number}"),
    ]


class Talker(LinePeer):
    """Live ids are other numbers than the recorded."""

    def begin(self, number: int) -> None:
        self.send({"id": 100 + number, "method": _METHODS[number], "params": {"n": number}})

    def complete(self, number: int) -> None:
        note = {"method": f"note/{number}", "params": {}}
        assert self.receive_until(100 + number) == [note, {"id": 100 + number, "result": {"n": number}}]

    def send_wrong(self) -> None:
        self.send({"id": 9, "method": "thread/fork", "params": {}})

    def send_garbage(self) -> None:
        self.send_bytes(b'"' + b"x" * (16 << 20) + b'"\n')

    def close(self) -> None:
        self.close_input()


def connect(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> Talker:
    return Talker([*command, "app-server"], environment, directory)


CASE = PeerCase("codex", PROTOCOL, exchange, connect)


@pytest.mark.parametrize("check", CHECKS)
def test_codex_peer(check: Callable[[PeerCase, Path], None], tmp_path: Path) -> None:
    check(CASE, tmp_path)


def test_pending_requests_of_one_method_get_their_own_answers(tmp_path: Path) -> None:
    asks: dict[int, dict[str, Any]] = {
        n: {"id": n, "method": "turn/start", "params": {"n": n}} for n in (1, 2, 3)
    }
    entries: list[Entry] = [ExpectOutbound(ask, f"ask {n}") for n, ask in asks.items()]
    entries += [EmitInbound({"id": n, "result": {"of": n}}, f"answer {n}") for n in (3, 1, 2)]
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, entries)], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        live: dict[int, Any] = {1: "first", 2: 2, 3: 1}
        for n, ask in asks.items():
            peer.send({**ask, "id": live[n]})
        assert [peer.receive() for _ in asks] == [{"id": live[n], "result": {"of": n}} for n in (3, 1, 2)]
        peer.close()
        assert peer.wait() == 0
        [status] = host.finish()
    assert status.outcome == CONSUMED


def test_request_of_the_server_is_answered_by_its_id(tmp_path: Path) -> None:
    entries = [
        *exchange(0),
        EmitInbound({"id": 0, "method": "item/commandExecution/requestApproval", "params": {}}, "approval"),
        ExpectOutbound({"id": 0, "result": {"decision": "accept"}}, "decision"),
        EmitInbound({"method": "turn/completed", "params": {}}, "done"),
    ]
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, entries)], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.begin(0)
        peer.complete(0)
        approval = peer.receive()
        peer.send({"id": approval["id"], "result": {"decision": "accept"}})
        assert peer.receive() == {"method": "turn/completed", "params": {}}
        peer.close()
        assert peer.wait() == 0
        [status] = host.finish()
    assert status.outcome == CONSUMED


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"[1]\n", "no JSON object"),
        (b'{"id":1,"method":"a","params":' + b"[" * 200 + b"]" * 200 + b"}\n", "nested more than"),
        (b'{"id":1,"method":"\xff"}\n', "no JSON"),
        (b'{"id":1,"method":"initialize"}', "in the middle of a line"),
    ],
    ids=["array", "depth", "encoding", "cut"],
)
def test_line_that_is_no_frame_ends_the_peer_with_one_sentence(
    line: bytes, sentence: str, tmp_path: Path
) -> None:
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.send_bytes(line)
        peer.close_input()
        assert peer.wait() == 1
        assert sentence in peer.stderr() and peer.stderr().count("\n") == 1
        [status] = host.finish()
    assert status.finding is not None and sentence in status.finding.what


def test_blank_lines_and_crlf_are_accepted_on_the_wire(tmp_path: Path) -> None:
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.send_bytes(b'\r\n\n{"id":100,"method":"initialize","params":{"n":0}}\r\n')
        peer.complete(0)
        peer.close_input()
        assert peer.wait() == 0
        [status] = host.finish()
    assert status.outcome == CONSUMED


def test_standalone_peer_that_is_terminated_leaves_its_status(tmp_path: Path) -> None:
    file = tmp_path / "codex.transcript.ndjson"
    file.write_bytes(write_transcript(transcript_of(CASE, [*exchange(0), *exchange(1)])))
    status = tmp_path / "status.json"
    command = [launcher(tmp_path / "bin", "codex"), "--transcript", str(file), "--status", str(status)]
    with connect(command, {}, tmp_path) as peer:
        peer.begin(0)
        peer.complete(0)
        peer.process.send_signal(signal.SIGTERM)
        assert peer.wait() == -signal.SIGTERM
    assert orjson.loads(status.read_bytes())["played"] == 3


def test_standalone_peer_honours_real_time(tmp_path: Path) -> None:
    ask, note, answer = exchange(0)
    assert isinstance(answer, EmitInbound)
    file = tmp_path / "codex.transcript.ndjson"
    file.write_bytes(write_transcript(transcript_of(CASE, [ask, note, answer._replace(after_ms=300)])))
    command = [launcher(tmp_path / "bin", "codex"), "--transcript", str(file), "--real-time"]
    with connect(command, {}, tmp_path) as peer:
        peer.begin(0)
        assert peer.receive() == {"method": "note/0", "params": {}}
        began = time.monotonic()
        assert peer.receive()["id"] == 100
        assert time.monotonic() - began > 0.2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "neither a host nor a transcript is named"),
        (["--transcript"], "--transcript needs a value"),
        (["--transcript", "absent.ndjson"], "absent.ndjson: cannot be read"),
    ],
    ids=["nothing", "value", "file"],
)
def test_call_that_cannot_be_right_exits_with_2(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    with LinePeer([launcher(tmp_path / "bin", "codex"), *arguments], {}, tmp_path) as peer:
        assert peer.wait() == 2
        assert sentence in peer.stderr()


def test_closed_standard_descriptors_do_not_become_the_link(tmp_path: Path) -> None:
    executable = launcher(tmp_path / "bin", "codex")
    with Host([transcript_of(CASE, exchange(0))], workspace=tmp_path) as host:
        peer = LinePeer(["/bin/sh", "-c", f"exec '{executable}' <&- >&-"], host.environment())
        with peer:
            assert peer.wait() == 1
            assert "closed" in peer.stderr()
        [status] = host.finish()
    assert status.outcome == DIVERGED


def test_signal_that_ends_no_process_is_refused(tmp_path: Path) -> None:
    for name in ("SIGSTOP", "SIGNONE"):
        entries = [*exchange(0), RuntimeExit("error", signal=name)]
        with pytest.raises(FixtureError, match=f"ndjson:5 \\$.signal: no process ends by {name}"):
            Host([transcript_of(CASE, entries)], workspace=tmp_path)


def big_note(size: int) -> EmitInbound:
    """More than a pipe holds."""
    return EmitInbound({"method": "note", "params": {"text": "y" * size}}, "big")


@pytest.mark.parametrize("is_killed", [True, False], ids=["signal", "host"])
def test_answers_that_nobody_reads_do_not_keep_the_peer(is_killed: bool, tmp_path: Path) -> None:
    executable = launcher(tmp_path / "bin", "codex")
    with (
        # The host's socket takes it whole, the peer's stdout does not.
        Host([transcript_of(CASE, [*exchange(0), big_note(150_000)])], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.begin(0)
        peer.complete(0)
        host.wait_for("big")
        if is_killed:
            peer.process.send_signal(signal.SIGTERM)
        else:
            host.finish(0.0)
        assert peer.process.wait() == (-signal.SIGTERM if is_killed else 0)


def test_everything_is_written_before_the_recorded_exit(tmp_path: Path) -> None:
    entries = [*exchange(0), big_note(4 << 20), RuntimeExit("error", "end", code=5)]
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, entries)], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.begin(0)
        host.wait_for("end")
        peer.complete(0)
        assert len(peer.receive()["params"]["text"]) == 4 << 20
        assert peer.wait() == 5


def test_end_of_stdin_closes_the_provider_though_frames_were_to_come(tmp_path: Path) -> None:
    note = EmitInbound({"method": "note", "params": {}}, "late", gate="go")
    executable = launcher(tmp_path / "bin", "codex")
    with (
        Host([transcript_of(CASE, [*exchange(0), note])], workspace=tmp_path) as host,
        connect([executable], host.environment(), tmp_path) as peer,
    ):
        peer.begin(0)
        peer.complete(0)
        peer.close_input()
        assert peer.wait() == 1
        assert "closed the provider" in peer.stderr()
