"""What the model can do. `toolbox` is the list offered to one session, in the order in which it is offered."""

from scenarios.reference_agent.tools.ask import AskUser
from scenarios.reference_agent.tools.edit import Edit, Write
from scenarios.reference_agent.tools.image import ReadImage
from scenarios.reference_agent.tools.read import Glob, Read
from scenarios.reference_agent.tools.shell import Bash
from scenarios.reference_agent.tools.subagent import Subagent
from scenarios.reference_agent.tools.todo import TodoWrite
from scenarios.reference_agent.tools.tool import Tool, ToolContext, ToolError, ToolOutcome

__all__ = ["Tool", "ToolContext", "ToolError", "ToolOutcome", "toolbox"]


def toolbox(*, can_ask: bool, can_delegate: bool) -> dict[str, Tool]:
    """Tools by name. `can_ask`: a person can be asked; `can_delegate`: this session may have children."""
    tools: list[Tool] = [Read(), ReadImage(), Glob(), Write(), Edit(), Bash(), TodoWrite()]
    if can_ask:
        tools.append(AskUser())
    if can_delegate:
        tools.append(Subagent())
    return {tool.name: tool for tool in tools}
