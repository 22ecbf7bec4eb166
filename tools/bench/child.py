"""Child processes outside Bazel's sandbox, and what they cost.

CPU is that of a process and of every descendant that was waited for, user and system time together: on a shared
machine it says more than the wall clock, which is kept beside it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Cost", "agent_cost", "json_after", "median_cost", "run_child"]

MARK = "costs:"


class Cost(NamedTuple):
    """Milliseconds. `agent` is the CPU that an agent below says it used, 0 without one."""

    cpu: float
    wall: float
    """In the sandbox that of the whole action, with what Bazel does around the test."""
    agent: float = 0.0
    details: dict[str, float] | None = None
    agent_wall: float = 0.0
    """From the start of an agent to its end, 0 without one."""


class Broken(Exception):
    """Something that is measured does not work, so its cost means nothing."""


def run_child(arguments: Sequence[str], variables: dict[str, str]) -> Cost:
    """Run a workload once, as a test would be run but with no sandbox around it. Raises Broken if it fails."""
    with tempfile.TemporaryDirectory(prefix="agent_replay-bench-") as scratch:
        outputs = Path(scratch) / "outputs"
        temporary = Path(scratch) / "tmp"
        outputs.mkdir()
        temporary.mkdir()
        environment = {
            "PATH": "/usr/bin:/bin",
            "TEST_TMPDIR": str(temporary),
            "TEST_UNDECLARED_OUTPUTS_DIR": str(outputs),
            "XML_OUTPUT_FILE": f"{scratch}/test.xml",
            "TEST_TIMEOUT": "60",
            **variables,
        }
        start = time.perf_counter()
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        assert process.stdout is not None
        said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        wall = (time.perf_counter() - start) * 1000
        process.stdout.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Broken(f"{' '.join(arguments)} exited with {process.returncode}:\n{said}")
        stderr = outputs / "agent.stderr.txt"
        agent = agent_cost(stderr.read_text() if stderr.exists() else said)
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall, agent, json_after(MARK, said))


def agent_cost(text: str) -> float:
    """The CPU that the stub agent says it used, 0 if it said nothing."""
    for line in text.splitlines():
        if line.startswith('{"cpu_ms"'):
            return float(json.loads(line)["cpu_ms"])
    return 0.0


def json_after(mark: str, text: str) -> Any:
    """The JSON on the line that begins with `mark`, None without one."""
    for line in text.splitlines():
        if line.startswith(mark):
            return json.loads(line.removeprefix(mark))
    return None


def median_cost(costs: Sequence[Cost]) -> Cost:
    """The median of each number by itself."""
    details = [cost.details for cost in costs if cost.details]
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.agent for cost in costs),
        {name: statistics.median(one[name] for one in details) for name in details[0]} if details else None,
        statistics.median(cost.agent_wall for cost in costs),
    )


def interpreter() -> list[str]:
    """The barest start of the interpreter that runs the tests."""
    return [sys.executable, "-I", "-S", "-c", "pass"]
