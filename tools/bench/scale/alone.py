"""The agent without a runner: its scenario played by a loop that checks nothing, many times over, on every processor.

    alone AGENT DIRECTORY

The last line is JSON: milliseconds of wall and of CPU that one run of the agent took, start and exit included, with as
many at once as there are processors.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RUNS = 30
"""On each processor."""


def main(agent: str, directory: str) -> None:
    """Play the scenario RUNS times on each processor."""
    fixture = Path(directory).absolute()
    program = Path(agent).absolute()
    play(program, fixture)
    processors = os.cpu_count() or 1

    def play_often(_: int) -> None:
        for _ in range(RUNS):
            play(program, fixture)

    began, used = time.perf_counter(), _cpu()
    with ThreadPoolExecutor(processors) as pool:
        list(pool.map(play_often, range(processors)))
    wall, cpu = time.perf_counter() - began, _cpu() - used
    print(json.dumps({"wall_ms": wall * 1000 / RUNS, "cpu_ms": cpu * 1000 / RUNS / processors}))


def play(agent: Path, fixture: Path) -> None:
    """One run: a request is sent when the answer to the one before has come. Raises if the agent fails."""
    with tempfile.TemporaryDirectory() as home:
        sessions = Path(home) / "sessions"
        sessions.mkdir()
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "AGENT_REPLAY_FIXTURE": str(fixture),
            "AGENT_REPLAY_JOURNAL": f"{home}/journal",
        }
        command = [agent, sessions, fixture / "stdout.expected.jsonl"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=home
        ) as process:
            _converse(process, home, fixture)
        if process.returncode:
            raise RuntimeError(f"the agent exited with {process.returncode}")


def _converse(process: subprocess.Popen[bytes], cwd: str, fixture: Path) -> None:
    assert process.stdin is not None and process.stdout is not None
    text = json.loads((fixture / "input.json").read_bytes())["steps"][-1]["text"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": cwd, "mcpServers": []}),
        ("session/prompt", {"prompt": [{"type": "text", "text": text}]}),
    ]
    for number, (method, params) in enumerate(calls, 1):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        while json.loads(process.stdout.readline()).get("id") != number:
            continue
    process.stdin.close()
    process.stdout.read()


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main(*sys.argv[1:])
