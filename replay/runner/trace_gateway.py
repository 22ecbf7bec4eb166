"""The gateway of a trace replay: an agent that speaks a provider's API has its model calls answered from the trace.

It is the gateway of session replay with another player behind it: a call that comes over HTTP is asked like one that
comes over the channel, and its recorded chunks are what the wire codec makes a reply of. A trace holds such a call's
response as the list of its chunks (design 4.1). The live one is trace_gateway_live.py.
"""

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from replay.errors import AgentError
from replay.models.endpoint import EVENTS_TYPE, JSON_TYPE, Endpoint
from replay.models.http_server import BREAK, END, Answer, Exchange
from replay.models.wire import WireRequest, fault_status
from replay.runner.seam import proxy_variables
from replay.runner.trace_manifest import TraceAgent
from replay.trace.model import StepError
from replay.trace.protocol import MODEL, Ask, Done
from replay.trace.replayer import Reply
from replay.trace.strategies import LIVE, Strategy

__all__ = ["Asked", "ModelGateway", "OpenCalls", "asked", "open_gateway"]

_DIVERGED = "agent_replay_divergence"


class Asked(Protocol):
    """Who plays the run: takes a call from whatever thread, and what came of a live one."""

    def ask(self, ask: Ask) -> Reply: ...
    def done(self, done: Done) -> None: ...


class ModelGateway(Protocol):
    """One gateway, listening until it is stopped."""

    values: Mapping[str, str]
    environment: Mapping[str, str]
    withheld: Sequence[str]

    def stop(self) -> None: ...
    def problem(self) -> AgentError | None: ...


class OpenCalls:
    """Live calls that are under way. lock: of whoever tells it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._ids: set[str | int] = set()

    def begin(self, id: str | int) -> None:
        with self._changed:
            self._ids.add(id)

    def end(self, id: str | int) -> None:
        with self._changed:
            self._ids.discard(id)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until there is none, at most `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._ids, seconds)


def open_gateway(
    agent: TraceAgent, strategy: Strategy, inherited: Mapping[str, str], play: Asked
) -> ModelGateway:
    """The gateway of a process. Raises UsageError for an API that is none, or a live one without a key."""
    if strategy.model == LIVE:
        from replay.runner.trace_gateway_live import LiveGateway  # httpx, which no served replay needs

        return LiveGateway(agent, inherited, play)
    return ServedGateway(agent.model_api, play)


def asked(request: WireRequest, number: int) -> Ask:
    """A request of the wire as a call of the protocol."""
    options = {key: value for key, value in request.options.items() if key != "temperature"}
    temperature = request.options.get("temperature")
    return Ask(
        MODEL,
        f"http-{number}",
        messages=request.messages,
        tools=request.tools or None,
        model_name=request.model,
        temperature=temperature if isinstance(temperature, int | float) else None,
        options=options,
    )


class ServedGateway(Endpoint):
    """Answers from the trace."""

    beyond = "a replay has no network beyond this gateway"

    def __init__(self, codec_name: str, play: Asked) -> None:
        super().__init__(codec_name)
        self._play = play
        self._numbers = itertools.count(1)
        self._numbering = threading.Lock()
        url = self.start()
        self.values: Mapping[str, str] = {"gateway_url": url, "gateway_origin": self.origin}
        self.environment: Mapping[str, str] = proxy_variables(self.origin)
        self.withheld: Sequence[str] = ()

    def problem(self) -> AgentError | None:
        """What the agent did that it should not. Raises a fault of our own."""
        if self.fault is not None:
            raise self.fault
        return AgentError(str(self.findings[0]["message"])) if self.findings else None

    def _answer_call(self, exchange: Exchange, request: WireRequest) -> Answer:
        with self._numbering:
            number = next(self._numbers)
        reply = self._play.ask(asked(request, number))
        if reply.is_over or (reply.error is not None and not reply.stream):
            error = reply.error or StepError("Error")
            code = _DIVERGED if reply.is_over else error.type
            return self._error(400 if reply.is_over else fault_status(error.type), error.message, code)
        chunks = reply.value
        if not isinstance(chunks, list) or not all(isinstance(chunk, dict) for chunk in chunks):
            what = "the trace holds this call's response in another form than chunks"
            self._find("request", f"{what}; record it through the gateway")
            return self._error(400, what, _DIVERGED)
        return self._reply(chunks, request, str(number), reply.error is None)

    def _reply(self, chunks: list[dict[str, Any]], request: WireRequest, name: str, is_whole: bool) -> Answer:
        headers = [(self._codec.REQUEST_ID, f"req-{name}")]
        ending = END if is_whole else BREAK
        if request.stream:
            stream = self._codec.encode_stream(chunks, request, name, is_whole)
            return Answer(200, [*EVENTS_TYPE, *headers], stream, True, ending)
        return Answer(
            200, [JSON_TYPE, *headers], [self._codec.encode_response(chunks, request, name)], False, ending
        )
