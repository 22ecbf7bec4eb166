"""The far end of one exchange, for an answer that takes its time: whether somebody still waits for it."""

import selectors
import socket
import threading
from collections.abc import Callable

__all__ = ["Client"]


class Client:
    """Who sent a request. Costs nothing until somebody asks to be told that it left."""

    __slots__ = ("_connection", "_thread", "_wake")

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._thread: threading.Thread | None = None
        self._wake: socket.socket | None = None

    def when_gone(self, call: Callable[[], None]) -> None:
        """Calls `call` once, from a thread of its own, if the connection ends before `release`. Ask once."""
        self._wake, theirs = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, args=(theirs, call), name="gateway", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """The answer is out: nobody needs to be told any more. No thread and no socket is left."""
        if self._wake is not None and self._thread is not None:
            self._wake.close()
            self._thread.join()
            self._wake = None

    def _watch(self, wake: socket.socket, call: Callable[[], None]) -> None:
        with wake, selectors.DefaultSelector() as selector:
            selector.register(wake, selectors.EVENT_READ)
            selector.register(self._connection, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select()]
            if wake not in ready and self._has_ended():
                call()

    def _has_ended(self) -> bool:
        """Whether nothing will come any more; what comes is the next request, and its sender is there."""
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
