"""The program of every guard over traces."""

import sys

from replay.runner.guard_program import Guarded, Read, run_guard
from replay.runner.trace_guard import check_trace_tree, trace_tree

__all__ = ["main"]

_FIX = "restore the file with git, or record the trace again"


def main() -> int:
    """Check the tree of the manifest that the environment names. The process's exit code."""
    return run_guard(_check, _FIX)


def _check(manifest: bytes, read: Read) -> Guarded:
    suite = trace_tree(manifest, read)
    traces = sum(path.startswith("traces/") and path.count("/") == 1 for path in suite.tree.files)
    return Guarded(suite.tree.suite, traces, "trace", check_trace_tree(suite))


if __name__ == "__main__":
    sys.exit(main())
