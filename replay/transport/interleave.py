"""Every legal order of a transcript's races: a response against the events recorded around it, by number. Pure.

A race is a run of consecutive inbound entries of one process: what the provider wrote there it could have written in
another order, as long as its events keep theirs. Each response of the run may stand anywhere in it. A run ends at an
outbound entry, at a runtime_exit, at a group (which is free in its own way) and before a gated entry, since what the test
waited for before it released the gate has to stay before it.

Order 0 is as recorded, then come all orders in which one response has moved, then those with two, and so on: where there
are too many, the ones that are left out are the least likely. An order is named by its number alone, and is computed from
it without going through the others.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.errors import FixtureError, UsageError, counted
from replay.transport.profile import Profile
from replay.transport.transcript import EmitInbound, Entry, Transcript

__all__ = ["MAX_ORDERS", "Orders"]

MAX_ORDERS: Final = 200


class _Response(NamedTuple):
    """The entry `at`, a response that can move. places: how many it has, once the earlier responses of its run stand."""

    run: int
    at: int
    recorded: int
    places: int


class Orders:
    """The orders of one transcript. count: how many are run; total: how many are legal; left_out: the difference."""

    __slots__ = ("_moves", "_responses", "_runs", "_size", "count", "total")

    def __init__(self, transcript: Transcript, profile: Profile, max_orders: int = MAX_ORDERS) -> None:
        entries = profile.prepare(transcript.entries, transcript.place)
        try:
            answers = profile.pairs(entries)
        except FixtureError as error:
            raise error.at(transcript.place) from None
        self._size = len(entries)
        self._runs = _runs(entries)
        self._responses = [
            response
            for number, run in enumerate(self._runs)
            for response in _responses(number, run, frozenset(answers))
        ]
        self._moves = _ways_by_moves([response.places - 1 for response in self._responses])
        self.total = sum(self._moves[0])
        self.count = min(self.total, max_orders)

    @property
    def left_out(self) -> int:
        """Legal orders beyond `count`."""
        return self.total - self.count

    def order(self, number: int) -> tuple[int, ...]:
        """The indices of the entries as order `number` plays them. Raises UsageError for a number that is none."""
        if not 0 <= number < self.total:
            raise UsageError(
                f"there is no order {number}: this transcript has {counted(self.total, 'order')}, from 0"
            )
        shifts = self._shifts(number)
        out = list(range(self._size))
        for at, run in enumerate(self._runs):
            responses = [
                (response, shift)
                for response, shift in zip(self._responses, shifts, strict=True)
                if response.run == at
            ]
            moving = {response.at for response, _ in responses}
            placed = [index for index in run if index not in moving]
            for response, shift in responses:
                placed.insert((response.recorded + shift) % response.places, response.at)
            for position, index in zip(run, placed, strict=True):
                out[position] = index
        return tuple(out)

    def _shifts(self, number: int) -> list[int]:
        """How far each response moves, cyclically over its places; 0 is as recorded."""
        moves = 0
        while number >= self._moves[0][moves]:
            number -= self._moves[0][moves]
            moves += 1
        shifts = []
        for at, response in enumerate(self._responses):
            rest = self._moves[at + 1]
            staying = rest[moves] if moves < len(rest) else 0
            if number < staying:
                shifts.append(0)
                continue
            number -= staying
            moves -= 1
            shift, number = divmod(number, rest[moves])
            assert shift < response.places - 1
            shifts.append(shift + 1)
        return shifts


def _runs(entries: Sequence[Entry]) -> list[list[int]]:
    """Runs of two or more inbound entries of one process, as indices."""
    runs: list[list[int]] = []
    current: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, EmitInbound) or entry.group:
            current.pop(entry.process, None)
            continue
        if entry.gate:
            current.pop(entry.process, None)
        run = current.get(entry.process)
        if run is None:
            run = current[entry.process] = []
            runs.append(run)
        run.append(index)
        if entry.gate:
            # It stays the first of what follows it: a run of its own.
            current.pop(entry.process)
    return [run for run in runs if len(run) > 1]


def _responses(number: int, run: Sequence[int], answers: frozenset[int]) -> list[_Response]:
    found: list[_Response] = []
    events = sum(index not in answers for index in run)
    for position, index in enumerate(run):
        if index in answers:
            earlier = len(found)
            events_before = position - earlier
            found.append(_Response(number, index, events_before + earlier, events + earlier + 1))
    return found


def _ways_by_moves(choices: Sequence[int]) -> list[list[int]]:
    """[at][moves]: in how many ways `moves` of the responses from `at` on can stand elsewhere; the total is their sum."""
    table = [[1]]
    for choice in reversed(choices):
        rest = table[0]
        ways = [0] * (len(rest) + 1)
        for moves, count in enumerate(rest):
            ways[moves] += count
            ways[moves + 1] += count * choice
        table.insert(0, ways)
    return table
