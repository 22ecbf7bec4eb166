"""The record command: subject, tee, provider and gateway together, and what makes it write nothing."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

import replay
from replay.session import encode_log
from replay.transport.mechanical import play
from replay.transport.profile import profile
from replay.transport.transcript import (
    EmitInbound,
    ExpectOutbound,
    RuntimeExit,
    read_transcript,
    write_transcript,
)

HERE = Path(__file__).parent
ROOT = Path(replay.__file__).parent.parent
OLD = b"the old file\n"
RECORD = (
    sys.executable,
    "-c",
    "import sys; from replay.runner.transport_record import main; sys.exit(main(sys.argv[1:]))",
)


class Tree:
    """A source tree with one scenario that can be recorded."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = place / "simple"
        self.transcript = self.directory / "codex.transcript.ndjson"
        self.provider_args = ["{gateway_url}"]
        self.directory.mkdir()
        self.answer("Hello.")

    def answer(self, *texts: str) -> None:
        """What the model says, call by call."""
        rows: list[dict[str, Any]] = []
        for step, text in enumerate(texts, 1):
            place = {"turn": 1, "step": step}
            chunks = [
                {"type": "block-start", "index": 0, "blockType": "text"},
                {"type": "text-delta", "index": 0, "text": text},
                {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
                {"type": "finish", "reason": {"kind": "stop"}},
            ]
            rows += [{"type": "assistant/chunk", "data": {**place, "chunk": chunk}} for chunk in chunks]
        header = {"type": "session", "version": 0, "id": "gateway", "createdAt": 0}
        (self.directory / "codex.session.jsonl").write_bytes(encode_log(header, rows))

    def manifest(self) -> Path:
        python = self.launcher("python", sys.executable, "-B")
        agent = {
            "model_api": "openai_chat",
            "binary": str(python),
            "args": [str(HERE / "recorder_model.py"), *self.provider_args],
            "env": {},
            "home": {},
        }
        provider = {
            "agent": agent,
            "executable": "codex",
            "protocol": "codex.app-server",
            "provider_version": "1.2.3",
            "model": "m",
        }
        files = {path.name: str(path) for path in self.directory.iterdir() if path != self.transcript}
        scenario = {"name": "simple/codex", "directory": "simple", "variant": "codex", "files": files}
        manifest = {
            "version": 1,
            "kind": "transport_record",
            "label": "//:record",
            "subject": {"binary": str(python), "args": [str(HERE / "recorder_subject.py")]},
            "providers": {"codex": provider},
            "scenarios": [scenario],
        }
        path = self.place / "manifest.json"
        path.write_bytes(orjson.dumps(manifest))
        return path

    def launcher(self, name: str, *command: str) -> Path:
        """An executable, since a manifest names one file."""
        path = self.place / name
        path.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        path.chmod(0o755)
        return path

    def record(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*RECORD, "--manifest", str(self.manifest())]
        return subprocess.run(
            [*command, "--seconds", "30", *arguments],
            cwd=self.place,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_recording_is_written_and_can_be_replayed(tree: Tree) -> None:
    done = tree.record("simple/codex")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 frame out, 2 frames in" in done.stdout
    assert "a second recording told the same course" in done.stdout
    data = tree.transcript.read_bytes()
    transcript = read_transcript(data, "codex")
    assert write_transcript(transcript) == data
    assert play(transcript, profile("codex.app-server")).status.outcome == "consumed"
    [asked, started, answered, end] = transcript.entries
    assert isinstance(asked, ExpectOutbound) and isinstance(started, EmitInbound)
    assert isinstance(answered, EmitInbound) and end == RuntimeExit("success", line=5)
    params = started.frame["params"]
    assert (params["cwd"], params["home"]) == ("{{workspace}}", "/home/user")
    assert answered.frame["result"]["turn"] == params["turn"]
    assert answered.frame["result"]["model"] == "http://127.0.0.1:8080/v1"
    assert transcript.start.metadata["provenance"]["model_behind"] == "gateway"


def test_recording_of_the_same_course_changes_nothing(tree: Tree) -> None:
    tree.record("simple", "--once")
    before = tree.transcript.read_bytes()
    done = tree.record("--all", "--once")
    assert "unchanged: it tells the course of the committed transcript" in done.stdout, (
        done.stdout + done.stderr
    )
    assert tree.transcript.read_bytes() == before
    tree.answer("Hello.")
    tree.provider_args.append("die")
    done = tree.record("--all")
    assert "written: simple/codex.transcript.ndjson" in done.stdout, done.stdout + done.stderr
    last = read_transcript(tree.transcript.read_bytes(), "codex").entries[-1]
    assert isinstance(last, RuntimeExit) and last.code == 5


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ("wrong", 3, "an assertion of the scenario fails"),
        ("silent", 2, "codex.session.jsonl: missing"),
        ("left", 2, "1 of 2"),
        ("chatty", 1, "exhausted"),
        ("secret", 2, "looks like a secret"),
        ("unknown", 2, "cannot be recorded"),
    ],
)
def test_run_that_is_no_recording_writes_nothing(tree: Tree, change: str, code: int, told: str) -> None:
    tree.transcript.write_bytes(OLD)
    name = "simple"
    if change == "wrong":
        (tree.directory / "wrong.py").write_text("")
    elif change == "silent":
        (tree.directory / "codex.session.jsonl").unlink()
    elif change == "left":
        tree.answer("Hello.", "Nobody asked.")
    elif change == "chatty":
        tree.provider_args.append("chatty")
    elif change == "secret":
        tree.provider_args = ["{gateway_url}", "leaky"]
    else:
        name = "other"
    done = tree.record(name)
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert tree.transcript.read_bytes() == OLD


def test_failure_is_kept_where_it_is_said(tree: Tree) -> None:
    (tree.directory / "wrong.py").write_text("")
    done = tree.record("simple", "--keep-failure", "--once")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree.transcript.exists()
