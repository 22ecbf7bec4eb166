"""Handing a task to a child session."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolOutcome, shorten

__all__ = ["Subagent"]


class SubagentArguments(Arguments):
    description: Annotated[str, Field(min_length=1, description="The task in a few words, for the user.")]
    prompt: Annotated[
        str, Field(min_length=1, description="The task, with all that the other agent must know.")
    ]
    mode: Annotated[
        Literal["one-shot", "fork"],
        Field(
            description="one-shot starts with an empty conversation, fork with the finished turns of this one."
        ),
    ] = "one-shot"


class Subagent(Tool):
    name = "subagent"
    description = (
        "Give a task to another agent and get its final answer. Several calls in one reply run at once."
    )
    kind = "think"
    arguments = SubagentArguments
    parallel: ClassVar[bool] = True

    def title(self, arguments: SubagentArguments) -> str:
        return f"Delegate: {shorten(arguments.description)}"

    async def run(self, arguments: SubagentArguments, context: ToolContext) -> ToolOutcome:
        return ToolOutcome.text(await context.delegate(context.call_id, arguments.prompt, arguments.mode))
