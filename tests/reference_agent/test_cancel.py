"""Two cancels at once, in one process: only there can the second come at a chosen moment."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
from acp import Client, RequestPermissionResponse, text_block
from acp.schema import DeniedOutcome

from scenarios.reference_agent.config import Config, PermissionsConfig, SessionLogConfig
from scenarios.reference_agent.model import Chunk, Model, ModelRequest
from scenarios.reference_agent.server import ReferenceAgent
from scenarios.reference_agent.services import Services, sleep_ms
from scenarios.reference_agent.store import Store

CONFIG = Config(
    permissions=PermissionsConfig(mode="ask"),
    session_log=SessionLogConfig(compress="none", fsync=False, timestamps=False),
)


class Scripted(Model):
    """Asks for what its conversation's first words are in `replies`, in one reply."""

    def __init__(self, replies: dict[str, list[tuple[str, str]]]) -> None:
        self.replies = replies

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        said = request.messages[0]["content"][0]["text"]
        for index, (name, arguments) in enumerate(self.replies[said]):
            block = {"type": "tool-call", "id": f"{said} {index}", "name": name, "arguments": arguments}
            yield {"type": "block-start", "index": index, "blockType": "tool-call"}
            yield {"type": "block-end", "index": index, "block": block}
        yield {"type": "finish", "reason": {"kind": "tool-calls"}}


class Stopping:
    """A client whose person stops the turn: the answer to the question and the cancel are both on their way."""

    def __init__(self) -> None:
        self.agent: ReferenceAgent | None = None
        self.statuses: list[str] = []

    async def request_permission(self, *arguments: Any, **options: Any) -> RequestPermissionResponse:
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def session_update(self, session_id: str, update: Any) -> None:
        self.statuses.append(update.status)
        if update.status == "failed" and self.agent is not None:
            await self.agent.cancel(session_id)
        await asyncio.sleep(0)


async def play(root: Path, client: Stopping, model: Model) -> tuple[str, list[dict[str, Any]]]:
    """The stop reason of one prompt, "go", and the events of its session."""
    clock = iter(range(1, 1000))
    names = iter(["root", "left", "right"])
    services = Services(
        model=model,
        store=Store(root / "sessions", lambda: next(clock), lambda: next(names)),
        spill=root / "spill",
        environment={"PATH": "/usr/bin:/bin"},
        sleep_ms=sleep_ms,
    )
    agent = ReferenceAgent(CONFIG, services)
    agent.on_connect(cast(Client, client))
    client.agent = agent
    session_id = (await agent.new_session(str(root))).session_id
    response = await agent.prompt(session_id, [text_block("go")])
    events = agent.session(session_id).events
    await agent.close()
    return response.stop_reason, events


COMMAND = ("bash", '{"command": "touch made"}')


def test_every_call_is_answered_when_the_cancel_follows_a_cancelled_permission(tmp_path: Path) -> None:
    client = Stopping()
    reason, events = asyncio.run(play(tmp_path, client, Scripted({"go": [COMMAND] * 3})))
    assert reason == "cancelled"
    answered = [
        event["data"]["message"]["source"]["callId"] for event in events if event["type"] == "tool/result"
    ]
    assert answered == ["go 0", "go 1", "go 2"]
    assert client.statuses == ["pending"] * 3 + ["failed"] * 3
    assert events[-1]["data"]["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}
    assert not (tmp_path / "made").exists()


def delegate(prompt: str) -> tuple[str, str]:
    return "subagent", f'{{"description": "d", "prompt": "{prompt}"}}'


@pytest.mark.parametrize("slow", ["left", "right"])
def test_permission_that_is_cancelled_in_a_child_stops_its_siblings_too(tmp_path: Path, slow: str) -> None:
    class Slow(Scripted):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
            if request.session == slow:
                await asyncio.get_running_loop().create_future()
            async for chunk in super().stream(request):
                yield chunk

    replies = {"go": [delegate("L"), delegate("R")], "L": [COMMAND], "R": [COMMAND]}
    reason, events = asyncio.run(play(tmp_path, Stopping(), Slow(replies)))
    assert reason == "cancelled"
    results = [event["data"]["message"]["content"][0] for event in events if event["type"] == "tool/result"]
    assert [result["content"][0]["text"] for result in results] == ["Cancelled by the user."] * 2
