"""Runs pytest inside a Bazel test. Arguments: pytest's own, then the test files, relative to the runfiles' main repository."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


def main(arguments: list[str]) -> int:
    temporary = Path(os.environ.get("TEST_TMPDIR") or os.environ.get("TMPDIR") or "/tmp")
    # Runfiles count as read-only.
    sys.dont_write_bytecode = True
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(temporary / "hypothesis")
    options = [
        "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(Path.cwd()),
        "--basetemp", str(temporary / "pytest"), "--color=no", "-q", "--strict-markers",
    ]  # fmt: skip
    if find_spec("hypothesis"):
        # The same examples each time: a result that Bazel may cache. Generating them in a cold sandbox may be slow.
        options += ["--hypothesis-profile=ci"]
    if report := os.environ.get("XML_OUTPUT_FILE"):
        options += ["--junitxml", report]
    only = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if only:
        options += ["-k", only]
    if os.environ.get("TESTBRIDGE_TEST_RUNNER_FAIL_FAST") == "1":
        options += ["-x"]
    status = pytest.main(options + arguments)
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and only:
        print(f"no test matches --test_filter={only}")
        return 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
