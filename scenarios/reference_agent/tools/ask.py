"""Asking the person a question in the middle of a turn."""

from typing import Annotated

from pydantic import Field

from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolOutcome, shorten

__all__ = ["AskUser"]


class AskUserArguments(Arguments):
    question: Annotated[str, Field(min_length=1)]
    options: Annotated[
        tuple[str, ...], Field(description="Answers to choose from; free text if left out.")
    ] = ()


class AskUser(Tool):
    name = "ask_user"
    description = "Ask the user one question when the task cannot go on without the answer."
    kind = "other"
    arguments = AskUserArguments

    def title(self, arguments: AskUserArguments) -> str:
        return f"Ask: {shorten(arguments.question)}"

    async def run(self, arguments: AskUserArguments, context: ToolContext) -> ToolOutcome:
        answer = await context.editor.ask(arguments.question, arguments.options, context.call_id)
        if answer is None:
            return ToolOutcome.text("The user did not answer.")
        return ToolOutcome.text(f"The user answered: {answer}")
