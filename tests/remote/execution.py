"""Remote execution: everything runs on the executor and nowhere else, and without it nothing runs at all."""

import platform
from collections.abc import Collection
from pathlib import Path

from tests.mutations.report import Report
from tests.mutations.work_tree import EXTRA
from tests.remote.checkout import Checkout
from tests.remote.runs import INTERNAL, SCENARIOS, counts_text, problems_of
from tests.remote.service import Service, running

__all__ = ["check_execution"]

REMOTE = "remote"
# Bazel's exit code where the executor cannot be reached.
UNREACHABLE = 34
PROBE = f"//{EXTRA}/where:where_test"
_BUILD = """load("@rules_shell//shell:sh_test.bzl", "sh_test")

sh_test(
    name = "where_test",
    srcs = ["where.sh"],
)
"""
_SCRIPT = "#!/bin/sh\nprintf 'on %s\\n' \"$(uname -n)\"\n"


def check_execution(here: Checkout, tests: Collection[str], executor: Service, report: Report) -> None:
    """From an empty output base to an executor that knows nothing; then without it."""
    _write_probe(here.tree.extra / "where")
    here.forget()
    with running(executor) as endpoint:
        flags = ["--config=rbe", f"--remote_executor={endpoint}"]
        run = here.bazel.call("test", *SCENARIOS, PROBE, *flags)
    wanted = {*tests, PROBE}
    problems = problems_of(run, wanted)
    remote = {label for label, test in run.tests.items() if test.strategies == {REMOTE}}
    if remote != wanted:
        problems.append(f"these ran elsewhere, or not at all: {sorted(wanted - remote)}")
    others = sorted(set(run.runners) - {REMOTE, INTERNAL})
    if others or not run.runners:
        problems.append(f"actions ran elsewhere: {', '.join(others) or 'none is counted'}")
    got = f"{len(remote)} tests remote; actions: {counts_text(run)}"
    expected = f"{len(wanted)} pass, all remote, no action elsewhere"
    report.row("every scenario on the executor", expected, got, problems)
    probe = run.tests.get(PROBE)
    said = (probe.log.strip() if probe else "") or "no such test"
    is_there = said.startswith("on ") and said != f"on {platform.node()}"
    report.check("the host that a test sees", f"not {platform.node()}", said, is_there, run.text[-1500:])

    here.forget()
    run = here.bazel.call("test", *SCENARIOS, PROBE, *flags)
    ran = [label for label, test in run.tests.items() if test.attempts]
    counted = sum(count for name, count in run.runners.items() if name != INTERNAL)
    got = f"exit {run.code}, {len(ran)} tests and {counted} actions ran"
    # The events may end early, for want of the executor; what Bazel prints of its tests does not.
    is_so = run.code == UNREACHABLE and not ran and not counted and " PASSED" not in run.text
    report.check(
        "the executor is down",
        f"exit {UNREACHABLE}, 0 tests and 0 actions ran",
        got,
        is_so,
        f"{ran}\n{run.text[-1500:]}",
    )


def _write_probe(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "BUILD.bazel").write_text(_BUILD)
    script = place / "where.sh"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
