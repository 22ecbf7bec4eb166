"""Plays a transcript to an orchestrator: what came in, what is to be sent, where the run left the recording. Pure.

It knows entries, connections and handles, and nothing of turns, plans, approvals or subagents; what a frame means is the
profile's. The caller owns sockets, clock and waiting: it reports what happens (open, receive, close, hold, release) and
asks step(now_ms) until the answer is something to wait for.

Invariants: inbound frames of a process are emitted in the order of the transcript; an outbound frame is matched exactly
once, when it comes; after a divergence every call raises it again. lane.py has the theory of the cursor.
"""

from collections.abc import Sequence

from replay.errors import DivergenceError, FixtureError, UsageError
from replay.transport.correlation import Correlation
from replay.transport.lane import Gates, Lane, Turn, TurnKind
from replay.transport.mismatch import Mismatch, explain
from replay.transport.prepared import prepare
from replay.transport.profile import Profile, Ref
from replay.transport.reasons import (
    closed_early,
    left_over,
    process_words,
    started_too_often,
    unknown_process,
)
from replay.transport.status import CONSUMED, DIVERGED, UNCONSUMED, Finding, Status
from replay.transport.steps import (
    AwaitClose,
    AwaitOpen,
    AwaitOutbound,
    Emit,
    Exit,
    Finished,
    Held,
    Step,
    Wait,
)
from replay.transport.transcript import EmitInbound, ExpectOutbound, Frame, RuntimeExit, Transcript

__all__ = [
    "AwaitClose",
    "AwaitOpen",
    "AwaitOutbound",
    "Emit",
    "Engine",
    "Exit",
    "Finished",
    "Held",
    "Step",
    "Wait",
]


class _Connection:
    """lane: None until it is known; held: what came before its turn. is_over: its process ended."""

    __slots__ = ("held", "is_over", "lane")

    def __init__(self) -> None:
        self.lane: Lane | None = None
        self.held: list[tuple[Frame, Ref | None]] = []
        self.is_over = False


