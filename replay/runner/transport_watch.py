"""The control socket of a live recording: the subject's test asks for gates and counts, and there is no host to answer.

    wait      answered when the tees have seen that many frames of the label
    status    how many frames passed until now
    hold, release   answered with yes and nothing else: nobody can hold a real provider

A thread of its own; each tee wakes it by a datagram when a run has grown, so that nothing is polled.
"""

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import ReplayError
from replay.transport.commands import render_answer
from replay.transport.lines import Lines
from replay.transport.message import Control, decode_peer
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound

__all__ = ["Watch"]

_READ_BYTES: Final = 1 << 16


class _Client:
    """One controller, and the wait that it still has to be answered."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.lines = Lines("a controller")
        self.waits: Control | None = None


class _Counts(NamedTuple):
    outbound: int
    inbound: int


class Watch:
    """Serves at `path`, and is woken at `wake_path`. A context manager. entries: what has passed until now."""

    def __init__(self, directory: str, provider: str, entries: Callable[[], Sequence[Entry]]) -> None:
        self.path = os.path.join(directory, "control")
        self.wake_path = os.path.join(directory, "wake")
        self._provider = provider
        self._entries = entries
        self._began = time.monotonic()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._stop_read, self._stop_write = socket.socketpair()
        self._clients: dict[int, _Client] = {}
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._listener.bind(self.path)
        self._listener.listen()
        self._door.bind(self.wake_path)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_write.close()
        self._thread.join()
        for each in (
            self._listener,
            self._door,
            self._stop_read,
            *(client.socket for client in self._clients.values()),
        ):
            each.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for each in (self._listener, self._door, self._stop_read):
                selector.register(each, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._stop_read:
                        return
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    elif key.fileobj is self._door:
                        self._door.recv(_READ_BYTES)
                    else:
                        self._hear(key.fd, selector)
                self._answer_waits()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        connected, _ = self._listener.accept()
        self._clients[connected.fileno()] = _Client(connected)
        selector.register(connected, selectors.EVENT_READ)

    def _hear(self, descriptor: int, selector: selectors.BaseSelector) -> None:
        client = self._clients[descriptor]
        try:
            data = client.socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if not data:
            selector.unregister(client.socket)
            client.socket.close()
            del self._clients[descriptor]
            return
        for line in client.lines.feed(data):
            answer = self._asked(client, line)
            if answer is not None:
                client.socket.sendall(render_answer(answer))

    def _asked(self, client: _Client, line: bytes) -> dict[str, Any] | ReplayError | None:
        """The answer; None where it comes later."""
        try:
            op = decode_peer(line)
        except ReplayError as error:
            return error
        if not isinstance(op, Control):
            return ReplayError("a peer cannot play while a real provider is recorded")
        if op.op == "wait":
            client.waits = op
            return None
        if op.op == "now":
            return {"ms": int((time.monotonic() - self._began) * 1000)}
        if op.op == "status":
            counts = self._counts()
            frames = {"outbound": counts.outbound, "inbound": counts.inbound}
            return {
                "statuses": [{"transcript": self._provider, "provider": self._provider, "frames": frames}]
            }
        return {}

    def _answer_waits(self) -> None:
        waiting = [client for client in self._clients.values() if client.waits is not None]
        if not waiting:
            return
        labels = [entry.label for entry in self._entries()]
        for client in waiting:
            assert client.waits is not None
            name, _, digits = client.waits.name.rpartition("#")
            label, number = (
                (name, int(digits))
                if digits.isdecimal() and name
                else (client.waits.name, client.waits.number)
            )
            if labels.count(label) >= number:
                client.waits = None
                client.socket.sendall(render_answer({}))

    def _counts(self) -> _Counts:
        entries = self._entries()
        return _Counts(
            sum(isinstance(entry, ExpectOutbound) for entry in entries),
            sum(isinstance(entry, EmitInbound) for entry in entries),
        )
