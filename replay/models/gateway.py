"""The loopback gateway: one provider's HTTP API, answered from the recording.

An agent of any language is pointed at `base_url`. Each model call is decoded by the codec, bound to its lane by the
player and answered with that lane's next entry: chunks as a stream or a whole reply, a throw as an error status or
a stream that really breaks, a hang as a stream that stays open. What the gateway cannot serve it answers in the
provider's own error shape and remembers for the runner: `divergence`, `findings`, `fault`.
Headers are neither kept nor shown, so no key that an agent sends can reach a report. No request leaves this
machine: a proxy request for any other host is refused and named in `findings`.
"""

import threading
from typing import TYPE_CHECKING

from replay.errors import ReplayError
from replay.models.codecs import load_codec
from replay.models.http_server import BREAK, END, HOLD, Answer, Exchange, Server
from replay.models.ready_file import make_ready_file
from replay.models.wire import RequestRefused, fault_status, model_request
from replay.script import Hang, Throw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replay.models.wire import Json, WireRequest
    from replay.script import Player, Served

__all__ = ["MAX_BODY_BYTES", "Gateway"]

MAX_BODY_BYTES = 64 << 20
"""Requests carry whole conversations with images inline; anything larger is a runaway agent."""

_JSON = ("content-type", "application/json")
_EVENTS = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
_RETRY = [("retry-after", "1"), ("retry-after-ms", "10")]
_DIVERGED = "agent_replay_divergence"


class Gateway:
    """Serves `player` over the wire of `codec_name` between `start` and `stop`. Use once.

    cwd: the session's directory, in which hang entries make their readyFile. journal: the list that the player's
    journal callback appends to. models: names for the model list; empty means that any name is known.

    requests: every model call in order of arrival, `{"lane", "ordinal", "model", "messages", "tools", "options"}`
    with provider-neutral messages; lane is "" and ordinal 0 for a call that diverged. findings: what an agent did
    that it should not, `{"kind", "message", …}`; kind is `egress` (with host and port), `route`, `request` or
    `protocol`. divergence: the first call that left the recording. fault: our own error, to be raised by the
    runner. The lists may grow until `stop` has returned.
    """

    def __init__(
        self,
        player: Player,
        codec_name: str,
        *,
        cwd: str = "",
        journal: list[dict[str, Json]] | None = None,
        models: Sequence[str] = (),
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.base_url = ""
        self.origin = ""
        self.journal: list[dict[str, Json]] = [] if journal is None else journal
        self.requests: list[dict[str, Json]] = []
        self.findings: list[dict[str, Json]] = []
        self.divergence: ReplayError | None = None
        self.fault: BaseException | None = None
        self._player = player
        self._codec = load_codec(codec_name)
        self._cwd = cwd
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
                return self._call(path, exchange)
            except RequestRefused as refused:
                self._find("request", f"the agent's request is refused: {refused.message}")
                return self._error(refused.status, refused.message, refused.code)
        body = self._codec.probe(exchange.method, path, self._models)
        if body is not None:
            return Answer(200, [_JSON], [body])
        if self._codec.is_call(path):
            return self._error(
                405, f"{exchange.method} is not allowed here, POST is", "", [("allow", "POST")]
            )
        message = f"{exchange.method} {path} is no route of this API"
        if exchange.method not in ("GET", "HEAD"):
            # Agents probe with GET; anything else means that the suite's model_api is not the agent's.
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

    # Replies

    def _call(self, path: str, exchange: Exchange) -> Answer:
        if exchange.encoding not in ("", "identity"):
            raise RequestRefused(415, f"content-encoding {exchange.encoding} is not supported")
        request = self._codec.decode_request(path, exchange.body)
        seen = {"lane": "", "ordinal": 0, "model": request.model, "messages": request.messages}
        seen |= {"tools": request.tools, "options": request.options}
        with self._lock:
            self.requests.append(seen)
            try:
                served = self._player.open(model_request(request.messages, None, None))
            except ReplayError as error:
                self._remember(error)
                return self._error(400, f"agent_replay: {error}", _DIVERGED)
            seen["lane"], seen["ordinal"] = served.lane, served.ordinal
        return self._reply(served, request)

    def _reply(self, served: Served, request: WireRequest) -> Answer:
        """The answer that an entry stands for. Its id says lane and ordinal, so any order of arrival gives the same."""
        entry = served.entry
        chunks = list(entry.expand())
        name = f"{served.ordinal}" if served.lane == "parent" else f"{served.lane}-{served.ordinal}"
        reply_id = name.replace(" ", "-")
        headers = [("x-request-id", f"req-{reply_id}")]
        ending: str = END
        then: Callable[[], None] | None = None
        if isinstance(entry, Throw):
            if not chunks:
                return self._error(fault_status(entry.code), entry.message, entry.code, headers)
            ending = BREAK
        elif isinstance(entry, Hang):
            ending = HOLD
            if entry.ready_file:
                then = _ready(self._cwd, entry.ready_file)
        if request.stream:
            stream = self._codec.encode_stream(chunks, request, reply_id, ending == END)
            return Answer(200, [*_EVENTS, *headers], stream, True, ending, then)
        body = self._codec.encode_response(chunks, request, reply_id)
        return Answer(200, [_JSON, *headers], [body], False, ending, then)

    def _error(self, status: int, message: str, code: str, headers: Sequence[tuple[str, str]] = ()) -> Answer:
        retry = _RETRY if status == 429 else []
        return Answer(status, [_JSON, *headers, *retry], [self._codec.encode_error(status, message, code)])

    # Records

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
        host, port = _authority(exchange)
        message = f"the agent tried to reach {host}:{port}; a replay has no network beyond this gateway"
        self._find("egress", message, host=host, port=port)
        answer = self._error(403, f"agent_replay: {message}", "")
        return answer._replace(headers=[*answer.headers, ("connection", "close")])

    def _find(self, kind: str, message: str, **fields: Json) -> None:
        with self._lock:
            self.findings.append({"kind": kind, "message": message, **fields})

    def _remember(self, error: BaseException) -> None:
        """Keeps the first of each sort: what follows is mostly its consequence. Call with the lock held."""
        if isinstance(error, ReplayError):
            self.divergence = self.divergence or error
        else:
            self.fault = self.fault or error


def _ready(cwd: str, name: str) -> Callable[[], None]:
    return lambda: make_ready_file(cwd, name)


def _authority(exchange: Exchange) -> tuple[str, int]:
    """Host and port that a proxy request asks for: from CONNECT's target or an absolute URL; user and key dropped."""
    scheme, found, rest = exchange.target.partition("://")
    authority = (rest if found else exchange.target).partition("/")[0].rpartition("@")[2]
    host, _, port = authority.rpartition(":")
    if not host or not port.isdecimal():
        host, port = authority, "443" if not found or scheme == "https" else "80"
    return host, int(port[:5])
