"""The client side of ACP as an editor would have it, confined to the sandbox's cwd: files and terminals.

A path must lie in cwd after every symlink is followed; what lies outside is refused with an error to the agent,
never read or written. Terminals are in terminal.py. What is said to the agent, and when, is the driver's.
"""

import os
from collections.abc import Callable, Sequence

from replay.acp import RESOURCE_NOT_FOUND, Pending, Refusal, TerminalExit, TerminalOutput
from replay.errors import AgentError
from replay.runner.terminal import Terminal, Terminals

__all__ = ["SandboxHost"]

_MAX_FILE_BYTES = 64 << 20


class SandboxHost:
    """Implements replay.acp.ClientHost. `answer_later(token, result)` delivers what was Pending."""

    __slots__ = ("_answer_later", "_root", "_terminals", "_tokens")

    def __init__(
        self, cwd: str, terminals: Terminals, answer_later: Callable[[int, TerminalExit | Refusal], None]
    ) -> None:
        self._root = os.path.realpath(cwd)
        self._terminals = terminals
        self._answer_later = answer_later
        self._tokens = 0

    def read_text_file(self, path: str) -> str | Refusal:
        real = self._inside(path)
        if isinstance(real, Refusal):
            return real
        try:
            with open(real, "rb") as file:
                data = file.read(_MAX_FILE_BYTES + 1)
            if len(data) > _MAX_FILE_BYTES:
                return Refusal(f"{path} has more than {_MAX_FILE_BYTES} bytes")
            return data.decode("utf-8")
        except FileNotFoundError:
            return Refusal(f"{path} does not exist", RESOURCE_NOT_FOUND)
        except UnicodeDecodeError as error:
            return Refusal(f"{path} is not UTF-8 at byte {error.start}")
        except OSError as error:
            return Refusal(f"{path} cannot be read: {error.strerror}")

    def write_text_file(self, path: str, content: str) -> Refusal | None:
        real = self._inside(path)
        if isinstance(real, Refusal):
            return real
        try:
            data = content.encode()
            os.makedirs(os.path.dirname(real), exist_ok=True)
            descriptor = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except UnicodeEncodeError:
            return Refusal("the content holds a lone surrogate, which no file can")
        except OSError as error:
            return Refusal(f"{path} cannot be written: {error.strerror}")
        return None

    def terminal_create(
        self,
        command: str,
        args: Sequence[str],
        env: Sequence[tuple[str, str]],
        cwd: str | None,
        output_byte_limit: int | None,
    ) -> str | Refusal:
        directory = self._inside(cwd) if cwd else self._root
        if isinstance(directory, Refusal):
            return directory
        try:
            return self._terminals.create(command, args, dict(env), directory, output_byte_limit)
        except AgentError as error:
            return Refusal(error.what)

    def terminal_output(self, terminal_id: str) -> TerminalOutput | Refusal:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            return _unknown(terminal_id)
        return TerminalOutput(terminal.text(), terminal.truncated, _exit(terminal))

    def terminal_wait_for_exit(self, terminal_id: str) -> TerminalExit | Pending | Refusal:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            return _unknown(terminal_id)
        ended = _exit(terminal)
        if ended is not None:
            return ended
        self._tokens += 1
        token = self._tokens
        terminal.waiting.append(lambda: self._answer_later(token, _exit(terminal) or _unknown(terminal_id)))
        return Pending(token)

    def terminal_kill(self, terminal_id: str) -> Refusal | None:
        terminal = self._terminals.get(terminal_id)
        if terminal is None:
            return _unknown(terminal_id)
        terminal.kill()
        return None

    def terminal_release(self, terminal_id: str) -> Refusal | None:
        if self._terminals.get(terminal_id) is None:
            return _unknown(terminal_id)
        self._terminals.release(terminal_id)
        return None

    def _inside(self, path: str) -> str | Refusal:
        """The real path of something in the sandbox's cwd."""
        if not os.path.isabs(path) or "\0" in path:
            return Refusal(f"{path!r} is not an absolute path")
        real = os.path.realpath(path)
        if real != self._root and not real.startswith(self._root + "/"):
            return Refusal(f"{path} lies outside the working directory")
        return real


def _exit(terminal: Terminal) -> TerminalExit | None:
    status = terminal.status()
    return None if status is None else TerminalExit(*status)


def _unknown(terminal_id: str) -> Refusal:
    return Refusal(f'there is no terminal "{terminal_id}"')
