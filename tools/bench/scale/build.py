"""Bazel in the generated module, and what it says of its own cost."""

import json
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tools.bench.child import Broken

__all__ = ["Build", "Invocation", "TestRun"]

_OWN = re.compile(r"RUNFILES_|JAVA_RUNFILES|PYTHON|BUILD_|TEST_|AGENT_REPLAY_")


class TestRun(NamedTuple):
    """One action of a test: seconds of wall, and whether it was run at all."""

    label: str
    seconds: float
    is_cached: bool
    log: Path


class Invocation(NamedTuple):
    """One call of Bazel. Seconds; `cpu` is the server's own, `test_cpu` that of all test actions together.

    heap: megabytes that the server holds on to at the end, where it was asked.
    """

    wall: float
    cpu: float = 0.0
    analysis: float = 0.0
    """Loading and analysis together: Bazel interleaves them."""
    actions: int = 0
    targets: int = 0
    test_cpu: float = 0.0
    heap: float = 0.0
    tests: Sequence[TestRun] = ()


class Build:
    """Bazel, started by the wrapper `program`, in the module `root`."""

    def __init__(self, program: Path, root: Path, scratch: Path) -> None:
        self._program = program
        self._root = root
        self._events = scratch / "events.json"
        self._environment = {name: value for name, value in os.environ.items() if not _OWN.match(name)}

    def measure(self, command: str, *arguments: str, with_heap: bool = False) -> Invocation:
        """Run it with build events. Raises Broken if it fails."""
        self._events.unlink(missing_ok=True)
        # With the profile, whose file nobody reads, Bazel collects garbage before it says what it uses.
        profile = [f"--memory_profile={self._events}.memory"] if with_heap else []
        self.call(command, f"--build_event_json_file={self._events}", *profile, *arguments)
        return _read(self._events.read_text())

    def call(self, command: str, *arguments: str) -> float:
        """Run it and say how many seconds a person would have waited. Raises Broken if it fails."""
        return self._run(command, *arguments)

    def restart(self) -> None:
        """Let the next call begin with a server that knows nothing."""
        self._run("shutdown")

    def _run(self, command: str, *arguments: str) -> float:
        quiet = [] if command == "shutdown" else ["--color=no", "--curses=no", "--noshow_progress"]
        whole = [str(self._program), command, *quiet, *arguments]
        began = time.perf_counter()
        done = subprocess.run(
            whole,
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Broken(f"{' '.join(whole)}\n{done.stdout[-4000:]}")
        return time.perf_counter() - began


def _read(text: str) -> Invocation:
    """What the build events say."""
    metrics: dict[str, Any] = {}
    tests: list[TestRun] = []
    for line in text.splitlines():
        event = json.loads(line)
        if "buildMetrics" in event:
            metrics = event["buildMetrics"]
        elif "testResult" in event:
            tests.append(_test(event))
    timing, summary = metrics.get("timingMetrics", {}), metrics.get("actionSummary", {})
    runner: dict[str, Any] = next(
        (data for data in summary.get("actionData", ()) if data["mnemonic"] == "TestRunner"), {}
    )
    return Invocation(
        wall=int(timing.get("wallTimeInMs", 0)) / 1000,
        cpu=int(timing.get("cpuTimeInMs", 0)) / 1000,
        analysis=int(timing.get("analysisPhaseTimeInMs", 0)) / 1000,
        actions=int(summary.get("actionsCreated", 0)),
        targets=int(metrics.get("targetMetrics", {}).get("targetsConfigured", 0)),
        test_cpu=sum(float(runner.get(name, "0s").removesuffix("s")) for name in ("userTime", "systemTime")),
        heap=int(metrics.get("memoryMetrics", {}).get("usedHeapSizePostBuild", 0)) / 1e6,
        tests=tests,
    )


def _test(event: dict[str, Any]) -> TestRun:
    result = event["testResult"]
    log = next(file["uri"] for file in result["testActionOutput"] if file["name"] == "test.log")
    return TestRun(
        event["id"]["testResult"]["label"],
        int(result.get("testAttemptDurationMillis", 0)) / 1000,
        bool(result.get("cachedLocally")),
        Path(unquote(urlsplit(log).path)),
    )
