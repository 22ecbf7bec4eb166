"""What every peer must do, whatever its wire: `check_peer` is the definition of done of one that is a process.

A case brings entries and the orchestrator's half of the same exchanges; the checks compose transcripts of them, spawn
the real executable against a real host, and look at how it plays, and above all at how it ends.
"""

import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson
import pytest

from replay.errors import DivergenceError
from replay.transport.host import Host
from replay.transport.status import CONSUMED, DIVERGED, UNCONSUMED
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    RuntimeExit,
    Start,
    Transcript,
    write_transcript,
)
from tests.transport.wire_client import LIMIT_S, children_of, launcher, python_program

__all__ = ["CHECKS", "PeerCase", "Talker", "check_peer", "transcript_of"]


class Talker(Protocol):
    """One connection as an orchestrator has it. A context manager that leaves no process."""

    process: subprocess.Popen[bytes]

    def begin(self, number: int) -> None:
        """Send the outbound half of an exchange."""
        ...

    def complete(self, number: int) -> None:
        """Read the inbound half and assert that it is the case's."""
        ...

    def send_wrong(self) -> None:
        """Send a well-formed frame that no exchange has."""
        ...

    def send_garbage(self) -> None:
        """Send bytes that the wire does not allow; not called unless the case says has_garbage."""
        ...

    def close(self) -> None:
        """End the connection as an orchestrator of this protocol does."""
        ...

    def wait(self) -> int:
        """The exit status, minus the number of a signal, once the process is gone."""
        ...

    def stderr(self) -> str:
        """What the peer said on stderr, to the end."""
        ...


class PeerCase(NamedTuple):
    """entries(n): the n-th exchange of one process; 0 opens it, 1 and 2 may follow. Each begins with an outbound entry and has
    an inbound one, all labelled. connect(command, environment, directory): spawn the peer. closed: its exit status
    after Talker.close of a finished transcript. is_flagged: whether --transcript and its like are the peer's own.
    """

    name: str
    protocol: str
    entries: Callable[[int], list[Entry]]
    connect: Callable[[Sequence[str], Mapping[str, str], Path], AbstractContextManager[Talker]]
    closed: int = 0
    has_garbage: bool = True
    is_flagged: bool = True


def transcript_of(case: PeerCase, entries: Sequence[Entry], place: str = "") -> Transcript:
    """A transcript of format 1 with these entries."""
    metadata = {
        "model": None,
        "cwdPolicy": "workspace",
        "capturedAt": "2026-01-31",
        "provenance": {"kind": "authored", "reason": "a test of the peer"},
    }
    start = Start(case.name, case.protocol, "1", "conformance", metadata)
    numbered = [entry._replace(line=at) for at, entry in enumerate(entries, 2)]
    return Transcript(place or f"{case.name}.transcript.ndjson", start, tuple(numbered))


class _Scene(NamedTuple):
    """One check's files and processes."""

    case: PeerCase
    directory: Path
    executable: str

    @classmethod
    def of(cls, case: PeerCase, directory: Path) -> _Scene:
        return cls(case, directory, launcher(directory / "bin", case.name))

    def entries(self, *numbers: int) -> list[Entry]:
        return [entry for number in numbers for entry in self.case.entries(number)]

    @contextmanager
    def host(self, entries: Sequence[Entry]) -> Iterator[Host]:
        with Host(
            [transcript_of(self.case, entries)],
            workspace=self.directory,
            status_directory=self.directory / "statuses",
        ) as host:
            yield host

    def connect(self, host: Host, process: str = "") -> AbstractContextManager[Talker]:
        extra = {"AGENT_REPLAY_PROCESS": process} if process else {}
        return self.case.connect([self.executable], host.environment() | extra, self.directory)


def _exchange(talker: Talker, *numbers: int) -> None:
    for number in numbers:
        talker.begin(number)
        talker.complete(number)


def _first(kind: type[Entry], entries: Sequence[Entry]) -> Entry:
    return next(entry for entry in entries if isinstance(entry, kind))


def _status(scene: _Scene) -> dict[str, object]:
    found = orjson.loads((scene.directory / "statuses" / f"{scene.case.name}.status.json").read_bytes())
    assert isinstance(found, dict)
    return found


