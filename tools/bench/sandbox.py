"""The same workloads as Bazel tests, each run in a sandbox of its own, and what Bazel says they cost.

Bazel's sandbox reports user and system time of the process tree; the build event stream sums it up for all test
actions of a command, and the profile has the time that each action took with its sandbox. `bazel run` has given its lock back by the time that the benchmark starts, so the benchmark may
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

__all__ = ["count_runfiles", "run_in_sandbox"]

PACKAGE = "//tools/bench"
_LEFT = ("agent.stderr.txt", "result.json")


def run_in_sandbox(workspace: str, target: str, runs: int, arguments: Sequence[str] = ()) -> Cost:
    """Run a test target `runs` times, one at a time: the mean CPU of a run, and the median of everything else.

    The CPU is that of all that Bazel starts for a test, its own wrapper included. Raises Broken for a test that
    fails or that was not run in a sandbox.
    """
    with tempfile.TemporaryDirectory(prefix="agent_replay-bench-") as scratch:
        events = Path(scratch) / "events.json"
        profile = Path(scratch) / "profile.json"
        arguments_of_bazel = [
            "test",
            "--color=no",
            "--noshow_progress",
            "--nocache_test_results",
            "--local_test_jobs=1",
            "--test_output=errors",
            f"--runs_per_test={runs}",
            f"--build_event_json_file={events}",
            f"--profile={profile}",
            # Else short actions are merged.
            "--noslim_profile",
            *(f"--test_arg={argument}" for argument in arguments),
            f"{PACKAGE}:{target}",
        ]
        _run_bazel(workspace, arguments_of_bazel)
        read = [json.loads(line) for line in events.read_text().splitlines()]
        return _cost(read, json.loads(profile.read_text())["traceEvents"])


def count_runfiles(workspace: str, targets: Sequence[str]) -> dict[str, int]:
    """How many files each test has beside it, each of which is a link in its sandbox."""
    labels = " + ".join(f"{PACKAGE}:{target}" for target in targets)
    said = _run_bazel(
        workspace,
        [
            "cquery",
            "--noshow_progress",
            "--ui_event_filters=-info",
            labels,
            "--output=starlark",
            "--starlark:expr=target.label.name + ' ' + str(len(target.default_runfiles.files.to_list()))",
        ],
    )
    rows = (line.split() for line in said.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0] in targets}


def _run_bazel(workspace: str, arguments: Sequence[str]) -> str:
    """What Bazel prints. Raises Broken where it fails."""
    command = [f"{workspace}/tools/bazel", *arguments]
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
    return done.stdout


def _cost(events: Sequence[dict[str, Any]], profile: Sequence[dict[str, Any]]) -> Cost:
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
    walls = [
        float(event["dur"]) / 1000
        for event in profile
        if event.get("args", {}).get("mnemonic") == "TestRunner"
    ]
    if len(walls) != len(results):
        raise Broken(f"Bazel ran {len(results)} tests, and its profile has {len(walls)}")
    outputs = [_outputs(result) for result in results]
    said = [one["test.log"].decode() + one.get("agent.stderr.txt", b"").decode() for one in outputs]
    results_left = [one["result.json"] for one in outputs if one.get("result.json", b"").strip()]
    agents = [json.loads(left)["timing"]["agent"] for left in results_left]
    details = [found for text in said if (found := json_after(MARK, text)) is not None]
    return Cost(
        total * 1000 / int(actions[0]["actionsExecuted"]),
        statistics.median(walls),
        statistics.median(agent_cost(text) for text in said),
        {name: statistics.median(one[name] for one in details) for name in details[0]} if details else None,
        statistics.median(agents) if agents else 0.0,
    )


def _outputs(result: dict[str, Any]) -> dict[str, bytes]:
    """The log of a test run and what it left, by name."""
    files = {
        output["name"]: Path(unquote(urlsplit(output["uri"]).path)) for output in result["testActionOutput"]
    }
    found = {"test.log": files["test.log"].read_bytes()}
    left = files["test.log"].parent / "test.outputs"
    # A directory or an archive, by a flag whose default differs between versions of Bazel.
    if (left / "outputs.zip").exists():
        with zipfile.ZipFile(left / "outputs.zip") as archive:
            return found | {name: archive.read(name) for name in _LEFT if name in archive.namelist()}
    return found | {name: (left / name).read_bytes() for name in _LEFT if (left / name).exists()}
