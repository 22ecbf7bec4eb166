"""The tools of the desk as a model sees them, and the method of the world behind each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["FILE_TOOLS", "SHOP_TOOLS", "ToolSpec"]

_TEXT: Final = {"type": "string"}


class ToolSpec(NamedTuple):
    """method: of Desk. arguments: name -> JSON schema, all required, named as the method's parameters."""

    name: str
    description: str
    method: str
    arguments: Mapping[str, Mapping[str, Any]]

    def schema(self) -> dict[str, Any]:
        """Of its arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.arguments.items()},
            "required": list(self.arguments),
        }


SHOP_TOOLS: Final[Sequence[ToolSpec]] = (
    ToolSpec("calculate", "The value of a sum.", "calculate", {"expression": _TEXT}),
    ToolSpec("find_person", "A colleague by their full name.", "find_person", {"name": _TEXT}),
    ToolSpec("list_orders", "All orders of a customer.", "list_orders", {"customer": _TEXT}),
    ToolSpec("get_order", "An order by its number.", "get_order", {"order_id": _TEXT}),
    ToolSpec(
        "set_status", "Change the status of an order.", "set_status", {"order_id": _TEXT, "status": _TEXT}
    ),
    ToolSpec(
        "file_ticket",
        "A new ticket.",
        "file_ticket",
        {"category": _TEXT, "subject": _TEXT, "text": _TEXT},
    ),
)
FILE_TOOLS: Final[Sequence[ToolSpec]] = (
    ToolSpec("read_file", "The text of a file.", "read_file", {"path": _TEXT}),
    ToolSpec("write_file", "Put a text into a file.", "write_file", {"path": _TEXT, "content": _TEXT}),
)
