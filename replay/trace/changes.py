"""changes.json: changes of an agent that a suite must catch, and changes that it must let pass. Pure.

    {"schema": 1, "changes": [
        {"name": "drop-tool", "kind": "regression", "env": {"SHOP_CHANGE": "drop-tool"}, "what": "…"},
        {"name": "key-order", "kind": "harmless", "args": ["--reversed"]}]}

A change is a variable or an argument that the agent is started with. Against both kinds a strategy is measured.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from replay.errors import FixtureError, Location
from replay.session.diagnosis import json_path
from replay.session.place import line_of
from replay.trace.codec import parse_document

__all__ = ["HARMLESS", "REGRESSION", "AgentChange", "read_changes"]

REGRESSION, HARMLESS = "regression", "harmless"
_KINDS: Final = (REGRESSION, HARMLESS)
_MEMBERS: Final = frozenset(("name", "kind", "env", "args", "what"))
_MAX_BYTES: Final = 1 << 20


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
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise refuse('is no file of changes: it needs "schema": 1')
    listed = document.get("changes")
    if not isinstance(listed, list):
        raise refuse("needs a list of changes", "changes")
    found: dict[str, AgentChange] = {}
    for at, fields in enumerate(listed):
        if not isinstance(fields, dict):
            raise refuse("expected an object", "changes", at)
        for key in fields.keys() - _MEMBERS:
            raise refuse(
                "is no member of a change", "changes", at, key, fix=f"known are {', '.join(sorted(_MEMBERS))}"
            )
        change = _change(fields, at, refuse)
        if change.name in found:
            raise refuse(f'is the second change "{change.name}"', "changes", at, "name")
        found[change.name] = change
    return list(found.values())


def _change(fields: dict[str, Any], at: int, refuse: Any) -> AgentChange:
    name, kind = fields.get("name"), fields.get("kind")
    env, args, what = fields.get("env", {}), fields.get("args", []), fields.get("what", "")
    if not isinstance(name, str) or not name:
        raise refuse("needs a name", "changes", at, "name")
    if kind not in _KINDS:
        raise refuse(
            "is no kind of change", "changes", at, "kind", fix=f'write "{REGRESSION}" or "{HARMLESS}"'
        )
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise refuse("expected variables: an object of strings", "changes", at, "env")
    if not isinstance(args, list) or not all(isinstance(value, str) for value in args):
        raise refuse("expected arguments: a list of strings", "changes", at, "args")
    if not env and not args:
        raise refuse("changes nothing", "changes", at, fix='give it "env" or "args"')
    if not isinstance(what, str):
        raise refuse("expected a string", "changes", at, "what")
    return AgentChange(name, kind, env, tuple(args), what)
