"""The directories and the machine of one run, in what is served to an agent and in what is written down of it.

A trace says {{cwd}}, {{home}} and {{tmp}}; an agent sees the paths of this run. What belongs to a person or a machine is
taken out before anything is compared, so that a trace recorded here replays elsewhere.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from replay.runner.environment import Machine
from replay.runner.sandbox import Sandbox
from replay.surface.personal import Redaction
from replay.surface.values import ABSENT
from replay.trace.replayer import Places
from replay.trace.server import plain_view

__all__ = ["make_places"]

_NAMES = ("cwd", "home", "tmp")


def make_places(sandbox: Sandbox, machine: Machine, given: Callable[[], Iterable[bytes]] = tuple) -> Places:
    """How this sandbox comes into traces. given: what the run began with, whose words are no names."""
    values = sandbox.values()
    filled = {"{{" + name + "}}": values[name] for name in _NAMES}
    # The longest first: one directory may begin like another.
    written = dict(sorted(((path, name) for name, path in filled.items()), key=lambda pair: -len(pair[0])))
    kept = [path for _, paths in sandbox.spellings() for path in paths]
    personal = Redaction(homes=machine.homes, user=machine.user, host=machine.host, kept=kept, given=given)
    own = _replacing(written)

    def redact(value: Any) -> Any:
        # What every run holds by the thousand.
        if value is None or value is ABSENT or isinstance(value, bool | int | float):
            return value
        return personal.redact([own(value)])[0]

    plain = plain_view(sandbox.spellings())
    # Recorded requests as well: a trace may come from where nobody took anything out.
    return Places(_replacing(filled), redact, lambda value: plain(redact(value)))


def _replacing(table: Mapping[str, str]) -> Callable[[Any], Any]:
    def text(value: str) -> str:
        for old, new in table.items():
            if old in value:
                value = value.replace(old, new)
        return value

    def replace(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): replace(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [replace(inner) for inner in value]
        return value

    return replace
