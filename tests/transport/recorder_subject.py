"""A subject for the test of the record command: starts the provider as an orchestrator does, and asks the control socket.

AGENT_REPLAY_VARIANT names it; "wrong" in the scenario's directory makes its assertion fail.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    scenario, workspace = Path(os.environ["AGENT_REPLAY_SCENARIO"]), os.environ["AGENT_REPLAY_WORKSPACE"]
    start = json.loads((scenario / "codex.transcript.ndjson").read_text().split("\n")[0])
    assert start["metadata"]["model"] == "m" and os.environ["AGENT_REPLAY_RECORDING"] == "1"
    provider = subprocess.Popen(
        [f"{os.environ['AGENT_REPLAY_PEERS']}/codex"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=workspace,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert provider.stdin is not None and provider.stdout is not None
    provider.stdin.write(b'{"id":1,"method":"turn/start","params":{"text":"Say hello."}}\n')
    provider.stdin.flush()
    control("hold", label="turn/start.response")
    control("wait", label="turn/start.response")
    # At once: the wait was for both frames, and nothing was read of them yet.
    [status] = control("status")["statuses"]
    assert status["frames"] == {"outbound": 1, "inbound": 2}, status
    heard = [json.loads(provider.stdout.readline()) for _ in range(2)]
    assert heard[0]["params"]["cwd"] == workspace
    assert heard[1]["result"]["text"] == "Hello."
    provider.stdin.close()
    provider.wait()
    if (scenario / "wrong.py").exists():
        sys.exit("an assertion of the scenario fails")


def control(op: str, **fields: object) -> Any:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["AGENT_REPLAY_TRANSPORT"])
        connection.sendall(json.dumps({"op": op, **fields}).encode() + b"\n")
        answer = json.loads(connection.makefile("rb").readline())
    assert answer["ok"], answer
    return answer


if __name__ == "__main__":
    main()
