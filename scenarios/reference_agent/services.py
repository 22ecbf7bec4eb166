"""What all sessions of a process share. The world comes in here: clock, pauses, environment."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from scenarios.reference_agent.model import Model
from scenarios.reference_agent.store import Store
from scenarios.reference_agent.tools import Tool, toolbox

__all__ = ["Services", "sleep_ms"]


class Services(NamedTuple):
    """`environment` is what commands of the model and hooks get; `spill` holds their long outputs.

    toolbox(can_ask=, can_delegate=) gives a session's tools by name.
    """

    model: Model
    store: Store
    spill: Path
    environment: Mapping[str, str]
    sleep_ms: Callable[[int], Awaitable[None]]
    toolbox: Callable[..., dict[str, Tool]] = toolbox


async def sleep_ms(delay_ms: int) -> None:
    await asyncio.sleep(delay_ms / 1000)
