"""The door to the world for what an agent asks of its client: files and terminals of the sandbox.

The runner implements ClientHost (runner/client_host.py). A host decides what lies inside the sandbox cwd, symlinks
included: nothing here looks at a path. A refusal is an answer to the agent, so it is a value and no exception.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from replay.acp.connection import INVALID_PARAMS

__all__ = [
    "INVALID_PARAMS",
    "RESOURCE_NOT_FOUND",
    "ClientHost",
    "Pending",
    "Refusal",
    "TerminalExit",
    "TerminalOutput",
]

RESOURCE_NOT_FOUND = -32002
"""Code of a refusal: no such file. For a path that leaves the sandbox or an unknown terminal: INVALID_PARAMS."""


class Refusal(NamedTuple):
    """A JSON-RPC error for the agent: one sentence that holds no path of this machine but the one asked for."""

    message: str
    code: int = INVALID_PARAMS


class Pending(NamedTuple):
    """The answer comes later, by `Driver.on_host_reply(token, result)`. Tokens are unique within a run."""

    token: int


class TerminalExit(NamedTuple):
    """How a command ended: `exit_code`, or the name of the `signal` that ended it."""

    exit_code: int | None
    signal: str | None = None


class TerminalOutput(NamedTuple):
    """Output so far (valid text, cut at a character), whether its start was cut off, `exit` once ended."""

    output: str
    truncated: bool
    exit: TerminalExit | None


class ClientHost(Protocol):
    """Paths are as the agent sent them, in ACP absolute. No call blocks."""

    def read_text_file(self, path: str) -> str | Refusal:
        """The whole text; the driver cuts out the lines that were asked for."""

    def write_text_file(self, path: str, content: str) -> Refusal | None:
        """Create or replace a file; its parent directories are made."""

    def terminal_create(
        self,
        command: str,
        args: Sequence[str],
        env: Sequence[tuple[str, str]],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> str | Refusal:
        """Start a command; its terminal id, the same in every run ("terminal-1")."""

    def terminal_output(self, terminal_id: str) -> TerminalOutput | Refusal:
        """What the command wrote so far."""

    def terminal_wait_for_exit(self, terminal_id: str) -> TerminalExit | Pending | Refusal:
        """How the command ended, or Pending while it runs."""

    def terminal_kill(self, terminal_id: str) -> Refusal | None:
        """End the command; its terminal stays."""

    def terminal_release(self, terminal_id: str) -> Refusal | None:
        """End the command and forget the terminal; a pending wait is answered first."""
