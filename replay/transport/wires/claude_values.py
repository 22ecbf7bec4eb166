"""The values of a `claude` CLI's flags <-> the JSON values of options: one entry of `KINDS` for each way to write one.

A reader never looks at a file that a value names, and refuses only what no option could mean. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from replay.errors import UsageError

__all__ = ["KINDS", "Kind"]

type Json = Any

_PRESET = {"type": "preset", "preset": "claude_code"}
_MAX_JSON_CHARACTERS = 4 * 1024 * 1024


class Kind(NamedTuple):
    """How one kind of flag is read (values, what stands there already, flag), recognised and written."""

    read: Callable[[list[str], Json, str], Json]
    holds: Callable[[Json], bool]
    write: Callable[[str, Json], Iterable[str]]


def _one(values: list[str], _: Json, flag: str) -> str:
    if not values:
        raise UsageError(f"{flag} needs a value", fix=f"write {flag}=VALUE")
    return values[0]


def _number(values: list[str], before: Json, flag: str) -> Json:
    text = _one(values, before, flag)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _json(values: list[str], before: Json, flag: str) -> Json:
    """An object where the text is one, else the text: these flags take the name of a file as well."""
    text = _one(values, before, flag)
    if not text.lstrip().startswith("{"):
        return text
    if len(text) > _MAX_JSON_CHARACTERS:
        raise UsageError(f"{flag} has a value of more than {_MAX_JSON_CHARACTERS} characters")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{flag} has a value that looks like JSON and is none: {error}") from None


def _servers(values: list[str], before: Json, flag: str) -> Json:
    merged: dict[str, Json] = dict(before or {})
    for value in values:
        document = _json([value], None, flag)
        if isinstance(document, dict) and isinstance(document.get("mcpServers"), dict):
            merged.update(document["mcpServers"])
        else:
            merged[value] = "file"
    return merged


def _list(values: list[str], before: Json, _: str) -> list[str]:
    return [*(before or []), *(item for value in values for item in _split(value))]


def _split(text: str) -> Iterator[str]:
    """Items between commas and blanks, none of them inside parentheses: `Bash(git *),Read` has two."""
    depth = 0
    start = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character in ", " and depth <= 0:
            if start < at:
                yield text[start:at]
            start = at + 1
    if text[start:]:
        yield text[start:]


def _tools(values: list[str], before: Json, flag: str) -> Json:
    return _PRESET if values == ["default"] else _list(values, before, flag)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_plugins(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and item.keys() == {"type", "path"} and item["type"] == "local"
        for item in value
    )


def _has_only(key: str, value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {key}


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {"type", "schema"} and value["type"] == "json_schema"


def _pair(flag: str, value: Json) -> list[str]:
    return [f"{flag}={value}"]


def _dump(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


KINDS: Mapping[str, Kind] = {
    "text": Kind(_one, _is_text, _pair),
    "optional": Kind(
        lambda values, _, __: values[0] if values else None,
        lambda value: value is None or isinstance(value, str),
        lambda flag, value: [flag] if value is None else _pair(flag, value),
    ),
    "true": Kind(lambda _, __, ___: True, lambda value: value is True, lambda flag, _: [flag]),
    "false": Kind(lambda _, __, ___: False, lambda value: value is False, lambda flag, _: [flag]),
    "number": Kind(
        _number,
        lambda value: isinstance(value, int | float | str) and not isinstance(value, bool),
        lambda flag, value: _pair(flag, _dump(value)),
    ),
    "json": Kind(
        _json, lambda value: isinstance(value, str | dict), lambda flag, value: _pair(flag, _dump(value))
    ),
    "list": Kind(_list, _is_texts, lambda flag, value: _pair(flag, ",".join(value))),
    "tools": Kind(
        _tools,
        lambda value: value == _PRESET or _is_texts(value),
        lambda flag, value: _pair(flag, "default" if value == _PRESET else ",".join(value)),
    ),
    "many": Kind(
        lambda values, before, _: [*(before or []), *values],
        _is_texts,
        lambda flag, value: [word for item in value for word in _pair(flag, item)],
    ),
    "plugins": Kind(
        lambda values, before, flag: [
            *(before or []),
            {"type": "local", "path": _one(values, None, flag)},
        ],
        _is_plugins,
        lambda flag, value: [word for item in value for word in _pair(flag, item["path"])],
    ),
    "total": Kind(
        lambda values, before, flag: {"total": _number(values, before, flag)},
        lambda value: _has_only("total", value),
        lambda flag, value: _pair(flag, _dump(value["total"])),
    ),
    "type": Kind(
        lambda values, before, flag: {"type": _one(values, before, flag)},
        lambda value: _has_only("type", value),
        lambda flag, value: _pair(flag, value["type"]),
    ),
    "schema": Kind(
        lambda values, before, flag: {"type": "json_schema", "schema": _json(values, before, flag)},
        _is_schema,
        lambda flag, value: _pair(flag, _dump(value["schema"])),
    ),
    "servers": Kind(
        _servers,
        lambda value: isinstance(value, dict) and bool(value),
        lambda flag, value: _pair(flag, orjson.dumps({"mcpServers": value}).decode()),
    ),
}
