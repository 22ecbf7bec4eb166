"""The gateway's place taken by the live provider: what an agent over HTTP asks and gets becomes steps of its run.

The recording proxy of session replay forwards each call with the caller's key, which the agent never sees.
"""

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replay.errors import AgentError
from replay.models.call_log import ModelCall, plain_key
from replay.models.codecs import load_codec
from replay.models.http_server import Answer, Exchange
from replay.models.recording_proxy import RecordingProxy
from replay.models.upstream import Upstream
from replay.models.wire import WireRequest
from replay.runner.record_seam import ANY_KEY, api_key
from replay.runner.seam import proxy_variables
from replay.runner.trace_gateway import Asked, asked
from replay.runner.trace_manifest import TraceAgent
from replay.trace.model import StepError
from replay.trace.protocol import Done

__all__ = ["LiveGateway"]

_COMPLETED = "completed"


class LiveGateway(RecordingProxy):
    """Forwards, and tells the run. inherited: the caller's variables, among them the provider's key."""

    def __init__(self, agent: TraceAgent, inherited: Mapping[str, str], play: Asked) -> None:
        codec = load_codec(agent.model_api)
        upstream = Upstream(agent.upstream or codec.UPSTREAM, codec.BASE_PATH)
        key = api_key(codec.KEY_VARIABLES, upstream, inherited)
        super().__init__(agent.model_api, upstream, plain_key, api_key=key, ended=self._is_over)
        self._play = play
        self._numbers = itertools.count(1)
        self._ids: dict[int, str | int] = {}
        self._naming = threading.Lock()
        url = self.start()
        self.values: Mapping[str, str] = {"gateway_url": url, "gateway_origin": self.origin}
        self.environment: Mapping[str, str] = proxy_variables(self.origin)
        self.withheld: Sequence[str] = (ANY_KEY, *codec.KEY_VARIABLES)

    def problem(self) -> AgentError | None:
        """What went wrong with the provider or the agent. Raises a fault of our own."""
        if self.fault is not None:
            raise self.fault
        if self.divergence is not None:
            return AgentError(self.divergence.what, fix=self.divergence.fix)
        return AgentError(str(self.findings[0]["message"])) if self.findings else None

    def _answer_call(self, exchange: Exchange, request: WireRequest) -> Answer:
        with self._naming:
            ask = asked(request, next(self._numbers))
            self._ids[id(request)] = ask.id
        self._play.ask(ask)
        return super()._answer_call(exchange, request)

    def _is_over(self, call: ModelCall) -> None:
        with self._naming:
            number = self._ids.pop(id(call.request), None)
        if number is None:
            return
        chunks = list(call.chunks)
        failure = call.outcome if call.outcome["kind"] != _COMPLETED else None
        error = None
        if failure is not None:
            error = StepError(str(failure.get("code") or failure["kind"]), str(failure.get("message", "")))
        usage: Mapping[str, Any] = next(
            (chunk["usage"] for chunk in reversed(chunks) if chunk["type"] == "usage"), {}
        )
        self._play.done(
            Done(
                number,
                chunks,
                error,
                "complete",
                _text(chunks),
                call.request.model,
                _count(usage, "inputTokens"),
                _count(usage, "outputTokens"),
            )
        )


def _text(chunks: Iterable[Mapping[str, Any]]) -> str | None:
    """What the model said, "" for an answer of tool calls alone."""
    return "".join(str(chunk["text"]) for chunk in chunks if chunk["type"] == "text-delta")


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) else None
