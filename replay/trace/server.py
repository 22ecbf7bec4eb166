"""What serves the calls of one run from its trace, or says that they are live. Pure.

A model call is known by its request key, the hash of what it is asked with, in the form in which requests are compared:
the first call of the trace with that key that was not made yet answers it. One that has no such call is answered by
position, and the change of its prompt is told; so a changed prompt is never taken for a changed order, and an extra call
does not spoil those after it. A tool call is known by its name and input. What was under way at once when it was recorded
may come in any order. A call below one that is served does not happen, and is not waited for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from replay.surface import Normaliser, Volatile
from replay.trace import divergence
from replay.trace.divergence import Divergence
from replay.trace.interleaving import overlap
from replay.trace.model import ABSENT, AgentStep, AgentTrace
from replay.trace.policy import nearest_call, policy
from replay.trace.protocol import MODEL, Ask
from replay.trace.strategies import SERVED, Strategy

__all__ = ["Answer", "Server", "View", "happening", "plain_view", "request_key"]

_REASONING, _TOOL_CALL = "reasoning", "tool_call"
_REQUEST = ("messages", "tools", "model_name", "temperature")

type View = Callable[[Any], Any]
"""How a request is seen when two are compared: without what differs between any two runs."""


class Answer(NamedTuple):
    """What a call gets: the recorded `step`, or nothing of it because it is live, or because the run is over.

    at: index of the recorded step that this call is, -1 where it is none.
    """

    step: AgentStep | None = None
    is_live: bool = False
    at: int = -1


class _Call:
    """One recorded call and what became of it. number: its place among the calls of its kind, from 1."""

    __slots__ = ("at", "is_made", "is_misfit", "number", "step")

    def __init__(self, at: int, number: int, step: AgentStep) -> None:
        self.at = at
        self.number = number
        self.step = step
        self.is_made = False
        self.is_misfit = False
        """Whether it answered a call that it was not recorded for."""


class Server:
    """Serves one run of `baseline`, of which `happening` gave the steps. divergences: in the order in which they came."""

    def __init__(self, baseline: AgentTrace, strategy: Strategy, view: View | None = None) -> None:
        self.divergences: list[Divergence] = []
        self._strategy = strategy
        self._view = view or plain_view()
        self._models = list(_calls(baseline, _REASONING)) if strategy.model == SERVED else []
        self._tools = list(_calls(baseline, _TOOL_CALL)) if strategy.tools == SERVED else []
        self._policy = policy(strategy.unknown)
        self._requests = {call.at: self._recorded_request(call.step) for call in self._models}
        self._keys = {at: request_key(request) for at, request in self._requests.items()}
        self._inputs: dict[bytes, list[_Call]] = {}
        for call in self._tools:
            self._inputs.setdefault(self._tool_key(call.step.tool_name, call.step.tool_input), []).append(
                call
            )

    def answer(self, ask: Ask) -> Answer:
        """What this call gets; it counts as made."""
        if ask.kind == MODEL:
            return self._model(ask) if self._strategy.model == SERVED else Answer(is_live=True)
        return self._tool(ask) if self._strategy.tools == SERVED else Answer(is_live=True)

    def finish(self) -> None:
        """The run is over: what was not made is told."""
        for call in sorted((*self._models, *self._tools), key=lambda call: call.at):
            if not call.is_made:
                self.divergences.append(divergence.unconsumed(call.at, call.step))

    # Model calls.

    def _model(self, ask: Ask) -> Answer:
        asked: dict[str, Any] = {name: getattr(ask, name) or None for name in _REQUEST}
        asked["temperature"] = ask.temperature
        seen: dict[frozenset[str], tuple[dict[str, Any], str]] = {}

        def fits(call: _Call) -> bool:
            return self._seen(asked, self._requests[call.at], seen)[1] == self._keys[call.at]

        free = [call for call in self._models if not call.is_made]
        found = next(
            (call for call in self._models if (not call.is_made or call.is_misfit) and fits(call)), None
        )
        if found is None:
            if not free:
                self.divergences.append(divergence.exhausted(len(self._models)))
                return Answer()
            found = free[0]
            found.is_misfit = True
            recorded = self._requests[found.at]
            request = self._seen(asked, recorded, seen)[0]
            self.divergences.append(divergence.prompt(found.at, found.number, recorded, request))
        else:
            found.is_misfit = False
            self._check_order(ask, found, free)
        found.is_made = True
        return Answer(found.step, at=-1 if found.is_misfit else found.at)

    def _recorded_request(self, step: AgentStep) -> dict[str, Any]:
        """What the trace tells of a request: a member that was not recorded is not compared."""
        members = {name: getattr(step, name) for name in _REQUEST}
        return self._as_seen({name: value for name, value in members.items() if value not in (None, "")})

    def _seen(
        self,
        asked: Mapping[str, Any],
        recorded: Mapping[str, Any],
        seen: dict[frozenset[str], tuple[dict[str, Any], str]],
    ) -> tuple[dict[str, Any], str]:
        """The live request by the members of a recorded one, as it is compared, and its key."""
        members = frozenset(recorded)
        if members not in seen:
            request = {name: asked[name] for name in _REQUEST if name in members and asked[name] is not None}
            value = self._as_seen(request)
            seen[members] = value, request_key(value)
        return seen[members]

    def _as_seen(self, request: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any] = self._view(request)
        return value

    # Tool calls.

    def _tool(self, ask: Ask) -> Answer:
        same = self._inputs.get(self._tool_key(ask.name, ask.input), [])
        free = [call for call in self._tools if not call.is_made]
        found = next((call for call in same if not call.is_made), None)
        if found is not None:
            self._check_order(ask, found, free)
            found.is_made = True
            return Answer(found.step, at=found.at)
        if same:
            self.divergences.append(divergence.repeated(same[-1].at, ask, len(same)))
            return Answer(same[-1].step)
        return self._unknown(ask, free)

    def _unknown(self, ask: Ask, free: Sequence[_Call]) -> Answer:
        """A call that the trace does not hold. One that is still to be made is rather meant than one that was."""
        recorded = [call.step for call in free] + [call.step for call in self._tools if call.is_made]
        decision = self._policy(ask, recorded)
        if decision.step is not None:
            found = next(call for call in self._tools if call.step is decision.step)
            found.is_made = True
            self.divergences.append(divergence.nearest(found.at, found.step, ask))
            return Answer(found.step)
        step, _ = nearest_call(ask, recorded)
        near = next(((call.at, step) for call in self._tools if step is not None and call.step is step), None)
        self.divergences.append(divergence.unknown_tool(ask, near, decision.is_live))
        return Answer(is_live=decision.is_live)

    def _tool_key(self, name: str, value: Any) -> bytes:
        seen = self._view({"name": name, **({} if value is ABSENT else {"input": value})})
        return orjson.dumps(seen, option=orjson.OPT_SORT_KEYS)

    def _check_order(self, ask: Ask, found: _Call, free: Sequence[_Call]) -> None:
        due = free[0] if free else found
        if due.at < found.at and not all(
            overlap(call.step, found.step) for call in free if call.at < found.at
        ):
            self.divergences.append(divergence.order(found.at, ask, found.number, due.number))


def happening(baseline: AgentTrace, strategy: Strategy) -> AgentTrace:
    """The baseline without the steps that cannot happen: those inside of a call that is served."""
    served = {
        kind
        for kind, source in ((_REASONING, strategy.model), (_TOOL_CALL, strategy.tools))
        if source == SERVED
    }
    inside: set[str] = set()
    steps = []
    for step in baseline.steps:
        if step.parent_id and step.parent_id in inside:
            inside.add(step.step_id)
            continue
        if step.step_type in served:
            inside.add(step.step_id)
        steps.append(step)
    return baseline._replace(steps=tuple(steps))


def request_key(request: Any) -> str:
    """The key of a request as it is compared: "sha256:" and 64 hex digits. The order of keys is no part of it."""
    return f"sha256:{sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def plain_view(paths: Sequence[tuple[str, Sequence[str]]] = ()) -> View:
    """Ids, clock times and the run's directories as placeholders, numbered anew in each request."""

    def view(value: Any) -> Any:
        return Normaliser(Volatile(paths)).normalise("request", [value])[0]

    return view


def _calls(baseline: AgentTrace, kind: str) -> Iterator[_Call]:
    number = 0
    for at, step in enumerate(baseline.steps):
        if step.step_type == kind:
            number += 1
            yield _Call(at, number, step)
