"""The far side of a recording: a provider at a base URL, asked over HTTP, its answer handed on piece by piece.

Bytes go up as they are and come down as they arrive. Nothing is retried, no redirect is followed, and no proxy variable
of the caller counts, so what is recorded came from the URL that was named. Whatever goes wrong is an UpstreamError that
reads as a sentence. Imported by a recording and by nothing that replays.
"""

import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from typing import Any

import httpx

from replay.errors import UsageError

__all__ = ["MAX_REPLY_BYTES", "Upstream", "UpstreamCall", "UpstreamError"]

MAX_REPLY_BYTES = 64 << 20
"""No model says so much; a reply that is larger never ends."""

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 600.0
_TIMEOUT = httpx.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS, pool=None)


class UpstreamError(Exception):
    """The provider was not reached, or its answer broke off. The text says how, without a final full stop."""


class Upstream:
    """A provider's base URL; calls may run at once. `url` is as the caller wrote it."""

    def __init__(self, url: str, base_path: str) -> None:
        """base_path: the path that clients of this API have in their base URL ("/v1"), "" for none.

        `url` is an origin, or a base URL as those clients take it. Raises UsageError for a URL that is neither.
        """
        self.url = url
        if any(mark in url for mark in "@?#"):
            # Before anything else is said about it: it may hold a key.
            raise UsageError(
                "the upstream URL holds more than a host and a path",
                fix="leave user, query and fragment out; a key goes into the environment",
            )
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL:
            parsed = httpx.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise UsageError(
                f'"{url}" is no base URL of a provider', fix="write one such as http://127.0.0.1:8080/v1"
            )
        self.is_loopback = _is_loopback(parsed.host)
        self._origin = f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"
        self._path = parsed.path.rstrip("/")
        self._base_path = base_path
        # A connection of its own for each call: an idle one may be closed by the provider just when it is used again.
        self._client = httpx.Client(
            timeout=_TIMEOUT,
            limits=httpx.Limits(max_keepalive_connections=0, max_connections=None),
            trust_env=False,
            follow_redirects=False,
            # One that keeps nothing: a call must not depend on an earlier one.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )
        self._client.headers.clear()

    def url_of(self, target: str) -> str:
        """The provider's URL for a local path with its query.

        A base URL that has a path stands for `base_path`; where its end repeats the beginning of what follows, that
        stands once: http://host/v1 and http://host are the same provider.
        """
        path = self._path
        if path:
            target = target.removeprefix(self._base_path) if path != self._base_path else target
            steps = path.split("/")
            for count in range(len(steps) - 1, 0, -1):
                overlap = "/" + "/".join(steps[-count:])
                if target.startswith(overlap + "/"):
                    path = path.removesuffix(overlap)
                    break
        return self._origin + path + target

    def call(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> UpstreamCall:
        """A request, not sent yet."""
        return UpstreamCall(self._client, method, self.url_of(target), headers, body)

    def close(self) -> None:
        """Let go of what is still open."""
        self._client.close()


class UpstreamCall:
    """One request on its way. `open` first, then read `pieces`, then `close`; `abort` may come from any thread."""

    def __init__(
        self,
        client: httpx.Client,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
    ) -> None:
        self.aborted = False
        self.status = 0
        self.headers: Mapping[str, str] = {}
        """Names in lower case. Set by `open`, as is `status`."""
        self._client = client
        self._request = client.build_request(
            method,
            url,
            headers=[*headers, ("accept-encoding", "identity")],
            content=body,
            extensions={"trace": self._follow, "timeout": _TIMEOUT.as_dict()},
        )
        self._response: httpx.Response | None = None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Send the request and wait for the head of the answer. Raises UpstreamError."""
        try:
            self._response = self._client.send(self._request, stream=True)
        except httpx.HTTPError as error:
            raise UpstreamError(_sentence(error)) from error
        self.status = self._response.status_code
        self.headers = self._response.headers

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives. Raises UpstreamError where it breaks off or goes on beyond MAX_REPLY_BYTES."""
        if self._response is None:
            return
        size = 0
        try:
            for piece in self._response.iter_bytes():
                size += len(piece)
                if size > MAX_REPLY_BYTES:
                    raise UpstreamError(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
                yield piece
        except httpx.HTTPError as error:
            raise UpstreamError(_sentence(error)) from error

    def close(self) -> None:
        """Let go of the connection. May be called again."""
        if self._response is not None:
            self._response.close()

    def abort(self) -> None:
        """Nobody wants the answer any more: end the connection, so that whoever reads from it wakes up."""
        with self._lock:
            self.aborted = True
            _shut_down(self._socket)

    def _follow(self, event: str, info: Mapping[str, Any]) -> None:
        """Keeps the socket, which nothing else gives away before the answer has begun."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.aborted:
                    _shut_down(self._socket)


def _shut_down(connection: socket.socket | None) -> None:
    if connection is not None:
        try:
            # Of the plain socket: an encrypted one would take its state away from the thread that reads.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        except OSError:
            return


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _sentence(error: httpx.HTTPError) -> str:
    """What happened, without the number of an errno."""
    match error:
        case httpx.ConnectTimeout():
            return f"no connection in {_CONNECT_SECONDS:g} s"
        case httpx.ReadTimeout():
            return f"nothing came for {_SILENT_SECONDS:g} s"
        case httpx.ProtocolError():
            # Behind a colon it quotes a header.
            return str(error).partition(":")[0]
        case httpx.TimeoutException():
            return "the request could not be sent in time"
    text = str(error).rstrip(".")
    if text.startswith("[Errno"):
        text = text.partition("] ")[2]
    return text or type(error).__name__
