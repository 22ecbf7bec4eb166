"""What a peer of a line-based wire has to be for the edge in stdio.py; imported by type checkers alone."""

from collections.abc import Iterable
from typing import Any, Protocol

from replay.transport.peers import Outbound, Write

__all__ = ["Translator"]


class Translator(Protocol):
    """One connection's translation. Each method's values are carried out in order."""

    ends_with_input: bool
    """Whether the end of the orchestrator's input closes the provider; otherwise it is told to the host as "end"."""

    def start(self) -> Iterable[Outbound | Write]:
        """Called once, when the host has opened the connection."""
        ...

    def receive(self, line: bytes) -> Iterable[Outbound | Write]:
        """A line of the orchestrator, without its end. Raises DivergenceError where the wire does not allow it."""
        ...

    def end(self) -> Iterable[Outbound | Write]:
        """The orchestrator's input ended."""
        ...

    def deliver(self, frame: Any, ref: Any) -> Iterable[Outbound | Write]:
        """A frame of the host for the orchestrator."""
        ...
