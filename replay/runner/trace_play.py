"""Playing traces to agent processes: one run or many runs a process, several processes at once.

    start -> hello -> run, calls, final -> (the next run | the channel closes) -> exit -> what it left behind is ended

Which run is next, the queue says (trace_queue.py). A process takes a second one if it said so and no workspace has to be
laid out for it. What goes wrong with a process belongs to the run that it was in, or to the last that it ended; the next
run gets a process of its own.
"""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from replay.errors import AgentError, ReplayError
from replay.runner.trace_process import AgentProcess, PlayStage
from replay.runner.trace_queue import Job, RunQueue, Wanted
from replay.trace.model import AgentTrace, StepError
from replay.trace.protocol import Ask, Done, Hello, Outcome, decode_message
from replay.trace.replayer import LEFT_TRACE, Replayer, Reply, Run

if TYPE_CHECKING:
    from replay.runner.trace_gateway import ModelGateway, OpenCalls

__all__ = ["play_traces"]

_HELLO_SECONDS = 30.0
_TURN_SECONDS = 0.25
_SETTLE_SECONDS = 5.0


def play_traces(stage: PlayStage, traces: Sequence[AgentTrace], wanted: Wanted) -> list[tuple[Run, ...]]:
    """The runs of each trace, as many as are wanted; where the first process does not say hello, no other is started.

    Raises UsageError for an agent that cannot be started as the manifest says.
    """
    queue = RunQueue(traces, wanted)
    seats: list[_Seat] = []
    try:
        while True:
            # In place: each seat knows its neighbours by this list.
            seats[:] = [seat for seat in seats if not seat.has_ended]
            while len(seats) < max(1, stage.manifest.jobs) and queue.is_any:
                _start(stage, queue, seats)
            if not seats:
                return queue.results()
            due = min(seat.due for seat in seats) - time.monotonic()
            stage.loop.step(max(0.0, min(due, _TURN_SECONDS)))
            reason = _reason_to_stop(stage)
            if reason:
                queue.give_up(reason)
            for seat in seats:
                seat.look(reason)
    finally:
        for seat in seats:
            seat.close(0.0)


def _start(stage: PlayStage, queue: RunQueue, seats: list[_Seat]) -> None:
    """Start a process for the next job; a job whose process cannot be started fails."""
    job = queue.take()
    try:
        seats.append(_Seat(stage, queue, seats, job))
    except AgentError as error:
        queue.fail(job, error, ())
        if not queue.has_said_hello:
            queue.give_up("the agent did not start")


def _reason_to_stop(stage: PlayStage) -> str:
    if stage.loop.stopped:
        return "SIGTERM ended the test"
    if stage.ends is not None and time.monotonic() >= stage.ends:
        return "the test's time is over"
    return ""


