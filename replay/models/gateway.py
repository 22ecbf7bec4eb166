"""The loopback gateway: one provider's HTTP API, answered from the recording.

Each model call is bound to its lane by the player and answered with that lane's next entry: chunks as a stream or a
whole reply, a throw as an error status or a stream that really breaks, a hang as a stream that stays open, a fault as
fault.py says. What the recording does not hold is answered in the provider's own error shape and remembered as the
`divergence`. What all this rests on, routes and refusals, is endpoint.py. No request leaves this machine.
"""

import threading
from typing import TYPE_CHECKING

from replay.errors import ReplayError
from replay.models.call_log import ModelCall, plain_key
from replay.models.endpoint import EVENTS_TYPE, JSON_TYPE, MAX_BODY_BYTES, Endpoint
from replay.models.fault import Reply, answer_fault
from replay.models.http_server import BREAK, END, HOLD, Answer, Exchange
from replay.models.ready_file import make_ready_file
from replay.models.wire import fault_status, model_request
from replay.script import Fault, Hang, Throw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replay.models.call_log import Key
    from replay.models.wire import Json, WireRequest
    from replay.script import Player, Served

__all__ = ["Gateway"]

_DIVERGED = "agent_replay_divergence"


class Gateway(Endpoint):
    """Serves `player` over the wire of `codec_name` between `start` and `stop`. Use once.

    key: the key of a request, by which it is known in the recording. cwd: the session's directory, in which hang
    entries make their readyFile. journal: the list that the player's journal callback appends to.

    calls: every model call in order of arrival; lane is "" and ordinal 0 for one that diverged.
    """

    beyond = "a replay has no network beyond this gateway"

    def __init__(
        self,
        player: Player,
        codec_name: str,
        *,
        key: Key = plain_key,
        cwd: str = "",
        journal: list[dict[str, Json]] | None = None,
        models: Sequence[str] = (),
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        super().__init__(codec_name, models, max_body_bytes)
        self.journal: list[dict[str, Json]] = [] if journal is None else journal
        self.calls: list[ModelCall] = []
        self._player = player
        self._key = key
        self._cwd = cwd
        self._is_stopping = threading.Event()

    def stop(self) -> None:
        """Ends what is still open, faults that take their time included."""
        self._is_stopping.set()
        super().stop()

    def _answer_call(self, exchange: Exchange, request: WireRequest) -> Answer:
        call = ModelCall(request, self._key)
        asked = model_request(request.messages, None, None)
        asked.key, asked.hashes, asked.conversation = call.key, call.hashes, request.messages
        with self._lock:
            self.calls.append(call)
            try:
                served = self._player.open(asked)
            except ReplayError as error:
                self._remember(error)
                return self._error(400, f"agent_replay: {error}", _DIVERGED)
            call.lane, call.ordinal = served.lane, served.ordinal
        call.chunks, call.outcome = list(served.entry.expand()), served.entry.outcome
        return self._reply(served, call)

    def _reply(self, served: Served, call: ModelCall) -> Answer:
        """The answer that an entry stands for. Its id says lane and ordinal, so any order of arrival gives the same."""
        entry, chunks, request = served.entry, call.chunks, call.request
        name = f"{served.ordinal}" if served.lane == "parent" else f"{served.lane}-{served.ordinal}"
        reply_id = name.replace(" ", "-")
        headers = [(self._codec.REQUEST_ID, f"req-{reply_id}")]
        ending: str = END
        then: Callable[[], None] | None = None
        if isinstance(entry, Throw):
            if not chunks:
                status = fault_status(entry.code)
                return self._error(status, entry.message, entry.code, headers, entry.retry_after_ms)
            ending = BREAK
        elif isinstance(entry, Hang):
            ending = HOLD
            if entry.ready_file:
                then = _ready(self._cwd, entry.ready_file)
        elif isinstance(entry, Fault):
            return answer_fault(
                entry, Reply(self._codec, list(chunks), request, reply_id, headers), self._wait
            )
        if request.stream:
            stream = self._codec.encode_stream(chunks, request, reply_id, ending == END)
            return Answer(200, [*EVENTS_TYPE, *headers], stream, True, ending, then)
        body = self._codec.encode_response(chunks, request, reply_id)
        return Answer(200, [JSON_TYPE, *headers], [body], False, ending, then)

    def _wait(self, ms: int) -> None:
        """Raises ConnectionAbortedError if the gateway is stopped meanwhile."""
        if self._is_stopping.wait(ms / 1000):
            raise ConnectionAbortedError


def _ready(cwd: str, name: str) -> Callable[[], None]:
    return lambda: make_ready_file(cwd, name)
