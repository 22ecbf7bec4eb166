"""The home seed: configuration files of the agent that lie in its home before it starts.

Each is a template: {gateway_url}, {home}, {cwd} and their kind are filled in, so that one committed file serves every
run, live and replayed. Any other brace stays, JSON and TOML pass through. Files are copied, never linked: an agent may
write its own configuration.
"""

import os
import posixpath
from collections.abc import Mapping

from replay.errors import UsageError
from replay.runner.sandbox import expand

__all__ = ["seed_home"]


def seed_home(home: str, files: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Write relative name -> absolute path of its template below `home`, filled with `values`.

    Raises UsageError for a name that leaves the home and for a template that is not text.
    """
    for name, source in files.items():
        path = posixpath.normpath(name)
        if posixpath.isabs(path) or path in (".", "..") or path.startswith("../"):
            raise UsageError(
                f'home: "{name}" lies outside the agent\'s home', fix="name a path relative to {home}"
            )
        with open(source, "rb") as file:
            data = file.read()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(
                f'home: the template of "{name}" is not UTF-8',
                fix="a file of the home is text: put others in data",
            ) from None
        target = posixpath.join(home, path)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="") as file:
            file.write(expand(text, values))
