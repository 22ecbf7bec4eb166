"""The program of every guard test over sessions. No part of the room: it takes the doors to Bazel from the runner's."""

import sys

from replay.runner.guard_program import Guarded, Read, run_guard
from replay.scenario.advice import elsewhere
from replay.scenario.guard import check_tree
from replay.scenario.tree import tree_of_manifest

__all__ = ["main"]

_FIX = "restore the file with git, or record the scenario again: bazel run //:record -- SCENARIO"


def main() -> int:
    """Check the tree of the manifest that the environment names. The process's exit code."""
    return run_guard(_check, _FIX)


def _check(manifest: bytes, read: Read) -> Guarded:
    tree = tree_of_manifest(manifest, read)
    errors = check_tree(tree)
    for error in errors:
        error.fix = error.fix or elsewhere(_FIX, tree.commands)
    return Guarded(tree.suite, len(tree.scenarios), "scenario", errors)


if __name__ == "__main__":
    sys.exit(main())
