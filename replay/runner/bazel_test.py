"""The duties of a Bazel test, from the test encyclopedia: which scenarios are this shard's, which files to leave.

premature exit    made at the start and removed at a clean end: a runner that dies silently fails its test
shards            the status file is touched first; scenarios go round-robin; an empty shard passes
filter            a pattern over `scenario` or `scenario:surface`; without a match a single target passes
"""

import os
from collections.abc import Sequence

from replay.errors import UsageError
from replay.runner.environment import Environment
from replay.runner.manifest import ScenarioSpec
from replay.runner.result import Result

__all__ = ["begin", "end", "report_infrastructure_failure", "select", "surface_filter", "write_reports"]

_SUITE_NAME = "agent_replay"


def begin(environment: Environment) -> None:
    """Say that this test supports sharding and has not ended yet."""
    if environment.premature_exit:
        _write(environment.premature_exit, b"")
    if environment.shard_status:
        _write(environment.shard_status, b"")


def end(environment: Environment) -> None:
    """Say that this test came to its own end."""
    if environment.premature_exit:
        try:
            os.unlink(environment.premature_exit)
        except FileNotFoundError:
            return


def select(
    environment: Environment, scenarios: Sequence[ScenarioSpec]
) -> tuple[list[ScenarioSpec], list[str]]:
    """The scenarios that this process runs, and warnings. Raises UsageError for an impossible shard."""
    warnings: list[str] = []
    chosen = list(scenarios)
    if environment.only:
        pattern = environment.only.partition(":")[0]
        chosen = [scenario for scenario in chosen if _matches(scenario.name, pattern)]
        if not chosen:
            if len(scenarios) > 1:
                raise UsageError(
                    f'--test_filter "{environment.only}" matches none of {len(scenarios)} scenarios',
                    fix=f"one of: {', '.join(scenario.name for scenario in scenarios)}",
                )
            warnings.append(
                f'--test_filter "{environment.only}" does not match {scenarios[0].name}: nothing ran'
            )
    if environment.shards > 1:
        if environment.shard >= environment.shards:
            raise UsageError(f"shard {environment.shard} of {environment.shards} does not exist")
        chosen = chosen[environment.shard :: environment.shards]
    return chosen, warnings


def surface_filter(environment: Environment) -> str:
    """The surface that a filter names after a colon, or nothing: only it can fail the test then."""
    return environment.only.partition(":")[2]


def write_reports(environment: Environment, results: Sequence[Result]) -> None:
    """Leave the XML and the warnings of everything known so far. May be called again with more."""
    if environment.xml:
        from replay.runner.junit import render_junit

        _write(environment.xml, render_junit(results))
    warnings = [f"{result.scenario}: {warning}" for result in results for warning in result.warnings]
    if environment.warnings and warnings:
        _write(environment.warnings, ("\n".join(warnings) + "\n").encode())


def report_infrastructure_failure(environment: Environment, description: str) -> None:
    """Tell Bazel that the fault is not the user's: line 1 names the component, line 2 says what."""
    if environment.infrastructure:
        line = " ".join(description.split())
        _write(environment.infrastructure, f"{_SUITE_NAME}\n{line}\n".encode())


def _matches(name: str, pattern: str) -> bool:
    if pattern in (name, "*", ""):
        return True
    if not any(character in pattern for character in "*?["):
        return False
    # Imported here: a filter with wildcards is rare, fnmatch costs 4 ms.
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