class _Seat:
    """One process and the runs that it plays. due: when `look` has something to do at the latest."""

    def __init__(self, stage: PlayStage, queue: RunQueue, seats: Sequence[_Seat], job: Job) -> None:
        self._stage = stage
        self._queue = queue
        self._neighbours = seats
        self._job = job
        self._hello: Hello | None = None
        self._replayer: Replayer | None = None
        """The run that is under way."""
        self._is_leaving = False
        """Whether it plays no further run, and only has to exit."""
        self._may_fail = False
        """Whether it need not exit well, since its run left the trace or failed."""
        self._began = time.monotonic()
        self.has_ended = False
        self.due = self._began + min(_HELLO_SECONDS, stage.manifest.run_seconds)
        self._lock: AbstractContextManager[object] = nullcontext()
        self._calls: OpenCalls | None = None
        self._gateway = self._open_gateway()
        try:
            self._process = AgentProcess(stage, self._line, self._fail, self._gateway)
        except BaseException:
            if self._gateway is not None:
                self._gateway.stop()
            raise

    # Calls that come over a gateway, from its threads.

    def _open_gateway(self) -> ModelGateway | None:
        stage = self._stage
        if not stage.manifest.agent.model_api:
            return None
        from replay.runner.trace_gateway import OpenCalls, open_gateway  # HTTP, for agents that need it

        self._calls = OpenCalls()
        self._lock = self._calls.lock
        return open_gateway(stage.manifest.agent, stage.manifest.strategy, stage.inherited, self)

    def ask(self, ask: Ask) -> Reply:
        """A model call over HTTP; one outside of any run is refused."""
        with self._lock:
            if self._replayer is None:
                return Reply(error=StepError(LEFT_TRACE, "no run is under way"), is_over=True)
            reply = self._replayer.ask(ask, self._now_ms())
            if reply.is_live and self._calls is not None:
                self._calls.begin(ask.id)
            return reply

    def done(self, done: Done) -> None:
        """What came of a live one; of one that outlived its run nobody wants to know."""
        with self._lock:
            if self._replayer is not None:
                self._replayer.receive(done, self._now_ms())
            if self._calls is not None:
                self._calls.end(done.id)

    def _now_ms(self) -> float:
        return round((time.monotonic() - self._began) * 1000, 3)

    # What the loop sees.

    def look(self, reason: str) -> None:
        """Whether the process ended, or its time is over. reason: why everything has to stop, "" if it has not."""
        if self._replayer is not None and self._replayer.is_over:
            # A call over the gateway left the trace.
            self._end_run()
        status = self._process.status
        if status is not None:
            self._ended(status)
        elif reason:
            self._fail(
                AgentError(f"the run was cut short: {reason}", fix="a larger size or timeout, or more jobs")
            )
            self.close(0.0)
        elif time.monotonic() >= self.due:
            self._overdue()

    def close(self, grace_seconds: float) -> None:
        if self.has_ended:
            return
        self.has_ended = True
        others = [seat._process for seat in self._neighbours if seat is not self and not seat.has_ended]
        left = self._process.close(others, 0.0 if self._may_fail else grace_seconds)
        if self._gateway is not None:
            self._gateway.stop()
        if left and not self._may_fail:
            self._queue.fail(
                self._job,
                AgentError(f"the agent left processes behind: {', '.join(left)}"),
                self._process.evidence(),
            )

    # What comes.

    def _line(self, line: bytes) -> None:
        if self._is_leaving or self.has_ended:
            return
        try:
            message = decode_message(line)
            if self._replayer is not None:
                if self._calls is not None and isinstance(message, Outcome):
                    # The agent has its answer a moment before the proxy knows that it was the last of it.
                    self._calls.wait(_SETTLE_SECONDS)
                with self._lock:
                    answer = self._replayer.receive(message, self._now_ms())
                self._process.send(answer)
                if self._replayer.is_over:
                    self._end_run()
            elif isinstance(message, Hello):
                self._hello, self._queue.has_said_hello = message, True
                self._begin_run()
            else:
                raise AgentError(
                    f"the agent's first message is {type(message).__name__.lower()}",
                    fix='begin with {"op":"hello","protocol":1}',
                )
        except AgentError as error:
            self._fail(error)

    def _begin_run(self) -> None:
        assert self._hello is not None
        self._began = time.monotonic()
        self.due = self._began + self._stage.manifest.run_seconds
        self._replayer = Replayer(
            self._job.baseline,
            self._stage.manifest.strategy,
            self._hello,
            self._job.number,
            self._process.places,
        )
        self._process.send(self._replayer.opening())

    def _end_run(self, error: ReplayError | None = None) -> None:
        """Keep what the run came to, and play the next one or let the process go."""
        with self._lock:
            replayer, self._replayer = self._replayer, None
        assert replayer is not None and self._hello is not None
        if error is None and self._gateway is not None:
            error = self._gateway.problem()
        evidence = self._process.evidence() if error is not None else ()
        self._queue.put(self._job, replayer.end(self._now_ms(), error, evidence))
        self._may_fail = error is not None or replayer.has_left
        goes_on = self._hello.many and not self._stage.manifest.workspace and not self._may_fail
        if goes_on and self._queue.is_any:
            self._job = self._queue.take()
            self._begin_run()
            return
        self._leave()

    def _fail(self, error: AgentError) -> None:
        """The process broke the protocol or its time: its run is over, and it is let go."""
        if self._replayer is not None:
            self._end_run(error)
        elif not self._is_leaving:
            if not self._queue.has_said_hello:
                error.fix = error.fix or "start the agent by hand; its first line must be a hello"
            self._queue.fail(self._job, error, self._process.evidence())
            self._may_fail = True
            self._leave()
        if not self._queue.has_said_hello:
            self._queue.give_up("the agent did not start")

    def _leave(self) -> None:
        self._is_leaving = True
        self._process.close_channel()
        self.due = time.monotonic() + (0.0 if self._may_fail else self._stage.manifest.exit_seconds)

    # What does not come.

    def _ended(self, status: int) -> None:
        if not self._is_leaving:
            what = "said hello" if self._replayer is None and self._hello is None else "ended its run"
            self._fail(AgentError(f"the agent {self._process.how} before it {what}"))
        elif status and not self._may_fail:
            self._queue.fail(
                self._job,
                AgentError(f"the agent {self._process.how} after its final"),
                self._process.evidence(),
            )
        self.close(self._stage.manifest.exit_seconds)

    def _overdue(self) -> None:
        seconds = self._stage.manifest
        if self._is_leaving:
            if not self._may_fail:
                what = f"the agent did not exit {seconds.exit_seconds:g} s after its last run"
                self._queue.fail(self._job, AgentError(what), self._process.evidence())
            self._may_fail = True
            self.close(0.0)
        elif self._replayer is None:
            limit = min(_HELLO_SECONDS, seconds.run_seconds)
            self._fail(AgentError(f"the agent lives, but said no hello in {limit:g} s"))
        else:
            self._fail(AgentError(f"the run is not over after {seconds.run_seconds:g} s"))
