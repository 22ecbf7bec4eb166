"""`bazel run //tests/remote`: the real Bazel on two checkouts of this tree, with a real cache and a real executor between them.

Each row of the table says what had to happen and what did. The last line counts rows; the exit code is 1 if one failed.
Where the machine can have no cache or no executor, a line says `skipped:` and why, and what needs it counts as nothing.
"""

import os
import signal
import sys
from pathlib import Path

from tests.mutations.report import Report
from tests.remote.checkout import Checkout, Person, make_checkout, open_place
from tests.remote.entries import Entries
from tests.remote.execution import check_execution
from tests.remote.failures import check_damage, check_failing_test, check_outage
from tests.remote.hits import check_changes, check_first, check_second
from tests.remote.runs import cache_flags
from tests.remote.service import CannotRunError, Service, running

__all__ = ["main"]

CALLER = Person(None, umask=-1, modified=None)
OTHER = Person("somebody-else", umask=0o077, modified=1_000_000_000)


def main() -> int:
    """The process's exit code."""
    # An end by a signal takes the servers and the directory with it, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    source = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY") or Path.cwd())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent_replay"
    report = Report("what")
    with open_place(cache) as place:
        here = make_checkout(source, place / "here", CALLER)
        there = make_checkout(source, place / "some" / "where" / "else", OTHER)
        try:
            tests = _check_cache(source, place / "cache", here, there, report)
            if tests:
                report.heading("remote execution")
                check_execution(here, tests, Service(source, "executor", place / "executor"), report)
        except CannotRunError as error:
            print(f"skipped: {error}", flush=True)
            if not report.passed and not report.failed:
                print("0 passed, 0 failed")
                return 0
        finally:
            here.close()
            there.close()
    return report.close()


def _check_cache(source: Path, directory: Path, here: Checkout, there: Checkout, report: Report) -> set[str]:
    """Everything about the cache. Returns the labels of all tests, none if they do not even pass."""
    service = Service(source, "cache", directory)
    with running(service) as endpoint:
        flags, entries = cache_flags(endpoint), Entries(directory / "data")
        report.heading("two checkouts and a cache")
        tests = check_first(here, flags, report)
        if not tests:
            return tests
        check_second(here, there, tests, flags, report)
        report.heading("what runs again after a change")
        check_changes(there, tests, flags, report)
        check_failing_test(there, here, entries, flags, report)
        report.heading("the cache goes away")
        good = check_outage(there, tests, endpoint, report)
        report.heading("entries that are wrong")
        check_damage(there, good, entries, flags, report)
    return tests


if __name__ == "__main__":
    sys.exit(main())
