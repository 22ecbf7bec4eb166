"""What a session asks of the client, in the session's own words.

The client may go away at any moment: an update that nobody can read any more is dropped, a request that nobody
can answer is a ToolError. A child session is `quiet`: its work is not shown, but it asks for permission in the
name of the session that the client knows.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from acp import RequestError
from acp.helpers import (
    image_block,
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_agent_thought,
    update_plan,
    update_tool_call,
    update_user_message,
)
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    PermissionOption,
    ToolCallLocation,
    ToolCallUpdate,
)

from scenarios.reference_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from acp import Client
    from acp.schema import ToolCallStatus, ToolKind

    from scenarios.reference_agent.tools.tool import Display

__all__ = ["Editor", "Link", "Terminal", "display_of"]

PERMISSION_OPTIONS = (
    PermissionOption(option_id="allow-once", name="Allow", kind="allow_once"),
    PermissionOption(option_id="allow-always", name="Always allow in this session", kind="allow_always"),
    PermissionOption(option_id="reject-once", name="Reject", kind="reject_once"),
)
OUTCOME_OF = {option.option_id: str(option.kind) for option in PERMISSION_OPTIONS}
CLEANUP_SECONDS = 1.0


class Link:
    """The one client of this process. `gone`: it no longer reads; `asking` is held while a person is asked."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.capabilities = ClientCapabilities()
        self.gone = False
        self.asking = asyncio.Lock()


class Editor:
    """`session_id` is the session that the client knows, the root's."""

    def __init__(self, link: Link, session_id: str, *, quiet: bool = False) -> None:
        self.link = link
        self.client = link.client
        self.capabilities = link.capabilities
        self.session_id = session_id
        self.quiet = quiet

    def for_child(self) -> Editor:
        return Editor(self.link, self.session_id, quiet=True)

    @property
    def offers_files(self) -> bool:
        files = self.capabilities.fs
        return bool(files and files.read_text_file and files.write_text_file)

    @property
    def offers_terminal(self) -> bool:
        return bool(self.capabilities.terminal)

    @property
    def can_ask(self) -> bool:
        elicitation = self.capabilities.elicitation
        return not self.quiet and elicitation is not None and elicitation.form is not None

    async def update(self, update: Any) -> None:
        if self.quiet or self.link.gone:
            return
        try:
            await self.client.session_update(self.session_id, update)
        except ConnectionError:
            # Once its pipe is broken, the SDK would let every later update wait for ever.
            self.link.gone = True

    async def user_block(self, block: dict[str, Any], message_id: str) -> None:
        await self.update(identified(update_user_message(content_block(block)), message_id))

    async def say(self, text: str, message_id: str) -> None:
        await self.update(identified(update_agent_message(text_block(text)), message_id))

    async def think(self, text: str, message_id: str) -> None:
        await self.update(identified(update_agent_thought(text_block(text)), message_id))

    async def plan(self, todos: list[dict[str, Any]]) -> None:
        entries = [
            plan_entry(todo["content"], priority=todo["priority"], status=todo["status"]) for todo in todos
        ]
        await self.update(update_plan(entries))

    async def tool_start(
        self, call_id: str, title: str, kind: ToolKind, path: str | None, raw_input: Any
    ) -> None:
        locations = [ToolCallLocation(path=path)] if path else None
        await self.update(
            start_tool_call(
                call_id, title, kind=kind, status="pending", locations=locations, raw_input=raw_input
            )
        )

    async def tool_progress(
        self, call_id: str, status: ToolCallStatus | None = None, content: Sequence[Display] | None = None
    ) -> None:
        await self.update(update_tool_call(call_id, status=status, content=content))

    async def permission(self, call_id: str, title: str, kind: ToolKind, raw_input: Any) -> str:
        """The kind of the option that the person chose, or `cancelled`. One question at a time."""
        call = ToolCallUpdate(
            tool_call_id=call_id, title=title, kind=kind, status="pending", raw_input=raw_input
        )
        async with self.link.asking:
            with answering("a permission request"):
                response = await self.client.request_permission(
                    self.session_id, call, list(PERMISSION_OPTIONS)
                )
        if not isinstance(response.outcome, AllowedOutcome):
            return "cancelled"
        chosen = response.outcome.option_id
        if chosen not in OUTCOME_OF:
            raise ToolError(f'the client chose "{chosen}", which is no option of this permission request')
        return OUTCOME_OF[chosen]

    async def read_text_file(self, path: str) -> str:
        with answering(f"reading {path}"):
            return (await self.client.read_text_file(self.session_id, path)).content

    async def write_text_file(self, path: str, text: str) -> None:
        with answering(f"writing {path}"):
            await self.client.write_text_file(self.session_id, path, text)

    async def ask(self, question: str, options: Sequence[str], call_id: str) -> str | None:
        """The person's answer, None if they would not give one."""
        answer = ElicitationStringPropertySchema(type="string", title="Answer", enum=list(options) or None)
        form = ElicitationFormSessionMode(
            session_id=self.session_id,
            tool_call_id=call_id,
            requested_schema=ElicitationSchema(properties={"answer": answer}, required=["answer"]),
        )
        async with self.link.asking:
            with answering("a question"):
                response = await self.client.create_elicitation(question, form)
        if not isinstance(response, AcceptElicitationResponse):
            return None
        return str((response.content or {}).get("answer", ""))

    @asynccontextmanager
    async def terminal(self, command: list[str], cwd: str, max_bytes: int) -> AsyncIterator[Terminal]:
        """A terminal in the client that runs `command`; ended and released on every way out."""
        with answering("a terminal"):
            created = await self.client.create_terminal(
                self.session_id, command[0], command[1:], cwd=cwd, output_byte_limit=max_bytes
            )
        terminal = Terminal(self, created.terminal_id)
        try:
            yield terminal
        except BaseException:
            await terminal.clean_up(kill=True)
            raise
        else:
            await terminal.clean_up(kill=False)


