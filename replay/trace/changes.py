"""changes.json: changes of an agent that a suite must catch, and changes that it must let pass. Pure.

    {"schema": 1, "changes": [
        {"name": "drop-tool", "kind": "regression", "env": {"SHOP_CHANGE": "drop-tool"}, "what": "…"},
        {"name": "key-order", "kind": "harmless", "args": ["--reversed"]}]}

A change is a variable or an argument that the agent is started with. Against both kinds a strategy is measured.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from replay.errors import FixtureError, Location
from replay.session.chunk import shown
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.codec import parse_document
from replay.trace.limits import MAX_NAME_CHARACTERS

__all__ = ["CHANGES", "HARMLESS", "REGRESSION", "AgentChange", "read_changes"]

CHANGES: Final = "changes.json"
REGRESSION, HARMLESS = "regression", "harmless"
_KINDS: Final = (REGRESSION, HARMLESS)
_FILE_MEMBERS: Final = ("schema", "changes")
_MEMBERS: Final = ("name", "kind", "env", "args", "what")
_MAX_BYTES: Final = 1 << 20
_LIKE: Final = (
    '{"schema": 1, "changes": [{"name": "brief", "kind": "harmless", "env": {"SHOP_CHANGE": "brief"}}]}'
)


class AgentChange(NamedTuple):
    """One change. what: a sentence for people."""

    name: str
    kind: str
    env: Mapping[str, str] = {}
    args: tuple[str, ...] = ()
    what: str = ""


def read_changes(data: bytes, place: str) -> list[AgentChange]:
    """The changes of a file. Raises FixtureError with line and JSON path."""

    def refuse(what: str, *parts: str | int, fix: str = "") -> FixtureError:
        return FixtureError(what, Location(place, line_of(data, parts), json_path(parts)), fix)

    document = parse_document(data, place, strict=True, max_bytes=_MAX_BYTES)
    schema = document.get("schema") if isinstance(document, dict) else None
    if type(schema) is not int or schema != 1:
        raise refuse('is no file of changes: it needs "schema": 1', fix=_LIKE)
    for key in document:
        if key not in _FILE_MEMBERS:
            raise refuse("is no member of a file of changes", key, fix=_known(_FILE_MEMBERS))
    listed = document.get("changes")
    if not isinstance(listed, list):
        raise refuse("needs a list of changes", "changes", fix=_LIKE)
    found: dict[str, AgentChange] = {}
    for at, fields in enumerate(listed):
        if not isinstance(fields, dict):
            raise refuse("expected an object", "changes", at, fix=_LIKE)
        for key in fields:
            if key not in _MEMBERS:
                raise refuse("is no member of a change", "changes", at, key, fix=_known(_MEMBERS))
        change = _change(fields, at, refuse)
        if change.name in found:
            what = f"is the second change {shown(change.name)}"
            raise refuse(what, "changes", at, "name", fix="give each a name of its own")
        found[change.name] = change
    return list(found.values())


def _known(members: Sequence[str]) -> str:
    return f"known are {', '.join(members)}"


def _change(fields: dict[str, Any], at: int, refuse: Callable[..., FixtureError]) -> AgentChange:
    name, kind = fields.get("name"), fields.get("kind")
    env, args, what = fields.get("env", {}), fields.get("args", []), fields.get("what", "")
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > MAX_NAME_CHARACTERS:
        raise refuse("needs a name", "changes", at, "name", fix="write a line of text")
    if kind not in _KINDS:
        raise refuse(
            "is no kind of change", "changes", at, "kind", fix=f'write "{REGRESSION}" or "{HARMLESS}"'
        )
    if not isinstance(env, dict) or not all(map(_is_text, env.values())):
        raise refuse("expected variables: an object of strings", "changes", at, "env", fix=_LIKE)
    for key in env:
        if not key or "=" in key or not _is_text(key):
            raise refuse("is no name of a variable", "changes", at, "env", key, fix="letters, digits and _")
    if not isinstance(args, list) or not all(map(_is_text, args)):
        raise refuse(
            "expected arguments: a list of strings", "changes", at, "args", fix='"args": ["--brief"]'
        )
    if not env and not args:
        raise refuse("changes nothing", "changes", at, fix='give it "env" or "args"')
    if not isinstance(what, str):
        raise refuse("expected a string", "changes", at, "what", fix="say in a sentence what is changed")
    return AgentChange(name, kind, env, tuple(args), what)


def _is_text(value: Any) -> bool:
    """Whether a process can be started with it."""
    return isinstance(value, str) and "\0" not in value
