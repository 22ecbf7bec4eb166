"""The tee: what it passes on, what it writes, and when it writes nothing."""

import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest

import replay
from replay.transport.recorders.assemble import entries_of, exit_of
from replay.transport.recorders.passage import Sign, read_run
from replay.transport.transcript import EmitInbound, ExpectOutbound, RuntimeExit, Transcript, read_transcript

PROVIDER = Path(__file__).with_name("recorder_provider.py")
ROOT = Path(replay.__file__).parent.parent
ASK = b'{"id":1,"method":"ask","params":{"text":"hello"}}\n'
OLD = b"the old file\n"
TEE = (
    sys.executable,
    "-c",
    "import sys; from replay.transport.recorders.tee import main; sys.exit(main(sys.argv[1:]))",
)


class Tee(subprocess.Popen[bytes]):
    """A running tee. `say` writes to it; `hear` reads a line."""

    def say(self, data: bytes) -> None:
        assert self.stdin is not None
        self.stdin.write(data)
        self.stdin.flush()

    def hear(self) -> bytes:
        assert self.stdout is not None
        return self.stdout.readline()

    def end(self) -> tuple[bytes, bytes]:
        """Close its stdin; what it still wrote to stdout and stderr."""
        return self.communicate(timeout=30)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The workspace of a recording that is to be written to simple/codex.transcript.ndjson beside it."""
    for name in ("workspace", "simple", "runs"):
        (tmp_path / name).mkdir()
    return tmp_path


def transcript_path(place: Path) -> Path:
    return place / "simple" / "codex.transcript.ndjson"


def start(
    place: Path, provider: Sequence[str], *, limit: int | None = None, variables: dict[str, str] | None = None
) -> Tee:
    options = ["--protocol", "codex.app-server", "--version", "1.2.3", "--model-behind", "scripted"]
    command = [
        *TEE,
        "--transcript",
        str(transcript_path(place)),
    ]
    return spawn(
        [*command, *options, "--", sys.executable, str(PROVIDER), *provider], place, limit, variables or {}
    )


def start_run(place: Path, provider: Sequence[str], limit: int | None = None) -> Tee:
    settings = {"command": [sys.executable, str(PROVIDER)], "runs": str(place / "runs")}
    command = [*TEE, *provider]
    return spawn(command, place, limit, {"AGENT_REPLAY_TEE": orjson.dumps(settings).decode()})


def spawn(command: Sequence[str], place: Path, limit: int | None, variables: dict[str, str]) -> Tee:
    def bound() -> None:
        if limit is not None:
            # A disk without room, as a process sees one.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        **variables,
    }
    return Tee(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place / "workspace",
        env=environment,
        preexec_fn=bound,
        start_new_session=True,
    )


def recorded(place: Path) -> Transcript:
    return read_transcript(transcript_path(place).read_bytes(), "codex.transcript.ndjson")


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """Processes that a test expects to be gone, and that shall be so after it in any case."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


def test_tee_records_frames_of_both_sides_in_order(place: Path) -> None:
    tee = start(place, ["answer"])
    tee.say(ASK)
    heard = [tee.hear(), tee.hear()]
    tee.say(b'{"method":"bye"}\r\n\n')
    _, stderr = tee.end()
    assert tee.returncode == 0, stderr.decode()
    transcript = recorded(place)
    assert [type(entry) for entry in transcript.entries] == [
        ExpectOutbound,
        EmitInbound,
        EmitInbound,
        ExpectOutbound,
        RuntimeExit,
    ]
    assert [entry.label for entry in transcript.entries[:4]] == ["ask", "note", "ask.response", "bye"]
    # The orchestrator got the real path, the transcript does not hold it.
    assert str(place).encode() in heard[0]
    note = transcript.entries[1]
    assert isinstance(note, EmitInbound)
    assert note.frame["params"] == {"cwd": "{{workspace}}", "home": "/home/user/x"}
    assert transcript.entries[4] == RuntimeExit("success", line=6)


