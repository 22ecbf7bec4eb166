"""A transport scenario in a temporary directory, played by the real runner, host and peer in processes of their own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import replay

SUBJECT = Path(__file__).with_name("transport_subject.py")
PLACE = "scenarios/hello/codex.transcript.ndjson"

START = {
    "type": "transcript_start",
    "schema": 1,
    "provider": "codex",
    "protocol": "codex.app-server",
    "version": "1.2.3",
    "scenario": "hello",
    "metadata": {
        "model": None,
        "cwdPolicy": "workspace",
        "capturedAt": "2026-01-05",
        "provenance": {"kind": "authored", "reason": "a test of the runner"},
    },
}
INITIALIZE = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "tester"}}}
THREAD = {"id": 2, "method": "thread/start", "params": {"cwd": "{{workspace}}"}}
TRANSCRIPT: list[dict[str, Any]] = [
    START,
    {"type": "expect_outbound", "label": "initialize", "frame": INITIALIZE},
    {"type": "emit_inbound", "frame": {"id": 1, "result": {"userAgent": "codex"}}},
    {"type": "expect_outbound", "label": "thread", "frame": THREAD},
    {"type": "emit_inbound", "label": "answer", "frame": {"id": 2, "result": {"thread": {"id": "thread-1"}}}},
    {"type": "emit_inbound", "label": "first", "frame": {"method": "thread/started", "params": {"threadId": "thread-1"}}},
    {"type": "emit_inbound", "label": "second", "frame": {"method": "thread/named", "params": {"threadId": "thread-1"}}},
]  # fmt: skip
PLAY: list[dict[str, Any]] = [
    {"start": "codex"},
    {"send": {"id": 7, "method": "initialize", "params": {"clientInfo": {"name": "tester"}}}},
    {"receive": 1},
    {"send": {"id": 8, "method": "thread/start", "params": {"cwd": "$WORKSPACE"}}},
    {"receive": 3},
    {"close": True},
    {"surface": "projection.json", "text": '{"threads": [{"id": "thread-1", "cwd": "$WORKSPACE"}]}'},
]
EXPECTED = b'{\n  "threads": [\n    {\n      "id": "thread-1",\n      "cwd": "{{workspace}}"\n    }\n  ]\n}\n'


class Outcome(NamedTuple):
    """What one run of the runner left."""

    code: int
    text: str
    seconds: float
    outputs: Path

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.outputs / "result.json").read_bytes())
        return found

    def verdicts(self) -> dict[str, str]:
        return {case["surface"]: case["verdict"] for case in self.result["cases"]}


class TransportScenario:
    """Files below `directory`; `run` starts the runner on them, `refresh` and `accept` the commands."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.fixture = directory / "scenarios" / "hello"
        self.fixture.mkdir(parents=True)
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.outputs = directory / "bazel-testlogs" / "scenarios" / "hello_codex_test" / "test.outputs"
        self.transcript = list(TRANSCRIPT)
        self.steps: list[dict[str, Any]] = [*PLAY]
        self.manifest: dict[str, Any] = {}
        self.subject: dict[str, Any] = {}
        self.expected: dict[str, bytes] = {"projection.json": EXPECTED}

    def write(self) -> Path:
        """Write transcript, expected files, steps and manifest; files that are there already stay."""
        lines = [
            json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in self.transcript
        ]
        self._write_new("codex.transcript.ndjson", "".join(lines).encode())
        (self.fixture / "subject.json").write_text(json.dumps(self.steps))
        for file, data in self.expected.items():
            name, _, kind = file.partition(".")
            self._write_new(f"codex.{name}.expected.{kind}", data)
        files = {path.name: str(path) for path in sorted(self.fixture.iterdir()) if path.is_file()}
        expected = {
            name.removeprefix("codex.").replace(".expected", ""): name
            for name in files
            if ".expected." in name
        }
        workspace = self.fixture / "workspace"
        seed = {
            str(path.relative_to(workspace)): str(path) for path in workspace.rglob("*") if path.is_file()
        }
        manifest = {
            "version": 1,
            "kind": "transport",
            "suite": "//scenarios:suite",
            "commands": "//scenarios",
            "subject": {
                "name": "subject",
                "binary": sys.executable,
                "args": [str(SUBJECT)],
                "env": {},
                **self.subject,
            },
            "exit_seconds": 1,
            "scenarios": [
                {
                    "name": "hello/codex",
                    "label": "//scenarios:hello_codex_test",
                    "package": "scenarios",
                    "directory": "scenarios/hello",
                    "variant": "codex",
                    "files": files,
                    "workspace": seed,
                    "transcripts": {"codex": "codex.transcript.ndjson"},
                    "expected": expected,
                }
            ],
            **self.manifest,
        }
        path = self.directory / "manifest.json"
        path.write_text(json.dumps(manifest))
        return path

    def run(self, *arguments: str, **environment: str) -> Outcome:
        manifest = self.write()
        command = ["-m", "replay.runner.transport_main", *arguments]
        return self._run(command, {"AGENT_REPLAY_MANIFEST": str(manifest), **environment})

    def command(self, module: str, *arguments: str) -> Outcome:
        """A command on the source tree, such as replay.runner.refresh."""
        manifest = self.write()
        command = ["-m", module, "--manifest", str(manifest), *arguments]
        return self._run(command, {"BUILD_WORKSPACE_DIRECTORY": str(self.directory)})

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        """The runner in the background."""
        variables = self._environment({"AGENT_REPLAY_MANIFEST": str(self.write()), **environment})
        command = [sys.executable, "-m", "replay.runner.transport_main"]
        return subprocess.Popen(command, env=variables, cwd=self.directory, stdout=subprocess.PIPE)

    def processes(self) -> list[str]:
        """Commands of living processes that belong to this run: they hold its directory in their environment."""
        marker = str(self.temporary).encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and marker in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_text())
            except OSError:
                continue
        return found

    def _run(self, arguments: list[str], environment: dict[str, str]) -> Outcome:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self._environment(environment),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), time.monotonic() - began, self.outputs)

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        places = [str(place) for place in (Path(replay.__file__).parent.parent, *sys.path) if place]
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(places),
            "PYTHONPYCACHEPREFIX": str(self.directory.parent / "pycache"),
            "TEST_TMPDIR": str(self.temporary),
            "TEST_UNDECLARED_OUTPUTS_DIR": str(self.outputs),
            **extra,
        }

    def _write_new(self, name: str, data: bytes) -> None:
        path = self.fixture / name
        if not path.exists():
            path.write_bytes(data)