def check_plays_to_the_end(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    with scene.host(scene.entries(0, 1, 2)) as host, scene.connect(host) as talker:
        _exchange(talker, 0, 1, 2)
        assert children_of(talker.process.pid) == []
        talker.close()
        assert talker.wait() == case.closed, talker.stderr()
        assert talker.stderr() == ""
        [status] = host.finish()
    assert status.outcome == CONSUMED, status
    assert _status(scene)["outcome"] == CONSUMED
    assert status.played == status.entries == len(scene.entries(0, 1, 2))


def check_early_close_is_noticed(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    with scene.host(scene.entries(0, 1)) as host, scene.connect(host) as talker:
        _exchange(talker, 0)
        talker.close()
        talker.wait()
        [status] = host.finish()
    assert status.outcome == DIVERGED
    assert status.finding is not None and "clos" in str(status.finding)


def check_signal_ends_it(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with scene.host(scene.entries(0, 1)) as host, scene.connect(host) as talker:
            _exchange(talker, 0)
            talker.process.send_signal(number)
            assert talker.wait() in (-number, 128 + number)
            [status] = host.finish()
        assert status.outcome == DIVERGED


def check_close_may_be_a_recorded_exit(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    with scene.host([*scene.entries(0), RuntimeExit("success")]) as host, scene.connect(host) as talker:
        _exchange(talker, 0)
        talker.close()
        assert talker.wait() == case.closed, talker.stderr()
        [status] = host.finish()
    assert status.outcome == CONSUMED, status


def check_ends_as_recorded(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    exits = {
        RuntimeExit("success", code=0): 0,
        RuntimeExit("error", error="out of credit", code=7): 7,
        RuntimeExit("error"): 1,
        RuntimeExit("error", signal="SIGKILL"): -signal.SIGKILL,
        RuntimeExit("error", signal="SIGSEGV"): -signal.SIGSEGV,
        RuntimeExit("cancelled"): -signal.SIGTERM,
    }
    for entry, code in exits.items():
        with scene.host([*scene.entries(0), entry]) as host, scene.connect(host) as talker:
            _exchange(talker, 0)
            assert talker.wait() == code, (entry, talker.stderr())
            assert talker.stderr() == (f"{entry.error}\n" if entry.error else "")
            [status] = host.finish()
        assert status.outcome == CONSUMED, status


def check_respawned_peer_goes_on(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    entries = [*scene.entries(0, 1), RuntimeExit("error", code=3), *scene.entries(0, 2)]
    with scene.host(entries) as host:
        with scene.connect(host) as talker:
            _exchange(talker, 0, 1)
            assert talker.wait() == 3
        with scene.connect(host) as talker:
            _exchange(talker, 0, 2)
            talker.close()
            assert talker.wait() == case.closed, talker.stderr()
        [status] = host.finish()
    assert (status.outcome, status.processes) == (CONSUMED, 2), status


def check_two_processes_at_once(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    entries = [
        entry._replace(process=process)
        for number in (0, 1)
        for process in ("one", "two")
        for entry in case.entries(number)
    ]
    with (
        scene.host(entries) as host,
        scene.connect(host, "one") as one,
        scene.connect(host, "two") as two,
    ):
        for number in (0, 1):
            _exchange(one, number)
            _exchange(two, number)
        for talker in (one, two):
            talker.close()
            assert talker.wait() == case.closed, talker.stderr()
        [status] = host.finish()
    assert status.outcome == CONSUMED, status


def check_gate_holds(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    answer, request = _first(EmitInbound, case.entries(1)), _first(ExpectOutbound, case.entries(1))
    with scene.host(scene.entries(0, 1)) as host, scene.connect(host) as talker:
        host.hold(answer.label)
        _exchange(talker, 0)
        talker.begin(1)
        host.wait_for(request.label, timeout_s=LIMIT_S)
        assert "held" in host.waits_for()[case.name]
        host.release(answer.label)
        talker.complete(1)
        host.wait_for(answer.label, timeout_s=LIMIT_S)
        talker.close()
        talker.wait()
        [status] = host.finish()
    assert status.outcome == CONSUMED, status


def check_wrong_frame_is_a_divergence(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    with scene.host(scene.entries(0, 1)) as host, scene.connect(host) as talker:
        _exchange(talker, 0)
        talker.send_wrong()
        assert talker.wait() == 1
        [status] = host.finish()
        assert status.finding is not None
        assert talker.stderr() == f"{status.finding}\n"
        with pytest.raises(DivergenceError, match="left its transcript"):
            host.wait_for(_first(EmitInbound, case.entries(1)).label)
    assert status.outcome == DIVERGED
    assert status.finding.where.startswith(f"{case.name}.transcript.ndjson:")
    journal = (directory / "statuses" / f"{case.name}.frames.ndjson").read_bytes().splitlines()
    assert any("frame" in orjson.loads(line) for line in journal)


def check_garbage_is_a_divergence(case: PeerCase, directory: Path) -> None:
    if not case.has_garbage:
        return
    scene = _Scene.of(case, directory)
    with scene.host(scene.entries(0, 1)) as host, scene.connect(host) as talker:
        _exchange(talker, 0)
        talker.send_garbage()
        assert talker.wait() == 1
        [status] = host.finish()
        assert status.finding is not None and status.finding.what in talker.stderr()
    assert status.outcome == DIVERGED
    assert status.finding.what.startswith("the orchestrator")


def check_killed_host_ends_it(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    file = directory / f"{case.name}.transcript.ndjson"
    file.write_bytes(write_transcript(transcript_of(case, scene.entries(0, 1))))
    command = python_program(_HOST_PROGRAM, str(file), str(directory))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        path = host.stdout.readline().decode().strip()
        with case.connect([scene.executable], {"AGENT_REPLAY_TRANSPORT": path}, directory) as talker:
            _exchange(talker, 0)
            host.kill()
            talker.wait()
    # A killed host cannot.
    shutil.rmtree(Path(path).parent)
    assert _status(scene)["outcome"] == UNCONSUMED


def check_killed_orchestrator_ends_it(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    with scene.host(scene.entries(0, 1)) as host:
        command = python_program(_ORCHESTRATOR_PROGRAM, scene.executable)
        with subprocess.Popen(
            command, env=host.environment(), stdout=subprocess.PIPE, stdin=subprocess.PIPE
        ) as orchestrator:
            assert orchestrator.stdout is not None
            peer = os.pidfd_open(int(orchestrator.stdout.readline()))
            try:
                orchestrator.kill()
                assert _has_ended(peer), "the peer outlived its orchestrator"
            finally:
                os.close(peer)
        [status] = host.finish()
    assert status.outcome == DIVERGED


def check_stands_alone(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    file = directory / f"{case.name}.transcript.ndjson"
    file.write_bytes(write_transcript(transcript_of(case, scene.entries(0, 1))))
    status = directory / "own.status.json"
    environment = {"AGENT_REPLAY_TRANSCRIPT": str(file), "AGENT_REPLAY_STATUS": str(status)}
    command = [scene.executable]
    if case.is_flagged:
        environment, command = {}, [*command, "--transcript", str(file), f"--status={status}"]
    for numbers, outcome in (((0, 1), CONSUMED), ((0,), DIVERGED)):
        with case.connect(command, environment, directory) as talker:
            _exchange(talker, *numbers)
            talker.close()
            code = talker.wait()
        assert orjson.loads(status.read_bytes())["outcome"] == outcome
        if outcome == CONSUMED:
            assert code == case.closed, talker.stderr()
        else:
            # A peer that is closed by a signal has no other way to say it than its status.
            assert code == (1 if case.closed == 0 else case.closed), talker.stderr()


def check_starts_without_host_say_so(case: PeerCase, directory: Path) -> None:
    scene = _Scene.of(case, directory)
    for path in (str(directory / "nobody"), "/" + "x" * 200):
        with case.connect([scene.executable], {"AGENT_REPLAY_TRANSPORT": path}, directory) as talker:
            assert talker.wait() == 2
            assert talker.stderr().count("\n    fix: ") == 1 and path in talker.stderr()


CHECKS = (
    check_plays_to_the_end,
    check_early_close_is_noticed,
    check_signal_ends_it,
    check_close_may_be_a_recorded_exit,
    check_ends_as_recorded,
    check_respawned_peer_goes_on,
    check_two_processes_at_once,
    check_gate_holds,
    check_wrong_frame_is_a_divergence,
    check_garbage_is_a_divergence,
    check_killed_host_ends_it,
    check_killed_orchestrator_ends_it,
    check_stands_alone,
    check_starts_without_host_say_so,
)
"""Each check, for `pytest.mark.parametrize("check", CHECKS)`: check(case, tmp_path)."""


def check_peer(case: PeerCase, directory: Path) -> None:
    """All checks, each in a directory of its own."""
    for check in CHECKS:
        own = directory / check.__name__
        own.mkdir()
        check(case, own)


def _has_ended(pidfd: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(pidfd, selectors.EVENT_READ)
        return bool(selector.select(LIMIT_S))


_HOST_PROGRAM = """
import sys
from replay.transport.host import Host
with Host([sys.argv[1]], workspace=sys.argv[2], status_directory=sys.argv[2] + "/statuses") as host:
    print(host.path, flush=True)
    sys.stdin.read()
"""

_ORCHESTRATOR_PROGRAM = """
import os, subprocess, sys
peer = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(peer.pid, flush=True)
sys.stdin.read()
"""
