"""What a translator answers: frames for the host, bytes for the orchestrator."""

from typing import Any, NamedTuple

__all__ = ["Outbound", "Write"]


class Outbound(NamedTuple):
    """A frame for the host. ref: the live handle of what an answer is to go to, for protocols without ids."""

    frame: Any
    ref: Any = None


class Write(NamedTuple):
    """Bytes for the orchestrator."""

    data: bytes
