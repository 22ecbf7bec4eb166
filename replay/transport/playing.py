"""One transcript while it is played: its engine, its connections, its marks, and what became of it.

The host hands in what arrived and asks for what is due; nothing here waits, reads a clock or owns a socket. A
divergence is kept and ends every connection of the transcript, since its cursor has no place any more.
"""

import signal
from collections import Counter
from typing import Any

from replay.errors import DivergenceError, FixtureError, Location, ReplayError, UsageError
from replay.transport.engine import (
    AwaitClose,
    AwaitOpen,
    AwaitOutbound,
    Emit,
    Engine,
    Exit,
    Finished,
    Held,
    Wait,
)
from replay.transport.journal import Journal
from replay.transport.message import Diverged, Inbound
from replay.transport.message import Exit as ExitMessage
from replay.transport.profile import Profile, profile
from replay.transport.status import DIVERGED, Finding, Status
from replay.transport.steps import Step
from replay.transport.transcript import ExpectOutbound, RuntimeExit, Transcript

__all__ = ["Message", "Playing", "exit_message", "name_of"]

type Message = Inbound | ExitMessage | Diverged | None
"""What is to be sent on a connection; None closes it without a word."""

_HARMLESS = frozenset(
    ("SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH")
)
_SUFFIXES = (".ndjson", ".transcript", "_transcript")


def name_of(transcript: Transcript) -> str:
    """What a transcript is called in a host: "codex" for codex.transcript.ndjson and for a_b.codex.transcript.ndjson."""
    name = transcript.place.replace("\\", "/").rpartition("/")[2]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name.rpartition(".")[2] or transcript.start.provider


