"""The ops of design 4.3 as a table: which keys each takes, of which type.

A check returns None, or what is wrong and where below the value. All ops that send a request take `_meta`, passed on
as it is; most of them take `"expectError": true` (the agent must refuse). Paths are relative to the sandbox cwd
and may not leave it. `session` counts the sessions made in this run from 0, the newest is the default.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ALIASES", "OPS", "Check", "Field", "Op", "Problem", "is_object", "is_text"]


class Problem(NamedTuple):
    """What a value should be ("must be a string"); `path` leads from the value to the culprit."""

    what: str
    path: str = ""


Check = Callable[[Any], Problem | None]


class Field(NamedTuple):
    check: Check
    required: bool = False


class Op(NamedTuple):
    """`one_of`: groups of which exactly one key is given; `at_most_one_of`: one or none."""

    fields: dict[str, Field]
    needs_session: bool = False
    one_of: tuple[tuple[str, ...], ...] = ()
    at_most_one_of: tuple[tuple[str, ...], ...] = ()


def is_text(value: Any) -> Problem | None:
    return None if isinstance(value, str) and value else Problem("must be a string with text")


def is_string(value: Any) -> Problem | None:
    return None if isinstance(value, str) else Problem("must be a string")


def is_boolean(value: Any) -> Problem | None:
    return None if isinstance(value, bool) else Problem("must be true or false")


def is_integer(value: Any) -> Problem | None:
    return None if type(value) is int and -(2**53) < value < 2**53 else Problem("must be an integer")


def is_count(value: Any) -> Problem | None:
    return None if type(value) is int and 0 < value < 2**31 else Problem("must be an integer of 1 or more")


def is_index(value: Any) -> Problem | None:
    return None if type(value) is int and 0 <= value < 2**31 else Problem("must be an integer of 0 or more")


def is_object(value: Any) -> Problem | None:
    return None if isinstance(value, dict) else Problem("must be an object")


def is_string_or_boolean(value: Any) -> Problem | None:
    return None if isinstance(value, str | bool) else Problem("must be a string or a boolean")


def is_error_wanted(value: Any) -> Problem | None:
    return None if value is True else Problem("must be true, or be left out")


def is_relative_path(value: Any) -> Problem | None:
    if not isinstance(value, str) or not value or "\0" in value:
        return Problem("must be a relative path")
    if value.startswith("/") or ".." in value.split("/"):
        return Problem("must stay inside the sandbox cwd: a relative path without ..")
    return None


def is_strings(value: Any) -> Problem | None:
    return _items(value, is_string)


def is_objects(value: Any) -> Problem | None:
    return _items(value, is_object)


def is_content(value: Any) -> Problem | None:
    if isinstance(value, list) and not value:
        return Problem("must have at least one block")
    return _items(value, is_object)


def is_file_condition(value: Any) -> Problem | None:
    return _nested(value, _WAIT_FILE)


def is_update_condition(value: Any) -> Problem | None:
    problem = _nested(value, _WAIT_UPDATE)
    if problem is None and sum(name in value for name in _WAIT_UPDATE) != 1:
        return Problem("takes one of " + " or ".join(f'"{name}"' for name in _WAIT_UPDATE))
    return problem


def _items(value: Any, check: Check) -> Problem | None:
    if not isinstance(value, list):
        return Problem("must be an array")
    for index, item in enumerate(value):
        problem = check(item)
        if problem:
            return Problem(problem.what, f"[{index}]{problem.path}")
    return None


def _nested(value: Any, fields: dict[str, Field]) -> Problem | None:
    if not isinstance(value, dict):
        return Problem("must be an object")
    for key in value:
        if key not in fields:
            return Problem(f'unknown key "{key}" (known: {", ".join(fields)})')
    for name, field in fields.items():
        problem = field.check(value[name]) if name in value else None
        if problem:
            return Problem(problem.what, f".{name}{problem.path}")
        if field.required and name not in value:
            return Problem(f'needs "{name}"')
    return None


_META = {"_meta": Field(is_object)}
_ERROR = {"expectError": Field(is_error_wanted), "code": Field(is_integer)}
_SESSION = {"session": Field(is_index)}
_NEW = {
    "cwd": Field(is_relative_path),
    "mcpServers": Field(is_objects),
    "additionalDirectories": Field(is_strings),
    **_META,
}
_OLD = {**_NEW, **_ERROR, **_SESSION, "sessionId": Field(is_text)}
_WAIT_FILE = {"path": Field(is_relative_path, True)}
_WAIT_UPDATE = {"update": Field(is_object), "sessionUpdate": Field(is_text), "request": Field(is_text)}
_PROMPT = {**_SESSION, **_META}
_WAIT = {"wait": Field(is_boolean)}
_TEXT = {"text": Field(is_string)}
_CONTENT = {"content": Field(is_content)}
_EITHER = (("text", "content"),)

OPS: dict[str, Op] = {
    "initialize": Op(
        {
            "protocolVersion": Field(is_index),
            "clientCapabilities": Field(is_object),
            "clientInfo": Field(is_object),
            **_META,
            **_ERROR,
        }
    ),
    "authenticate": Op({"methodId": Field(is_text, True), **_META, **_ERROR}),
    "newSession": Op(_NEW),
    "newSessionExpectError": Op({**_NEW, "code": Field(is_integer)}),
    "loadSession": Op(_OLD, True, at_most_one_of=(("session", "sessionId"),)),
    "resumeSession": Op(_OLD, True, at_most_one_of=(("session", "sessionId"),)),
    "listSessions": Op({"cwd": Field(is_relative_path), "cursor": Field(is_string), **_META, **_ERROR}),
    "closeSession": Op({**_SESSION, **_META, **_ERROR}, True),
    "setMode": Op({"modeId": Field(is_text, True), **_SESSION, **_META, **_ERROR}, True),
    "setConfigOption": Op(
        {
            "configId": Field(is_text, True),
            "value": Field(is_string_or_boolean, True),
            **_SESSION,
            **_META,
            **_ERROR,
        },
        True,
    ),
    "prompt": Op({"text": Field(is_string, True), **_WAIT, **_PROMPT}, True),
    "promptContent": Op({"content": Field(is_content, True), **_WAIT, **_PROMPT}, True),
    "promptExpectError": Op({**_TEXT, **_CONTENT, "code": Field(is_integer), **_PROMPT}, True, _EITHER),
    "promptAndCancel": Op(
        {
            **_TEXT,
            **_CONTENT,
            "waitForFile": Field(is_file_condition),
            "waitForUpdate": Field(is_update_condition),
            **_PROMPT,
        },
        True,
        _EITHER,
        (("waitForFile", "waitForUpdate"),),
    ),
    "cancel": Op({**_SESSION, **_WAIT}, True),
    "cancelRequest": Op({**_SESSION, **_WAIT}, True),
    "waitForFile": Op(_WAIT_FILE),
    "waitForUpdate": Op(_WAIT_UPDATE, one_of=(tuple(_WAIT_UPDATE),)),
    "waitForTurnStart": Op({"turn": Field(is_count), **_SESSION}, True),
    "waitForTurnEnd": Op({"turn": Field(is_count), **_SESSION}, True),
    "waitForSubagentTurnEnd": Op({"count": Field(is_count)}, True),
    "waitForEventAfterTurnEnd": Op(
        {"type": Field(is_text, True), "count": Field(is_count), "turn": Field(is_count), **_SESSION}, True
    ),
    "restartAgent": Op({}),
    "settle": Op({}),
}

# An older name -> (the op, the fields that it stands for). Met in the wild.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "waitForTitleAfterTurnEnd": ("waitForEventAfterTurnEnd", {"type": "session/title"}),
}
