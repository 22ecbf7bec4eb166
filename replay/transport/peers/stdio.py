"""The edge of a peer that is a process on stdin and stdout: one loop over both and the link, no thread, no timer.

Nothing waits for a slow reader but the bytes themselves: what stdout does not take is kept, and the end of stdin, a
signal and a host that goes away are noticed meanwhile. Before the peer ends as recorded, everything is written out.
"""

import os
import selectors
import stat
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from replay.errors import DivergenceError
from replay.transport.lines import Lines
from replay.transport.message import Inbound
from replay.transport.peers import Outbound, Write

if TYPE_CHECKING:
    from replay.transport.link import Ending, Link
    from replay.transport.peers.translator import Translator

__all__ = ["serve"]

_READ_BYTES = 1 << 18


def serve(link: Link, translator: Translator, stdin: int = 0, stdout: int = 1) -> Ending:
    """Translate until the host ends the connection; the descriptors stay open."""
    return _Edge(link, translator, stdin, stdout).run()


class _Edge:
    def __init__(self, link: Link, translator: Translator, stdin: int, stdout: int) -> None:
        self._link = link
        self._translator = translator
        self._stdin = stdin
        self._stdout = stdout
        self._lines = Lines("the orchestrator")
        self._unwritten: deque[bytes] = deque()
        # Not epoll, which takes no regular file, and a shell may well redirect one.
        self._selector = selectors.PollSelector()
        self._is_listening = True
        self._is_deaf = False
        mode = os.fstat(stdout).st_mode
        self._is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        """Whether stdout may be made non-blocking: a terminal or a file is shared with others."""

    def run(self) -> Ending:
        self._selector.register(self._link, selectors.EVENT_READ)
        self._selector.register(self._stdin, selectors.EVENT_READ)
        if self._is_pipe:
            os.set_blocking(self._stdout, False)
        try:
            self._carry_out(self._translator.start())
            is_over, ending = self._take(self._link.receive_ready())
            while not is_over:
                is_over, ending = self._step()
            # Where the host went away unasked, nobody is left to say that the rest matters.
            if ending is not None or not self._is_listening:
                self._write_out()
            return ending
        finally:
            self._selector.close()

    def _step(self) -> tuple[bool, Ending]:
        """Wait for something and handle it. Whether that was the end, and which."""
        for key, _ in self._selector.select():
            if key.fileobj is self._link:
                is_over, ending = self._take(self._link.receive_ready())
                if is_over:
                    return True, ending
            elif key.fd == self._stdin and key.events == selectors.EVENT_READ:
                self._read()
            else:
                self._flush()
        return False, None

    def _take(self, messages: Iterable[Inbound | Ending]) -> tuple[bool, Ending]:
        for message in messages:
            if not isinstance(message, Inbound):
                return True, message
            try:
                self._carry_out(self._translator.deliver(message.frame, message.ref))
            except DivergenceError as error:
                self._leave(error.explained())
        return False, None

    def _read(self) -> None:
        try:
            data = os.read(self._stdin, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            for line in self._lines.feed(data):
                if not self._is_listening:
                    return
                self._carry_out(self._translator.receive(line))
            if not data:
                self._lines.close()
                self._carry_out(self._translator.end())
        except DivergenceError as error:
            self._leave(error.explained())
            return
        if not data:
            self._leave("")

    def _leave(self, error: str) -> None:
        """No more is read from the orchestrator; the host's last word is still awaited."""
        if not self._is_listening:
            return
        self._is_listening = False
        self._selector.unregister(self._stdin)
        if error or self._translator.ends_with_input:
            self._link.close(error)
        else:
            self._link.end()

    def _carry_out(self, steps: Iterable[Outbound | Write]) -> None:
        for step in steps:
            if isinstance(step, Outbound):
                self._link.send(step.frame, step.ref)
            else:
                self._write(step.data)

    def _write(self, data: bytes) -> None:
        if self._is_deaf:
            return
        if self._unwritten:
            self._unwritten.append(data)
            return
        rest = self._try_write(data)
        if rest:
            self._unwritten.append(rest)
            self._selector.register(self._stdout, selectors.EVENT_WRITE)

    def _flush(self) -> None:
        """Write what stdout takes now."""
        while self._unwritten:
            rest = self._try_write(self._unwritten.popleft())
            if rest:
                self._unwritten.appendleft(rest)
                return
        self._selector.unregister(self._stdout)

    def _try_write(self, data: bytes) -> bytes:
        """What is left of `data`; nothing where nobody reads any more, which closes the connection."""
        try:
            written = os.write(self._stdout, data)
        except BlockingIOError:
            return data
        except OSError:
            self._is_deaf = True
            self._unwritten.clear()
            self._leave("")
            return b""
        return data[written:]

    def _write_out(self) -> None:
        """Everything that waits, however long the orchestrator takes to read it."""
        if self._is_pipe:
            os.set_blocking(self._stdout, True)
        while self._unwritten and not self._is_deaf:
            rest = self._try_write(self._unwritten.popleft())
            if rest:
                self._unwritten.appendleft(rest)
