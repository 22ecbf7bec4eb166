"""Traces in a temporary directory, replayed by the real runner in a process of its own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import replay
from replay.trace.codec import read_trace, write_trace
from replay.trace.model import AgentStep, AgentTrace

_AGENT = Path(__file__).with_name("scripted_agent.py")
_ROOT = Path(replay.__file__).parent.parent
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

    def actual(self, name: str) -> AgentTrace:
        return read_trace((self.outputs / f"actual/{name}.json").read_bytes(), name)

    def divergences(self, at: int = 0, run: int = 0) -> list[str]:
        return [each["kind"] for each in self.replays()[at]["runs"][run]["divergences"]]

    def replays(self) -> list[dict[str, Any]]:
        lines = (self.outputs / "actual/replays.jsonl").read_bytes().split(b"\n")
        return [json.loads(line) for line in lines if line]

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.outputs / "report.json").read_bytes())
        return found

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


def model(number: int, said: str, response: Any, **more: Any) -> AgentStep:
    """A recorded model call, asked with one message."""
    messages = [{"role": "user", "content": said}]
    return AgentStep(
        f"s{number}",
        "reasoning",
        number * 10.0,
        messages=messages,
        response=response,
        model_duration_ms=5.0,
        **more,
    )


def tool(number: int, name: str, value: Any, output: Any, **more: Any) -> AgentStep:
    """A recorded tool call."""
    return AgentStep(
        f"s{number}",
        "tool_call",
        number * 10.0,
        tool_name=name,
        tool_input=value,
        tool_output=output,
        tool_duration_ms=5.0,
        **more,
    )


def final(number: int, answer: Any) -> AgentStep:
    return AgentStep(f"s{number}", "final_answer", number * 10.0, response=answer)


WEATHER = AgentTrace(
    "weather",
    "what is the weather in Bern?",
    (
        model(1, "what is the weather in Bern?", "ask the weather tool"),
        tool(2, "weather", {"city": "Bern"}, "12 degrees, rain"),
        model(3, "the tool says: 12 degrees, rain", "It rains at 12 degrees."),
        final(4, "It rains at 12 degrees."),
    ),
    metadata={"category": "lookup"},
    success=True,
    final_answer="It rains at 12 degrees.",
)
GOOD_STEPS: list[dict[str, Any]] = [
    {"model": [{"role": "user", "content": "{{task}}"}]},
    {"tool": "weather", "input": {"city": "Bern"}},
    {"model": [{"role": "user", "content": "the tool says: {{last}}"}]},
    {"final": "{{last}}", "success": True},
]


class Stage:
    """Files below `directory`; `run` starts the runner on them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.outputs = directory / "outputs"
        self.outputs.mkdir()
        self.traces: list[AgentTrace] = [WEATHER]
        self.script: dict[str, Any] = {"steps": list(GOOD_STEPS)}
        self.agent: dict[str, Any] = {}
        self.manifest: dict[str, Any] = {"strategy": "exact", "run_seconds": 5, "exit_seconds": 1}
        self.environment: dict[str, str] = {}
        self.workspace: dict[str, str] = {}
        self.suite: dict[str, Any] = {}
        self.is_committed = False
        """Whether the files of traces are written, and a command may have changed them."""

    def steps(self, *steps: dict[str, Any]) -> None:
        self.script["steps"] = list(steps)

    def hide_text_model(self) -> None:
        """Whether or not this Python has it: where the package is looked for first, it lies without its weights."""
        hidden = self.directory / "no_text_model"
        (hidden / "wordllama").mkdir(parents=True)
        (hidden / "wordllama/__init__.py").touch()
        self.environment["PYTHONPATH"] = os.pathsep.join([str(hidden), *_PLACES])

    def write(self) -> Path:
        traces = self.directory / "traces"
        traces.mkdir(exist_ok=True)
        for trace in self.traces:
            path = traces / f"{trace.trace_id}.json"
            if not self.is_committed or not path.exists():
                path.write_bytes(write_trace(trace))
        self.is_committed = True
        (self.directory / "agent.json").write_text(json.dumps(self.script))
        if self.suite:
            (self.directory / "suite.json").write_text(json.dumps(self.suite))
        snapshots = self.directory / "snapshots"
        manifest = {
            "version": 1,
            "kind": "trace",
            "suite": str(self.directory / "suite.json") if self.suite else "",
            "snapshots": {
                str(path.relative_to(self.directory)): str(path) for path in sorted(snapshots.rglob("*.json"))
            },
            "label": "//shop:agent_test",
            "directory": "shop",
            "agent": {
                "name": "scripted",
                "binary": sys.executable,
                "args": [str(_AGENT), str(self.directory / "agent.json")],
                **self.agent,
            },
            "traces": {
                str(path.relative_to(self.directory)): str(path)
                for path in sorted(traces.rglob("*"))
                if path.is_file()
            },
            "workspace": self.workspace,
            **self.manifest,
        }
        path = self.directory / "manifest.json"
        path.write_text(json.dumps(manifest))
        return path

    def run(self, *arguments: str, **environment: str) -> Outcome:
        manifest = self.write()
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "replay.runner.trace_main", *arguments],
            env=self._environment({"AGENT_REPLAY_MANIFEST": str(manifest), **environment}),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        seconds = time.monotonic() - began
        return Outcome(done.returncode, done.stdout.decode(), seconds, self.outputs, self.temporary)

    def command(self, name: str, *arguments: str, **environment: str) -> Outcome:
        """A command on the traces, in a source tree whose package "shop" is this directory."""
        manifest = self.write()
        tree = self.directory.parent / f"{self.directory.name}-tree"
        logs = tree / "bazel-testlogs/shop/agent_test"
        if not tree.exists():
            logs.mkdir(parents=True)
            (tree / "shop").symlink_to(self.directory)
            (logs / "test.outputs").symlink_to(self.outputs)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", f"replay.runner.trace_{name}", *arguments],
            env=self._environment(
                {
                    "AGENT_REPLAY_MANIFEST": str(manifest),
                    "BUILD_WORKSPACE_DIRECTORY": str(tree),
                    "BUILD_WORKING_DIRECTORY": str(tree),
                    **environment,
                }
            ),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return Outcome(
            done.returncode, done.stdout.decode(), time.monotonic() - began, self.outputs, self.temporary
        )

    def committed(self, name: str = "weather") -> AgentTrace:
        return read_trace((self.directory / f"traces/{name}.json").read_bytes(), name)

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        """The runner in the background."""
        manifest = self.write()
        return subprocess.Popen(
            [sys.executable, "-m", "replay.runner.trace_main"],
            env=self._environment({"AGENT_REPLAY_MANIFEST": str(manifest), **environment}),
            cwd=self.directory,
            stdout=subprocess.PIPE,
        )

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(_PLACES),
            "PYTHONPYCACHEPREFIX": str(self.directory.parent / "pycache"),
            "TEST_TMPDIR": str(self.temporary),
            "TEST_UNDECLARED_OUTPUTS_DIR": str(self.outputs),
            **self.environment,
            **extra,
        }
