"""The workspace seed: what lies in the agent's cwd before it starts.

Files are copied, contents only: a link into the runfiles would let an agent edit the source tree, and modes do
not survive remote execution. What plain files cannot say stands in `workspace.seed.json` beside `input.json`:

    {"version": 1, "entries": {
        "run.sh":      {"text": "#!/bin/sh\\n", "mode": "755"},     a file, or
        "logo.png":    {"base64": "iVBOR…"},
        "run.sh":      {"mode": "755"},                             the mode of a file from workspace/
        "latest":      {"symlink": "v1"},
        "empty":       {"directory": true}}}

so a seed may hold BUILD files, links, empty directories or a repository of its own. A secret is never seeded.
"""

import os
import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from replay.errors import FixtureError, Location
from replay.scenario.layout import SEED

if TYPE_CHECKING:
    from replay.surface.secrets import Secret

__all__ = ["seed_workspace"]

_FORMS = (
    frozenset({"text"}),
    frozenset({"text", "mode"}),
    frozenset({"base64"}),
    frozenset({"base64", "mode"}),
    frozenset({"mode"}),
    frozenset({"symlink"}),
    frozenset({"directory"}),
)
_SECRET_NAMES = frozenset({".env", ".netrc", ".pypirc", "id_rsa", "id_ed25519"})
_EXAMPLES = frozenset({".env.example", ".env.sample", ".env.template"})


def seed_workspace(
    cwd: str, files: Mapping[str, str], packed: bytes | None, directory: str, values: Mapping[str, str]
) -> None:
    """Fill `cwd` from relative name -> absolute path, then from the packed form.

    `directory` names the scenario in messages; `values` fill the links' {cwd}-like placeholders.
    Raises FixtureError for a name that leaves the workspace and for one that holds secrets.
    """
    for name, source in files.items():
        target = _target(cwd, name, f"{directory}/workspace/{name}")
        with open(source, "rb") as file:
            data = file.read()
        _refuse_secret(name, data, f"{directory}/workspace/{name}")
        _write(target, data)
    if packed is not None:
        _unpack(cwd, packed, f"{directory}/{SEED}", values)


def _unpack(cwd: str, packed: bytes, file: str, values: Mapping[str, str]) -> None:
    try:
        fields = orjson.loads(packed)
    except ValueError as error:
        raise FixtureError(f"not JSON: {error}", Location(file)) from None
    if (
        not isinstance(fields, dict)
        or fields.get("version") != 1
        or not isinstance(fields.get("entries"), dict)
    ):
        raise FixtureError('expected {"version": 1, "entries": {…}}', Location(file, path="$"))
    for name, entry in fields["entries"].items():
        where = Location(file, path=f'$.entries["{name}"]')
        if not isinstance(entry, dict) or frozenset(entry) not in _FORMS:
            raise FixtureError("expected text, base64, symlink, directory or mode", where)
        _place(_target(cwd, name, file), name, entry, where, values)


def _place(target: str, name: str, entry: dict[str, Any], where: Location, values: Mapping[str, str]) -> None:
    """Make one packed entry."""
    if "directory" in entry:
        os.makedirs(target, exist_ok=True)
        return
    if "symlink" in entry:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        link = entry["symlink"]
        for key, value in values.items():
            link = link.replace("{" + key + "}", value)
        os.symlink(link, target)
        return
    if "mode" not in entry or len(entry) > 1:
        data = _data(entry, where)
        _refuse_secret(name, data, where.file)
        _write(target, data)
    if "mode" in entry:
        try:
            os.chmod(target, int(entry["mode"], 8))
        except TypeError, ValueError:
            raise FixtureError('a mode is octal digits in a string: "755"', where) from None
        except FileNotFoundError:
            raise FixtureError(f"a mode for {name}, which workspace/ does not hold", where) from None


def _data(entry: dict[str, Any], where: Location) -> bytes:
    if isinstance(entry.get("text"), str):
        return str(entry["text"]).encode()
    import binascii

    try:
        return binascii.a2b_base64(entry["base64"], strict_mode=True)
    except KeyError, TypeError, ValueError:
        raise FixtureError("text is a string, base64 is base64", where) from None


def _target(cwd: str, name: str, file: str) -> str:
    path = posixpath.join(cwd, posixpath.normpath(name))
    # The real parent: an earlier link of the packed form must not carry a later entry out of the workspace.
    parent = os.path.realpath(os.path.dirname(path))
    root = os.path.realpath(cwd)
    if parent != root and not parent.startswith(root + "/"):
        raise FixtureError(f'"{name}" lies outside the workspace', Location(file))
    return path


def _write(target: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _refuse_secret(name: str, data: bytes, file: str) -> None:
    """Raises FixtureError for a file of credentials, by its name or by a key in it. The key is never shown."""
    base = posixpath.basename(name)
    kind = ""
    line = 0
    if base in _SECRET_NAMES or (base.startswith(".env.") and base not in _EXAMPLES):
        kind = "a file of credentials, by its name,"
    else:
        secret = _first_secret(data)
        if secret is not None:
            kind, line = f"a secret ({secret.kind})", secret.line
    if kind:
        raise FixtureError(
            f"{kind} would reach the agent",
            Location(file, line),
            "take it out of the workspace; a replay needs no key",
        )


def _first_secret(data: bytes) -> Secret | None:
    # Imported here, and the second where there is a trigger: most workspaces are empty, and few files hold anything
    # like a key.
    from replay.surface.secrets_kinds import CREDENTIALS, is_triggered

    # UTF-16 has a zero in every second byte.
    if not is_triggered(CREDENTIALS, data.replace(b"\0", b"").decode("latin-1")):
        return None
    from replay.surface.secrets import Scanner

    return next((secret for secret in Scanner().scan_file(data) if not secret.is_personal), None)
