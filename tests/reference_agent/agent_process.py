"""A real agent process and a plain JSON-RPC client on its pipes: frames in, frames out, nothing interpreted."""

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.reference_agent.fork_server import ForkedProcess

__all__ = ["AgentProcess", "Frame", "Start", "spawn"]

type Frame = dict[str, Any]
type Answer = Callable[[Frame], dict[str, Any]]
type Start = Callable[[list[str], dict[str, str], Path], subprocess.Popen[bytes] | ForkedProcess]

REPOSITORY = Path(__file__).absolute().parents[2]
DEADLINE_SECONDS = 20.0


def spawn(arguments: list[str], environment: dict[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    """Start the agent as people do."""
    return subprocess.Popen(
        [sys.executable, "-m", "scenarios.reference_agent", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Runfiles reach Python by its own path.
        env=environment | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])},
        cwd=cwd,
    )


class AgentProcess:
    """`answers` maps a method of the client to a function from its params to the result."""

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str] | None = None,
        answers: dict[str, Answer] | None = None,
        start: Start = spawn,
    ) -> None:
        # PATH is where bash is found.
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        self.process = start(arguments, inherited | (environment or {}), REPOSITORY)
        self.answers = answers or {}
        self.frames: list[Frame] = []
        self.arrived: queue.Queue[Frame | None] = queue.Queue()
        self.stderr = b""
        self.last_id = 0
        self.methods: dict[int, str] = {}
        self.last_method = ""
        self.closes_stdout = False
        self.stopped_reading = threading.Event()
        self.threads = [threading.Thread(target=self.read_stdout), threading.Thread(target=self.read_stderr)]
        for thread in self.threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join()
        assert self.process.stdin and self.process.stdout and self.process.stderr
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def read_stdout(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            frame = json.loads(line)
            if frame.get("method") == self.last_method:
                if self.closes_stdout:
                    self.process.stdout.close()
                self.stopped_reading.set()
                return
            if "method" in frame and "id" in frame and frame["method"] in self.answers:
                result = self.answers[frame["method"]](frame["params"])
                self.send({"jsonrpc": "2.0", "id": frame["id"], "result": result})
            self.arrived.put(frame)
        self.arrived.put(None)

    def read_stderr(self) -> None:
        assert self.process.stderr
        self.stderr = self.process.stderr.read()

    def send(self, frame: Frame) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, params: dict[str, Any]) -> int:
        self.last_id += 1
        self.methods[self.last_id] = method
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait_for(self, wanted: Callable[[Frame], bool]) -> Frame:
        """The next frame that is wanted; those before it are kept in `frames` too."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            frame = self.arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            assert frame is not None, f"the agent closed stdout: {self.stderr.decode()}"
            self.frames.append(frame)
            if wanted(frame):
                return frame

    def response(self, request_id: int) -> Frame:
        return self.wait_for(lambda frame: frame.get("id") == request_id and "method" not in frame)

    def request(self, method: str, params: dict[str, Any]) -> Frame:
        return self.response(self.begin(method, params))

    def initialize(self, **capabilities: Any) -> Frame:
        return self.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    def new_session(self, cwd: Path) -> str:
        session_id: str = self.request("session/new", {"cwd": str(cwd), "mcpServers": []})["result"][
            "sessionId"
        ]
        return session_id

    def prompt(self, session_id: str, text: str) -> Frame:
        return self.response(self.begin_prompt(session_id, text))

    def begin_prompt(self, session_id: str, text: str) -> int:
        return self.begin(
            "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        )

    def stop_reading_at(self, method: str, *, close: bool = False) -> None:
        """Leave stdout alone from the next frame of `method` on, or close it, as broken clients do."""
        self.last_method, self.closes_stdout = method, close

    def wait_for_unread_output(self) -> None:
        """Until the client has stopped reading and the agent has gone on to write."""
        assert self.process.stdout and self.stopped_reading.wait(DEADLINE_SECONDS)
        assert select.select([self.process.stdout.fileno()], [], [], DEADLINE_SECONDS)[0]

    def updates(self, *kinds: str) -> list[dict[str, Any]]:
        """The session updates so far, of these kinds if any are named."""
        found = (f["params"]["update"] for f in self.frames if f.get("method") == "session/update")
        return [update for update in found if not kinds or update["sessionUpdate"] in kinds]

    def close(self) -> int:
        """End stdin and give back the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(DEADLINE_SECONDS)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_SECONDS)
