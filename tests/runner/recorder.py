"""Scenarios in a temporary source tree, recorded by the real command in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import replay

__all__ = ["KEY", "Outcome", "Tree"]

KEY = "sk-Test0123456789abcdefABCDEF"
_AGENT = Path(__file__).with_name("live_agent.py")
_ROOT = Path(replay.__file__).parent.parent
_PLACES = [str(place) for place in (_ROOT, *sys.path) if place]


class Outcome(NamedTuple):
    """What one command left."""

    code: int
    out: str
    err: str


class Tree:
    """A source tree with scenarios; each is a directory with an input.json."""

    def __init__(self, directory: Path, *, logs_itself: bool = True) -> None:
        self.directory = directory
        self.logs_itself = logs_itself
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.options: dict[str, Any] = {"wait_seconds": 20, "exit_seconds": 5}
        self.agent: dict[str, Any] = {}
        self.surfaces: list[str] = []
        self.pins = False
        self.variables = {"OPENAI_API_KEY": KEY}

    def fixture(self, name: str) -> Path:
        return self.directory / "scenarios" / name

    def add(self, name: str, *prompts: str, steps: Sequence[Mapping[str, Any]] = ()) -> Path:
        """A scenario that says `prompts`, one a turn, or plays `steps`."""
        fixture = self.fixture(name)
        fixture.mkdir(parents=True)
        said = [{"op": "prompt", "text": prompt} for prompt in prompts]
        played = [{"op": "initialize"}, {"op": "newSession"}, *(steps or said)]
        (fixture / "input.json").write_text(json.dumps({"steps": played}))
        return fixture

    def files(self, name: str) -> dict[str, bytes]:
        fixture = self.fixture(name)
        return {
            str(path.relative_to(fixture)): path.read_bytes() for path in fixture.rglob("*") if path.is_file()
        }

    def record(self, *arguments: str, upstream: str) -> Outcome:
        return self.run("replay.runner.record", *arguments, "--upstream", upstream)

    def refresh(self, *arguments: str) -> Outcome:
        return self.run("replay.runner", *arguments)

    def run(self, module: str, *arguments: str) -> Outcome:
        done = subprocess.run(
            self.command(module, *arguments),
            env=self.environment(),
            cwd=self.directory,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str, upstream: str) -> subprocess.Popen[bytes]:
        """The record command in the background, in a process group of its own."""
        return subprocess.Popen(
            self.command("replay.runner.record", *arguments, "--upstream", upstream),
            env=self.environment(),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def command(self, module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", module, "--manifest", str(self.manifest()), *arguments]

    def environment(self) -> dict[str, str]:
        schema = os.environ.get("AGENT_REPLAY_SCHEMA")
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(_PLACES),
            "PYTHONPYCACHEPREFIX": str(self.directory.parent / "pycache"),
            "TMPDIR": str(self.temporary),
            "BUILD_WORKSPACE_DIRECTORY": str(self.directory),
            **({"AGENT_REPLAY_SCHEMA": schema} if schema else {}),
            **self.variables,
        }

    def processes(self) -> list[int]:
        """Living processes of this tree: they hold its directory in their environment."""
        marker = str(self.temporary).encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and marker in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def manifest(self) -> Path:
        """The manifest as the rules would write it."""
        point = {"MODEL_URL": "{gateway_url}", "MODEL_KEY": "dummy"}
        agent = {
            "name": "live",
            "binary": sys.executable,
            "args": [str(_AGENT), *(["{sessions}"] if self.logs_itself else [])],
            "env": {},
            "replay_env": point,
            "model_api": "openai_chat",
            "session_log": "self" if self.logs_itself else "gateway",
            **self.agent,
        }
        manifest = {
            "version": 1,
            "suite": "//scenarios:suite",
            "workspace_name": "_main",
            "batched": False,
            "agent": agent,
            "rules": [],
            "options": self.options,
            "surfaces": self.surfaces,
            "scenarios": [self._scenario(path) for path in sorted((self.directory / "scenarios").iterdir())],
        }
        file = self.directory / "manifest.json"
        file.write_text(json.dumps(manifest))
        return file

    def _scenario(self, fixture: Path) -> dict[str, Any]:
        expected = fixture / "workspace.expected"
        left = [path for path in sorted(expected.rglob("*")) if path.is_file()]
        return {
            "name": fixture.name,
            "label": f"//scenarios:{fixture.name}_test",
            "package": "scenarios",
            "directory": f"scenarios/{fixture.name}",
            "files": {path.name: str(path) for path in fixture.iterdir() if path.is_file()},
            "workspace_expected": {str(path.relative_to(expected)): str(path) for path in left},
            "pins": self.pins,
        }
