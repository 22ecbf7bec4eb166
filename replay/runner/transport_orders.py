"""The orders in which a test is played: the recorded one, and every other legal one of each transcript in turn.

Numbers count through the transcripts: 0 is as recorded, then come the other orders of the first transcript, then those
of the second. Which orders are legal is interleave.py's knowledge.
"""

from collections.abc import Mapping

from replay.errors import UsageError, counted
from replay.transport.interleave import Orders
from replay.transport.profile import profile
from replay.transport.transcript import Transcript

__all__ = ["OrderTable"]


class OrderTable:
    """The transcripts of a test and the orders of each, by name."""

    __slots__ = ("_orders", "_transcripts", "left_out", "total")

    def __init__(self, transcripts: Mapping[str, Transcript], max_orders: int) -> None:
        """max_orders: of each transcript."""
        self._transcripts = transcripts
        self._orders = {
            name: Orders(transcript, profile(transcript.start.protocol), max_orders=max_orders)
            for name, transcript in transcripts.items()
        }
        self.total = 1 + sum(orders.count - 1 for orders in self._orders.values())
        """All orders, the recorded one among them."""
        self.left_out = sum(orders.left_out for orders in self._orders.values())
        """Legal orders beyond the bound."""

    def chosen(self, number: int) -> dict[str, int]:
        """Of the order `number`, transcript -> its own order. Raises UsageError for one that there is not."""
        if not 0 <= number < self.total:
            has = f"this test has {counted(self.total, 'order')}, counted from 0"
            raise UsageError(f"there is no order {number}: {has}", fix="--test_arg=--order=N")
        left = number
        for name, orders in self._orders.items():
            others = orders.count - 1
            if 0 < left <= others:
                return {name: left}
            left -= others
        return {}

    def said(self, number: int) -> str:
        """What an order does otherwise than the recording, "" for the recorded one."""
        for name, own in self.chosen(number).items():
            transcript = self._transcripts[name]
            order = self._orders[name].order(own)
            rules = profile(transcript.start.protocol)
            answers = rules.pairs(rules.prepare(transcript.entries, transcript.place))
            moved = max(
                (place for place in range(len(order)) if order[place] in answers),
                key=lambda place: abs(place - order[place]),
            )
            entry = transcript.entries[order[moved]]
            after = transcript.entries[order[moved - 1]].line if moved else 1
            return f"the answer in {transcript.place}:{entry.line} comes right after line {after}"
        return ""
