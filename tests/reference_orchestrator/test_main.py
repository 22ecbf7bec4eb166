"""The program as its caller sees it: lines in, lines out, an exit code."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BOOT = "import sys; sys.path[:] = {path!r}; from scenarios.reference_orchestrator.main import main; sys.exit(main(sys.argv[1:]))"


def started(directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    config = directory / "config.json"
    config.write_text(
        json.dumps({"providers": {"missing": {"kind": "codex", "command": ["/nowhere/codex"]}}})
    )
    python = (sys.executable, "-B", "-c", BOOT.format(path=sys.path))
    return subprocess.Popen(
        (*python, "--store", str(directory / "store"), "--config", str(config), *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_receipts_events_and_complaints_are_lines(tmp_path: Path) -> None:
    program = started(tmp_path, "--seed", "1", "--clock", "1000")
    create = {"type": "create_thread", "command_id": "1", "provider": "missing", "workspace": str(tmp_path)}
    output, complaint = program.communicate(b"no json\n\n" + lines({"type": "dance"}, [], create, create))
    told: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    assert (program.returncode, complaint) == (0, b"")
    errors = [message["error"] for message in told if "error" in message]
    assert errors[0].startswith("not a command: ")
    assert errors[1].startswith("command type 'dance' is none of ")
    receipts = [message["receipt"] for message in told if "receipt" in message]
    assert receipts[0] == receipts[1]
    events = [message["event"] for message in told if "event" in message]
    assert [(event["sequence"], event["type"], event["occurred_at_ms"]) for event in events] == [
        (1, "thread_created", 1000)
    ]


def test_a_store_in_use_and_a_wrong_configuration_end_it_with_2(tmp_path: Path) -> None:
    first = started(tmp_path)
    assert first.stdin is not None and first.stdout is not None
    first.stdin.write(lines({"type": "dance"}))
    first.stdin.flush()
    first.stdout.readline()
    second = started(tmp_path)
    _, complaint = second.communicate()
    assert second.returncode == 2
    assert b"is being written by another orchestrator" in complaint
    first.communicate()
    assert first.returncode == 0
    third = started(tmp_path, "--config", str(tmp_path))
    _, complaint = third.communicate()
    assert (third.returncode, complaint.count(b"\n")) == (2, 1)
    assert b"is no configuration" in complaint
