"""A provider for the tests of recorders: JSON-RPC lines on stdio, misbehaving as its arguments say.

answer            answers each request with its params, and ends with its stdin
exit CODE         answers one request, then exits with CODE of its own accord
die SIGNAL        answers one request, then ends itself by that signal
deaf              says `ready` and ignores SIGTERM until it was told twice
orphan FILE       answers one request, leaves a child that holds its stdout, writes the child's pid to FILE, exits
bytes FILE        copies its stdin to FILE and writes the same bytes back, a line or not
half              answers one request, then writes half a line and exits
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson


def main() -> None:
    kind, *rest = sys.argv[1:]
    if kind == "bytes":
        copy(Path(rest[0]))
    elif kind == "deaf":
        be_deaf()
    elif kind == "answer":
        sys.stderr.write(f"provider in {Path.cwd()}\n")
        while answer():
            pass
    else:
        answer()
        end(kind, rest)


def answer() -> bool:
    line = sys.stdin.buffer.readline()
    if not line:
        return False
    asked = orjson.loads(line) if line.strip() else {}
    if "id" in asked:
        write({"method": "note", "params": {"cwd": str(Path.cwd()), "home": "/home/mallory/x"}})
        write({"id": asked["id"], "result": asked.get("params")})
    return True


def write(frame: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(frame) + b"\n")
    sys.stdout.buffer.flush()


def end(kind: str, rest: list[str]) -> None:
    if kind == "exit":
        sys.exit(int(rest[0]))
    if kind == "die":
        os.kill(os.getpid(), getattr(signal, rest[0]))
        signal.pause()
    if kind == "orphan":
        child = subprocess.Popen(
            [sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True
        )
        Path(rest[0]).write_text(str(child.pid))
    if kind == "half":
        os.write(1, b'{"method":"ha')


def be_deaf() -> None:
    # Blocked and fetched one by one, so that none comes between a look and a wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    write({"method": "ready"})
    for times in (1, 2):
        signal.sigwait({signal.SIGTERM})
        write({"method": "heard", "params": {"times": times}})


def copy(path: Path) -> None:
    with path.open("wb") as file:
        while data := os.read(0, 7):
            file.write(data)
            file.flush()
            os.write(1, data)


if __name__ == "__main__":
    main()
