"""A stdio peer without a process: for tests in Python that hold host, orchestrator and peer in one.

    with stdio_peer(host.path, PROTOCOL, JsonLinesPeer()) as peer:
        reader, writer = await asyncio.open_connection(sock=peer.socket)

The edge is the one of the executables, over a socket pair instead of pipes. What ends a process, the exit of a
transcript or a divergence, ends the stream here, and `ending` says which it was.
"""

import contextlib
import os
import socket
import threading
from typing import TYPE_CHECKING, Self

from replay.errors import ReplayError
from replay.transport.link import Link
from replay.transport.peers import stdio

if TYPE_CHECKING:
    from replay.transport.link import Ending
    from replay.transport.peers.translator import Translator

__all__ = ["StdioPeer", "stdio_peer"]


class StdioPeer:
    """A running peer; `socket` is what the orchestrator's two pipes would be, and is the caller's to close earlier."""

    def __init__(self, link: Link, translator: Translator) -> None:
        self._link = link
        self._translator = translator
        self.socket, self._theirs = socket.socketpair()
        self.ending: Ending = None
        """How it ended; only of meaning once the context is left."""
        self.error: ReplayError | None = None
        self._thread = threading.Thread(target=self._run, name="peer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Not by closing alone: a copy that asyncio holds would keep the stream open.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join()

    def _run(self) -> None:
        # One descriptor cannot be watched twice.
        stdout = os.dup(self._theirs.fileno())
        try:
            self.ending = stdio.serve(self._link, self._translator, self._theirs.fileno(), stdout)
        except ReplayError as error:
            self.error = error
        finally:
            os.close(stdout)
            self._theirs.close()
            self._link.disconnect()


def stdio_peer(
    path: str, protocol: str, translator: Translator, transcript: str = "", process: str = ""
) -> StdioPeer:
    """A peer of the host at `path`. Raises as Link.dial does."""
    return StdioPeer(Link.dial(path, protocol, transcript, process), translator)
