"""A run while it goes on: its steps as drafts, values as JSON bytes. The trace is made of them when the run is over."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from itertools import count
from typing import Any

import orjson

from replay.trace.calls import MODEL, Call
from replay.trace.jsonable import bounded, freeze
from replay.trace.model import ABSENT, AgentStep, AgentTrace, StepError
from replay.trace.raising import error_of
from replay.trace.said import text_of, usage_of
from replay.trace.wrap import Pending

__all__ = ["Draft", "Here", "Run", "leave", "look"]

type Here = ContextVar[Run | Draft | None]
type Look = Callable[[], dict[str, bytes] | None]

_MOST_PROBLEMS = 20
_NULL = b"null"


class Draft(Pending):
    """A step that is being recorded."""

    __slots__ = (
        "_here",
        "_pieces",
        "_token",
        "after",
        "before",
        "begin_ns",
        "call",
        "end_ns",
        "error",
        "frozen",
        "kind",
        "output",
        "parent_id",
        "run",
        "step_id",
        "stream",
    )

    def __init__(self, run: Run, here: Here, call: Call, parent_id: str) -> None:
        super().__init__()
        self.run = run
        self.call = call
        self.kind = call.kind
        self.parent_id = parent_id
        # Arguments are the agent's own and change under its hands.
        self.frozen = _frozen(call)
        self.output: bytes | None = None
        self.error: StepError | None = None
        self.stream = ""
        self.before = self.after = None if call.kind == MODEL else run.look()
        self.end_ns = -1
        self._pieces: list[bytes] | None = None
        self._here = here
        self._token: Token[Run | Draft | None] | None = None
        self.step_id = run.add(self)
        self.begin_ns = run.now()

    def __enter__(self) -> None:
        self._token = self._here.set(self)

    def __exit__(self, *exception: object) -> None:
        leave(self._here, self._token)

    def done(self, value: Any) -> None:
        """The call returned."""
        end_ns = self.run.now()
        self._over(end_ns, freeze(value))

    def piece(self, value: Any) -> None:
        """A piece of its stream."""
        if self._pieces is None:
            self._pieces = []
        self._pieces.append(freeze(value))

    def end(self, *, is_closed: bool) -> None:
        """Its stream is over."""
        end_ns = self.run.now()
        self.stream = "closed" if is_closed else "complete"
        self._over(end_ns, self._streamed())

    def failed(self, error: BaseException) -> None:
        """An exception left it."""
        end_ns = self.run.now()
        self.error = error_of(error)
        self.stream = "" if self._pieces is None else "closed"
        self._over(end_ns, None if self._pieces is None else self._streamed())

    def abandon(self) -> None:
        """The run is over and the call is not. A stream that nobody read to its end was closed, in effect."""
        if self._pieces is None:
            self.error = StepError("Unfinished", "the run was over before the call was")
        else:
            self.stream = "closed"
            self.output = self._streamed()

    def _streamed(self) -> bytes:
        return b"[" + b",".join(self._pieces or ()) + b"]"

    def _over(self, end_ns: int, output: bytes | None) -> None:
        if self.run.is_over or self.end_ns >= 0:
            return
        self.output = output
        if self.kind != MODEL:
            self.after = self.run.look()
        self.end_ns = end_ns


def _frozen(call: Call) -> tuple[bytes, ...]:
    if call.kind != MODEL:
        return (freeze(call.input),)
    return tuple(
        [_NULL if value is None else freeze(value) for value in (call.messages, call.tools, call.options)]
    )


def leave[T](variable: ContextVar[T], token: Token[T] | None) -> None:
    """Undoes a set, where it was done in this context; a stream may be closed in another."""
    if token is not None:
        with suppress(ValueError):
            variable.reset(token)


def look(
    providers: Mapping[str, Callable[[], Any]], trouble: Callable[[Exception], None]
) -> dict[str, bytes] | None:
    """The state that each provider sees now."""
    if not providers:
        return None
    seen = {}
    for name, snapshot in providers.items():
        try:
            seen[name] = freeze(snapshot())
        except Exception as error:
            trouble(error)
    return seen


class Run:
    """One run of an agent. `trace` is there when it is over."""

    def __init__(
        self, task: str, trace_id: str, category: str, inputs: bytes, clock: Callable[[], int],
        ids: Callable[[int], str], providers: Mapping[str, Callable[[], Any]],
    ) -> None:  # fmt: skip
        self.task = task
        self.trace_id = trace_id
        self.metadata: dict[str, Any] = {"category": category} if category else {}
        self.trace: AgentTrace | None = None
        self.is_over = False
        self._inputs = inputs
        self._clock = clock
        self._ids = ids
        self._providers = providers
        self._steps: list[Draft | AgentStep] = []
        # Of threads, each gets another one.
        self._numbers = count(1)
        self._problems: list[str] = []
        self._answer: bytes | None = None
        self._answered_ns = 0
        self._success: bool | None = None
        self._error: StepError | None = None
        self._start_ns = clock()

    def _next_id(self) -> str:
        return self._ids(next(self._numbers))

    def now(self) -> int:
        """Nanoseconds since the run began."""
        return self._clock() - self._start_ns

    def add(self, draft: Draft) -> str:
        """Takes a step in; answers its id."""
        self._steps.append(draft)
        return self._next_id()

    def look(self) -> dict[str, bytes] | None:
        """State now."""
        return look(self._providers, self.trouble)

    def trouble(self, error: Exception) -> None:
        """Something about recording failed; the agent does not hear of it."""
        if len(self._problems) < _MOST_PROBLEMS:
            problem = error_of(error)
            self._problems.append(f"{problem.type}: {problem.message}"[:500])

    def final(self, answer: Any, success: bool | None = None) -> None:
        """The answer of the agent, and whether it was right where the agent or a judge says so. The last one counts."""
        self._answer = freeze(answer)
        self._answered_ns = self.now()
        self._success = success
        self._error = None

    def judge(self, success: bool) -> None:
        """Whether the answer that was given was right."""
        self._success = success

    def fail(self, error: BaseException) -> None:
        """An exception ended the run."""
        self._error = error_of(error)
        self._answered_ns = self.now()
        self._success = False

    def observe(self, source: str, output: Any) -> None:
        """Something reached the agent without its asking: `source` says from where."""
        at = _ms(self.now())
        self._steps.append(
            AgentStep(
                self._next_id(), "observation", at, tool_name=source, tool_output=_value(freeze(output))
            )
        )

    def finish(self, versions: Mapping[str, Any]) -> AgentTrace:
        """Ends the run. versions: what a recorder knows of every run, members of AgentTrace."""
        duration_ms = _ms(self.now())
        self.is_over = True
        conversations = _Conversations()
        steps = [_step(step, conversations) for step in self._steps]
        answer = None if self._answer is None else _value(self._answer)
        if self._answer is not None or self._error is not None:
            steps.append(self._last(answer))
        tokens = [
            count
            for step in steps
            for count in (step.prompt_tokens, step.completion_tokens)
            if count is not None
        ]
        metadata = {**versions.get("metadata", {}), **self.metadata}
        if self._problems:
            metadata["problems"] = self._problems
        trace = AgentTrace(
            self.trace_id, self.task, tuple(steps), _value(self._inputs) or {}, _value(freeze(metadata)),
            success=self._success, final_answer=answer, total_duration_ms=duration_ms,
            total_tokens=sum(tokens) if tokens else None,
            **{key: value for key, value in versions.items() if key != "metadata"},
        )  # fmt: skip
        self.trace = trace if trace.trace_id else trace._replace(trace_id=_digest(trace))
        return self.trace

    def _last(self, answer: Any) -> AgentStep:
        state = self.look()
        return AgentStep(
            self._next_id(), "final_answer", _ms(self._answered_ns), error=self._error,
            response=ABSENT if self._answer is None else answer,
            env_state_after=None if state is None else _states(state),
        )  # fmt: skip


class _Conversations:
    """What models were sent. A conversation grows: of each list that begins like the one before, only the rest is read."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], tuple[bytes, Any]] = {}

    def value(self, draft: Draft, at: int) -> Any:
        """What draft.frozen[at] stands for."""
        frozen = draft.frozen[at]
        key = draft.parent_id, at
        before, value = self._last.get(key, (b"", None))
        if frozen != before:
            # Without its closing bracket, and what follows is one more.
            begins = isinstance(value, list) and value and frozen.startswith(before[:-1] + b",")
            value = [*value, *_value(b"[" + frozen[len(before) :])] if begins else _value(frozen)
            self._last[key] = frozen, value
        return value


