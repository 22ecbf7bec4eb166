"""The recording proxy: the gateway's place taken by the live provider, and a note kept of every call.

An agent is pointed at `base_url`. Its bytes go to the provider as they are, with the caller's key in the place of
whatever the agent holds for one, and the provider's bytes come back as they arrive while the codec turns them into
chunks. A call that the provider refuses, or whose stream breaks, is recorded as it was; a provider that is not there at
all is the `divergence`, for there is nothing to record. No key is kept, shown or handed to the agent.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from replay.errors import FixtureError, UsageError
from replay.models.call_log import ModelCall
from replay.models.endpoint import Endpoint
from replay.models.http_server import BREAK, Answer, Exchange
from replay.models.retry_after import retry_after_ms
from replay.models.upstream import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from replay.models.call_log import Key
    from replay.models.gateway import Gateway
    from replay.models.upstream import Upstream, UpstreamCall
    from replay.models.wire import Chunk, Codec, Json, WireRequest

__all__ = ["Earlier", "RecordingProxy"]

_REQUEST_HEADERS: Final = frozenset(
    (
        *("accept", "content-type", "user-agent"),
        *("anthropic-beta", "anthropic-version", "openai-beta", "x-goog-api-client"),
    )
)
_RESPONSE_HEADERS: Final = frozenset(
    (
        *("content-type", "cache-control", "retry-after", "retry-after-ms", "x-should-retry"),
        *("request-id", "x-request-id"),
    )
)
_KEY_PARAMETERS: Final = frozenset(("key", "api_key", "api-key", "access_token", "oauth_token"))


class Earlier(NamedTuple):
    """What an earlier recording answers: the first `calls` calls, by a gateway that is not started itself."""

    gateway: Gateway
    calls: int


class RecordingProxy(Endpoint):
    """Forwards the calls of an agent that speaks `codec_name` to `upstream`, between `start` and `stop`. Use once.

    api_key: put into each request as the provider wants it; "" for none. model: asked for instead of the agent's.
    key: makes the keys of requests. ended: told of each answer of the provider that is over, from any thread but of one
    after the other. calls: every model call in order of arrival; complete once `stop` has returned. Raises UsageError
    for an api_key that no header can carry.
    """

    beyond = "a recording reaches the model's provider and nothing else"

    def __init__(
        self,
        codec_name: str,
        upstream: Upstream,
        key: Key,
        *,
        api_key: str = "",
        model: str = "",
        ended: Callable[[ModelCall], None] = lambda _: None,
        earlier: Earlier | None = None,
    ) -> None:
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise UsageError(
                "the key of the provider holds a space, a line end or another character that no header takes",
                fix="export it again without that",
            )
        super().__init__(codec_name)
        self.calls: list[ModelCall] = []
        self._upstream = upstream
        self._key = key
        self._api_key = api_key
        self._model = model
        self._ended = ended
        self._earlier = earlier

    def stop(self) -> None:
        """Ends what is still open; a call that was running is a cancelled one. May be called again."""
        if self._earlier is not None:
            # First, since the threads that are waited for may be waiting for a fault of it.
            self._earlier.gateway.stop()
        super().stop()
        self._upstream.close()

    def _answer_call(self, exchange: Exchange, request: WireRequest) -> Answer:
        with self._lock:
            earlier = self._earlier
            if earlier is not None and len(self.calls) < earlier.calls:
                return self._answer_from(earlier.gateway, exchange)
            call = ModelCall(request, self._key)
            # Until the provider's answer has come to its end.
            call.outcome = {"kind": "cancelled"}
            self.calls.append(call)
        sent = self._send(exchange)
        exchange.client.when_gone(sent.abort)
        try:
            sent.open()
        except UpstreamError as error:
            if sent.aborted:
                raise ConnectionAbortedError from None
            return self._refuse_dead(str(error))
        if 300 <= sent.status < 400:
            sent.close()
            return self._refuse_dead("it answers with a redirect, which a recording does not follow")
        note = _Note(self._codec, call, self._tell)
        headers = _allowed(sent.headers.items(), _RESPONSE_HEADERS)
        if sent.status < 400 and request.stream:
            pieces = _stream(sent, map(self._without_key, sent.pieces()), note)
            return Answer(sent.status, headers, pieces, streamed=True, live=True)
        return self._whole(sent, note, headers)

    def _send(self, exchange: Exchange) -> UpstreamCall:
        target, body = _without_dummy(self._target(exchange)), exchange.body
        if self._model:
            target, body = self._codec.with_model(target, body, self._model)
        headers = _allowed(exchange.headers, _REQUEST_HEADERS)
        headers += self._codec.authorization(self._api_key) if self._api_key else []
        return self._upstream.call(exchange.method, target, headers, body)

    def _whole(self, sent: UpstreamCall, note: _Note, headers: Sequence[tuple[str, str]]) -> Answer:
        """The answer to a call that is not streamed, or that the provider refused."""
        pieces: list[bytes] = []
        try:
            pieces.extend(sent.pieces())
        except UpstreamError as error:
            if sent.aborted:
                raise ConnectionAbortedError from None
            note.fail(str(error), "INCOMPLETE")
            return Answer(sent.status, [*headers], [self._without_key(b"".join(pieces))], ending=BREAK)
        finally:
            sent.close()
        body = self._without_key(b"".join(pieces))
        if sent.status >= 400:
            message, code = self._codec.decode_error(sent.status, body)
            note.fail(message, code, retry_after_ms(sent.headers, body))
        else:
            note.take_whole(body)
        return Answer(sent.status, [*headers], [body])

    def _answer_from(self, gateway: Gateway, exchange: Exchange) -> Answer:
        """An earlier turn's call. Held under the lock, so that the order of `calls` is that of arrival."""
        answer = gateway.answer(exchange._replace(target=self._target(exchange)))
        self.calls.extend(gateway.calls[len(self.calls) :])
        if gateway.divergence is not None:
            self._remember(gateway.divergence)
        return answer

    def _tell(self, call: ModelCall) -> None:
        # Calls end at once in several threads, and who counts them should not have to know.
        with self._lock:
            self._ended(call)

    def _without_key(self, data: bytes) -> bytes:
        """What the agent gets and the note takes: a provider may quote the key that it does not know."""
        return data.replace(self._api_key.encode(), b"[key]") if self._api_key else data

    def _refuse_dead(self, reason: str) -> Answer:
        message = f"{self._upstream.url} does not answer: {reason}"
        with self._lock:
            self._remember(UsageError(message, fix="start it, or name another with --upstream"))
        return self._error(502, f"agent_replay: {message}", "")


