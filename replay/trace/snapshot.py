"""What an agent holds at one moment: memory, state, context, and the tools that it knows. Pure.

Two snapshots have one hash exactly where `snapshot_differences` without rules finds nothing: key order and 1 against
1.0 are no difference to either. To accept a snapshot is to write it.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.surface.values import Json
from replay.trace.canonical import canonical, plain
from replay.trace.comparators import Closeness, Mismatch, differences
from replay.trace.rules import EXACT, Rules

__all__ = [
    "Snapshot",
    "read_snapshot",
    "snapshot_differences",
    "snapshot_hash",
    "tool_registry",
    "write_snapshot",
]

MAX_SNAPSHOT_BYTES = 16 << 20
_MAX_NESTING = 200
_PARTS = ("memory", "state", "context", "tools")


class Snapshot(NamedTuple):
    """`tools`: name -> description and schema. A part that an agent does not have is null."""

    label: str
    memory: Json = None
    state: Json = None
    context: Json = None
    tools: Json = None


def tool_registry(tools: Any) -> dict[str, Json]:
    """Tools by name, so that their order is no difference. Takes the list that a model is sent, in the usual shapes:
    `{"name"}` or `{"type": "function", "function": {"name"}}`. Raises FixtureError for a tool without a name, or two
    of one name.
    """
    found: dict[str, Json] = {}
    for number, tool in enumerate(tools if isinstance(tools, (list, tuple)) else ()):
        inner = (
            tool.get("function")
            if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping)
            else tool
        )
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(name, str) or not name:
            raise FixtureError("is a tool without a name", Location(path=f"$.tools[{number}]"))
        if name in found:
            raise FixtureError(f'is the second tool "{name}"', Location(path=f"$.tools[{number}]"))
        found[name] = {str(key): value for key, value in inner.items() if key != "name"}
    return found


def snapshot_hash(snapshot: Snapshot) -> str:
    """ "sha256:…" of label and parts; the same for every order of keys and spelling of a number."""
    return "sha256:" + sha256(canonical(_content(snapshot))).hexdigest()


def snapshot_differences(
    expected: Snapshot, actual: Snapshot, rules: Rules = EXACT, closeness: Closeness | None = None
) -> list[Mismatch]:
    """Every mismatch, by a path such as `$.memory.notes[2]`; the label is `$.label`."""
    return differences(_content(expected), _content(actual), rules, closeness)


def write_snapshot(snapshot: Snapshot) -> bytes:
    """The file: schema, label, hash, parts; keys sorted, so that nothing but a change is a diff."""
    head = {"schema": 1, "label": snapshot.label, "hash": snapshot_hash(snapshot)}
    parts = {part: _sorted(plain(getattr(snapshot, part))) for part in _PARTS}
    return orjson.dumps({**head, **parts}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_snapshot(data: bytes, place: str) -> Snapshot:
    """The inverse. Raises FixtureError: no snapshot, too large or deep, or a hash that its content has not."""
    where = Location(place)
    if len(data) > MAX_SNAPSHOT_BYTES:
        raise FixtureError(f"has {len(data)} bytes, {MAX_SNAPSHOT_BYTES} are allowed", where)
    try:
        fields: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FixtureError(
            f"is not JSON: {error}", Location(place, data.count(b"\n", 0, error.pos) + 1)
        ) from None
    if not isinstance(fields, dict) or fields.get("schema") != 1 or not isinstance(fields.get("label"), str):
        raise FixtureError('is no snapshot: it needs "schema": 1 and a "label"', where)
    unknown = sorted(set(fields) - {"schema", "label", "hash", *_PARTS})
    if unknown:
        raise FixtureError(
            f'has a member "{unknown[0]}"', where._replace(path="$"), f"known are {', '.join(_PARTS)}"
        )
    if _depth(fields) > _MAX_NESTING:
        raise FixtureError(f"nests deeper than {_MAX_NESTING}", where)
    found = Snapshot(fields["label"], *(fields.get(part) for part in _PARTS))
    if "hash" in fields and fields["hash"] != snapshot_hash(found):
        raise FixtureError(
            "was changed by hand: its hash is that of another content",
            where._replace(path="$.hash"),
            "remove the member hash if the change is right; accepting a run writes it anew",
        )
    return found


def _content(snapshot: Snapshot) -> dict[str, Json]:
    return {"label": snapshot.label, **{part: getattr(snapshot, part) for part in _PARTS}}


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _depth(value: Json) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        waiting += [(each, depth + 1) for each in inside]
    return deepest
