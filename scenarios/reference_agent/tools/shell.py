"""Running commands: a fresh shell for each, its output cut to a preview, all of it in a file if it was long."""

from typing import Annotated, ClassVar

from acp.helpers import tool_terminal_ref
from pydantic import Field

from scenarios.reference_agent.process import run_process
from scenarios.reference_agent.tools.capture import Capture
from scenarios.reference_agent.tools.tool import Arguments, Tool, ToolContext, ToolError, ToolOutcome, shorten

__all__ = ["Bash"]

SHELL = ("bash", "--noprofile", "--norc", "-c")


class BashArguments(Arguments):
    command: Annotated[str, Field(min_length=1, description="Runs in the working directory, without input.")]
    timeout_ms: Annotated[int | None, Field(gt=0, description="End it after this long.")] = None


class Bash(Tool):
    name = "bash"
    description = "Run a shell command. Each starts in a new shell; what it leaves running is ended with it."
    kind = "execute"
    arguments = BashArguments
    gated: ClassVar[bool] = True

    def title(self, arguments: BashArguments) -> str:
        return f"Run {shorten(arguments.command)}"

    async def run(self, arguments: BashArguments, context: ToolContext) -> ToolOutcome:
        timeout_ms = min(
            arguments.timeout_ms or context.config.bash_timeout_ms, context.config.bash_timeout_ms
        )
        if context.client_shell:
            return await run_in_client(arguments.command, timeout_ms, context)
        return await run_here(arguments.command, timeout_ms, context)


async def run_here(command: str, timeout_ms: int, context: ToolContext) -> ToolOutcome:
    if "\0" in command:
        raise ToolError("a command must not hold NUL")
    spill_file = context.spill / f"call-{context.ordinal}.txt"
    capture = Capture(spill_file, context.config.bash_preview_bytes, context.config.bash_spill_bytes)
    try:
        result = await run_process(
            (*SHELL, command),
            cwd=context.cwd,
            environment=context.environment,
            timeout_ms=timeout_ms,
            on_output=capture.feed,
        )
    except OSError as error:
        raise ToolError(f"the shell does not start: {error.strerror or error}") from error
    finally:
        capture.close()
    return outcome(capture.preview(), result.exit_code, timeout_ms if result.timed_out else 0)


async def run_in_client(command: str, timeout_ms: int, context: ToolContext) -> ToolOutcome:
    """The same in a terminal of the client, which shows it live and keeps it after the call."""
    editor = context.editor
    async with editor.terminal(
        [*SHELL, command], str(context.cwd), context.config.bash_preview_bytes
    ) as terminal:
        display = [tool_terminal_ref(terminal.id)]
        await editor.tool_progress(context.call_id, content=display)
        exit_code = await terminal.wait(timeout_ms)
        output, truncated = await terminal.output()
    note = "[the beginning of the output is cut off]\n" if truncated else ""
    ended = exit_code is None
    result = outcome(note + output, exit_code if exit_code is not None else 137, timeout_ms if ended else 0)
    return ToolOutcome(result.blocks, result.is_error, display)


def outcome(output: str, exit_code: int, timed_out_ms: int) -> ToolOutcome:
    """What the command printed and, unless it simply succeeded, how it ended."""
    text = output if output.strip() else "(no output)"
    if timed_out_ms:
        ending = f"[ended after {timed_out_ms} ms, its time limit]"
    elif exit_code:
        ending = f"[exit code {exit_code}]"
    else:
        return ToolOutcome.text(text)
    return ToolOutcome.text(f"{text.removesuffix('\n')}\n{ending}", is_error=True)
