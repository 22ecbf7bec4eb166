"""The program of every guard over transport scenarios."""

import sys

from replay.runner.guard_program import Guarded, Read, run_guard
from replay.runner.transport_guard import check_transports, transport_tree

__all__ = ["main"]

_FIX = "restore the file with git, or record the scenario again"


def main() -> int:
    """Check the tree of the manifest that the environment names. The process's exit code."""
    return run_guard(_check, _FIX)


def _check(manifest: bytes, read: Read) -> Guarded:
    suite = transport_tree(manifest, read)
    return Guarded(suite.tree.suite, len(suite.scenarios), "scenario", check_transports(suite))


if __name__ == "__main__":
    sys.exit(main())
