"""The published OpenCode client, both of its generations, drives the peer unchanged: it starts it, and cannot tell.

Run by Bazel, which installs the client by its lock file: //tests/transport_clients/opencode:client_test.
"""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from replay.transport.host import Host
from replay.transport.peers.launch import write_launchers

MODULES = Path(os.environ.get("OPENCODE_SDK_MODULES", "")).absolute()
NODE = Path(os.environ.get("OPENCODE_SDK_NODE", "")).absolute()
CLIENT = Path(__file__).parent / "client.mjs"
SESSION = "ses_01"
PERMISSION = "per_01"

pytestmark = pytest.mark.skipif(
    "OPENCODE_SDK_MODULES" not in os.environ,
    reason="the client is installed by Bazel; run //tests/transport_clients/opencode:client_test",
)

METADATA = {
    "model": "replay/replay",
    "cwdPolicy": "workspace",
    "capturedAt": "2026-11-30",
    "provenance": {"kind": "authored", "reason": "what the published client needs and no more"},
}
MODEL = {"providerID": "replay", "modelID": "replay"}
REPLY = {
    "v1": ("permission.respond", {"sessionID": SESSION, "permissionID": PERMISSION, "response": "once"}),
    "v2": ("permission.reply", {"requestID": PERMISSION, "reply": "once"}),
}


def out(operation: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    frame = {"type": operation} if given is None else {"type": operation, "input": given}
    return {"type": "expect_outbound", "label": operation, "frame": frame}


def answer(operation: str, data: Any) -> dict[str, Any]:
    frame = {"type": "sdk.response", "operation": operation, "data": data}
    return {"type": "emit_inbound", "label": f"{operation}.response", "frame": frame}


def event(kind: str, **properties: Any) -> dict[str, Any]:
    frame = {"type": "sdk.event", "event": {"id": "evt_1", "type": kind, "properties": properties}}
    return {"type": "emit_inbound", "label": kind, "frame": frame}


def text_part(text: str) -> dict[str, Any]:
    part = {"id": "prt_1", "messageID": "msg_2", "sessionID": SESSION, "type": "text", "text": text}
    return event("message.part.updated", sessionID=SESSION, part=part, time=1)


def opening(prompt: str) -> list[dict[str, Any]]:
    parts = [{"type": "text", "text": prompt}]
    return [
        out("event.subscribe"),
        out("session.create", {"title": "a title"}),
        event("session.created", sessionID=SESSION, info={"id": SESSION, "directory": "{{workspace}}"}),
        answer("session.create", {"id": SESSION, "title": "a title", "directory": "{{workspace}}"}),
        out("session.promptAsync", {"sessionID": SESSION, "agent": "build", "model": MODEL, "parts": parts}),
        event("session.status", sessionID=SESSION, status={"type": "busy"}),
        answer("session.promptAsync", None),
    ]


def ending(text: str) -> list[dict[str, Any]]:
    return [
        text_part(text),
        event("session.idle", sessionID=SESSION),
        out("session.messages", {"sessionID": SESSION, "limit": 10}),
    ]


def write(path: Path, scenario: str, entries: Iterable[dict[str, Any]]) -> Path:
    start = {
        "type": "transcript_start",
        "schema": 1,
        "provider": "opencode",
        "protocol": "opencode-sdk.sse",
        "version": "1.18.33",
        "scenario": scenario,
        "metadata": METADATA,
    }
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in (start, *entries)))
    return path


def play(
    directory: Path, version: str, prompt: str, entries: Iterable[dict[str, Any]]
) -> tuple[list[Any], str, Any]:
    """What the client printed, its stderr, and the status of the transcript."""
    transcript = write(directory / "opencode.transcript.ndjson", "client", entries)
    peers = directory / "peers"
    peers.mkdir()
    write_launchers(str(peers), ["opencode"])
    with Host([transcript], workspace=directory) as host:
        client = subprocess.run(
            [NODE, CLIENT, version, prompt],
            env={
                "PATH": f"{peers}:/usr/bin:/bin",
                "HOME": str(directory),
                "OPENCODE_SDK_MODULES": str(MODULES),
                **host.environment(),
            },
            capture_output=True,
            timeout=120,
            check=False,
        )
        [status] = host.finish()
    return [orjson.loads(line) for line in client.stdout.splitlines()], client.stderr.decode(), status


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_client_plays_a_simple_turn(tmp_path: Path, version: str) -> None:
    messages = [{"info": {"id": "msg_2"}, "parts": []}]
    entries = [*opening("Say ok."), *ending("ok"), answer("session.messages", messages)]
    seen, stderr, status = play(tmp_path, version, "Say ok.", entries)
    assert status.outcome == "consumed", (status, stderr)
    assert seen == [
        {"event": "server.connected"},
        {"created": SESSION, "status": 200},
        {"prompted": 204},
        {"event": "session.created"},
        {"event": "session.status"},
        {"event": "message.part.updated", "part": "text", "text": "ok"},
        {"event": "session.idle"},
        {"messages": messages},
    ]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_client_answers_an_approval_request(tmp_path: Path, version: str) -> None:
    operation, given = REPLY[version]
    asked = {
        "id": PERMISSION,
        "sessionID": SESSION,
        "permission": "bash",
        "patterns": ["ls"],
        "metadata": {},
        "always": ["ls *"],
    }
    entries = [
        *opening("List the files."),
        event("permission.asked", **asked),
        out(operation, given),
        event("permission.replied", sessionID=SESSION, requestID=PERMISSION, reply="once"),
        answer(operation, True),
        *ending("done"),
        answer("session.messages", []),
    ]
    seen, stderr, status = play(tmp_path, version, "List the files.", entries)
    assert status.outcome == "consumed", (status, stderr)
    assert seen[5:] == [
        {"event": "permission.asked"},
        {"allowed": True},
        {"event": "permission.replied"},
        {"event": "message.part.updated", "part": "text", "text": "done"},
        {"event": "session.idle"},
        {"messages": []},
    ]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_client_sees_a_recorded_error(tmp_path: Path, version: str) -> None:
    refusal = {"name": "NotFoundError", "data": {"message": f"Session not found: {SESSION}"}}
    refused = {"type": "sdk.response", "operation": "session.messages", "error": refusal, "status": 404}
    entries = [*opening("Say ok."), *ending("ok"), {"type": "emit_inbound", "frame": refused}]
    seen, stderr, status = play(tmp_path, version, "Say ok.", entries)
    assert status.outcome == "consumed", (status, stderr)
    assert seen[-1] == {"refused": refusal, "status": 404}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_client_that_asks_for_something_else_diverges(tmp_path: Path, version: str) -> None:
    entries = [*opening("Say ok."), *ending("ok"), answer("session.messages", [])]
    _, stderr, status = play(tmp_path, version, "Say something else.", entries)
    assert status.outcome == "diverged"
    assert "Say something else." in str(status.finding) and "$.input.parts[0].text" in str(status.finding)
    assert stderr
