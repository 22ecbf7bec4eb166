"""What a normaliser is."""

from collections.abc import Sequence
from typing import Protocol

from scenarios.reference_orchestrator.fields import JsonObject
from scenarios.reference_orchestrator.providers import ProviderEvent

__all__ = ["Normaliser"]


class Normaliser(Protocol):
    """Fed with every frame of one session, in both directions and in order; it remembers what it needs.

    The events depend on the frames alone, so a recorded session gives the same events for ever. A frame that says
    nothing gives no event. Where a response may overtake a notification or fall behind it, the events are the same.
    """

    def sent(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        """A frame that the adapter wrote."""

    def received(self, frame: JsonObject) -> Sequence[ProviderEvent]:
        """A frame that the provider wrote. Raises ProviderError for one that its protocol forbids."""
