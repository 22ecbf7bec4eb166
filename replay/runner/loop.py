"""The one loop: descriptors that become readable or writable, and the request to stop.

It knows neither the agent nor the protocol: it hands bytes to whoever watches a descriptor. `b""` is the end of
one, after which it is no longer watched; closing a descriptor is its owner's work, after `forget`.
"""

import os
import selectors
import signal
from collections import deque
from collections.abc import Callable
from types import FrameType

__all__ = ["Loop"]

_READ_BYTES = 1 << 20

Reader = Callable[[bytes], None]


class Loop:
    """Readers by descriptor, and bytes that wait for a full pipe to empty."""

    __slots__ = ("_readers", "_selector", "_wake_read", "_wake_write", "_writes", "stopped")

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._readers: dict[int, Reader] = {}
        self._writes: dict[int, deque[bytes]] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self.stopped = False
        """Whether SIGTERM asked the run to end: Bazel sends it when the test's time is over."""

    def stop_on_sigterm(self) -> None:
        """Let SIGTERM and SIGINT set `stopped` and wake the loop, instead of ending the process at once."""

        def stop(_number: int, _frame: FrameType | None) -> None:
            self.stopped = True

        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)

    def read(self, descriptor: int, reader: Reader) -> None:
        """Hand what arrives at a non-blocking descriptor to `reader`, until its end."""
        self._readers[descriptor] = reader
        self._selector.register(descriptor, selectors.EVENT_READ)

    def write(self, descriptor: int, data: bytes) -> bool:
        """Write as much as the pipe takes and keep the rest. False when nobody reads the other end."""
        queue = self._writes.get(descriptor)
        if queue is not None:
            queue.append(data)
            return True
        try:
            written = os.write(descriptor, data)
        except BlockingIOError:
            written = 0
        except OSError:
            return False
        if written < len(data):
            self._writes[descriptor] = deque([data[written:]])
            self._selector.register(descriptor, selectors.EVENT_WRITE)
        return True

    def is_writing(self, descriptor: int) -> bool:
        """Whether bytes still wait for this descriptor."""
        return descriptor in self._writes

    def forget(self, descriptor: int) -> None:
        """Watch a descriptor no longer and drop what waits for it."""
        if self._readers.pop(descriptor, None) is not None or self._writes.pop(descriptor, None) is not None:
            self._selector.unregister(descriptor)

    def step(self, seconds: float) -> bool:
        """Wait at most `seconds` for something and handle it. Whether anything happened."""
        ready = self._selector.select(max(0.0, seconds))
        for key, mask in ready:
            descriptor = key.fd
            if descriptor == self._wake_read:
                self._drain_wakeup()
            elif mask & selectors.EVENT_WRITE:
                self._flush(descriptor)
            else:
                self._pull(descriptor)
        return bool(ready)

    def close(self) -> None:
        """Release the loop's own descriptors and give the signals back."""
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _pull(self, descriptor: int) -> None:
        reader = self._readers.get(descriptor)
        if reader is None:
            return
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.forget(descriptor)
        reader(data)

    def _flush(self, descriptor: int) -> None:
        queue = self._writes.get(descriptor)
        while queue:
            data = queue.popleft()
            try:
                written = os.write(descriptor, data)
            except BlockingIOError:
                written = 0
            except OSError:
                queue.clear()
                break
            if written < len(data):
                queue.appendleft(data[written:])
                return
        if queue is not None:
            self._writes.pop(descriptor, None)
            self._selector.unregister(descriptor)

    def _drain_wakeup(self) -> None:
        try:
            while os.read(self._wake_read, 4096):
                continue
        except BlockingIOError:
            return