def test_tee_says_where_the_recording_comes_from(place: Path) -> None:
    tee = start(place, ["answer"])
    tee.say(ASK)
    tee.end()
    begin = recorded(place).start
    assert (begin.provider, begin.scenario, begin.version) == ("codex", "simple", "1.2.3")
    assert begin.metadata["cwdPolicy"] == "workspace"
    provenance = begin.metadata["provenance"]
    assert provenance["kind"] == "recorded" and provenance["model_behind"] == "scripted"
    assert provenance["tool"] == f"agent_replay {replay.VERSION}"


def test_tee_hands_on_stderr(place: Path) -> None:
    tee = start(place, ["answer"])
    tee.say(ASK)
    _, stderr = tee.end()
    assert b"provider in " in stderr


def test_tee_passes_every_byte_at_once(place: Path) -> None:
    tee = start_run(place, ["bytes", str(place / "copy")])
    # No line end, no UTF-8, a NUL: nothing here is a frame.
    for data in (b"no line", b"\xff\x00\r", b"\n\n", b"{}" * 40_000):
        tee.say(data)
        assert tee.stdout is not None
        assert tee.stdout.read(len(data)) == data
    rest, _ = tee.end()
    assert rest == b""
    assert (place / "copy").read_bytes() == b"no line\xff\x00\r\n\n" + b"{}" * 40_000


@pytest.mark.parametrize("code", [0, 3])
def test_tee_exits_as_the_provider_of_its_own_accord(place: Path, code: int) -> None:
    tee = start(place, ["exit", str(code)])
    tee.say(ASK)
    # Its stdin stays open, so this end is nobody's wish.
    assert tee.wait(timeout=30) == code
    last = recorded(place).entries[-1]
    assert isinstance(last, RuntimeExit)
    assert (last.status, last.code) == ("success" if code == 0 else "error", code)


def test_tee_dies_by_the_signal_of_the_provider(place: Path) -> None:
    tee = start(place, ["die", "SIGSEGV"])
    tee.say(ASK)
    assert tee.wait(timeout=30) == -signal.SIGSEGV
    last = recorded(place).entries[-1]
    assert last == RuntimeExit("error", error="was ended by SIGSEGV", signal="SIGSEGV", line=last.line)


def test_tee_forwards_signals_and_lets_the_provider_answer_them(place: Path) -> None:
    tee = start_run(place, ["deaf"])
    assert tee.hear() == b'{"method":"ready"}\n'
    tee.send_signal(signal.SIGTERM)
    assert orjson.loads(tee.hear())["params"] == {"times": 1}
    tee.send_signal(signal.SIGTERM)
    assert tee.wait(timeout=30) == 0
    [path] = (place / "runs").iterdir()
    run = read_run(path.read_bytes(), path.name)
    signs = [passage.sign for passage in run.passages]
    assert signs.count(Sign.SIGNAL) == 2 and run.was_signalled
    assert exit_of(run) == RuntimeExit("success")


def test_group_of_a_killed_tee_takes_the_provider_with_it(place: Path, ended: list[int]) -> None:
    transcript_path(place).write_bytes(OLD)
    # It does not end with its stdin, so nothing else ends it.
    tee = start(place, ["deaf"])
    assert tee.hear() == b'{"method":"ready"}\n'
    children = Path(f"/proc/{tee.pid}/task/{tee.pid}/children").read_text().split()
    ended += map(int, children)
    assert len(children) == 1
    watch = os.pidfd_open(int(children[0]))
    os.killpg(tee.pid, signal.SIGKILL)
    tee.wait(timeout=30)
    assert select.select([watch], [], [], 30)[0], "the provider outlived its tee"
    os.close(watch)
    assert transcript_path(place).read_bytes() == OLD
    assert [path.name for path in transcript_path(place).parent.iterdir()] == ["codex.transcript.ndjson"]


def test_killed_tee_leaves_the_run_as_far_as_it_went(place: Path) -> None:
    tee = start_run(place, ["answer"])
    tee.say(ASK)
    tee.hear()
    tee.hear()
    tee.kill()
    tee.wait(timeout=30)
    [path] = (place / "runs").iterdir()
    run = read_run(path.read_bytes() + b"17 < {torn", path.name)
    entries = list(entries_of([run], "codex.app-server"))
    assert [entry.label for entry in entries] == ["ask", "note", "ask.response", ""]
    assert entries[-1] == RuntimeExit("success")