class Terminal:
    def __init__(self, editor: Editor, terminal_id: str) -> None:
        self.client = editor.client
        self.session_id = editor.session_id
        self.id = terminal_id

    async def wait(self, timeout_ms: int) -> int | None:
        """How the command ended, 128 + n for signal n unknown by number; None if it had to be killed in time."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                with answering("the end of a command"):
                    ended = await self.client.wait_for_terminal_exit(self.session_id, self.id)
        except TimeoutError:
            with answering("killing a command"):
                await self.client.kill_terminal(self.session_id, self.id)
            return None
        if ended.exit_code is not None:
            return ended.exit_code
        return 128 if ended.signal else 0

    async def output(self) -> tuple[str, bool]:
        """What the client kept of the output, and whether it dropped the beginning."""
        with answering("the output of a command"):
            response = await self.client.terminal_output(self.session_id, self.id)
        return response.output, response.truncated

    async def clean_up(self, *, kill: bool) -> None:
        """A client that no longer answers must not keep us here."""
        with contextlib.suppress(ConnectionError, RequestError, TimeoutError):
            async with asyncio.timeout(CLEANUP_SECONDS):
                if kill:
                    await self.client.kill_terminal(self.session_id, self.id)
                await self.client.release_terminal(self.session_id, self.id)


@contextlib.contextmanager
def answering(what: str) -> Iterator[None]:
    try:
        yield
    except RequestError as error:
        raise ToolError(f"the client refused {what}: {error}") from error
    except ConnectionError as error:
        raise ToolError(f"the client is gone; {what} stays unanswered") from error


def identified(chunk: Any, message_id: str) -> Any:
    chunk.message_id = message_id
    return chunk


def content_block(block: dict[str, Any]) -> Any:
    if block["type"] == "image":
        return image_block(block["data"], block["mediaType"])
    return text_block(block["text"])


def display_of(blocks: list[dict[str, Any]]) -> list[Display]:
    """What the model got to read, as the person gets to see it."""
    return [tool_content(content_block(block)) for block in blocks]
