"""A scenario on disk whose run has everything that `inspect`, `diff` and `stale` look at."""

import json
from pathlib import Path
from typing import Any

__all__ = ["Run"]


class Run:
    """Rows and frames to be changed, then written. One turn: a tool that is allowed, a child, a text."""

    def __init__(self) -> None:
        self.provenance: dict[str, Any] = {
            "kind": "recorded",
            "model": "m-1",
            "agent": {"name": "coder", "version": "1.0"},
            "capturedAt": "2026-03-01",
        }
        self.version = "1.0"
        self.asked = "m-1"
        self.prompt = "Say where the heron is."
        self.answers: list[dict[str, Any]] = [{"kind": "allow_once"}]
        self.path = "birds.txt"
        self.result = "heron: pond"
        self.text = ["The heron ", "is in ", "the pond."]
        self.stop = "end_turn"
        self.written = "seen\n"

    def write(self, directory: Path) -> Path:
        """Write the scenario; the directory."""
        directory.mkdir(parents=True, exist_ok=True)
        steps = [{"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": self.prompt}]
        (directory / "input.json").write_text(json.dumps({"steps": steps, "permissionAnswers": self.answers}))
        _write_lines(directory / "session.jsonl", [*self._parent()])
        _write_lines(directory / "session.1.jsonl", [*self._child()])
        _write_lines(directory / "stdout.expected.jsonl", [*self._frames()])
        return directory

    def _parent(self) -> list[dict[str, Any]]:
        header = {"type": "session", "version": 0, "id": "s-1", "createdAt": 0, "provenance": self.provenance}
        config = {"config": {"model": self.asked}, "system": "{{system}}", "tools": "{{tools}}"}
        arguments = json.dumps({"path": self.path})
        return [
            header,
            _row("turn/start", turn=1),
            _row("user/message", content=[{"type": "text", "text": self.prompt}]),
            _row("request/header", header=config, reason="initial"),
            _row("call/start", turn=1, step=1, call=1),
            _chunk({"type": "block-start", "index": 0, "blockType": "reasoning"}),
            _chunk({"type": "reasoning-delta", "index": 0, "text": "Look first."}),
            _chunk({"type": "block-end", "index": 0, "block": {"type": "reasoning", "text": "Look first."}}),
            _chunk({"type": "block-start", "index": 1, "blockType": "tool-call"}),
            _chunk({"type": "block-end", "index": 1, "block": {"type": "tool-call", "id": "t-1", "name": "read", "arguments": arguments}}),
            _chunk({"type": "usage", "usage": {"inputTokens": 20, "outputTokens": 7}}),
            _chunk({"type": "finish", "reason": {"kind": "tool-calls"}}),
            _row("call/end", turn=1, step=1, call=1, outcome={"kind": "completed"}),
            _row("subagent/start", callId="t-1", sessionId="s-2"),
            _row("tool/result", turn=1, step=1, message={"source": {"kind": "tool", "callId": "t-1"}, "content": [{"type": "tool-result", "toolCallId": "t-1", "content": [{"type": "text", "text": self.result}]}]}),
            _row("call/start", turn=1, step=2, call=2),
            *_text_chunks(self.text, 2),
            _row("call/end", turn=1, step=2, call=2, outcome={"kind": "completed"}),
            _row("turn/end", turn=1, reason={"kind": "completed"}),
        ]  # fmt: skip

    def _child(self) -> list[dict[str, Any]]:
        header = {"type": "session", "version": 0, "id": "s-2", "createdAt": 0, "parentSession": "s-1", "origin": "subagent"}  # fmt: skip
        return [
            header,
            _row("turn/start", turn=1),
            _row("user/message", content=[{"type": "text", "text": "Read it."}]),
            *_text_chunks(["Read."], 1),
            _row("turn/end", turn=1, reason={"kind": "completed"}),
        ]

    def _frames(self) -> list[dict[str, Any]]:
        tool = {
            "toolCallId": "t-1",
            "title": f"Read {self.path}",
            "kind": "read",
            "rawInput": {"path": self.path},
        }
        change = {"type": "diff", "path": "{{cwd}}/notes.txt", "newText": self.written}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]  # fmt: skip
        info = {"name": "coder", "version": self.version}
        return [
            {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "agentInfo": info}},
            {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s-1"}},
            _update(sessionUpdate="tool_call", status="pending", **tool),
            {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s-1", "toolCall": tool, "options": options}},
            _update(sessionUpdate="tool_call_update", toolCallId="t-1", status="completed", content=[change]),
            *(_update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}) for text in self.text),
            {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": self.stop}},
        ]  # fmt: skip


def _row(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def _chunk(chunk: dict[str, Any], step: int = 1) -> dict[str, Any]:
    return _row("assistant/chunk", turn=1, step=step, chunk=chunk)


def _text_chunks(texts: list[str], step: int) -> list[dict[str, Any]]:
    return [
        _chunk({"type": "block-start", "index": 0, "blockType": "text"}, step),
        *(_chunk({"type": "text-delta", "index": 0, "text": text}, step) for text in texts),
        _chunk({"type": "block-end", "index": 0, "block": {"type": "text", "text": "".join(texts)}}, step),
        _chunk({"type": "finish", "reason": {"kind": "stop"}}, step),
    ]


def _update(**update: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}}


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
