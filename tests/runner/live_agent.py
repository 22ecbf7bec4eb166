"""An ACP agent that asks a model over HTTP, for the tests of recording. Standard library only, so that it starts fast.

    live_agent.py [SESSIONS]

AGENT_NOTE is a word that it says at the end of each turn, in its answer and in its log. With AGENT_QUIET it keeps a failed
model call to itself.

MODEL_URL and MODEL_KEY say where the model is. It has three tools: `mint` makes an id, `where` names the cwd, `who` its machine. With a
directory SESSIONS it writes its own session log there, without one it writes none.
"""

import json
import os
import pwd
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any


class Failed(Exception):
    """The model did not answer."""


class Agent:
    def __init__(self, sessions: str) -> None:
        self.sessions = sessions
        self.session = ""
        self.messages: list[dict[str, Any]] = []
        self.turn = 0
        self.calls = 0

    def run(self) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            handler = getattr(self, "on_" + request.get("method", "").replace("/", "_"), None)
            if handler is None or "id" not in request:
                continue
            try:
                answer = {"result": handler(request["params"])}
            except Failed as failure:
                self.event("turn/end", turn=self.turn, reason={"kind": "failed"})
                answer = {"error": {"code": -32000, "message": str(failure)}}
                if "AGENT_QUIET" in os.environ:
                    answer = {"result": {"stopReason": "end_turn"}}
            self.send({"jsonrpc": "2.0", "id": request["id"], **answer})

    def on_initialize(self, _: Any) -> Any:
        info = {"name": "live-agent", "version": "1.2.3"}
        return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [], "agentInfo": info}

    def on_session_new(self, params: Any) -> Any:
        self.session = "sess-" + os.urandom(6).hex()
        self.messages = [{"role": "system", "content": f"You work in {os.getcwd()}."}]
        now = int(time.time() * 1000)
        self.log(
            {"type": "session", "version": 0, "id": self.session, "createdAt": now, "cwd": params["cwd"]}
        )
        return {"sessionId": self.session}

    def on_session_prompt(self, params: Any) -> Any:
        self.turn += 1
        text = params["prompt"][0]["text"]
        self.event("turn/start", turn=self.turn)
        self.event("user/message", role="user", content=[{"type": "text", "text": text}])
        self.messages.append({"role": "user", "content": text})
        step = 0
        while True:
            step += 1
            said, calls = self.ask(step)
            message: dict[str, Any] = {"role": "assistant", "content": said}
            if calls:
                message["tool_calls"] = calls
            self.messages.append(message)
            if not calls:
                break
            for call in calls:
                result = self.use(call)
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        note = {"note": os.environ["AGENT_NOTE"]} if "AGENT_NOTE" in os.environ else {}
        self.event("turn/end", turn=self.turn, reason={"kind": "completed", **note})
        return {"stopReason": "end_turn", **({"_meta": note} if note else {})}

    def use(self, call: dict[str, Any]) -> str:
        name = call["function"]["name"]
        update = {"toolCallId": call["id"], "title": name, "status": "completed"}
        self.update(
            {"sessionUpdate": "tool_call", **update, "rawInput": json.loads(call["function"]["arguments"])}
        )
        if name == "who":
            account = pwd.getpwuid(os.getuid())
            return f"{account.pw_name}@{os.uname().nodename}:{account.pw_dir}/x"
        return f"made id: {uuid.uuid4()} for you" if name == "mint" else f"cwd: {os.getcwd()}"

    def ask(self, step: int) -> tuple[str, list[dict[str, Any]]]:
        """One model call: text and tool calls. What the model streams is streamed on and logged."""
        self.calls += 1
        place = {"turn": self.turn, "step": step}
        self.event("call/start", **place, call=self.calls)
        text = ""
        tools: dict[int, dict[str, Any]] = {}
        usage: dict[str, Any] = {}
        chunks = 0
        try:
            for event in self.events():
                usage = event.get("usage") or usage
                for choice in event["choices"]:
                    delta = choice["delta"]
                    if delta.get("content"):
                        if not text:
                            self.chunk(place, {"type": "block-start", "index": 0, "blockType": "text"})
                        text += delta["content"]
                        self.chunk(place, {"type": "text-delta", "index": 0, "text": delta["content"]})
                        content = {"type": "text", "text": delta["content"]}
                        self.update({"sessionUpdate": "agent_message_chunk", "content": content})
                        chunks += 1
                    for piece in delta.get("tool_calls") or ():
                        self.tool_piece(place, tools, piece)
        except Failed as failure:
            outcome = {"kind": "failed", "message": str(failure), "code": "SERVER"}
            self.event("call/end", **place, call=self.calls, outcome=outcome)
            raise
        if text:
            self.chunk(place, {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}})
        for index, tool in tools.items():
            function = tool["function"]
            block = {
                "type": "tool-call",
                "id": tool["id"],
                "name": function["name"],
                "arguments": function["arguments"],
            }
            self.chunk(place, {"type": "block-end", "index": index, "block": block})
        counts = {
            "inputTokens": usage.get("prompt_tokens", 0),
            "outputTokens": usage.get("completion_tokens", 0),
        }
        details = usage.get("prompt_tokens_details") or {}
        if "cached_tokens" in details:
            counts["cacheReadTokens"] = details["cached_tokens"]
        self.chunk(place, {"type": "usage", "usage": counts})
        self.chunk(place, {"type": "finish", "reason": {"kind": "tool-calls" if tools else "stop"}})
        self.event("call/end", **place, call=self.calls, outcome={"kind": "completed"})
        return text, list(tools.values())

    def tool_piece(self, place: Any, tools: dict[int, dict[str, Any]], piece: Any) -> None:
        index = piece["index"] + 1
        function = piece["function"]
        if index not in tools:
            tools[index] = {
                "id": piece["id"],
                "type": "function",
                "function": {"name": function["name"], "arguments": ""},
            }
            self.chunk(place, {"type": "block-start", "index": index, "blockType": "tool-call"})
        tool = tools[index]
        tool["function"]["arguments"] += function.get("arguments", "")
        delta = {
            "id": tool["id"],
            "name": tool["function"]["name"],
            "argumentsDelta": function.get("arguments", ""),
        }
        self.chunk(place, {"type": "tool-call-delta", "index": index, **delta})

    def events(self) -> Iterator[dict[str, Any]]:
        """The events of a streamed reply. Raises Failed for an error status or a stream that breaks."""
        body = {
            "model": "agent-model",
            "messages": self.messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['MODEL_KEY']}"}
        url = os.environ["MODEL_URL"] + "/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request) as answer:
                for line in answer:
                    if line.strip() == b"data: [DONE]":
                        return
                    if line.startswith(b"data: "):
                        yield json.loads(line[6:])
        except urllib.error.HTTPError as error:
            raise Failed(f"HTTP {error.code}: {json.load(error)['error']['message']}") from error
        except OSError as error:
            raise Failed("the connection broke") from error
        raise Failed("the stream broke")

    # Wire and log.

    def update(self, update: dict[str, Any]) -> None:
        params = {"sessionId": self.session, "update": update}
        self.send({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def send(self, frame: dict[str, Any]) -> None:
        sys.stdout.buffer.write(json.dumps(frame).encode() + b"\n")
        sys.stdout.buffer.flush()

    def chunk(self, place: Any, chunk: dict[str, Any]) -> None:
        self.event("assistant/chunk", **place, chunk=chunk)

    def event(self, kind: str, **data: Any) -> None:
        self.log({"type": kind, "data": data, "time": int(time.time() * 1000)})

    def log(self, row: dict[str, Any]) -> None:
        if self.sessions:
            with open(os.path.join(self.sessions, self.session + ".jsonl"), "ab") as file:
                file.write(json.dumps(row).encode() + b"\n")


if __name__ == "__main__":
    Agent(sys.argv[1] if len(sys.argv) > 1 else "").run()