class Engine:
    """One run of one transcript.

    workspace: what {{workspace}} stands for. order: indices of the entries as they are to be played, None as recorded;
    number: how that order is called in the status. Raises FixtureError or UsageError for what cannot be played.
    """

    __slots__ = (
        "_closed_early",
        "_connections",
        "_correlation",
        "_failure",
        "_gates",
        "_inbound",
        "_labels",
        "_lanes",
        "_newly_matched",
        "_number",
        "_outbound",
        "_prepared",
        "_transcript",
    )

    def __init__(
        self,
        transcript: Transcript,
        profile: Profile,
        *,
        workspace: str,
        order: Sequence[int] | None = None,
        number: int | None = None,
    ) -> None:
        self._transcript = transcript
        self._number = number if number is not None or order is not None else 0
        self._prepared = prepare(transcript, profile, workspace, order)
        self._gates = Gates()
        self._correlation = Correlation(self._prepared)
        self._connections: dict[int, _Connection] = {}
        self._lanes = self._make_lanes()
        self._outbound = dict.fromkeys(self._lanes, 0)
        self._inbound = 0
        self._newly_matched: list[int] = []
        self._labels: dict[str, list[int]] = {}
        for index, entry in enumerate(self._prepared.entries):
            if not isinstance(entry, ExpectOutbound) and entry.label:
                self._labels.setdefault(entry.label, []).append(index)
        self._failure: DivergenceError | FixtureError | None = None
        self._closed_early = False

    def _make_lanes(self) -> dict[str, Lane]:
        prepared = self._prepared
        indices: dict[str, list[int]] = {}
        for index in prepared.sequence:
            indices.setdefault(prepared.entries[index].process, []).append(index)
        return {
            name: Lane(name, own, prepared, self._gates, self._correlation.matched)
            for name, own in indices.items()
        }

    # -- what happens -----------------------------------------------------------------------------------------

    def open(self, connection: int, process: str = "") -> None:
        """A provider process was started, or dialled. Raises DivergenceError where none was to be."""
        self._check()
        if connection in self._connections:
            raise ValueError(f"connection {connection} is open already")
        self._connections[connection] = _Connection()
        lane = self._lane_of(process)
        if lane is not None:
            self._bind(connection, lane)

    def receive(self, connection: int, frame: Frame, ref: Ref | None = None) -> None:
        """The orchestrator sent a frame. ref: its handle where the frame carries none. Raises DivergenceError."""
        self._check()
        state = self._connections[connection]
        if state.is_over:
            return  # written to a process that has ended: nobody reads it
        lane = state.lane
        if lane is None:
            lane = self._lane_by_frame(frame, ref)
            self._bind(connection, lane)
        if lane.connection != connection:
            state.held.append((frame, ref))
            return
        try:
            self._meet(lane, connection, frame, ref)
        except (DivergenceError, FixtureError) as error:
            raise self._fail(error) from None

    def close(self, connection: int) -> RuntimeExit | None:
        """The orchestrator closed a connection; the exit that this plays, if one does.

        Raises DivergenceError where something was still to be played on it.
        """
        self._check()
        state = self._connections[connection]
        lane = state.lane
        if state.is_over or lane is None:
            state.is_over = True
            return None
        if lane.connection != connection:
            if state.held:
                what = f"the orchestrator closed {process_words(lane)}, started anew, before its turn came"
                raise self._fail(DivergenceError(what, self._prepared.where(lane.indices[lane.cursor])))
            lane.waiting.remove(connection)
            state.is_over = True
            return None
        entry = lane.next_entry()
        played = entry if isinstance(entry, RuntimeExit) else None
        if played is not None:
            lane.play(lane.indices[lane.cursor])
        elif entry is not None and not self._may_close(lane):
            self._closed_early = True
            raise self._fail(closed_early(self._prepared, lane, self._gates))
        self._end(connection, lane)
        return played

    def _may_close(self, lane: Lane) -> bool:
        """Whether the last thing that happened was the orchestrator's own farewell."""
        last = lane.last_outbound()
        entry = None if last is None else self._prepared.entries[last]
        return isinstance(entry, ExpectOutbound) and self._prepared.profile.closes(entry.frame)

    def take_matched(self) -> tuple[int, ...]:
        """Ordinals of the outbound entries whose frames have come since the last call, in the order in which they came.

        Frames of a connection that waits for its turn count when it is theirs.
        """
        taken, self._newly_matched = tuple(self._newly_matched), []
        return taken

    def hold(self, label: str) -> None:
        """Holds the first inbound entry or exit of a label, `label#2` the second. Raises UsageError for an unknown one."""
        self._gates.hold(self._index_of(label), label)

    def release(self, gate: str) -> None:
        """Opens a gate, or what was held under a label, for good, also before it is reached."""
        known = {entry.gate for entry in self._prepared.entries if isinstance(entry, EmitInbound)}
        if gate not in known:
            self._index_of(gate)
        self._gates.release(gate)

    def _index_of(self, label: str) -> int:
        if label in self._labels:
            return self._labels[label][0]
        name, _, digits = label.rpartition("#")
        known = self._labels.get(name, [])
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= len(known):
            return known[int(digits) - 1]
        what = f'{self._prepared.place}: no inbound entry has the label or the gate "{label}"'
        labels = ", ".join(sorted(self._labels)[:20]) or "none"
        raise UsageError(what, fix=f"labels are: {labels}; the second entry of one is label#2")

    # -- what is to be done -----------------------------------------------------------------------------------

    def step(self, now_ms: int) -> Step:
        """What to do at `now_ms`: milliseconds on the run's clock, which never go back. Raises an earlier divergence."""
        self._check()
        best: Turn | None = None
        best_lane: Lane | None = None
        for lane in self._lanes.values():
            turn = lane.turn(now_ms)
            if best is None or _rank(turn) < _rank(best):
                best, best_lane = turn, lane
        if best is None or best_lane is None or best.kind == TurnKind.FINISHED:
            return Finished()
        return self._take(best, best_lane)

    def _take(self, turn: Turn, lane: Lane) -> Step:
        connection = lane.connection
        if connection is None:
            return AwaitOpen(lane.name)
        if turn.kind == TurnKind.WAIT:
            return Wait(turn.until_ms)
        entries = self._prepared.entries
        if turn.kind == TurnKind.OUTBOUND:
            awaited = (entries[index] for index in turn.indices)
            outbound = tuple(entry for entry in awaited if isinstance(entry, ExpectOutbound))
            return AwaitOutbound(connection, tuple(index + 1 for index in turn.indices), outbound)
        [index] = turn.indices
        entry = entries[index]
        assert not isinstance(entry, ExpectOutbound)
        if turn.kind == TurnKind.HELD:
            return Held(index + 1, entry, turn.gate)
        if isinstance(entry, EmitInbound):
            frame, ref = self._correlation.outgoing(connection, index, entry)
            lane.play(index)
            self._inbound += 1
            return Emit(connection, index + 1, entry, frame, ref)
        if turn.kind == TurnKind.CLOSE:
            return AwaitClose(connection, index + 1, entry)
        lane.play(index)
        self._end(connection, lane)
        return Exit(connection, index + 1, entry)

    # -- matching ---------------------------------------------------------------------------------------------

    def _meet(self, lane: Lane, connection: int, frame: Frame, ref: Ref | None) -> None:
        """Matches a frame with what may come now, or raises."""
        self._outbound[lane.name] += 1
        correlation = self._correlation
        live = correlation.handle_of(frame, ref)
        expected = lane.expected()
        for index in expected:
            matched = correlation.compare(index, frame, live)
            if not matched.differences:
                correlation.accept(connection, index, live, matched)
                self._newly_matched.append(index + 1)
                return
        come = [index for index in lane.indices if index in correlation.matched]
        mismatch = Mismatch(frame, self._outbound[lane.name], lane.name, expected, lane.remaining(), come)
        raise explain(
            self._prepared, mismatch, lambda index: correlation.compare(index, frame, live).differences
        )

    # -- connections ------------------------------------------------------------------------------------------

    def _lane_of(self, process: str) -> Lane | None:
        """The lane that a connection is for, None where only its first frame can say."""
        lanes = self._lanes
        if process in lanes:
            return lanes[process]
        if process and set(lanes) != {""}:
            raise self._fail(unknown_process(self._prepared, process, list(lanes)))
        if len(lanes) == 1:
            return next(iter(lanes.values()))
        free = self._free_lanes()
        return free[0] if len(free) == 1 else None

    def _lane_by_frame(self, frame: Frame, ref: Ref | None) -> Lane:
        """The first process that is not running and begins with this frame; if none does, the first not running."""
        free = self._free_lanes()
        live = self._correlation.handle_of(frame, ref)
        for lane in free:
            expected = lane.expected()
            if any(not self._correlation.compare(index, frame, live).differences for index in expected):
                return lane
        return free[0]

    def _free_lanes(self) -> list[Lane]:
        free = [
            lane for lane in self._lanes.values() if lane.connection is None and lane.next_entry() is not None
        ]
        if not free:
            raise self._fail(started_too_often(self._prepared, ""))
        return free

    def _bind(self, connection: int, lane: Lane) -> None:
        self._connections[connection].lane = lane
        if lane.connection is None and lane.next_entry() is not None:
            lane.connection = connection
            lane.lives += 1
        elif lane.connection is not None and lane.has_exit_ahead:
            lane.waiting.append(connection)
        else:
            raise self._fail(started_too_often(self._prepared, lane.name))

    def _end(self, connection: int, lane: Lane) -> None:
        """The connection is over; the one that was opened meanwhile takes its place."""
        self._connections[connection].is_over = True
        lane.connection = None
        if lane.waiting:
            successor = lane.waiting.pop(0)
            self._bind(successor, lane)
            state = self._connections[successor]
            held, state.held = state.held, []
            for frame, ref in held:
                self.receive(successor, frame, ref)

    # -- the end ----------------------------------------------------------------------------------------------

    def finish(self) -> Status:
        """What became of the transcript. Never raises; may be asked at any time."""
        played = sum(lane.count_played() for lane in self._lanes.values())
        outcome, failure = CONSUMED, self._failure
        if failure is not None:
            outcome = DIVERGED
        elif played < len(self._prepared.entries):
            outcome, failure = UNCONSUMED, left_over(self._prepared, self._lanes.values(), self._gates)
        start = self._transcript.start
        return Status(
            transcript=self._transcript.place,
            provider=start.provider,
            scenario=start.scenario,
            order=self._number,
            outcome=outcome,
            entries=len(self._prepared.entries),
            played=played,
            outbound=sum(self._outbound.values()),
            inbound=self._inbound,
            processes=sum(lane.lives for lane in self._lanes.values()),
            finding=None if failure is None else Finding.of(failure),
            closed_early=self._closed_early,
        )

    def _fail[E: DivergenceError | FixtureError](self, error: E) -> E:
        self._failure = error
        return error

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


def _rank(turn: Turn) -> tuple[int, int, int]:
    return turn.kind, turn.until_ms, turn.indices[0] if turn.indices else 0
