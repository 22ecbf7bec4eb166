"""Where an agent speaks its protocol: its stdin and stdout, or a socket that it connects to.

A socket is what an agent uses whose stdout is not its own: a framework prints there. It takes one connection.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from replay.errors import AgentError, counted
from replay.runner.loop import Loop
from replay.trace.protocol import MAX_LINE_BYTES

if TYPE_CHECKING:
    import socket

__all__ = ["Lines", "ListeningLoop", "make_listener"]


class ListeningLoop(Loop):
    """A loop that also waits for a connection."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        super().__init__()
        self._listeners: dict[int, tuple[socket.socket, Callable[[int], None]]] = {}

    def listen(self, listener: socket.socket, taken: Callable[[int], None]) -> None:
        """Hand the descriptor of the first connection to `taken`, and close the listener."""
        self._listeners[listener.fileno()] = listener, taken
        self.read(listener.fileno(), lambda _data: None)

    def unlisten(self, descriptor: int) -> None:
        """Wait for a connection no longer."""
        listener = self._listeners.pop(descriptor, None)
        if listener is not None:
            self.forget(descriptor)
            listener[0].close()

    def _pull(self, descriptor: int) -> None:
        waiting = self._listeners.get(descriptor)
        if waiting is None:
            super()._pull(descriptor)
            return
        listener, taken = waiting
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        self.unlisten(descriptor)
        connection.setblocking(False)
        taken(connection.detach())


def make_listener(path: str) -> socket.socket:
    """A Unix socket at `path` that takes one connection."""
    import socket

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(1)
    return listener


class Lines:
    """Bytes cut into lines. Blank ones are passed over; a line has an end of its own, and a limit."""

    __slots__ = ("_kept", "count")

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self.count = 0
        """Bytes that wait for the end of their line."""

    def take(self, data: bytes) -> list[bytes]:
        """The lines that are whole now. Raises AgentError for one that is too long."""
        *whole, rest = data.split(b"\n")
        found = []
        for line in whole:
            found.append(b"".join((*self._kept, line)))
            self._kept.clear()
            self.count = 0
        if rest:
            self._kept.append(rest)
            self.count += len(rest)
        if self.count > MAX_LINE_BYTES or any(len(line) > MAX_LINE_BYTES for line in found):
            raise AgentError(f"the agent wrote a line of more than {counted(MAX_LINE_BYTES, 'byte')}")
        return [line for line in found if line.strip()]
