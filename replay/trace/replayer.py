"""One run of the real agent against its trace, as a value that is fed with the agent's messages. Pure.

    replayer = Replayer(baseline, strategy)
    send(replayer.opening())
    for message in messages: send(replayer.receive(message, now_ms))      until replayer.is_over
    run = replayer.end(now_ms)

It serves what the strategy serves, and writes down everything that the agent did as a trace of its own. That trace is
what the baseline is compared with: what the agent sent, what it was answered, and what it says of its own live calls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from replay.errors import AgentError, ReplayError
from replay.trace.divergence import Divergence
from replay.trace.interleaving import in_recorded_order
from replay.trace.limits import MAX_STEPS
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError
from replay.trace.protocol import (
    MODEL,
    Ask,
    Done,
    Hello,
    Message,
    Observed,
    Outcome,
    State,
    encode_error,
    encode_live,
    encode_result,
    encode_run,
)
from replay.trace.said import Usage, text_of, usage_of
from replay.trace.server import Server, View, happening
from replay.trace.strategies import Strategy

__all__ = ["LEFT_TRACE", "UNFINISHED", "Places", "Replayed", "Replayer", "Reply", "Run"]

LEFT_TRACE = "LeftTrace"
"""The type of the error that a call gets which the trace does not hold."""
UNFINISHED = StepError("Unfinished", "the run was over before the call was")


class Places(NamedTuple):
    """How this run's directories come into what is served, and out of what is written down."""

    fill: Callable[[Any], Any] = lambda value: value
    redact: Callable[[Any], Any] = lambda value: value
    view: View | None = None


class Reply(NamedTuple):
    """What a call gets: a value, of a stream its pieces, and an error, after them; or the word that it is live."""

    value: Any = None
    stream: str = ""
    error: StepError | None = None
    is_live: bool = False
    is_over: bool = False
    """Whether the run cannot go on."""


class Run(NamedTuple):
    """What one run of the agent came to. states: what it said to hold, in order, by label."""

    actual: AgentTrace
    divergences: tuple[Divergence, ...] = ()
    states: tuple[tuple[str, Any], ...] = ()
    tools: Any = None
    """The agent's tool registry, as it said hello."""
    error: ReplayError | None = None
    """What went wrong with the process or with the protocol."""
    evidence: tuple[str, ...] = ()


class Replayed(NamedTuple):
    """All runs against one trace. baseline: without the steps that cannot happen under the strategy."""

    baseline: AgentTrace
    strategy: Strategy
    runs: tuple[Run, ...]


