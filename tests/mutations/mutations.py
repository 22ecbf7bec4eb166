"""`bazel run //tests/mutations`: breaks a throw-away copy of this tree in every way that matters, and runs the real Bazel on it.

A test that cannot fail proves nothing. Here every kind of mistake is made on purpose, and each row of the table says
what had to happen and what did. The last line counts rows; the exit code is 1 if one failed.
"""

import os
import sys
from pathlib import Path

from tests.mutations.bazel import Bazel
from tests.mutations.commands import (
    check_caching,
    check_commands,
    check_first_run,
    check_probes,
    write_packages,
)
from tests.mutations.guards import check_guards
from tests.mutations.report import Report
from tests.mutations.surfaces import check_surfaces
from tests.mutations.traces import check_traces
from tests.mutations.transports import check_transports
from tests.mutations.work_tree import open_work_tree

__all__ = ["main"]


def main() -> int:
    """The process's exit code."""
    source = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY") or Path.cwd())
    report = Report()
    with open_work_tree(source) as (tree, scratch):
        bazel = Bazel(tree.root, scratch)
        try:
            write_packages(tree)
            report.heading("the tree as it is")
            if check_first_run(bazel, report):
                report.heading("caching")
                check_caching(tree, bazel, report)
                report.heading("one mutation in each of many scenarios")
                check_surfaces(tree, bazel, report)
                report.heading("the directory of fixtures")
                check_guards(tree, bazel, report)
                report.heading("transport scenarios")
                check_transports(tree, bazel, report)
                report.heading("trace suites")
                check_traces(tree, bazel, report)
                report.heading("the environment and a hang")
                check_probes(bazel, report)
                report.heading("commands")
                check_commands(bazel, report)
        finally:
            # A server of its own would go on holding memory.
            bazel.call("shutdown")
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
