"""Checks of one line's fields: each wrong one is a FixtureError with file, line and JSON path. Pure."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from replay.errors import FixtureError, Location
from replay.surface.values import json_path_step

__all__ = ["MAX_NAME_CHARACTERS", "Fields", "check_metadata"]

MAX_NAME_CHARACTERS = 4096
_EXCERPT_CHARACTERS = 80
_MODELS_BEHIND = ("gateway", "scripted", "live")


class Fields:
    """One JSON object of a line. Raises FixtureError where it is none."""

    __slots__ = ("_path", "values", "where")

    def __init__(self, value: Any, where: Location, path: str = "$") -> None:
        self.where = where
        self._path = path
        if not isinstance(value, Mapping):
            raise FixtureError(f"must be a JSON object, not {_shown(value)}", where._replace(path=path))
        self.values: Mapping[str, Any] = value

    def error(self, what: str, key: str = "", fix: str = "") -> FixtureError:
        """An error at one of the object's keys."""
        path = self._path + (json_path_step(key) if key else "")
        return FixtureError(what, self.where._replace(path=path), fix)

    def shown(self, key: str) -> str:
        """The value at a key as a message quotes it."""
        return _shown(self.values[key]) if key in self.values else "absent"

    def check_keys(self, known: Collection[str]) -> None:
        """Refuses a key that is none of the known."""
        for key in self.values:
            if key not in known:
                raise self.error(f"is no known key here; these are: {', '.join(known)}", key)

    def text(self, key: str, *, is_needed: bool = False) -> str:
        """A string, "" where the key is absent. A needed one is present and not empty."""
        value = self.values.get(key, "")
        if not isinstance(value, str) or (is_needed and not value):
            raise self.error(f"must be a string{' with text' * is_needed}, not {self.shown(key)}", key)
        if len(value) > MAX_NAME_CHARACTERS:
            raise self.error(f"has {len(value)} characters, {MAX_NAME_CHARACTERS} are allowed", key)
        return value

    def choice(self, key: str, known: Collection[str], *, is_needed: bool = False) -> str:
        """One of the known strings, "" where the key is absent and not needed."""
        value = self.values.get(key, "")
        if (value or is_needed or key in self.values) and (not isinstance(value, str) or value not in known):
            raise self.error(f"must be one of {', '.join(known)}, not {self.shown(key)}", key)
        return str(value)

    def number(self, key: str, default: int, most: int = 1 << 53) -> int:
        """A whole number from 0 to `most`."""
        value = self.values.get(key, default)
        if type(value) is not int or not 0 <= value <= most:
            raise self.error(f"must be a whole number from 0 to {most}, not {self.shown(key)}", key)
        return value

    def mapping(self, key: str, *, is_needed: bool = False) -> Mapping[str, Any]:
        """An object, an empty one where the key is absent and not needed."""
        value = self.values.get(key, None if is_needed else {})
        if not isinstance(value, Mapping):
            raise self.error(f"must be an object, not {self.shown(key)}", key)
        return value


def check_metadata(fields: Fields) -> None:
    """What format 1 promises about where a transcript comes from. Further keys pass."""
    if "model" not in fields.values or not isinstance(fields.values["model"], str | None):
        raise fields.error(f"must be the model's name, or null, not {fields.shown('model')}", "model")
    fields.choice("cwdPolicy", ("workspace",), is_needed=True)
    day = fields.text("capturedAt", is_needed=True)
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", day, re.ASCII):
        raise fields.error(
            f"must be a day such as 2026-01-31, not {fields.shown('capturedAt')}", "capturedAt"
        )
    provenance = Fields(
        fields.mapping("provenance", is_needed=True), fields.where, f"{fields._path}.provenance"
    )
    if provenance.choice("kind", ("authored", "recorded"), is_needed=True) == "authored":
        provenance.text("reason", is_needed=True)
        return
    provenance.choice("model_behind", _MODELS_BEHIND, is_needed=True)
    provenance.text("tool", is_needed=True)
    binary = Fields(
        provenance.mapping("binary", is_needed=True), fields.where, f"{fields._path}.provenance.binary"
    )
    binary.text("name", is_needed=True)
    binary.text("version", is_needed=True)


def _shown(value: Any) -> str:
    text = orjson.dumps(value, default=repr).decode()
    return text if len(text) <= _EXCERPT_CHARACTERS else text[: _EXCERPT_CHARACTERS - 1] + "…"
