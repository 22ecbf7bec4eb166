"""One provider's HTTP API on loopback: what the replaying gateway and the recording proxy have in common.

An agent of any language is pointed at `base_url`. Here it is decided what a request is: a model call, which a subclass
answers; a question about the models, which the codec answers; a route that the API does not have; or an attempt to
leave this machine, which is refused and named. Refusals have the provider's own error shape, and what an agent did that
it should not stands in `findings`. Headers are neither kept nor shown, so no key that an agent sends reaches a report.
"""

import threading
from typing import TYPE_CHECKING, ClassVar

from replay.errors import ReplayError
from replay.models.codecs import load_codec
from replay.models.egress import authority
from replay.models.http_server import Answer, Exchange, Server
from replay.models.wire import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replay.models.wire import Json, WireRequest

__all__ = ["EVENTS_TYPE", "JSON_TYPE", "MAX_BODY_BYTES", "Endpoint"]

MAX_BODY_BYTES = 64 << 20
"""Requests carry whole conversations with images inline; anything larger is a runaway agent."""

JSON_TYPE = ("content-type", "application/json")
EVENTS_TYPE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
_RETRY_MS = 10


class Endpoint:
    """The wire of `codec_name` between `start` and `stop`; a subclass answers the model calls. Use once.

    models: names for the model list; empty means that any name is known.

    findings: what an agent did that it should not, `{"kind", "message", …}`; kind is `egress` (with host and port),
    `route`, `request` or `protocol`. divergence: why the first call that could not be answered was not. fault: our
    own error, to be raised by the runner. The lists may grow until `stop` has returned.
    """

    beyond: ClassVar[str]
    """What a message says about the network that there is not."""

    def __init__(
        self, codec_name: str, models: Sequence[str] = (), max_body_bytes: int = MAX_BODY_BYTES
    ) -> None:
        self.base_url = ""
        self.origin = ""
        self.findings: list[dict[str, Json]] = []
        self.divergence: ReplayError | None = None
        self.fault: BaseException | None = None
        self._codec = load_codec(codec_name)
        self._models = models
        self._lock = threading.Lock()
        self._server = Server(self, max_body_bytes)

    def start(self) -> str:
        """Listens on a free port of 127.0.0.1 and returns `base_url`, the URL that the provider's clients take."""
        self.origin = f"http://127.0.0.1:{self._server.start()}"
        self.base_url = self.origin + self._codec.BASE_PATH
        return self.base_url

    def stop(self) -> None:
        """Ends what is still open, hangs included; no thread and no socket is left. May be called again."""
        self._server.stop()

    # The application's half of http_server; called from the connections' threads.

    def answer(self, exchange: Exchange) -> Answer:
        """Answers one request of whatever kind."""
        path = self._local_path(exchange)
        if path is None:
            return self._refuse_egress(exchange)
        if exchange.method == "POST" and self._codec.is_call(path):
            try:
                return self._answer_call(exchange, self._decode(exchange))
            except RequestRefused as refused:
                self._find("request", f"the agent's request is refused: {refused.message}")
                return self._error(refused.status, refused.message, refused.code)
        body = self._codec.probe(exchange.method, path, self._models)
        if body is not None:
            return Answer(200, [JSON_TYPE], [body])
        if self._codec.is_call(path):
            return self._error(
                405, f"{exchange.method} is not allowed here, POST is", "", [("allow", "POST")]
            )
        message = f"{exchange.method} {path} is no route of this API"
        if exchange.method not in ("GET", "HEAD"):
            # Agents probe with GET; anything else means that the API is not the one that the agent speaks.
            self._find("route", f"the agent asked for a route that is not replayed: {exchange.method} {path}")
        return self._error(404, message, "unknown_url")

    def answer_unreadable(self, status: int, message: str) -> Answer:
        """Answers bytes that are no request."""
        self._find("protocol", message)
        return self._error(status, message, "")

    def fail(self, error: BaseException) -> None:
        """Remembers what ended a connection's thread."""
        with self._lock:
            self._remember(error)

    # For subclasses.

    def _answer_call(self, exchange: Exchange, request: WireRequest) -> Answer:
        """Answers one model call. May raise RequestRefused."""
        raise NotImplementedError

    def _target(self, exchange: Exchange) -> str:
        """The local path with its query."""
        return exchange.target.removeprefix(self.origin)

    def _error(
        self,
        status: int,
        message: str,
        code: str,
        headers: Sequence[tuple[str, str]] = (),
        retry_after_ms: int | None = None,
    ) -> Answer:
        if retry_after_ms is None and status == 429:
            retry_after_ms = _RETRY_MS
        body = self._codec.encode_error(status, message, code, retry_after_ms)
        retry = [] if retry_after_ms is None else _retry_headers(retry_after_ms)
        return Answer(status, [JSON_TYPE, *headers, *retry], [body])

    def _find(self, kind: str, message: str, **fields: Json) -> None:
        with self._lock:
            self.findings.append({"kind": kind, "message": message, **fields})

    def _remember(self, error: BaseException) -> None:
        """Keeps the first of each sort: what follows is mostly its consequence. Call with the lock held."""
        if isinstance(error, ReplayError):
            self.divergence = self.divergence or error
        else:
            self.fault = self.fault or error

    # Requests.

    def _decode(self, exchange: Exchange) -> WireRequest:
        if exchange.encoding not in ("", "identity"):
            raise RequestRefused(415, f"content-encoding {exchange.encoding} is not supported")
        return self._codec.decode_request(self._target(exchange), exchange.body)

    def _local_path(self, exchange: Exchange) -> str | None:
        """The path without its query, None for a proxy request that means another host."""
        target = exchange.target
        if exchange.method == "CONNECT":
            return None
        if not target.startswith("/"):
            # A proxy-aware client sends this form to its proxy, and also for us where we are its proxy.
            if not target.startswith((self.origin + "/", self.origin + "?")) and target not in (
                "*",
                self.origin,
            ):
                return None
            target = target.removeprefix(self.origin) or "/"
        return target.partition("?")[0]

    def _refuse_egress(self, exchange: Exchange) -> Answer:
        host, port = authority(exchange.target)
        message = f"the agent tried to reach {host}:{port}; {self.beyond}"
        self._find("egress", message, host=host, port=port)
        answer = self._error(403, f"agent_replay: {message}", "")
        return answer._replace(headers=[*answer.headers, ("connection", "close")])


def _retry_headers(after_ms: int) -> list[tuple[str, str]]:
    """Whole seconds for everybody, and milliseconds for the clients that look for them first."""
    return [("retry-after", str(-(-after_ms // 1000))), ("retry-after-ms", str(after_ms))]
