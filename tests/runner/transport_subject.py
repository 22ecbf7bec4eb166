"""The subject of the runner's own tests: an orchestrator that does what `subject.json` of its scenario says.

A list of steps: {"start": peer}, {"send": frame}, {"receive": how many frames}, {"close": true}, {"surface": file, "text"},
{"print": text}, {"stderr": text}, {"leave": true} (a child that outlives it), {"hang": true}, {"signal": number},
{"exit": status}, {"environment": surface}, {"received": surface}, {"expect_order": methods}. `$WORKSPACE` is the workspace.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

_ACTUAL = Path(os.environ.get("AGENT_REPLAY_ACTUAL", "."))


class _Peer:
    """A provider's process."""

    def __init__(self, name: str) -> None:
        program = str(Path(os.environ["AGENT_REPLAY_PEERS"]) / name)
        self.process = subprocess.Popen(
            [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def send(self, frame: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the provider closed its stdout")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        if self.process.wait():
            sys.exit(f"the provider exited with status {self.process.returncode}")


def main() -> int:
    text = (Path(os.environ["AGENT_REPLAY_SCENARIO"]) / "subject.json").read_text()
    steps = json.loads(text.replace("$WORKSPACE", os.environ["AGENT_REPLAY_WORKSPACE"]))
    peer: _Peer | None = None
    received: list[Any] = []
    for step in steps:
        what, value = next(iter(step.items()))
        text = str(step.get("text", value))
        if what == "start":
            peer = _Peer(value)
        elif what == "send":
            assert peer is not None
            peer.send(value)
        elif what == "receive":
            assert peer is not None
            received += [peer.receive() for _ in range(value)]
        elif what == "close":
            assert peer is not None
            peer.close()
        elif what == "expect_order":
            got = [frame.get("method", "answer") for frame in received]
            if got != value:
                print(f"frames came as {got}", file=sys.stderr)
                return 1
        elif what == "surface":
            (_ACTUAL / value).write_text(text)
        elif what == "environment":
            (_ACTUAL / value).write_text(json.dumps(dict(os.environ)))
        elif what == "received":
            (_ACTUAL / value).write_text("".join(json.dumps(frame) + "\n" for frame in received))
        elif what == "print":
            print(text, flush=True)
        elif what == "stderr":
            print(text, file=sys.stderr, flush=True)
        elif what == "leave":
            subprocess.Popen(["/bin/sleep", "300"], start_new_session=True)
        elif what == "hang":
            signal.pause()
        elif what == "signal":
            os.kill(os.getpid(), value)
        elif what == "exit":
            return int(value)
        else:
            sys.exit(f"no step is called {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
