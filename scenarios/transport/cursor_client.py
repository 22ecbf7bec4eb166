"""The client object that a Cursor adapter is given here: the peer's, in the place of the provider's SDK."""

from replay.transport.peers.cursor import CursorClient
from scenarios.reference_orchestrator.adapters.base import ProviderConfig

__all__ = ["connect"]


async def connect(config: ProviderConfig) -> CursorClient:
    return await CursorClient.dial(
        config.environment["AGENT_REPLAY_TRANSPORT"], config.environment["AGENT_REPLAY_TRANSCRIPT"]
    )
