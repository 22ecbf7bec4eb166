"""What the player is told about a live model request, whatever wire or adapter it came by."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ModelRequest"]


class ModelRequest:
    """One request to the model, simplified.

    session: the agent's id of the conversation, None where the wire has none; parent: that of the session which
    delegated to it. messages: {"role": "system"|"user"|"assistant"|"tool", "text"} in order, text being all text
    leaves of a message, tool arguments included. text: all text leaves of the request, joined by LF.

    Where a gateway saw the request: key, its key; hashes, the keys of its system prompt and its tools; conversation, its
    messages as they were sent, for telling a difference. words is binding.py's own.
    """

    __slots__ = ("conversation", "hashes", "key", "messages", "parent", "session", "text", "words")

    def __init__(
        self,
        session: str | None = None,
        parent: str | None = None,
        messages: list[dict[str, str]] | None = None,
        text: str | None = None,
    ) -> None:
        self.session = session
        self.parent = parent
        self.messages = messages or []
        self.key = ""
        self.hashes: Mapping[str, str] = {}
        self.conversation: Sequence[dict[str, Any]] = ()
        self.words: list[str] | None = None
        self.text = "\n".join(message["text"] for message in self.messages) if text is None else text