class _Note:
    """What one call turns out to be, while its bytes pass."""

    def __init__(self, codec: Codec, call: ModelCall, ended: Callable[[ModelCall], None]) -> None:
        self._codec = codec
        self._call = call
        self._ended = ended
        self._chunks: list[Chunk] = []
        self._decoder = codec.StreamDecoder()
        self._pieces: list[bytes] = []
        self._is_refused = False
        call.chunks = self._chunks

    def take(self, piece: bytes) -> None:
        """A piece of a stream that the agent has got."""
        if self._is_refused:
            return
        if not self._chunks:
            self._pieces.append(piece)
        try:
            self._chunks.extend(self._decoder.feed(piece))
        except FixtureError as error:
            self._is_refused = True
            self._call.outcome = {"kind": "failed", "message": error.what, "code": "MALFORMED"}

    def end(self) -> None:
        """The stream came to its end."""
        if self._is_refused or self._is_complete():
            self._ended(self._call)
        elif not self._chunks and self._pieces:
            # Asked for a stream, some servers send the whole reply at once.
            self.take_whole(b"".join(self._pieces))
        else:
            self.fail("the stream ended before the reply did", "INCOMPLETE")

    def hang_up(self) -> None:
        """The agent left. Many do so at the last event, and then the call is no cancelled one."""
        if not self._is_refused:
            self._is_complete()
        self._ended(self._call)

    def _is_complete(self) -> bool:
        self._chunks.extend(self._decoder.close())
        if self._decoder.complete:
            self._call.outcome = {"kind": "completed"}
        return self._decoder.complete

    def take_whole(self, body: bytes) -> None:
        """A reply that was not streamed."""
        try:
            self._chunks.extend(self._codec.decode_response(body))
            self._call.outcome = {"kind": "completed"}
        except FixtureError as error:
            self._call.outcome = {"kind": "failed", "message": error.what, "code": "MALFORMED"}
        self._ended(self._call)

    def fail(self, message: str, code: str, after_ms: int | None = None) -> None:
        """The provider refused the call, or its answer broke off. after_ms: when it wants to be asked again."""
        outcome: dict[str, Json] = {"kind": "failed", "message": message}
        retry = {} if after_ms is None else {"retryAfterMs": after_ms}
        self._call.outcome = outcome | ({"code": code} if code else {}) | retry
        self._ended(self._call)


def _stream(sent: UpstreamCall, pieces: Iterable[bytes], note: _Note) -> Iterator[bytes]:
    """The body of a streamed answer. A piece counts once it is out: the agent of a cancelled call has got no more."""
    try:
        for piece in pieces:
            yield piece
            note.take(piece)
    except UpstreamError as error:
        if sent.aborted:
            note.hang_up()
        else:
            note.fail(str(error), "INCOMPLETE")
        # The agent's connection breaks as the provider's did.
        raise ConnectionAbortedError from None
    except GeneratorExit:
        note.hang_up()
        raise
    finally:
        sent.close()
    note.end()


def _allowed(headers: Iterable[tuple[str, str]], names: frozenset[str]) -> list[tuple[str, str]]:
    """The headers that are handed on. One beyond ASCII is allowed by HTTP and refused by those that write it."""
    return [(name, value) for name, value in headers if name in names and value.isascii()]


def _without_dummy(target: str) -> str:
    """A local path whose query holds no key: what the agent has is none, and the real one goes into a header."""
    path, _, query = target.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] not in _KEY_PARAMETERS]
    return f"{path}?{'&'.join(kept)}" if kept else path