class Playing:
    """A transcript, the engine over it, and who is connected."""

    def __init__(self, transcript: Transcript, workspace: str, number: int | None) -> None:
        """number: of the order to play; None and 0 are as recorded. Raises FixtureError or UsageError for what cannot be played."""
        _check_signals(transcript)
        self.transcript = transcript
        self.name = name_of(transcript)
        self.protocol = transcript.start.protocol
        self.journal = Journal()
        self.error: ReplayError | None = None
        self.waits_until_ms: int | None = None
        """When the next entry is due, on the host's clock, if only time is missing."""
        self.blocked: Step | None = None
        """What the last `advance` ended at."""
        self._labels = Counter(entry.label for entry in transcript.entries if entry.label)
        self._holdable = Counter(
            entry.label for entry in transcript.entries if not isinstance(entry, ExpectOutbound)
        )
        self._gates = {getattr(entry, "gate", "") for entry in transcript.entries} - {""}
        self._played: Counter[str] = Counter()
        self._ended: set[int] = set()
        self.connections: set[int] = set()
        self._rules = profile(transcript.start.protocol)
        self._engine = _engine(transcript, self._rules, workspace, number)

    # -- what arrives

    def open(self, connection: int, process: str, now_ms: int) -> None:
        """A peer connected."""
        self.journal.add(now_ms, connection, "open", label=process)
        self.connections.add(connection)
        with _Kept(self):
            self._engine.open(connection, process)

    def receive(self, connection: int, frame: Any, ref: Any, now_ms: int, line: bytes) -> None:
        """An outbound frame; `line` holds it as it came."""
        if self.error is not None:
            return
        with _Kept(self):
            if connection in self._ended:
                raise DivergenceError("the orchestrator sent a frame after it ended its input", self._place())
            self._engine.receive(connection, frame, ref)
            self._count_matched(connection, now_ms)
            return
        self.journal.add(now_ms, connection, "outbound", frame=line)

    def end(self, connection: int, now_ms: int) -> None:
        """The orchestrator sends no more on a connection that it still listens to."""
        self.journal.add(now_ms, connection, "end")
        self._ended.add(connection)

    def close(self, connection: int, now_ms: int) -> RuntimeExit | None:
        """A connection is over; the runtime_exit that this plays, if one does."""
        if connection not in self.connections or self.error is not None:
            return None
        self.journal.add(now_ms, connection, "close")
        with _Kept(self):
            consumed = self._engine.close(connection)
            self.connections.discard(connection)
            self._ended.discard(connection)
            if consumed is not None and consumed.label:
                self._played[consumed.label] += 1
            self._count_matched(connection, now_ms)
            return consumed
        return None

    def break_off(self, what: str, now_ms: int, connection: int = 0) -> None:
        """Something outside of the engine's sight is wrong, such as bytes that are no message. The first counts."""
        self._diverge(DivergenceError(what, self._place()))
        self.journal.add(now_ms, connection, "diverged")

    def answered(self) -> tuple[str, ...]:
        """The kinds of outbound requests whose answers the transcript holds, for a peer that makes up the others."""
        entries = self._rules.prepare(self.transcript.entries, self.transcript.place)
        asked = [entries[index] for index in self._rules.pairs(entries).values()]
        return tuple(
            sorted({self._rules.kind_of(each.frame) for each in asked if isinstance(each, ExpectOutbound)})
        )

    # -- what is due

    def advance(self, now_ms: int) -> list[tuple[int, Message]]:
        """Plays what can be played at this time: (connection, message), in order."""
        due: list[tuple[int, Message]] = []
        self.waits_until_ms = None
        while self.error is None:
            with _Kept(self):
                step = self._engine.step(now_ms)
                if not self._take(step, due, now_ms):
                    self.blocked = step
                    return due
        message = Diverged(self.error.explained())
        due += [(connection, message) for connection in sorted(self.connections)]
        self.connections.clear()
        return due

    def _take(self, step: Step, due: list[tuple[int, Message]], now_ms: int) -> bool:
        """Carry one step out; False where it is something to wait for."""
        match step:
            case Emit(connection, ordinal, entry, frame, ref):
                self._mark(entry.label, connection, "inbound", ordinal, now_ms)
                due.append((connection, Inbound(frame, ref, entry.label)))
                return True
            case Exit(connection, ordinal, entry):
                self._mark(entry.label, connection, "exit", ordinal, now_ms)
                self.connections.discard(connection)
                due.append((connection, exit_message(entry)))
                return True
            case AwaitOutbound(connection) | AwaitClose(connection) if connection in self._ended:
                self._close_ended(connection, due, now_ms)
                return True
            case Finished() if self._ended:
                self._close_ended(min(self._ended), due, now_ms)
                return True
            case Wait(until_ms):
                self.waits_until_ms = until_ms
        return False

    def _close_ended(self, connection: int, due: list[tuple[int, Message]], now_ms: int) -> None:
        """Nothing more can come on a connection whose input ended: that is when it closes."""
        consumed = self.close(connection, now_ms)
        if self.error is None:
            due.append((connection, ExitMessage("success") if consumed is None else exit_message(consumed)))

    def _count_matched(self, connection: int, now_ms: int) -> None:
        """Mark the outbound entries that were matched; more than one where a connection had to wait for its turn."""
        ordinals = self._engine.take_matched()
        labels = [self.transcript.entries[ordinal - 1].label for ordinal in ordinals]
        self._played.update(label for label in labels if label)
        if ordinals:
            self.journal.add(now_ms, connection, "outbound", ordinals, ", ".join(filter(None, labels)))

    def _mark(self, label: str, connection: int, what: str, ordinal: int, now_ms: int) -> None:
        if label:
            self._played[label] += 1
        self.journal.add(now_ms, connection, what, (ordinal,), label)

    # -- the test's hands

    def knows(self, label: str) -> bool:
        """Whether an entry has this label; "label#2" is its second."""
        return _is_one_of(label, self._labels)

    def can_hold(self, label: str) -> bool:
        """Whether an entry that the host plays has this label; "label#2" is the second of those."""
        return _is_one_of(label, self._holdable)

    def can_release(self, gate: str) -> bool:
        """Whether the transcript has this gate, or a label that can be held like one."""
        return gate in self._gates or self.can_hold(gate)

    def hold(self, label: str) -> None:
        """Hold an inbound entry until it is released. Raises UsageError where the engine has none."""
        self._engine.hold(label)

    def release(self, gate: str) -> None:
        """Let what a gate holds go on."""
        self._engine.release(gate)

    def names(self) -> list[str]:
        """Every label and gate, for a message about one that is not there."""
        return sorted({*self._labels, *self._gates})

    def has_played(self, label: str, number: int) -> bool:
        """Whether the entry with that label was played so often."""
        return self._played[label] >= number

    def never_plays(self, label: str, number: int) -> str:
        """Why `has_played` can become true no more; "" if it still can."""
        if self._labels[label] < number:
            return f'"{label}" stands {self._labels[label]} times in {self.transcript.place}, not {number}'
        if self.error is not None:
            return f"the run left its transcript: {self.error.explained()}"
        return ""

    def status(self) -> Status:
        """What became of the transcript so far."""
        status = self._engine.finish()
        if self.error is None:
            return status
        return status._replace(outcome=DIVERGED, finding=Finding.of(self.error))

    def waits_for(self) -> str:
        """What the cursor stands at, in words."""
        match self.blocked:
            case AwaitOutbound(_, ordinals, entries):
                labels = " or ".join(
                    f'"{entry.label}" (entry {ordinal})'
                    for ordinal, entry in zip(ordinals, entries, strict=True)
                )
                return f"the orchestrator has to send {labels}"
            case Held(ordinal, _, gate):
                return f'entry {ordinal} is held by the gate "{gate}"'
            case AwaitOpen(process):
                return "the orchestrator has to start the provider" + (
                    f' process "{process}"' if process else ""
                )
            case AwaitClose():
                return "the orchestrator has to close the provider"
            case Wait(until_ms):
                return f"the next entry is due at {until_ms} ms"
            case Finished():
                return "everything was played"
        return "nothing has happened yet"

    def _diverge(self, error: ReplayError) -> None:
        if self.error is None:
            self.error = error

    def _place(self) -> Location:
        return Location(self.transcript.place)