def test_provider_that_leaves_a_child_behind_does_not_hold_the_tee(place: Path, ended: list[int]) -> None:
    tee = start(place, ["orphan", str(place / "pid")])
    tee.say(ASK)
    assert tee.wait(timeout=30) == 0
    ended.append(int((place / "pid").read_text()))
    assert len(recorded(place).entries) == 4


def test_half_a_line_is_no_frame(place: Path) -> None:
    tee = start(place, ["half"])
    tee.say(ASK)
    stdout = tee.stdout
    assert stdout is not None
    assert stdout.read().endswith(b'{"method":"ha')
    assert tee.wait(timeout=30) == 0
    assert [type(entry) for entry in recorded(place).entries[-2:]] == [EmitInbound, RuntimeExit]


def test_full_disk_leaves_the_old_transcript(place: Path) -> None:
    transcript_path(place).write_bytes(OLD)
    tee = start(place, ["answer"], limit=64)
    tee.say(ASK)
    stdout, stderr = tee.end()
    assert tee.returncode == 2
    assert b"cannot write the fixture" in stderr, stderr.decode()
    assert stdout.count(b"\n") == 2
    assert transcript_path(place).read_bytes() == OLD
    assert [path.name for path in transcript_path(place).parent.iterdir()] == ["codex.transcript.ndjson"]


def test_full_disk_spoils_the_run_and_not_the_provider(place: Path) -> None:
    tee = start_run(place, ["answer"], limit=64)
    tee.say(ASK)
    stdout, stderr = tee.end()
    assert tee.returncode == 0
    assert stdout.count(b"\n") == 2
    assert b"the record cannot be written" in stderr
    assert [path.suffix for path in (place / "runs").iterdir()] == [".broken"]


def test_secret_that_remains_is_refused_and_not_shown(place: Path) -> None:
    secret = "sk-ant-" + "api03-" + "Zq8" * 20
    transcript_path(place).write_bytes(OLD)
    tee = start(place, ["answer"])
    tee.say(orjson.dumps({"id": 1, "method": "ask", "params": {"text": f"use {secret}"}}) + b"\n")
    stdout, stderr = tee.end()
    assert tee.returncode == 2
    assert secret.encode() in stdout and secret.encode() not in stderr
    assert b"looks like a secret" in stderr and b"$.frame" in stderr, stderr.decode()
    assert transcript_path(place).read_bytes() == OLD


def test_credential_of_the_shell_is_taken_out_by_value(place: Path) -> None:
    tee = start(place, ["answer"], variables={"SERVICE_TOKEN": "plain-looking-words-9"})
    tee.say(b'{"id":1,"method":"ask","params":{"text":"it is plain-looking-words-9"}}\n')
    tee.end()
    assert tee.returncode == 0
    assert b"plain-looking" not in transcript_path(place).read_bytes()


def test_stdout_that_is_no_json_is_named(place: Path) -> None:
    tee = start(place, ["bytes", str(place / "copy")])
    tee.say(b"hello there\n")
    _, stderr = tee.end()
    assert tee.returncode == 3
    assert b"is no JSON object: 'hello there'" in stderr, stderr.decode()
    assert not transcript_path(place).exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--transcript", "x", "--protocol", "p", "--version", "1"], "there is no command behind --"),
        (["--transcript", "x", "--protocol", "p", "--version", "1", "--", "/no/such"], "cannot be started"),
    ],
)
def test_usage_is_a_sentence(place: Path, arguments: Sequence[str], told: str) -> None:
    tee = spawn([*TEE, *arguments], place, None, {})
    _, stderr = tee.end()
    assert tee.returncode in (2, 3)
    assert told in stderr.decode() and "Traceback" not in stderr.decode()


def test_settings_that_are_none_are_refused(place: Path) -> None:
    for settings in (
        "{",
        "[]",
        '{"command":[]}',
        '{"command":["x"],"runs":"/no/such"}',
        '{"command":["x"],"other":1}',
    ):
        tee = spawn(
            [*TEE],
            place,
            None,
            {"AGENT_REPLAY_TEE": settings},
        )
        _, stderr = tee.end()
        assert tee.returncode == 2 and b"AGENT_REPLAY_TEE" in stderr
