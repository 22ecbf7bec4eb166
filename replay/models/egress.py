"""An attempt to leave this machine: which host a proxy request means, and a watch that refuses and names it.

An agent that replays in its own process has no gateway to be its proxy. The watch stands there instead: it reads the
head of a request, answers 403 and remembers host and port. It speaks no more HTTP than that, so that a replay without
a gateway need not load one.
"""

import socket
import threading

__all__ = ["EgressWatch", "authority"]

_MAX_HEAD_BYTES = 1 << 16
_READ_BYTES = 1 << 12


def authority(target: str) -> tuple[str, int]:
    """Host and port that a proxy request asks for: from CONNECT's target or an absolute URL; user and key dropped."""
    scheme, found, rest = target.partition("://")
    name = (rest if found else target).partition("/")[0].partition("?")[0].rpartition("@")[2]
    host, _, port = name.rpartition(":")
    if not host or not port.isdecimal():
        host, port = name, "443" if not found or scheme == "https" else "80"
    return host, int(port[:5])


class EgressWatch:
    """Listens on 127.0.0.1 from its making until `stop`. hosts: (host, port) of each attempt, in order of arrival."""

    def __init__(self) -> None:
        self.hosts: list[tuple[str, int]] = []
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(64)
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: socket.socket | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="egress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No thread and no socket is left. May be called again."""
        with self._lock:
            self._stopped = True
            for each in (self._listener, self._open):
                if each is not None:
                    try:  # noqa: SIM105 - contextlib is one import more at every start
                        each.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                with self._lock:
                    if self._stopped:
                        return
                    self._open = connection
                try:
                    self._refuse(connection)
                except OSError:
                    continue  # the client left, or stop() shut the socket down

    def _refuse(self, connection: socket.socket) -> None:
        head = b""
        while b"\n" not in head and len(head) < _MAX_HEAD_BYTES:
            data = connection.recv(_READ_BYTES)
            if not data:
                return
            head += data
        words = head.partition(b"\n")[0].decode("ascii", "replace").split()
        if len(words) < 2:
            return
        self.hosts.append(authority(words[1]))
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
