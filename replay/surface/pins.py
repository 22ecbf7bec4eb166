"""Prompt and tool-schema texts, pinned once a header class instead of in every fixture.

Session fixtures say {{system}} and {{tools}} (`eventlog`). The one scenario of each header class that pins them keeps
`system-prompt.expected.md`, the first header's prompt with one newline after it, and `tool-schemas.expected.json`:
{"initial": tools of the first header, "changes": [{"header": n, "system"?, "tools"?}]} for later headers (n counts
from 1) with what they changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.surface.values import Json

__all__ = ["SYSTEM_PROMPT", "TOOL_SCHEMAS", "Pins", "decode_pins", "encode_pins", "header_class", "pins_of"]

SYSTEM_PROMPT: Final = "system-prompt.expected.md"
TOOL_SCHEMAS: Final = "tool-schemas.expected.json"


class Pins(NamedTuple):
    """What the request headers of one session log say beside their configuration."""

    system: str
    initial: Json
    changes: list[Json]

    def values(self) -> list[Json]:
        """The pins as the lines of a surface, to be normalised and compared like any other."""
        return [self.system, {"initial": self.initial, "changes": self.changes}]


def pins_of(rows: Sequence[Json]) -> Pins | None:
    """The pins of a session log, None if it made no request. Take them before normalising, which drops them."""
    system: Json = None
    tools: Json = None
    initial: Json = None
    first = ""
    changes: list[Json] = []
    for number, header in enumerate(_headers(rows), start=1):
        if number == 1:
            system, tools = header.get("system"), header.get("tools")
            first, initial = system if isinstance(system, str) else "", tools
            continue
        change: dict[str, Json] = {"header": number}
        if header.get("system") != system:
            system = change["system"] = header.get("system")
        if header.get("tools") != tools:
            tools = change["tools"] = header.get("tools")
        if len(change) > 1:
            changes.append(change)
    return Pins(first, initial, changes) if first or initial is not None else None


def header_class(rows: Sequence[Json]) -> str:
    """What two logs share if one pin serves both: the configuration of their first header, "" without a header."""
    for header in _headers(rows):
        rest = {key: value for key, value in header.items() if key not in ("system", "tools")}
        return orjson.dumps(rest, option=orjson.OPT_SORT_KEYS).decode()
    return ""


def _headers(rows: Sequence[Json]) -> Iterator[dict[str, Json]]:
    for row in rows:
        if isinstance(row, dict) and row.get("type") == "request/header":
            data = row.get("data")
            header = data.get("header") if isinstance(data, dict) else None
            if isinstance(header, dict):
                yield header


def encode_pins(pins: Pins) -> dict[str, bytes]:
    """File name -> content of the two files that pin `pins`."""
    schemas = {"initial": pins.initial, "changes": pins.changes}
    return {
        SYSTEM_PROMPT: pins.system.encode() + b"\n",
        TOOL_SCHEMAS: orjson.dumps(schemas, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    }


def decode_pins(files: Mapping[str, bytes], directory: str = "") -> Pins:
    """The inverse of encode_pins. Raises FixtureError for a file that is missing or malformed."""
    prefix = f"{directory}/" if directory else ""
    for name in (SYSTEM_PROMPT, TOOL_SCHEMAS):
        if name not in files:
            raise FixtureError(
                "is missing: prompt and tool schemas are pinned together",
                Location(prefix + name),
                "pin both or neither",
            )
    try:
        system = files[SYSTEM_PROMPT].decode()
    except UnicodeDecodeError as error:
        raise FixtureError(f"byte {error.start} is not UTF-8", Location(prefix + SYSTEM_PROMPT)) from None
    try:
        schemas = orjson.loads(files[TOOL_SCHEMAS])
    except ValueError as error:
        raise FixtureError(f"is not JSON: {error}", Location(prefix + TOOL_SCHEMAS)) from None
    if not isinstance(schemas, dict) or sorted(schemas) != ["changes", "initial"]:
        raise FixtureError(
            'expected an object with the keys "initial" and "changes"',
            Location(prefix + TOOL_SCHEMAS, path="$"),
        )
    if not isinstance(schemas["changes"], list):
        raise FixtureError("expected a list", Location(prefix + TOOL_SCHEMAS, path="$.changes"))
    return Pins(system.removesuffix("\n"), schemas["initial"], schemas["changes"])
