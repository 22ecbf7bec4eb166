"""Records the runs of an agent: `with recorder.run(task) as run:`, or `@recorder.trace` on the agent's function.

    recorder = Recorder(agent_version="4")
    ask, search = recorder.model(client.create), recorder.tool(search)
    with recorder.run("how many lines?") as run:
        run.final(agent(ask, search), success=True)
    run.trace

Runs may be nested and concurrent, in tasks and in threads: a call belongs to the run of its context, and where a thread
has no context of ours, to the only run there is. While a run goes on, values are kept as JSON bytes and nothing is
parsed; the trace is made at the end. Nothing here makes the agent fail: what cannot be described or encoded is said in
metadata["problems"]. Secrets are not looked for: whoever writes a trace to a fixture scans it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, overload

from replay.trace.calls import TOOL, Call
from replay.trace.drafts import Draft, Run, leave
from replay.trace.jsonable import freeze
from replay.trace.model import AgentTrace
from replay.trace.state import StateProvider
from replay.trace.wrap import Function, Pending, Session

__all__ = ["Recorder", "Run"]


class Recorder(Session):
    """What a team puts around its agent.

    clock: nanoseconds, never going back. ids: the id of the nth step of a run, from 1. states: what is looked at before
    and after each call of a tool, and at the end of a run. on_trace is called with every trace that is complete, in the
    context in which its run ended.
    """

    def __init__(
        self,
        *,
        agent_version: str = "",
        model_version: str = "",
        tool_versions: Mapping[str, str] | None = None,
        environment: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        states: Sequence[StateProvider] = (),
        clock: Callable[[], int] = time.perf_counter_ns,
        ids: Callable[[int], str] = "s{}".format,
        on_trace: Callable[[AgentTrace], None] | None = None,
    ) -> None:
        self._versions: dict[str, Any] = {
            "agent_version": agent_version,
            "model_version": model_version,
            "tool_versions": dict(tool_versions or {}),
            "environment": dict(environment or {}),
            "metadata": {"provenance": {"kind": "recorded"}, **(metadata or {})},
        }
        self._clock = clock
        self._ids = ids
        self._on_trace = on_trace
        self._providers = {provider.name: provider.snapshot for provider in states}
        self._here: ContextVar[Run | Draft | None] = ContextVar("here", default=None)
        self._running: list[Run] = []

    @contextmanager
    def run(self, task: str, *, trace_id: str = "", category: str = "", **inputs: Any) -> Iterator[Run]:
        """One run. An exception that leaves the block is its end, and goes on.

        trace_id: by default a digest of what the trace holds. inputs: further named arguments of the run.
        """
        run = self._begin_run(task, trace_id, category, inputs)
        token = self._here.set(run)
        try:
            yield run
        except BaseException as error:
            run.fail(error)
            raise
        finally:
            leave(self._here, token)
            self._end_run(run)

    @overload
    def trace[F: Function](self, function: F, /, **options: Any) -> F: ...
    @overload
    def trace[F: Function](self, /, **options: Any) -> Callable[[F], F]: ...
    def trace(self, function: Any = None, /, **options: Any) -> Any:
        """Makes every call of the agent's function a run: what it returns or yields is the answer.

        task: arguments by name -> the task; by default the first argument. category: of all its runs. judge: the answer ->
        whether it is right.
        """
        keys = ("task", "category", "judge")
        runs = _Runs(self, **{key: options.pop(key) for key in keys if key in options})
        return runs.tool(**options) if function is None else runs.tool(function, **options)

    def begin(self, call: Call) -> Pending | None:
        """A step of the run of this context."""
        here = self._here.get()
        if here is None:
            # A thread that was started without its parent's context.
            if len(self._running) != 1:
                return None
            here = self._running[0]
        run, parent_id = (here, "") if isinstance(here, Run) else (here.run, here.step_id)
        return None if run.is_over else Draft(run, self._here, call, parent_id)

    def trouble(self, error: Exception) -> None:
        """Notes it in the run of this context."""
        here = self._here.get()
        run = here.run if isinstance(here, Draft) else here
        for one in self._running if run is None else (run,):
            one.trouble(error)

    def _begin_run(self, task: str, trace_id: str, category: str, inputs: Mapping[str, Any]) -> Run:
        run = Run(task, trace_id, category, freeze(inputs), self._clock, self._ids, self._providers)
        self._running.append(run)
        return run

    def _end_run(self, run: Run) -> None:
        self._running.remove(run)
        trace = run.finish(self._versions)
        if self._on_trace is not None:
            self._on_trace(trace)


class _Runs(Session):
    """A session whose calls are runs."""

    def __init__(
        self,
        recorder: Recorder,
        task: Callable[[Mapping[str, Any]], str] | None = None,
        category: str = "",
        judge: Callable[[Any], bool] | None = None,
    ) -> None:
        self._recorder = recorder
        self._task = task
        self._category = category
        self._judge = judge

    def begin(self, call: Call) -> Pending:
        """A run of the agent."""
        assert call.kind == TOOL
        arguments = dict(call.input)
        if self._task is not None:
            task = self._task(arguments)
        else:
            first = arguments.pop(next(iter(arguments)), "") if arguments else call.name
            task = first if isinstance(first, str) else freeze(first).decode()
        run = self._recorder._begin_run(task, "", self._category, arguments)
        return _RunPending(self._recorder, run, self._judge)


class _RunPending(Pending):
    """A call of the agent's function."""

    __slots__ = ("_judge", "_pieces", "_recorder", "_run", "_token")

    def __init__(self, recorder: Recorder, run: Run, judge: Callable[[Any], bool] | None) -> None:
        super().__init__()
        self._recorder = recorder
        self._run = run
        self._judge = judge
        self._pieces: list[Any] = []
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = self._recorder._here.set(self._run)

    def __exit__(self, *exception: object) -> None:
        leave(self._recorder._here, self._token)

    def done(self, value: Any) -> None:
        """The agent returned its answer."""
        self._answer(value)
        self._recorder._end_run(self._run)

    def piece(self, value: Any) -> None:
        """A piece of its answer."""
        self._pieces.append(value)

    def end(self, *, is_closed: bool) -> None:
        """Its answer is complete; one that was closed is what was read of it."""
        pieces = self._pieces
        self._answer("".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces)
        self._recorder._end_run(self._run)

    def failed(self, error: BaseException) -> None:
        """The agent failed."""
        self._run.fail(error)
        self._recorder._end_run(self._run)

    def _answer(self, value: Any) -> None:
        self._run.final(value)
        if self._judge is not None:
            try:
                self._run.judge(bool(self._judge(value)))
            except Exception as error:
                self._run.trouble(error)
