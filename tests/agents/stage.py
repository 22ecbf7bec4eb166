"""A scenario in a temporary directory, replayed by the real runner in a process of its own."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import replay

_AGENT = Path(__file__).with_name("scripted_agent.py")
_ROOT = Path(replay.__file__).parent.parent
_STEPS = [{"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": "say hello"}]
_PLACES = [str(place) for place in (_ROOT, *sys.path) if place]


class Outcome(NamedTuple):
    """What one run of the runner left."""

    code: int
    text: str
    seconds: float
    outputs: Path
    temporary: Path

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    @property
    def result(self) -> dict[str, Any]:
        return json.loads((self.outputs / "result.json").read_bytes())

    def processes(self) -> list[str]:
        """Commands of living processes that belong to this run: they hold its directory in their environment."""
        marker = str(self.temporary).encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and marker in (entry / "environ").read_bytes():
                    found.append((entry / "comm").read_text().strip())
            except OSError:
                continue
        return found


class Scenario:
    """Files below `directory`; `run` starts the runner on them, `refresh` the development command."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.fixture = directory / "scenarios" / "hello"
        self.fixture.mkdir(parents=True)
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.outputs = directory / "outputs"
        self.options: dict[str, Any] = {"wait_seconds": 1, "exit_seconds": 1}
        self.environment: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.agent_script: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = list(_STEPS)
        self.answers: list[str] = ["Hello there."]
        self.input: dict[str, Any] = {}
        self.agent: dict[str, Any] = {"session_log": "self"}
        self.surfaces: list[str] = []
        self.pins = False

    def write(self) -> Path:
        """Write input, authored log and manifest; files that are there already stay."""
        self._write_new("input.json", json.dumps({"steps": self.steps, **self.input}))
        self._write_new("session.jsonl", "".join(json.dumps(row) + "\n" for row in self._authored_log()))
        (self.directory / "agent.json").write_text(json.dumps(self.agent_script))
        files = {path.name: str(path) for path in self.fixture.iterdir() if path.is_file()}
        workspace = self.fixture / "workspace"
        seed = {
            str(path.relative_to(workspace)): str(path) for path in workspace.rglob("*") if path.is_file()
        }
        manifest = {
            "version": 1,
            "suite": "//scenarios:suite",
            "workspace_name": "_main",
            "batched": False,
            "agent": {
                "name": "scripted",
                "binary": sys.executable,
                "args": [str(_AGENT), "{sessions}", str(self.directory / "agent.json")],
                "env": self.variables,
                **self.agent,
            },
            "rules": [],
            "options": self.options,
            "surfaces": self.surfaces,
            "scenarios": [
                {
                    "name": "hello",
                    "label": "//scenarios:hello_test",
                    "package": "scenarios",
                    "directory": "scenarios/hello",
                    "files": files,
                    "workspace": seed,
                    "workspace_expected": self._files_below("workspace.expected"),
                    "pins": self.pins,
                }
            ],
        }
        path = self.directory / "manifest.json"
        path.write_text(json.dumps(manifest))
        return path

    def refresh(self, *arguments: str) -> Outcome:
        manifest = self.write()
        command = ["-m", "replay.runner", "--manifest", str(manifest), *(arguments or ["--all"])]
        return self._run(command, {"BUILD_WORKSPACE_DIRECTORY": str(self.directory)})

    def run(self, **environment: str) -> Outcome:
        manifest = self.write()
        return self._run(
            ["-m", "replay.runner.main"], {"AGENT_REPLAY_MANIFEST": str(manifest), **environment}
        )

    def run_code(self, code: str, **environment: str) -> Outcome:
        """Python code in the place of the runner, for a test that looks into its process."""
        manifest = self.write()
        return self._run(["-c", code], {"AGENT_REPLAY_MANIFEST": str(manifest), **environment})

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        """The runner in the background."""
        manifest = self.write()
        variables = self._environment({"AGENT_REPLAY_MANIFEST": str(manifest), **environment})
        command = [sys.executable, "-m", "replay.runner.main"]
        return subprocess.Popen(command, env=variables, cwd=self.directory, stdout=subprocess.PIPE)

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
        seconds = time.monotonic() - began
        return Outcome(done.returncode, done.stdout.decode(), seconds, self.outputs, self.temporary)

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        schema = os.environ.get("AGENT_REPLAY_SCHEMA")
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(_PLACES),
            "PYTHONPYCACHEPREFIX": str(self.directory.parent / "pycache"),
            "TEST_TMPDIR": str(self.temporary),
            "TEST_UNDECLARED_OUTPUTS_DIR": str(self.outputs),
            **({"AGENT_REPLAY_SCHEMA": schema} if schema else {}),
            **self.environment,
            **extra,
        }

    def _authored_log(self) -> list[dict[str, Any]]:
        """The least that a recording needs: a header and the chunks of each call."""
        rows: list[dict[str, Any]] = [
            {"type": "session", "version": 0, "id": "{{sessionId}}", "createdAt": 0, "provenance": "authored"}
        ]
        for turn, text in enumerate(self.answers, 1):
            chunks = [
                {"type": "block-start", "index": 0, "blockType": "text"},
                *({"type": "text-delta", "index": 0, "text": piece} for piece in re.findall(r"\S+\s*", text)),
                {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
                {"type": "finish", "reason": {"kind": "stop"}},
            ]
            for chunk in chunks:
                rows.append({"type": "assistant/chunk", "data": {"turn": turn, "step": 1, "chunk": chunk}})
        return rows

    def _files_below(self, name: str) -> dict[str, str]:
        root = self.fixture / name
        return {str(path.relative_to(root)): str(path) for path in sorted(root.rglob("*")) if path.is_file()}

    def _write_new(self, name: str, text: str) -> None:
        path = self.fixture / name
        if not path.exists():
            path.write_text(text)
