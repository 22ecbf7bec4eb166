"""Every error that reaches a person: what is wrong, where, and what to do.

    ReplayError            what, where (file, line, JSON path), fix; rendered once, without a traceback
      DivergenceError 1    the run left its recording: an exhausted, missing or unconsumed lane
      FixtureError    2    a fixture file is wrong
      UsageError      2    a command, an attribute or an environment is wrong
      AgentError      3    the agent failed to start, misbehaved or hung

Anything else that escapes is our own fault: exit code 4, with its traceback and how to report it.
The class is the exit code (design 4.7). Rendering belongs to runner/report and cli/main alone.
"""

from typing import ClassVar, NamedTuple

__all__ = [
    "AgentError",
    "DivergenceError",
    "FixtureError",
    "Location",
    "ReplayError",
    "UsageError",
    "counted",
]


class Location(NamedTuple):
    """A place in a fixture: `file`, its 1-based `line`, the JSON `path` inside that line ("$.data.turn")."""

    file: str = ""
    line: int = 0
    path: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} {self.path}".strip() if self.path else place


class ReplayError(Exception):
    """One sentence for a person. `what` has no final full stop; `fix` is an action or a command."""

    exit_code: ClassVar[int] = 4

    def __init__(self, what: str, where: Location | None = None, fix: str = "") -> None:
        self.what = what
        self.where = where or Location()
        self.fix = fix
        super().__init__(what)

    def at(self, file: str, line: int = 0) -> ReplayError:
        """The same error with the file and line that a pure core could not know."""
        self.where = Location(self.where.file or file, self.where.line or line, self.where.path)
        return self

    def __str__(self) -> str:
        place = str(self.where)
        return f"{place}: {self.what}" if place else self.what

    def explained(self) -> str:
        """The error as a program prints it: the sentence, and below it what to do."""
        if not self.fix:
            return str(self)
        return f"{self}\n    fix: " + self.fix.replace("\n", "\n         ")


class DivergenceError(ReplayError):
    """The live run asked for something that its recording does not hold."""

    exit_code = 1


class FixtureError(ReplayError):
    """A committed file is missing, malformed or contradicts another."""

    exit_code = 2


class UsageError(ReplayError):
    """The caller's arguments, attributes or environment are wrong."""

    exit_code = 2


class AgentError(ReplayError):
    """The agent process failed to start, broke the protocol, crashed or hung."""

    exit_code = 3


def counted(number: int, noun: str) -> str:
    """`number` with its noun: 1 scenario, 2 scenarios."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
