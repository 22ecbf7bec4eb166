"""An orchestrator's end of a peer that is a process, for tests: spawn it, write lines, read lines, see it end."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import orjson

from replay.transport.peers.launch import write_launchers

__all__ = ["LIMIT_S", "ROOT", "LinePeer", "children_of", "launcher"]

ROOT = Path(__file__).resolve().parents[2]
# A test that hangs is killed and fails; nothing waits so long otherwise.
LIMIT_S = 30.0


def launcher(directory: Path, name: str) -> str:
    """The executable of a peer."""
    directory.mkdir(exist_ok=True)
    return write_launchers(str(directory), [name])[name]


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


class LinePeer:
    """A spawned peer that speaks JSON lines on stdin and stdout. A context manager: the process is gone after it."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            command,
            env={"PATH": os.defpath, **environment},
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._watchdog = threading.Timer(LIMIT_S, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except OSError:
                    continue

    def send(self, frame: Any) -> None:
        """Write a frame as a line."""
        self.send_bytes(orjson.dumps(frame) + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next line's frame, None at the end of stdout."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return orjson.loads(line) if line else None

    def receive_until(self, request_id: object) -> list[Any]:
        """Frames up to the answer to a request. Fails where stdout ends before."""
        frames: list[Any] = []
        while True:
            frame = self.receive()
            assert frame is not None, f"no answer to {request_id}; stderr: {self.stderr()}"
            frames.append(frame)
            if frame.get("id") == request_id and "method" not in frame:
                return frames

    def close_input(self) -> None:
        """End stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> int:
        """The exit status, once stdout and stderr have ended and the process is gone."""
        self._stderr = self._rest()
        return self.process.wait(LIMIT_S)

    def stderr(self) -> str:
        """What it said on stderr, to the end."""
        self.wait()
        return self._stderr

    def _rest(self) -> str:
        if hasattr(self, "_stderr"):
            return self._stderr
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


def python_program(source: str, *arguments: str) -> list[str]:
    """A command that runs Python source with the tree's packages importable."""
    start = f"import sys; sys.path[:] = {[str(ROOT), *sys.path]!r}\n{source}"
    return [sys.executable, "-B", "-c", start, *arguments]
