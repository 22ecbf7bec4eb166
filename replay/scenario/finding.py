"""What a check of fixtures comes to: an error with a rule's name, so that a caller may weigh rules differently.

Each rule is one thing that a fixture must be. The guard fails for all of them; `replay doctor`, which also reads
what was never written for us, only warns where another project may have its own way.
"""

from enum import StrEnum
from typing import NamedTuple

from replay.errors import FixtureError, Location

__all__ = ["Finding", "Rule", "finding"]


class Rule(StrEnum):
    """The rules, by what they protect from."""

    BROKEN = "broken"
    """A file that cannot be read as what its name says."""
    MISSING = "missing"
    """A file or directory that must be there."""
    STRAY = "stray"
    """A file or directory that no scenario claims."""
    HIDDEN = "hidden"
    """What Bazel or git would not carry along: nested packages, links, empty directories, odd names."""
    UNDECLARED = "undeclared"
    """What the suite and the directory say differently."""
    NOT_CANONICAL = "not canonical"
    """A file that the next refresh would rewrite though nothing changed."""
    DUPLICATE = "duplicate"
    """The same text stored twice."""
    UNTOLD = "untold"
    """A log that does not say where it comes from."""
    EDITED = "edited"
    """A recording that is not what was recorded."""
    SECRET = "secret"
    PERSONAL = "personal"
    BUDGET = "budget"
    """More bytes than a fixture may have."""


class Finding(NamedTuple):
    """One thing that is wrong with a fixture."""

    rule: Rule
    error: FixtureError


def finding(rule: Rule, what: str, file: str, line: int = 0, path: str = "", fix: str = "") -> Finding:
    """A finding in `file`; `what` and `fix` as in ReplayError."""
    return Finding(rule, FixtureError(what, Location(file, line, path), fix))
