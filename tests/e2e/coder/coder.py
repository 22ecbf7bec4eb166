"""A coding agent that can only talk: ACP on stdio, a model behind an interface, a session log. Standard library only.

--config FILE (may be repeated, later files win key by key) and --logs DIRECTORY.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from replay.models import ModelCallError, ReplayModel
from replay.session import LogWriter

Json = dict[str, Any]


class Parrot:
    """The live model: it says what it was told."""

    async def stream(self, messages: list[Json], *, session: str) -> AsyncIterator[Json]:
        text = messages[-1]["content"]
        yield {"type": "block-start", "index": 0, "blockType": "text"}
        for word in text.split():
            yield {"type": "text-delta", "index": 0, "text": word + " "}
        yield {"type": "block-end", "index": 0, "block": {"type": "text", "text": text + " "}}
        yield {"type": "finish", "reason": {"kind": "stop"}}


def choose_model(name: str) -> Any:
    if name == "replay":
        return ReplayModel.from_environment(os.environ)
    return Parrot()


class Session:
    """One conversation and its log, each event on disk when it is appended."""

    def __init__(self, logs: Path, cwd: str) -> None:
        self.id = f"coder-{time.time_ns():x}"
        self.cwd = cwd
        self.messages: list[Json] = []
        self.turn = 0
        self.calls = 0
        self._file = (logs / f"{self.id}.jsonl").open("ab", buffering=0)
        self._writer = LogWriter()
        header = {
            "type": "session",
            "version": 0,
            "id": self.id,
            "createdAt": int(time.time() * 1000),
            "cwd": cwd,
        }
        self._file.write(json.dumps(header, separators=(",", ":")).encode() + b"\n")

    def log(self, kind: str, **data: Any) -> None:
        self._file.write(self._writer.append({"type": kind, "data": data}))

    def flush(self) -> None:
        self._file.write(self._writer.flush())


class Agent:
    def __init__(self, model: Any, logs: Path) -> None:
        self._model = model
        self._logs = logs
        self._sessions: dict[str, Session] = {}

    async def answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        if method == "session/new":
            session = Session(self._logs, params["cwd"])
            self._sessions[session.id] = session
            return {"sessionId": session.id}
        if method == "session/prompt":
            return await self._prompt(self._sessions[params["sessionId"]], params["prompt"])
        raise LookupError(method)

    async def _prompt(self, session: Session, prompt: list[Json]) -> Json:
        text = "".join(block.get("text", "") for block in prompt)
        session.turn += 1
        session.calls += 1
        call = {"turn": session.turn, "step": 1, "call": session.calls}
        session.messages.append({"role": "user", "content": text})
        session.log("turn/start", turn=session.turn)
        session.log("user/message", role="user", content=[{"type": "text", "text": text}])
        session.log("step/start", turn=session.turn, step=1)
        session.log("call/start", **call)
        said = ""
        outcome: Json = {"kind": "completed"}
        try:
            async for chunk in self._model.stream(session.messages, session=session.id):
                session.log("assistant/chunk", turn=session.turn, step=1, chunk=chunk)
                if chunk["type"] == "text-delta":
                    said += chunk["text"]
                    self._say(session, chunk["text"])
        except ModelCallError as error:
            outcome = {"kind": "failed", "message": error.message, "code": error.code}
            self._say(session, f"The model failed in build {os.getpid()}: {error.message}")
        session.log("call/end", **call, outcome=outcome)
        session.messages.append({"role": "assistant", "content": said})
        message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
        session.log("assistant/message", turn=session.turn, step=1, message=message)
        session.log("step/end", turn=session.turn, step=1)
        session.log("turn/end", turn=session.turn, reason={"kind": "completed"})
        session.flush()
        return {"stopReason": "end_turn"}

    def _say(self, session: Session, text: str) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        send({"method": "session/update", "params": {"sessionId": session.id, "update": update}})


def send(frame: Json) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
    sys.stdout.flush()


async def serve(agent: Agent) -> None:
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        try:
            send(
                {
                    "id": request["id"],
                    "result": await agent.answer(request["method"], request.get("params", {})),
                }
            )
        except LookupError:
            send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", action="append", type=Path, default=[])
    parser.add_argument("--logs", type=Path, default=Path("logs"))
    options = parser.parse_args()
    config = dict(
        itertools.chain.from_iterable(json.loads(path.read_text()).items() for path in options.config)
    )
    asyncio.run(serve(Agent(choose_model(config["model"]), options.logs)))


if __name__ == "__main__":
    main()
