"""What a command is about to write must bring no secret that the committed files do not hold already."""

import os
from collections.abc import Iterable

from replay.errors import FixtureError, Location
from replay.scenario.write_back import Change
from replay.surface.secrets import Scanner, credential_values

__all__ = ["refuse_secrets"]


def refuse_secrets(changes: Iterable[Change]) -> None:
    """Raises FixtureError for the first one, by its look or by the value of a credential of this shell's."""
    scanner = Scanner(credential_values(os.environ))
    for change in changes:
        before = [secret.kind for secret in scanner.scan(_text(change.before))]
        for secret in scanner.scan(_text(change.after)):
            if secret.kind in before:
                before.remove(secret.kind)
                continue
            raise FixtureError(
                f"would hold what looks like a secret: {secret.kind} at column {secret.column}",
                Location(change.name, secret.line),
                "keep it out of what the agent says, or name it with a replay_rule of the suite",
            )


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