class _Kept:
    """A divergence inside becomes the transcript's own."""

    __slots__ = ("_playing",)

    def __init__(self, playing: Playing) -> None:
        self._playing = playing

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, (DivergenceError, FixtureError)):
            return False
        self._playing._diverge(error)
        return True


def exit_message(entry: RuntimeExit) -> ExitMessage:
    """What a peer is told of a runtime_exit."""
    return ExitMessage(entry.status, entry.error, entry.code, entry.signal)


def _engine(transcript: Transcript, rules: Profile, workspace: str, number: int | None) -> Engine:
    if not number:
        return Engine(transcript, rules, workspace=workspace, number=number)
    # Only a run of another order pays for the import.
    from replay.transport.interleave import Orders

    try:
        order = Orders(transcript, rules).order(number)
    except UsageError as error:
        raise error.at(transcript.place) from None
    return Engine(transcript, rules, workspace=workspace, order=order, number=number)


def _check_signals(transcript: Transcript) -> None:
    """Refuses a runtime_exit by a signal that this system has not, or that ends no process."""
    for entry in transcript.entries:
        name = entry.signal if isinstance(entry, RuntimeExit) else ""
        if name and (name in _HARMLESS or name not in signal.Signals.__members__):
            where = Location(transcript.place, entry.line, "$.signal")
            raise FixtureError(f"no process ends by {name}", where, "SIGKILL is one that ends any")


def _is_one_of(label: str, labels: Counter[str]) -> bool:
    name, _, digits = label.rpartition("#")
    return label in labels or (digits.isdecimal() and 0 < int(digits) <= labels[name])
