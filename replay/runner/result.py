"""What one run of one scenario came to: values only, made by the pipeline, shown by the report."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replay.errors import AgentError, DivergenceError, ReplayError

__all__ = ["FAILED", "PASSED", "UNKNOWN", "WRITTEN", "AgentFacts", "Case", "Result", "Timing", "worst"]

UNKNOWN, PASSED, FAILED, WRITTEN = "UNKNOWN", "PASSED", "FAILED", "WRITTEN"
"""The verdicts of result.proto."""


class Case(NamedTuple):
    """One surface, or "consumption": the unit of the JUnit XML."""

    surface: str
    verdict: str
    message: str = ""
    """One sentence, `$.path: expected … actual …` for a difference."""
    path: str = ""
    expected: str = ""
    actual: str = ""
    diff: Sequence[str] = ()
    """A short unified diff in context."""
    is_output: bool = True
    """Whether accepting what the run wrote would make it pass."""


class AgentFacts(NamedTuple):
    """What is known of the process under test."""

    name: str = ""
    starts: int = 0
    exit_status: int = 0
    ended_by_runner: bool = False
    leftovers: Sequence[str] = ()
    stdout_lines: int = 0
    stdout_bytes: int = 0
    stderr_bytes: int = 0


class Timing(NamedTuple):
    """Milliseconds of wall clock; `runner_cpu` is CPU of this process."""

    load: float = 0.0
    prepare: float = 0.0
    agent: float = 0.0
    judge: float = 0.0
    total: float = 0.0
    runner_cpu: float = 0.0


class Result(NamedTuple):
    """One run. `error` is what stopped it, or the first thing that a person should read."""

    scenario: str
    label: str
    mode: str
    cases: Sequence[Case] = ()
    error: ReplayError | None = None
    fault: str = ""
    """The traceback of a fault of our own."""
    evidence: Sequence[str] = ()
    """Lines below the first one: stderr of the agent, the nearest recording."""
    warnings: Sequence[str] = ()
    agent: AgentFacts = AgentFacts()
    timing: Timing = Timing()
    artefacts: Sequence[str] = ()
    """Files left in the undeclared outputs, relative to them."""
    fixture: Mapping[str, str] = {}
    """Of a run that did not pass: name of each fixture file -> SHA-256 of what the run read, in hex."""
    commands: str = "//"
    """The package of the commands on its suite, as messages write it."""
    arguments: str = ""
    """Further arguments of the command that reproduces it."""

    @property
    def exit_code(self) -> int:
        """The code of design 4.7 for this run alone."""
        if self.fault:
            return 4
        if self.error is not None:
            return self.error.exit_code
        return 1 if any(case.verdict == FAILED for case in self.cases) else 0

    @property
    def fix(self) -> str:
        """What to do about the error, "" where there is nothing; a core that raised it knew no package of commands."""
        if self.error is None or not self.error.fix:
            return ""
        from replay.scenario.advice import elsewhere  # a run that passes needs nothing of that room

        return elsewhere(self.error.fix, self.commands)

    @property
    def failed_cases(self) -> list[Case]:
        return [case for case in self.cases if case.verdict == FAILED]

    @property
    def first_line(self) -> str:
        """What a person reads first; empty for a run that passed."""
        if self.fault:
            return f"{self.scenario}: the runner itself failed: {self.fault.strip().splitlines()[-1]}"
        if self.error is not None:
            # What is wrong in a file leads with the file; what an agent did leads with the scenario.
            if isinstance(self.error, DivergenceError):
                return f"{self.scenario}: {self.error}"
            where = "" if isinstance(self.error, AgentError) else str(self.error.where)
            return f"{where or self.scenario}: {self.error.what}"
        failed = self.failed_cases
        return f"{self.scenario}: {failed[0].message}" if failed else ""


def worst(results: Sequence[Result]) -> int:
    """The exit code of several runs: the gravest of theirs."""
    return max((result.exit_code for result in results), default=0)
