"""What the agent needs of a model: a stream of chunks for a request, or a ModelError.

Chunks are mappings, as the session log keeps them: `block-start{index,blockType}`, `text-delta{index,text}`,
`reasoning-delta{index,text}`, `tool-call-delta{index,id,name?,argumentsDelta}`, `block-end{index,block}`,
`usage{usage}`, `finish{reason}`. A message is `{"role", "content"}`, its content a list of blocks: `text`,
`reasoning`, `image{mediaType,data}`, `tool-call{id,name,arguments}`, `tool-result{toolCallId,content,isError}`.
Roles are `user`, `assistant` and `tool`. A block's `extras` belong to the adapter that wrote them.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple

__all__ = ["Chunk", "Message", "Model", "ModelError", "ModelRequest"]

type Chunk = dict[str, Any]
type Message = dict[str, Any]


class ModelRequest(NamedTuple):
    """One call. `session` and `parent` identify the conversation, `cwd` is its working directory."""

    session: str
    parent: str | None
    cwd: str
    system: str
    tools: Sequence[dict[str, Any]]
    messages: Sequence[Message]


class ModelError(Exception):
    """A call failed. `code` decides whether a retry may help; `retry_after_ms` is the provider's own wish.

    Codes: AUTH, INVALID_REQUEST, EMPTY_RESPONSE, RATE_LIMIT, SERVER, TIMEOUT, TRANSPORT, or an adapter's own.
    """

    def __init__(self, message: str, code: str, retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retry_after_ms = retry_after_ms


class Model(ABC):
    """An adapter. Calls may run concurrently; closing a stream early ends its call."""

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """The chunks of one call as they come. Raises ModelError, also after some chunks."""

    async def close(self) -> None:
        """Let go of connections. No call is running."""
        return
