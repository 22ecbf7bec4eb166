"""The recording proxy: an HTTP server with event streams, recorded while its client sees what it would see without."""

import http.client
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import replay
from replay.transport.mechanical import play
from replay.transport.profile import profile
from replay.transport.transcript import EmitInbound, ExpectOutbound, RuntimeExit, Transcript, read_transcript

SERVER = Path(__file__).with_name("recorder_server.py")
ROOT = Path(replay.__file__).parent.parent
TEE = (
    sys.executable,
    "-c",
    "import sys; from replay.transport.recorders.tee import main; sys.exit(main(sys.argv[1:]))",
)


class Proxy:
    """A server behind the tee."""

    def __init__(self, place: Path) -> None:
        self.path = place / "simple" / "opencode.transcript.ndjson"
        self.path.parent.mkdir()
        self.workspace = place / "workspace"
        self.workspace.mkdir()
        options = ["--transcript", str(self.path), "--protocol", "opencode-sdk.sse", "--version", "1.2.3"]
        server = [sys.executable, str(SERVER), "serve", "--hostname", "127.0.0.1", "--port=0"]
        self.process = subprocess.Popen(
            [*TEE, *options, "--", *server],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.workspace,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline(), self.process.stdout.readline()]
        found = re.fullmatch(rb"opencode server listening on http://127\.0\.0\.1:([0-9]+)\n", self.said[1])
        assert found, self.said
        self.port = int(found[1])

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else orjson.dumps(body))
            response = connection.getresponse()
            return response.status, orjson.loads(response.read())
        finally:
            connection.close()

    def subscribe(self) -> Stream:
        return Stream(self.port)

    def end(self, number: int = signal.SIGTERM) -> bytes:
        self.process.send_signal(number)
        _, stderr = self.process.communicate(timeout=30)
        return stderr

    def transcript(self) -> Transcript:
        return read_transcript(self.path.read_bytes(), self.path.name)


class Stream:
    """A subscription; it has begun when it is made."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("GET", "/event")
        self.response = self.connection.getresponse()
        assert self.response.getheader("content-type") == "text/event-stream"
        assert self.event()["type"] == "server.connected"

    def event(self) -> Any:
        data = self.response.readline()
        assert self.response.readline() == b"\n"
        return orjson.loads(data.removeprefix(b"data: "))


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    made = Proxy(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


def test_proxy_says_its_own_address_and_the_rest_as_it_was(proxy: Proxy) -> None:
    assert proxy.said[0] == b"warming up\n"


def test_requests_responses_and_events_are_recorded_in_order(proxy: Proxy) -> None:
    stream = proxy.subscribe()
    assert proxy.ask("GET", "/global/health")[0] == 200
    status, session = proxy.ask("POST", "/session", {"title": "one"})
    assert (status, session["directory"]) == (200, str(proxy.workspace))
    assert [stream.event()["type"] for _ in range(2)] == ["session.created", "session.idle"]
    stderr = proxy.end()
    assert proxy.process.returncode == 0, stderr.decode()
    transcript = proxy.transcript()
    told = sorted((type(entry).__name__, entry.label) for entry in transcript.entries[2:5])
    assert [entry.label for entry in transcript.entries[:2]] == ["event.subscribe", "session.create"]
    assert told == [
        ("EmitInbound", "session.create.response"),
        ("EmitInbound", "session.created"),
        ("EmitInbound", "session.idle"),
    ]
    assert transcript.entries[5:] == (RuntimeExit("success", line=7),)
    response = next(entry for entry in transcript.entries if entry.label == "session.create.response")
    assert isinstance(response, EmitInbound)
    assert response.frame["data"]["directory"] == "{{workspace}}"
    assert play(transcript, profile("opencode-sdk.sse")).status.outcome == "consumed"


def test_event_that_two_streams_carry_is_told_once(proxy: Proxy) -> None:
    streams = [proxy.subscribe(), proxy.subscribe()]
    proxy.ask("POST", "/session", {"title": "one"})
    for stream in streams:
        assert [stream.event()["type"] for _ in range(2)] == ["session.created", "session.idle"]
    proxy.end()
    labels = [entry.label for entry in proxy.transcript().entries]
    assert (labels.count("event.subscribe"), labels.count("session.created")) == (2, 1)


def test_error_of_the_server_is_recorded_as_one(proxy: Proxy) -> None:
    assert proxy.ask("GET", "/session/ses_9")[0] == 404
    proxy.end()
    [asked, answered, _] = proxy.transcript().entries
    assert isinstance(asked, ExpectOutbound) and isinstance(answered, EmitInbound)
    assert asked.frame == {"type": "session.get", "input": {"sessionID": "ses_9"}}
    assert answered.frame["error"]["name"] == "NotFoundError"


def test_server_that_dies_breaks_the_stream_and_is_recorded(proxy: Proxy) -> None:
    stream = proxy.subscribe()
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        proxy.ask("POST", "/session", {"title": "die"})
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        stream.response.read()
    assert proxy.process.wait(timeout=30) == -signal.SIGKILL
    last = proxy.transcript().entries[-1]
    assert isinstance(last, RuntimeExit) and last.signal == "SIGKILL"


def test_killed_proxy_leaves_no_server_and_no_file(proxy: Proxy) -> None:
    pid = proxy.process.pid
    [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    watch = os.pidfd_open(int(child))
    proxy.process.kill()
    proxy.process.wait()
    assert select.select([watch], [], [], 30)[0]
    os.close(watch)
    assert not proxy.path.exists()
