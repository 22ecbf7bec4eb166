"""The agent's side of the protocol: one method for each request that a client may send."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeResponse,
)

from scenarios.reference_agent import __version__
from scenarios.reference_agent.config import Config, ConfigError, with_project
from scenarios.reference_agent.editor import Editor, Link
from scenarios.reference_agent.journal import JournalError
from scenarios.reference_agent.model import ModelError
from scenarios.reference_agent.past import tell_past
from scenarios.reference_agent.permission import MODES, mode_state
from scenarios.reference_agent.prompt import ContentBlock, blocks_of
from scenarios.reference_agent.services import Services
from scenarios.reference_agent.session import Session
from scenarios.reference_agent.turn import StopReason, Turn

__all__ = ["ReferenceAgent"]

REQUEST_CANCELLED = -32800


class ReferenceAgent:
    """Sessions by id, and one turn at a time in each.

    Not derived from the SDK's Agent: a method that is missing here must be answered "method not found", and the
    protocol class would lend us one that answers null.
    """

    def __init__(self, config: Config, services: Services) -> None:
        self.config = config
        self.services = services
        self.link: Link | None = None
        self.sessions: dict[str, Session] = {}

    def on_connect(self, conn: Client) -> None:
        self.link = Link(conn)

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        if self.link is not None and client_capabilities is not None:
            self.link.capabilities = client_capabilities
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="reference-agent", title="Reference agent", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **kwargs: Any,
    ) -> NewSessionResponse:
        config = self.settings(cwd, additional_directories, mcp_servers)
        session = self.services.store.create(config, Path(cwd))
        self.sessions[session.id] = session
        return NewSessionResponse(session_id=session.id, modes=mode_state(session))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **kwargs: Any,
    ) -> LoadSessionResponse:
        session = self.open(session_id, cwd, self.settings(cwd, additional_directories, mcp_servers))
        await tell_past(session, self.editor(session))
        return LoadSessionResponse(modes=mode_state(session))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **kwargs: Any,
    ) -> ResumeSessionResponse:
        session = self.open(session_id, cwd, self.settings(cwd, additional_directories, mcp_servers))
        return ResumeSessionResponse(modes=mode_state(session))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> ListSessionsResponse:
        return ListSessionsResponse(
            sessions=[
                SessionInfo(session_id=summary.session_id, cwd=summary.cwd, title=summary.title)
                for summary in self.services.store.summaries(cwd)
            ]
        )

    async def close_session(self, session_id: str, **kwargs: Any) -> CloseSessionResponse:
        await self.session(session_id).close()
        self.sessions.pop(session_id, None)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> SetSessionModeResponse:
        session = self.session(session_id)
        if mode_id not in {mode.id for mode in MODES}:
            known = ", ".join(mode.id for mode in MODES)
            raise RequestError.invalid_params({"details": f'there is no mode "{mode_id}"; there are {known}'})
        session.record("mode/change", {"mode": mode_id})
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[ContentBlock], **kwargs: Any) -> PromptResponse:
        session = self.session(session_id)
        if session.running is not None and not session.running.done():
            raise RequestError.invalid_request({"details": "a turn of this session is running already"})
        content = blocks_of(prompt, session.config.tools.image_max_bytes)
        turn = Turn(self.services, session, self.editor(session), content)
        task: asyncio.Task[StopReason] = asyncio.create_task(turn.run())
        session.running = task
        # Waiting beside it: should this request be dropped, the turn still ends in its own way.
        await asyncio.wait({task})
        if task.cancelled():
            if session.abort_kind == "request":
                raise RequestError(REQUEST_CANCELLED, "Request cancelled")
            return PromptResponse(stop_reason="cancelled")
        try:
            return PromptResponse(stop_reason=task.result())
        except ModelError as error:
            raise RequestError(-32603, f"the model failed: {error.message}", {"code": error.code}) from error

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        if session := self.sessions.get(session_id):
            session.cancel()

    async def close(self) -> None:
        """End all turns and close all logs."""
        for session in self.sessions.values():
            session.cancel("shutdown")
        for session in self.sessions.values():
            await session.close()
        await self.services.model.close()

    def hang_up(self) -> None:
        """Say nothing more to the client; a turn that waits for it to read ends at once."""
        if self.link is not None:
            self.link.gone = True
        for session in self.sessions.values():
            if session.running is not None:
                session.running.cancel()

    def settings(self, cwd: str, additional: list[str] | None, mcp_servers: list[Any] | None) -> Config:
        """The configuration for a session in `cwd`. Raises RequestError for what we do not do."""
        if additional:
            raise RequestError.invalid_params({"details": "additional directories are not supported"})
        if mcp_servers:
            raise RequestError.invalid_params({"details": "MCP servers are not supported"})
        directory = Path(cwd)
        if not directory.is_absolute() or not directory.is_dir():
            raise RequestError.invalid_params(
                {"details": f"cwd is not an absolute path of a directory: {cwd}"}
            )
        try:
            return with_project(self.config, directory)
        except ConfigError as error:
            raise RequestError.invalid_params({"details": str(error)}) from error

    def open(self, session_id: str, cwd: str, config: Config) -> Session:
        """A session that is open already, or its log opened again."""
        if session := self.sessions.get(session_id):
            if session.running is not None and not session.running.done():
                raise RequestError.invalid_request({"details": "a turn of this session is running"})
            return session
        if self.services.store.find(session_id) is None:
            raise RequestError.resource_not_found(session_id)
        try:
            session = self.services.store.reopen(session_id, config, Path(cwd))
        except JournalError as error:
            logging.warning("%s", error)
            raise RequestError.invalid_params({"details": str(error)}) from error
        self.sessions[session_id] = session
        return session

    def session(self, session_id: str) -> Session:
        if session := self.sessions.get(session_id):
            return session
        raise RequestError.invalid_params({"details": f"there is no open session {session_id}"})

    def editor(self, session: Session) -> Editor:
        if self.link is None:
            raise RequestError.internal_error({"details": "not connected"})
        return Editor(self.link, session.id)