class Replayer:
    """One run. number counts from 1 among the runs of this trace; hello is what the agent said of itself."""

    def __init__(
        self,
        baseline: AgentTrace,
        strategy: Strategy,
        hello: Hello,
        number: int = 1,
        places: Places | None = None,
    ) -> None:
        self.baseline = happening(baseline, strategy)
        self.is_over = False
        """Whether the agent ended the run, or it cannot go on."""
        self.has_left = False
        """Whether it cannot: the trace does not hold what the agent asked for."""
        self._places = places or Places()
        self._server = Server(self.baseline, strategy, self._places.view)
        self._hello = hello
        self._number = number
        self._steps: list[AgentStep] = []
        self._open: dict[str | int, int] = {}
        self._served: dict[int, int] = {}
        """Index of a step -> index of the recorded one that answered it."""
        self._asked: dict[str | int, int] = {}
        self._states: list[tuple[str, Any]] = []
        self._before: dict[str, Any] = {}
        self._final: Outcome | None = None

    def opening(self) -> bytes:
        """The message that starts the run."""
        baseline, fill = self.baseline, self._places.fill
        return encode_run(
            self._number,
            baseline.trace_id,
            fill(baseline.task),
            fill(dict(baseline.inputs)),
            fill(dict(baseline.environment)),
            self._number,
        )

    def receive(self, message: Message, now_ms: float) -> bytes:
        """Take one message, now_ms after the opening; what the agent gets in return, b"" for nothing.

        Raises AgentError for a message that has no place here.
        """
        if self._final is not None:
            raise AgentError(f"the agent said {type(message).__name__.lower()} after its final")
        match message:
            case Ask():
                return self._ask(message, now_ms)
            case Done():
                self._done(message, now_ms)
            case Observed():
                output = self._places.redact(message.output)
                self._add(AgentStep("", "observation", now_ms, tool_name=message.source, tool_output=output))
            case State():
                self._state(message)
            case Outcome():
                self._end_with(message, now_ms)
            case Hello():
                raise AgentError("the agent said hello twice")
        return b""

    def end(self, now_ms: float, error: ReplayError | None = None, evidence: tuple[str, ...] = ()) -> Run:
        """What the run came to, whether or not the agent ended it."""
        for at in self._open.values():
            self._steps[at] = self._finished(self._steps[at], now_ms, error=UNFINISHED)
        if not self.has_left and error is None:
            self._server.finish()
        if self._final is None and error is None and not self.has_left:
            error = AgentError("the agent's run ended without a final")
        return Run(
            self._trace(now_ms),
            tuple(self._server.divergences),
            tuple(self._states),
            self._hello.tools,
            error,
            evidence,
        )

    # One message each.

    def ask(self, ask: Ask, now_ms: float) -> Reply:
        """A call that comes, and what it gets; for one that does not come as a line. Raises AgentError."""
        if ask.id in self._asked:
            raise AgentError(f"the agent used the id {ask.id!r} for two calls of one run")
        if self.has_left or self._final is not None:
            return Reply(error=StepError(LEFT_TRACE, "the run is over"), is_over=True)
        redact = self._places.redact
        ask = ask._replace(messages=redact(ask.messages), tools=redact(ask.tools), input=redact(ask.input))
        self._asked[ask.id] = at = self._add(self._begun(ask, now_ms))
        answer = self._server.answer(ask)
        if answer.is_live:
            self._open[ask.id] = at
            return Reply(is_live=True)
        if answer.step is None:
            self.has_left = self.is_over = True
            error = StepError(LEFT_TRACE, self._server.divergences[-1].message)
            self._steps[at] = self._finished(self._steps[at], now_ms, error=error)
            return Reply(error=error, is_over=True)
        if answer.at >= 0:
            self._served[at] = answer.at
        return self._serve(ask, at, answer.step, now_ms)

    def _ask(self, ask: Ask, now_ms: float) -> bytes:
        reply = self.ask(ask, now_ms)
        if reply.is_live:
            return encode_live(ask.id)
        if reply.error is not None and not reply.stream:
            return encode_error(ask.id, reply.error, reply.is_over)
        return encode_result(ask.id, reply.value, reply.stream, reply.error)

    def _serve(self, ask: Ask, at: int, recorded: AgentStep, now_ms: float) -> Reply:
        value = recorded.response if ask.kind == MODEL else recorded.tool_output
        error = recorded.error or (UNFINISHED if value is ABSENT else None)
        step = self._finished(self._steps[at], now_ms, value, error, recorded.stream)
        self._steps[at] = step._replace(
            reasoning=recorded.reasoning if ask.kind == MODEL else None,
            prompt_tokens=recorded.prompt_tokens,
            completion_tokens=recorded.completion_tokens,
        )
        given = [] if value is ABSENT and recorded.stream else value
        fill = self._places.fill
        return Reply(fill(given), recorded.stream, None if error is None else _told(error, fill))

    def _done(self, done: Done, now_ms: float) -> None:
        at = self._open.pop(done.id, None)
        if at is None:
            known = "that is no live call" if done.id in self._asked else "that it never made"
            raise AgentError(f"the agent is done with a call {done.id!r} {known}")
        redact = self._places.redact
        error = None if done.error is None else _told(done.error, redact)
        step = self._finished(self._steps[at], now_ms, redact(done.result), error, done.stream)
        if step.step_type == "tool_call":
            self._steps[at] = step._replace(env_state_after=redact(done.state))
            return
        said = text_of(step.response, is_stream=bool(step.stream)) if done.text is None else redact(done.text)
        usage = usage_of(step.response, is_stream=bool(step.stream))
        if done.prompt_tokens is not None or done.completion_tokens is not None:
            usage = Usage(done.prompt_tokens, done.completion_tokens)
        self._steps[at] = step._replace(
            reasoning=said,
            model_name=done.model_name or step.model_name,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )

    def _state(self, state: State) -> None:
        """A state belongs to what was done last; before anything was done, to what is done first."""
        value = self._places.redact(state.state)
        self._states.append((state.label, value))
        if not self._steps:
            self._before[state.label] = value
            return
        last = self._steps[-1]
        self._steps[-1] = last._replace(env_state_after={**(last.env_state_after or {}), state.label: value})

    def _end_with(self, final: Outcome, now_ms: float) -> None:
        redact = self._places.redact
        error = None if final.error is None else _told(final.error, redact)
        self._final = final = final._replace(answer=redact(final.answer), error=error)
        self.is_over = True
        if final.error is None:
            self._add(AgentStep("", "final_answer", now_ms, response=final.answer))

    # Steps.

    def _begun(self, ask: Ask, now_ms: float) -> AgentStep:
        parent = self._asked.get(ask.parent) if ask.parent is not None else None
        step = AgentStep(
            "",
            "reasoning" if ask.kind == MODEL else "tool_call",
            now_ms,
            parent_id="" if parent is None else self._steps[parent].step_id,
            options=self._places.redact(dict(ask.options)) or None,
        )
        if ask.kind == MODEL:
            return step._replace(
                model_name=ask.model_name,
                temperature=ask.temperature,
                messages=ask.messages,
                tools=ask.tools,
            )
        return step._replace(
            tool_name=ask.name,
            tool_call_id=ask.tool_call_id,
            tool_input=ask.input,
            env_state_before=self._places.redact(ask.state),
        )

    def _finished(
        self,
        step: AgentStep,
        now_ms: float,
        value: Any = ABSENT,
        error: StepError | None = None,
        stream: str = "",
    ) -> AgentStep:
        took = round(now_ms - step.timestamp, 3)
        if step.step_type == "reasoning":
            return step._replace(response=value, model_duration_ms=took, error=error, stream=stream)
        return step._replace(tool_output=value, tool_duration_ms=took, error=error, stream=stream)

    def _add(self, step: AgentStep) -> int:
        if len(self._steps) >= MAX_STEPS:
            raise AgentError(f"the agent made more than {MAX_STEPS} steps in one run")
        before = {**(step.env_state_before or {}), **self._before} or None
        self._before = {}
        step = step._replace(step_id=f"s{len(self._steps) + 1}", env_state_before=before)
        self._steps.append(step)
        return len(self._steps) - 1

    def _trace(self, now_ms: float) -> AgentTrace:
        baseline, hello, final = self.baseline, self._hello, self._final or Outcome()
        tokens = [step.prompt_tokens for step in self._steps] + [
            step.completion_tokens for step in self._steps
        ]
        known = [count for count in tokens if count is not None]
        # How an earlier run ended is nothing of this one.
        metadata = {key: value for key, value in baseline.metadata.items() if key != "error"}
        if final.error is not None:
            metadata = {**metadata, "error": {"type": final.error.type, "message": final.error.message}}
        return AgentTrace(
            baseline.trace_id,
            baseline.task,
            tuple(in_recorded_order(self._steps, self._served, baseline.steps)),
            baseline.inputs,
            metadata,
            hello.agent_version,
            hello.model_version,
            hello.tool_versions,
            baseline.environment,
            False if final.error is not None or self._final is None else final.success,
            final.answer,
            round(now_ms, 3),
            sum(known) if known else None,
        )


def _told(error: StepError, change: Callable[[Any], Any]) -> StepError:
    """The error with the directories of its message as the other side knows them."""
    return error._replace(message=change(error.message))
