"""What a session log is made of once read: a header and rows (design 4.1).

A log keeps its lines as bytes and says of each line that matters to a replay script what it is (`stream`). A row
is decoded when somebody asks for it, so a log costs little more memory than its file, and packed runs stay packed
until a model call is served.
"""

from typing import Any

import orjson

__all__ = ["Header", "Row", "SessionLog", "StreamEvent"]

type StreamEvent = tuple[int, str, int, int, int]
"""(line, kind, turn, step, call), the turning points of a log in file order.

kind: "chunks" where rows of chunks of one (turn, step) begin, also after a finish or when a block index starts anew;
"finish" for that chunk; "call/start", "call/end", "assistant/message", "step/end", "turn/end", "user/message" for
such rows. turn, step, call are -1 where a row has none.
"""


class Row:
    """One physical line, packed rows not expanded.

    `gap` is set on rows that `unpack` made: whole milliseconds since the delta before it in its packed run. It is
    what keeps `dt` alive where rows hold no time.
    """

    __slots__ = ("data", "fields", "gap", "line", "type")

    def __init__(self, line: int, fields: dict[str, Any], gap: int | None = None) -> None:
        self.line = line
        self.type: str = fields["type"]
        self.data: dict[str, Any] = fields["data"]
        self.fields = fields
        self.gap = gap

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.line == other.line and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Row({self.line}, {self.fields!r})"


class Header:
    """Line 1. `seed_length` counts unpacked events that a fork inherited; `fields` is the whole line."""

    __slots__ = (
        "created_at",
        "cwd",
        "delegation_depth",
        "fields",
        "id",
        "origin",
        "parent_session",
        "seed_length",
        "version",
    )

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.id: str = fields["id"]
        self.version: int = fields["version"]
        self.created_at: int = fields["createdAt"]
        self.cwd: str | None = fields.get("cwd")
        self.parent_session: str | None = fields.get("parentSession")
        self.origin: str | None = fields.get("origin")
        self.delegation_depth: int = fields.get("delegationDepth", 0)
        self.seed_length: int = fields.get("seedLength", 0)


class SessionLog:
    """A log that was read and found sound. `lines` holds every line's bytes, the header's first."""

    __slots__ = ("_rows", "file", "header", "lines", "stream")

    def __init__(self, file: str, header: Header, lines: list[bytes], stream: list[StreamEvent]) -> None:
        self.file = file
        self.header = header
        self.lines = lines
        self.stream = stream
        self._rows: list[Row] | None = None

    @property
    def rows(self) -> list[Row]:
        """Every row after the header, decoded at the first use and kept."""
        if self._rows is None:
            loads = orjson.loads
            self._rows = [Row(line, loads(raw)) for line, raw in enumerate(self.lines[1:], 2)]
        return self._rows

    def row(self, line: int) -> Row:
        """The row of a 1-based line number (2 is the first row), decoded anew unless `rows` was used before."""
        if self._rows is not None:
            return self._rows[line - 2]
        return Row(line, orjson.loads(self.lines[line - 1]))
