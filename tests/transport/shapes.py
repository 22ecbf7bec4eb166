"""Transcripts for tests, written here by hand: one of the wild form for each protocol, and a maker of small ones."""

from collections.abc import Mapping
from typing import Any

import orjson

from replay.transport.profile import Profile, profile
from replay.transport.transcript import Transcript, read_transcript

METADATA = {
    "model": None,
    "cwdPolicy": "workspace",
    "capturedAt": "2026-01-31",
    "provenance": {"kind": "authored", "reason": "a test"},
}
CODEX, ACP = "codex.app-server", "acp.ndjson-jsonrpc"
CLAUDE, CURSOR, OPENCODE = "claude-agent-sdk.query", "cursor-agent-sdk.local", "opencode-sdk.sse"

type Line = dict[str, Any]


def out(frame: Mapping[str, Any], **fields: Any) -> Line:
    """An expect_outbound line."""
    return {"type": "expect_outbound", **fields, "frame": frame}


def into(frame: Mapping[str, Any], **fields: Any) -> Line:
    """An emit_inbound line."""
    return {"type": "emit_inbound", **fields, "frame": frame}


def ends(status: str = "success", **fields: Any) -> Line:
    """A runtime_exit line."""
    return {"type": "runtime_exit", "status": status, **fields}


def asks(ref: int | str, method: str, **params: Any) -> Line:
    """A request of JSON-RPC as codex writes it."""
    return {"id": ref, "method": method, "params": params}


def answers(ref: int | str, **result: Any) -> Line:
    """An answer of JSON-RPC as codex writes it."""
    return {"id": ref, "result": result}


def tells(method: str, **params: Any) -> Line:
    """A notification."""
    return {"method": method, "params": params}


def start_line(protocol: str = CODEX, schema: int = 1) -> Line:
    """A start line of format 1, or of the wild form where schema is 0."""
    head: Line = {"type": "transcript_start"}
    if schema:
        head["schema"] = schema
    head |= {"provider": "p", "protocol": protocol, "version": "1.2.3", "scenario": "s"}
    return head | ({"metadata": METADATA} if schema else {})


def data_of(*lines: Line, protocol: str = CODEX, schema: int = 1) -> bytes:
    """The bytes of a transcript."""
    return b"".join(orjson.dumps(line) + b"\n" for line in (start_line(protocol, schema), *lines))


def transcript_of(*lines: Line, protocol: str = CODEX, schema: int = 1) -> Transcript:
    """A transcript of these entries; the first stands in line 2."""
    return read_transcript(data_of(*lines, protocol=protocol, schema=schema), "s/p.transcript.ndjson")


def rules_of(transcript: Transcript) -> Profile:
    """The profile of a transcript."""
    return profile(transcript.start.protocol)


def logical(kind: str, method: str, **rest: Any) -> Line:
    """A frame of the wild form of ACP."""
    return {"kind": kind, "method": method, **rest}


WILD: Mapping[str, tuple[Line, ...]] = {
    ACP: (
        out(logical("request", "initialize", params={"protocolVersion": 1, "clientInfo": {"name": "x"}})),
        into(logical("response", "initialize", result={"protocolVersion": 1})),
        out(logical("request", "session/new", params={"cwd": "<workspace>", "mcpServers": "<any>"})),
        into(logical("response", "session/new", result={"sessionId": "one"}), label="made"),
        out(logical("request", "session/prompt", params={"sessionId": "one", "prompt": []})),
        out(logical("request", "session/prompt", params={"sessionId": "two", "prompt": []})),
        into(logical("request", "session/request_permission", params={"sessionId": "one"})),
        into(logical("notification", "session/update", params={"sessionId": "one"})),
        out(logical("response", "session/request_permission", result={"outcome": "cancelled"})),
        out(logical("notification", "session/cancel", params={"sessionId": "one"})),
        into(logical("response", "session/prompt", error={"code": -32800, "message": "cancelled"})),
        into(logical("response", "session/prompt", result={"stopReason": "end_turn"})),
        ends(),
    ),
    CODEX: (
        out(asks(1, "initialize", clientInfo={"name": "x"}), label="initialize"),
        into(answers(1, userAgent="x"), label="initialize"),
        out({"method": "initialized"}),
        out(asks(2, "thread/start", cwd="<workspace>/sub")),
        into(answers(2, thread={"id": "t"})),
        into(asks(0, "item/commandExecution/requestApproval", itemId="i", text="Array<any>")),
        out(answers(0, decision="accept")),
        into(tells("turn/completed", threadId="t"), label="turn/completed"),
        ends(),
        out(asks(1, "initialize", clientInfo={"name": "x"})),
        into(answers(1, userAgent="x"), afterMs=250),
        ends("error", error="it died"),
    ),
    CLAUDE: (
        out({"type": "query.open", "options": {"model": "m", "cwd": "<workspace>"}}),
        out({"type": "prompt.offer", "message": {"type": "user", "message": {"content": "go"}}}),
        into({"type": "system", "subtype": "init", "cwd": "<workspace>"}),
        into({"type": "permission.request", "toolName": "Bash", "options": {"toolUseID": "a"}}),
        into({"type": "permission.request", "toolName": "Bash", "options": {"toolUseID": "b"}}),
        out({"type": "permission.response", "result": {"behavior": "allow", "toolUseID": "b"}}),
        out({"type": "permission.response", "result": {"behavior": "deny", "toolUseID": "a"}}),
        into({"type": "result", "subtype": "success"}),
        ends(),
        out({"type": "query.open", "options": {"resume": "s"}}),
        ends("cancelled"),
    ),
    CURSOR: (
        out({"type": "agent.open", "operation": "create", "options": {}}),
        into({"type": "agent.opened", "agentId": "a"}),
        out({"type": "run.start", "message": "go", "options": {}}),
        into({"type": "run.started", "runId": "r", "agentId": "a"}),
        into({"type": "interaction.update", "runId": "r", "update": {"type": "text-delta"}}),
        out({"type": "run.cancel", "runId": "r"}),
        into({"type": "run.completed", "result": {"id": "r", "status": "cancelled"}}),
        out({"type": "agent.messages.list", "agentId": "a"}),
        into({"type": "sdk.error", "operation": "agent.messages.list", "error": {"message": "no"}}),
        out({"type": "agent.close", "agentId": "a"}),
    ),
    OPENCODE: (
        out({"type": "event.subscribe"}),
        out({"type": "session.create", "input": {"title": "<any>", "note": "in <workspace>, <any>!"}}),
        into({"type": "sdk.response", "operation": "session.create", "data": {"id": "s"}}),
        out({"type": "session.promptAsync", "input": {"sessionID": "s"}}),
        into({"type": "sdk.event", "event": {"type": "session.status", "properties": {}}}),
        into({"type": "sdk.response", "operation": "session.promptAsync", "data": None}),
        into({"type": "sdk.event", "event": {"type": "session.idle", "properties": {}}}),
        ends(),
    ),
}
"""Protocol -> entries that use everything that the wild form of it is known to use."""
