"""A session's log told again as updates, for a client that loads it."""

from typing import TYPE_CHECKING, Any

from scenarios.reference_agent.dispatch import Pending, announce
from scenarios.reference_agent.editor import Editor, display_of
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.tools import toolbox

if TYPE_CHECKING:
    from acp.schema import ToolCallStatus

__all__ = ["tell_past"]


async def tell_past(session: Session, editor: Editor) -> None:
    """What was said and done, in order. What only the agent said to itself stays out."""
    tools = toolbox(can_ask=True, can_delegate=True)
    for event in session.events:
        data = event["data"]
        match event["type"]:
            case "user/message" if data["source"]["kind"] == "user":
                for block in data["content"]:
                    await editor.user_block(block, data["id"])
            case "assistant/message":
                await tell_reply(data["message"], editor)
            case "tool/call":
                block = {"id": data["callId"], "name": data["name"], "arguments": data["arguments"]}
                await announce(editor, session, Pending(block, tools))
            case "todo/write":
                await editor.plan(data["todos"])
            case "tool/result":
                for block in data["message"]["content"]:
                    display = display_of(block["content"])
                    status: ToolCallStatus = "failed" if block["isError"] else "completed"
                    await editor.tool_progress(block["toolCallId"], status, display)


async def tell_reply(message: dict[str, Any], editor: Editor) -> None:
    for block in message["content"]:
        if block["type"] == "text":
            await editor.say(block["text"], message["id"])
        elif block["type"] == "reasoning":
            await editor.think(block["text"], message["id"])
