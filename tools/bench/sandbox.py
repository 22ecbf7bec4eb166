"""The same workloads as Bazel tests, each run in a sandbox of its own, and what Bazel says they cost.

Bazel's sandbox reports user and system time of the process tree; the build event stream sums it up for all test
actions of a command. `bazel run` has given its lock back by the time that the benchmark starts, so the benchmark may
call Bazel itself.
"""

import json
import os
import statistics
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tools.bench.child import MARK, Broken, Cost, agent_cost, json_after

__all__ = ["run_in_sandbox"]

PACKAGE = "//tools/bench"


def run_in_sandbox(workspace: str, target: str, runs: int, arguments: Sequence[str] = ()) -> Cost:
    """Run a test target `runs` times, one at a time: the mean CPU of a run, and the median of everything else.

    The CPU is that of all that Bazel starts for a test, its own wrapper included. Raises Broken for a test that
    fails or that was not run in a sandbox.
    """
    with tempfile.TemporaryDirectory(prefix="agent_replay-bench-") as scratch:
        events = Path(scratch) / "events.json"
        command = [
            f"{workspace}/tools/bazel",
            "test",
            "--color=no",
            "--noshow_progress",
            "--nocache_test_results",
            "--local_test_jobs=1",
            "--test_output=errors",
            f"--runs_per_test={runs}",
            f"--build_event_json_file={events}",
            *(f"--test_arg={argument}" for argument in arguments),
            f"{PACKAGE}:{target}",
        ]
        # The wrapper believes that it calls itself if this is set.
        environment = {name: value for name, value in os.environ.items() if name != "AGENT_REPLAY_IN_WRAPPER"}
        done = subprocess.run(
            command,
            cwd=workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Broken(f"{' '.join(command)}\n{done.stdout}")
        return _cost([json.loads(line) for line in events.read_text().splitlines()])


def _cost(events: Sequence[dict[str, Any]]) -> Cost:
    results = [event["testResult"] for event in events if "testResult" in event]
    for result in results:
        strategy = result.get("executionInfo", {}).get("strategy")
        if strategy != "linux-sandbox":
            raise Broken(f"a test was not run in the sandbox but by {strategy}: these numbers mean nothing")
    actions = [
        action
        for event in events
        if "buildMetrics" in event
        for action in event["buildMetrics"]["actionSummary"]["actionData"]
        if action["mnemonic"] == "TestRunner"
    ]
    if not actions or "userTime" not in actions[0]:
        raise Broken("Bazel did not say how much CPU the tests took")
    total = sum(float(actions[0].get(name, "0s").removesuffix("s")) for name in ("userTime", "systemTime"))
    said = [_said(result) for result in results]
    details = [found for text in said if (found := json_after(MARK, text)) is not None]
    return Cost(
        total * 1000 / int(actions[0]["actionsExecuted"]),
        statistics.median(int(result["testAttemptDurationMillis"]) for result in results),
        statistics.median(agent_cost(text) for text in said),
        {name: statistics.median(one[name] for one in details) for name in details[0]} if details else None,
    )


def _said(result: dict[str, Any]) -> str:
    """The log of a test run, then the stderr of its agent."""
    files = {
        output["name"]: Path(unquote(urlsplit(output["uri"]).path)) for output in result["testActionOutput"]
    }
    text = files["test.log"].read_text()
    outputs = files["test.log"].parent / "test.outputs"
    # A directory or an archive, by a flag whose default differs between versions of Bazel.
    if (outputs / "outputs.zip").exists():
        with zipfile.ZipFile(outputs / "outputs.zip") as archive:
            if "agent.stderr.txt" in archive.namelist():
                text += archive.read("agent.stderr.txt").decode()
    elif (outputs / "agent.stderr.txt").exists():
        text += (outputs / "agent.stderr.txt").read_text()
    return text
