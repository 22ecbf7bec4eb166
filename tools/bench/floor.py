"""The least that a replay could cost: a runner of plain standard library that knows one scenario by heart.

    floor AGENT DIRECTORY

It drives the agent through the scenario in DIRECTORY, compares stdout and the log with what is expected, and checks
nothing else: no schema, no consumption, no reports, no deadline.
"""

# pathlib costs more than all that this program does with paths.
# ruff: noqa: PTH100, PTH102, PTH118, PTH123, PTH208

import json
import os
import subprocess
import sys
import tempfile
from typing import Any


def main(agent: str, directory: str) -> int:
    """Exit code 0 if the run gave what the fixture holds."""
    fixture = os.path.abspath(directory)
    with tempfile.TemporaryDirectory() as home:
        sessions = os.path.join(home, "sessions")
        os.mkdir(sessions)
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "AGENT_REPLAY_FIXTURE": fixture,
            "AGENT_REPLAY_JOURNAL": os.path.join(home, "journal"),
        }
        command = [os.path.abspath(agent), sessions, os.path.join(fixture, "stdout.expected.jsonl")]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=home
        ) as process:
            frames = converse(process, fixture, home)
        log = os.path.join(sessions, os.listdir(sessions)[0])
        session = frames[1]["result"]["sessionId"]
        same = values(log, session, home) == values(os.path.join(fixture, "session.jsonl"), session, home)
    expected = values(os.path.join(fixture, "stdout.expected.jsonl"), session, home)
    return 0 if same and frames == expected and process.returncode == 0 else 1


def converse(process: subprocess.Popen[bytes], fixture: str, cwd: str) -> list[Any]:
    """The agent's frames."""
    assert process.stdin is not None and process.stdout is not None
    with open(os.path.join(fixture, "input.json"), "rb") as file:
        text = json.load(file)["steps"][-1]["text"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": cwd, "mcpServers": []}),
        ("session/prompt", {"prompt": [{"type": "text", "text": text}]}),
    ]
    frames: list[Any] = []
    for number, (method, params) in enumerate(calls, 1):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        while not frames or frames[-1].get("id") != number:
            frames.append(json.loads(process.stdout.readline()))
    process.stdin.close()
    return frames


def values(path: str, session: str, cwd: str) -> list[Any]:
    """The lines of a file with this run's values in the place of placeholders."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("{{sessionId}}", session).replace("{{cwd}}", cwd)
    return [json.loads(line) for line in text.splitlines()]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
