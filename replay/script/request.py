"""What the player is told about a live model request, whatever wire or adapter it came by."""

__all__ = ["ModelRequest"]


class ModelRequest:
    """One request to the model, simplified.

    session: the agent's id of the conversation, None where the wire has none; parent: that of the session which
    delegated to it. messages: {"role": "system"|"user"|"assistant"|"tool", "text"} in order, text being all text
    leaves of a message, tool arguments included. text: all text leaves of the request, joined by LF.
    """

    __slots__ = ("messages", "parent", "session", "text")

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
        self.text = "\n".join(message["text"] for message in self.messages) if text is None else text
