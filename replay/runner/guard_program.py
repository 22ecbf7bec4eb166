"""What every guard program is: reads its manifest, checks the tree, prints what is wrong and leaves it as XML.

Exit codes: 0 sound, 2 a finding or a wrong manifest, 4 a fault of our own.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from replay.errors import ReplayError, UsageError, counted
from replay.runner.bazel_test import begin, end, write_reports
from replay.runner.environment import Environment, read_environment
from replay.runner.result import FAILED, PASSED, Case, Result
from replay.runner.runfiles import Runfiles

__all__ = ["Guarded", "Read", "run_guard"]

type Read = Callable[[str], bytes]


class Guarded(NamedTuple):
    """What a guard found. suite: its label; number and noun: of what it looked at, such as 3 "scenario"."""

    suite: str
    number: int
    noun: str
    errors: Sequence[ReplayError]


def run_guard(check: Callable[[bytes, Read], Guarded], fix: str) -> int:
    """Check the tree of the manifest that the environment names. The process's exit code.

    check: from the manifest and a reader of runfiles, by rlocation path. fix: for findings that have none of their own.
    """
    environment = read_environment(os.environ)
    begin(environment)
    errors: Sequence[ReplayError]
    try:
        errors = _check(environment, check)
    except ReplayError as refusal:
        errors = [refusal]
    for error in errors:
        error.fix = error.fix or fix
        print(error.explained())
    # A test that leaves no XML costs a second action, which makes one of its log.
    write_reports(environment, [_result(environment.target, errors)])
    end(environment)
    return errors[0].exit_code if errors else 0


def _result(target: str, errors: Sequence[ReplayError]) -> Result:
    findings = [error.explained() for error in errors]
    message = findings[0].partition("\n")[0] if findings else ""
    case = Case("fixtures", FAILED if findings else PASSED, message, diff=findings)
    return Result(target, target, "guard", [case])


def _check(environment: Environment, check: Callable[[bytes, Read], Guarded]) -> Sequence[ReplayError]:
    if not environment.manifest:
        raise UsageError("AGENT_REPLAY_MANIFEST is not set", fix="run the guard with bazel test")
    runfiles = Runfiles(environment.runfiles_dir, environment.runfiles_manifest)

    def read(rlocation: str) -> bytes:
        return Path(runfiles.locate(rlocation)).read_bytes()

    guarded = check(read(environment.manifest), read)
    if not guarded.errors:
        verb = "is" if guarded.number == 1 else "are"
        print(f"{guarded.suite}: {counted(guarded.number, guarded.noun)} {verb} sound")
    return guarded.errors
