"""The form of workspace.seed.json, a workspace seed that plain files cannot be; runner/seed.py unpacks it.

{"version": 1, "entries": {"run.sh": {"text": "…", "mode": "755"}, "latest": {"symlink": "v1"}, …}}
"""

from typing import Final

import orjson

from replay.errors import FixtureError, Location
from replay.surface.values import json_path_step

__all__ = ["check_seed"]

_FORMS: Final = frozenset(
    frozenset(keys.split())
    for keys in ("text", "text mode", "base64", "base64 mode", "mode", "symlink", "directory")
)


def check_seed(data: bytes, file: str) -> None:
    """Raises FixtureError if `data` is no packed seed, or if an entry's name leaves the workspace."""
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise FixtureError(f"is not JSON: {error}", Location(file)) from None
    entries = fields.get("entries") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or fields.get("version") != 1 or not isinstance(entries, dict):
        raise FixtureError('expected {"version": 1, "entries": {…}}', Location(file, path="$"))
    for name in entries:
        if not name or name.startswith("/") or "\\" in name or {"", ".", ".."} & set(name.split("/")):
            raise FixtureError(
                f'the entry "{name}" leaves the workspace or is no plain relative path',
                Location(file, path="$.entries" + json_path_step(name)),
            )
        entry = entries[name]
        if not isinstance(entry, dict) or frozenset(entry) not in _FORMS:
            raise FixtureError(
                "expected text, base64, symlink, directory or mode",
                Location(file, path="$.entries" + json_path_step(name)),
            )
