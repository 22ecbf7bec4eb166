"""The program of every guard over traces: reads its manifest, checks the tree, prints what is wrong.

Exit codes: 0 sound, 2 a finding or a wrong manifest, 4 a fault of our own.
"""

import os
import sys
from pathlib import Path

from replay.errors import ReplayError, UsageError, counted
from replay.runner.bazel_test import begin, end
from replay.runner.environment import Environment, read_environment
from replay.runner.runfiles import Runfiles
from replay.runner.trace_guard import check_trace_tree, trace_tree

__all__ = ["main"]

_FIX = "restore the file with git, or record the trace again"


def main() -> int:
    """Check the tree of the manifest that the environment names. The process's exit code."""
    environment = read_environment(os.environ)
    begin(environment)
    try:
        errors = _check(environment)
    except ReplayError as refusal:
        errors = [refusal]
    for error in errors:
        error.fix = error.fix or _FIX
        print(error.explained())
    end(environment)
    return errors[0].exit_code if errors else 0


def _check(environment: Environment) -> list[ReplayError]:
    if not environment.manifest:
        raise UsageError("AGENT_REPLAY_MANIFEST is not set", fix="run the guard with bazel test")
    runfiles = Runfiles(environment.runfiles_dir, environment.runfiles_manifest)

    def read(rlocation: str) -> bytes:
        return Path(runfiles.locate(rlocation)).read_bytes()

    suite = trace_tree(read(environment.manifest), read)
    errors = check_trace_tree(suite)
    if not errors:
        traces = sum(path.startswith("traces/") and path.count("/") == 1 for path in suite.tree.files)
        print(f"{suite.tree.suite}: {counted(traces, 'trace')} {'is' if traces == 1 else 'are'} sound")
    return [*errors]


if __name__ == "__main__":
    sys.exit(main())
