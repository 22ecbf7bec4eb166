"""The lane of a thread: everything that takes time for it, one thing after the other.

Commands that were decided, what the provider says, and the reaper's word come in by one queue. So a checkpoint is taken
before the next message begins, and what the store says was true when it was stored. An interrupt ends nothing here: the
provider's TurnEnded does. A child's end never reaches a run.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, NamedTuple

from scenarios.reference_orchestrator import commands as c
from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator import providers as p
from scenarios.reference_orchestrator.adapters import base
from scenarios.reference_orchestrator.checkpoint_policy import CheckpointPolicy
from scenarios.reference_orchestrator.errors import ProviderError, WorkspaceError
from scenarios.reference_orchestrator.handoff import digest_for
from scenarios.reference_orchestrator.journal import Journal
from scenarios.reference_orchestrator.projection import Attempt, Run, Thread
from scenarios.reference_orchestrator.reaper import SessionReaper
from scenarios.reference_orchestrator.recorder import InnerEvent
from scenarios.reference_orchestrator.recovery import RecoveryPolicy, aftermath
from scenarios.reference_orchestrator.rollback import turns_to_drop
from scenarios.reference_orchestrator.session import ProviderSession

__all__ = ["Household", "Lane", "Recover"]


class Household(NamedTuple):
    """What all lanes share."""

    journal: Journal
    checkpoints: CheckpointPolicy
    reaper: SessionReaper
    providers: Mapping[str, base.ProviderConfig]
    recovery: RecoveryPolicy


class FromProvider(NamedTuple):
    session: ProviderSession
    event: p.ProviderEvent


class Reap(NamedTuple):
    session: ProviderSession


class Recover(NamedTuple):
    """This life of the orchestrator finds the thread as another one left it."""


Message = c.Command | FromProvider | Reap | Recover


class Lane:
    def __init__(self, thread_id: str, household: Household) -> None:
        self._thread_id = thread_id
        self._house = household
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._postponed: deque[Message] = deque()
        self._session: ProviderSession | None = None
        self._when_running: list[Callable[[], Awaitable[None]]] = []
        self._restart_text: str | None = None
        self._is_interrupt_sent = False
        self._is_idle = False
        self._stopping: asyncio.Future[None] | None = None

    @property
    def thread(self) -> Thread:
        return self._house.journal.thread(self._thread_id)

    def post(self, message: Message) -> None:
        # A handshake that hangs holds the lane: only from here can it be ended.
        if isinstance(message, c.StopSession) and self._session is not None and self.thread.session() is None:
            self._stopping = asyncio.ensure_future(self._session.adapter.close())
        self._inbox.put_nowait(message)

    async def run(self) -> None:
        """For ever; cancelled by `close`'s caller."""
        while True:
            message = self._postponed.popleft() if self._postponed else await self._inbox.get()
            await self._handle(message)
            self._mind_idleness()

    async def close(self) -> None:
        """After `run` was cancelled: the session ends, and what was under way is left to recovery."""
        if self._session is not None:
            await self._session.adapter.close()
        self._record(*aftermath(self.thread, "shutdown", "the orchestrator was shut down"))

    def _record(self, *events: e.Event) -> None:
        if events:
            self._house.journal.record(self._thread_id, *events)

    def _new_id(self, kind: str) -> str:
        return self._house.journal.services.ids.new(kind)

    async def _handle(self, message: Message) -> None:
        match message:
            case FromProvider():
                # What a session says after it was given up is nobody's.
                if message.session is self._session:
                    await self._from_provider(message.session, message.event)
            case c.StartTurn() | c.QueueMessage():
                await self._start_next()
            case c.Steer():
                await self._steer(message.text)
            case c.Interrupt():
                await self._interrupt()
            case c.AnswerRequest():
                await self._answer(message.request_id)
            case c.RollbackThread():
                await self._roll_back()
            case c.SwitchProvider():
                await self._end_session("switched")
            case c.StopSession():
                await self._end_session("stopped")
            case Reap():
                if message.session is self._session and self._is_idle:
                    await self._end_session("idle")
            case Recover():
                await self._recover()
            case c.CreateThread():
                pass

    def _mind_idleness(self) -> None:
        session = self._session
        is_idle = session is not None and self.thread.active_run() is None and self.thread.rollback is None
        if session is not None and is_idle and not self._is_idle:
            self._house.reaper.watch(session.session_id, lambda: self.post(Reap(session)))
        elif session is not None and not is_idle:
            self._house.reaper.spare(session.session_id)
        self._is_idle = is_idle

    # Runs and attempts.

    async def _start_next(self) -> None:
        run = self.thread.next_run()
        if run is None or self.thread.active_run() is not None or self.thread.rollback is not None:
            return
        await self._house.checkpoints.before_first(self._thread_id, run)
        await self._start_attempt(run, "first", run.text)

    async def _start_attempt(
        self, run: Run, reason: Literal["first", "steer", "recovery"], text: str
    ) -> None:
        attempt_id, provider = self._new_id("attempt"), self.thread.provider
        number = len(run.attempts) + 1
        self._record(e.AttemptStarted(attempt_id, run.run_id, number, provider, reason, text))
        self._is_interrupt_sent = False
        try:
            session = await self._open_session()
            await session.adapter.start_turn(self._handed_over(run) + text, base.TurnOptions(**run.options))
        except ProviderError as error:
            await self._attempt_over(run, "failed", str(error))

    def _handed_over(self, run: Run) -> str:
        known = self.thread.provider_thread(self.thread.provider)
        digest = None if known is None else digest_for(self.thread, known, run)
        if known is None or digest is None:
            return ""
        handoff_id = self._new_id("handoff")
        self._record(
            e.HandoffCreated(
                handoff_id,
                run.run_id,
                digest.kind,
                known.provider,
                known.provider_thread_id,
                digest.ordinals,
                digest.text,
            )
        )
        return digest.text

    def _attempt(self) -> tuple[Run, Attempt] | None:
        """The attempt that is under way."""
        run = self.thread.active_run()
        if run is None or run.attempts[-1].status not in ("starting", "running"):
            return None
        return run, run.attempts[-1]

    async def _attempt_over(
        self,
        run: Run,
        status: p.TurnStatus,
        error: str | None = None,
        resume_point: str | None = None,
    ) -> None:
        pending = [
            e.RequestResolved(request.request_id, "cancelled")
            for request in self.thread.requests.values()
            if request.run_id == run.run_id and request.status != "resolved"
        ]
        ended = e.AttemptEnded(run.attempts[-1].attempt_id, run.run_id, status, error, resume_point)
        self._record(*pending, ended)
        self._when_running.clear()
        text, self._restart_text = self._restart_text, None
        if text is not None and status != "failed" and not run.is_interrupt_requested:
            await self._start_attempt(run, "steer", text)
            return
        if text is not None:
            self._requeue(run, text, "the run was over before it could be steered")
        await self._finish(run, status, error)

    async def _finish(self, run: Run, status: p.TurnStatus, error: str | None) -> None:
        # Before its end is known, so that whoever acts on the end finds the checkpoint.
        await self._house.checkpoints.after_run(self._thread_id, run)
        self._record(e.RunEnded(run.run_id, status, error))
        await self._start_next()

    async def _recover(self) -> None:
        self._record(*aftermath(self.thread, "restart", "the orchestrator was restarted"))
        run = self.thread.active_run()
        if run is None:
            await self._start_next()
        elif self._house.recovery == "restart" and not run.is_interrupt_requested:
            await self._start_attempt(run, "recovery", run.attempts[-1].text)
        else:
            await self._finish(run, "interrupted", run.attempts[-1].error)

    # What clients asked for.

    async def _steer(self, text: str) -> None:
        active = self._attempt()
        session = self._session
        if active is None or session is None:
            self._requeue(self.thread.runs[-1], text, "the run was over before it could be steered")
            await self._start_next()
        elif session.adapter.capabilities.steer:
            await self._once_running(lambda: session.adapter.steer(text))
        else:
            self._restart_text = text if self._restart_text is None else f"{self._restart_text}\n\n{text}"
            await self._once_running(self._send_interrupt)

    async def _interrupt(self) -> None:
        if self._attempt() is not None:
            await self._once_running(self._send_interrupt)

    async def _send_interrupt(self) -> None:
        if self._session is not None and not self._is_interrupt_sent:
            self._is_interrupt_sent = True
            await self._session.adapter.interrupt()

    async def _once_running(self, action: Callable[[], Awaitable[None]]) -> None:
        """Now, or when the provider says that the turn runs: before that there is nothing to steer or to interrupt."""
        active = self._attempt()
        if active is not None and active[1].status == "running":
            await action()
        else:
            self._when_running.append(action)

    def _requeue(self, run: Run, text: str, error: str) -> None:
        """A steering that came to nothing is a message like any other, unless the user wanted an end of it."""
        rejected = e.SteerRejected(run.run_id, text, error)
        if run.is_interrupt_requested:
            self._record(rejected)
        else:
            created = e.RunCreated(self._new_id("run"), len(self.thread.runs) + 1, text, run.options)
            self._record(rejected, created)

    async def _answer(self, request_id: str) -> None:
        request = self.thread.requests[request_id]
        if self._session is not None and request.status == "answered":
            answer = base.Answer(request.option_id or "", request.answers)
            await self._session.adapter.answer(request.provider_request_id, answer)

    async def _roll_back(self) -> None:
        rollback, known = self.thread.rollback, self.thread.provider_thread(self.thread.provider)
        if rollback is None:
            return
        wanted = turns_to_drop(self.thread, known.provider_thread_id, rollback.run_ids) if known else None
        try:
            session = None if known is None or wanted is None else await self._open_session()
            # A provider that lost the thread has nothing to forget.
            if (
                session is not None
                and known
                and wanted
                and session.provider_thread_id == known.provider_thread_id
            ):
                await session.adapter.rollback(wanted)
            else:
                await self._rolled_back(None)
        except ProviderError as error:
            await self._rolled_back(str(error))

    async def _rolled_back(self, error: str | None) -> None:
        rollback = self.thread.rollback
        if rollback is None:
            self._record(e.ProviderWarning("turns were rolled back that nobody wanted back"))
            return
        status: Literal["completed", "failed"] = "completed" if error is None else "failed"
        if error is None:
            try:
                await self._house.checkpoints.go_back(self._thread_id, rollback.run_ids)
            except WorkspaceError as failure:
                error = str(failure)
        self._record(e.RollbackEnded(rollback.rollback_id, status, rollback.run_ids, error))
        await self._start_next()

    # Sessions and what they say.

    async def _open_session(self) -> ProviderSession:
        """The session that is open, or a new one on the provider's thread if it has one. Raises ProviderError."""
        if self._session is not None:
            return self._session
        thread, journal = self.thread, self._house.journal
        config = self._house.providers[thread.provider]
        known = thread.provider_thread(thread.provider)
        resume = known.provider_thread_id if known and base.capabilities_of(config.kind).resume else None
        session = ProviderSession(self._new_id("session"), thread, config, journal.services, self._heard)
        self._session = session
        try:
            opened = await session.open(resume)
        except ProviderError:
            self._session = None
            raise
        self._record(e.SessionOpened(session.session_id, thread.provider, *opened))
        return session

    def _heard(self, session: ProviderSession, event: p.ProviderEvent) -> None:
        self._inbox.put_nowait(FromProvider(session, event))

    async def _end_session(self, reason: Literal["idle", "stopped", "switched"]) -> None:
        """Close it and take in what it said until then."""
        session = self._session
        if session is None:
            return
        session.closing = reason
        await session.adapter.close()
        while self._session is session:
            message = await self._inbox.get()
            if isinstance(message, FromProvider):
                await self._handle(message)
            else:
                self._postponed.append(message)

    async def _from_provider(self, session: ProviderSession, event: p.ProviderEvent) -> None:
        active = self._attempt()
        match event:
            case p.TurnStarted():
                await self._turn_started(event)
            case p.TurnEnded():
                if active is None or event.provider_turn_id not in ("", active[1].provider_turn_id):
                    self._record(
                        e.ProviderWarning(f"turn {event.provider_turn_id} ended and was not under way")
                    )
                else:
                    await self._attempt_over(active[0], event.status, event.error, event.resume_point)
            case p.SteerRejected():
                self._requeue(self.thread.runs[-1] if active is None else active[0], event.text, event.error)
                await self._start_next()
            case p.ThreadRolledBack():
                await self._rolled_back(event.error)
            case p.RuntimeExited():
                await self._exited(session, event)
            case p.ThreadOpened() if event.provider_thread_id != session.provider_thread_id:
                session.provider_thread_id = event.provider_thread_id
                self._record(e.ProviderThreadChanged(session.session_id, event.provider_thread_id))
            case p.ThreadOpened():
                pass
            case _:
                await self._inside(session, event)

    async def _turn_started(self, event: p.TurnStarted) -> None:
        active = self._attempt()
        if active is None or active[1].status != "starting":
            self._record(e.ProviderWarning(f"turn {event.provider_turn_id} started unasked"))
            return
        run, attempt = active
        self._record(e.TurnStarted(attempt.attempt_id, run.run_id, event.provider_turn_id))
        actions, self._when_running = self._when_running, []
        for action in actions:
            await action()

    async def _inside(self, session: ProviderSession, event: InnerEvent) -> None:
        run = self.thread.active_run() or next(
            (run for run in reversed(self.thread.runs) if run.attempts), None
        )
        if run is None:
            self._record(e.ProviderWarning(f"{type(event).__name__} came before any turn"))
            return
        self._record(*session.recorder.events_of(event, run))
        if isinstance(event, p.SubagentEnded) and (node_id := session.recorder.node_of(event.item_id)):
            await self._house.checkpoints.after_subagent(self._thread_id, node_id)

    async def _exited(self, session: ProviderSession, event: p.RuntimeExited) -> None:
        self._session = None
        self._house.reaper.spare(session.session_id)
        error = None if session.closing else event.error
        self._record(e.SessionClosed(session.session_id, session.closing or "exited", error))
        if self.thread.rollback is not None:
            await self._rolled_back(error or f"{session.provider} ended")
        if (active := self._attempt()) is not None:
            status: p.TurnStatus = "interrupted" if session.closing else "failed"
            cause = "the session was stopped" if session.closing else f"{session.provider} ended in a turn"
            await self._attempt_over(active[0], status, error or cause)