def _step(draft: Draft | AgentStep, conversations: _Conversations) -> AgentStep:
    if isinstance(draft, AgentStep):
        return draft
    if draft.end_ns < 0:
        draft.abandon()
    return _model_step(draft, conversations) if draft.kind == MODEL else _tool_step(draft)


def _model_step(draft: Draft, conversations: _Conversations) -> AgentStep:
    messages, tools, options = (conversations.value(draft, at) for at in range(3))
    response = ABSENT if draft.output is None else _value(draft.output)
    usage = usage_of(response, is_stream=bool(draft.stream))
    return AgentStep(
        draft.step_id, "reasoning", _ms(draft.begin_ns), draft.parent_id, draft.call.model_name,
        draft.call.temperature, messages, tools, options, text_of(response, is_stream=bool(draft.stream)), response,
        _duration(draft), usage.prompt_tokens, usage.completion_tokens, stream=draft.stream, error=draft.error,
    )  # fmt: skip


def _tool_step(draft: Draft) -> AgentStep:
    return AgentStep(
        draft.step_id, "tool_call", _ms(draft.begin_ns), draft.parent_id, tool_name=draft.call.name,
        tool_call_id=draft.call.tool_call_id, tool_input=_value(draft.frozen[0]),
        tool_output=ABSENT if draft.output is None else _value(draft.output), tool_duration_ms=_duration(draft),
        stream=draft.stream, error=draft.error,
        env_state_before=None if draft.before is None else _states(draft.before),
        env_state_after=None if draft.after is None else _states(draft.after),
    )  # fmt: skip


def _duration(draft: Draft) -> float | None:
    return None if draft.end_ns < 0 else _ms(draft.end_ns - draft.begin_ns)


def _ms(ns: int) -> float:
    return round(ns / 1e6, 3)


def _value(frozen: bytes) -> Any:
    return bounded(orjson.loads(frozen))


def _states(states: Mapping[str, bytes]) -> dict[str, Any]:
    return {name: _value(frozen) for name, frozen in states.items()}


def _digest(trace: AgentTrace) -> str:
    return (
        "t-"
        + hashlib.sha256(
            freeze([trace.task, trace.inputs, [list(step) for step in trace.steps]])
        ).hexdigest()[:16]
    )
