"""A scenario or a tree that is not whole fails when its test runs, with the file and the cure; never in analysis."""

import os
import subprocess
from pathlib import Path

SUITE = "_main/tests/rules/suite"


def run(target: str, temporary: Path) -> subprocess.CompletedProcess[str]:
    """Starts a test target as Bazel's own script does."""
    runfiles = os.environ["RUNFILES_DIR"]
    environment = {
        "PATH": os.environ["PATH"],
        "RUNFILES_DIR": runfiles,
        "TEST_TMPDIR": str(temporary),
        "AGENT_REPLAY_MANIFEST": f"{SUITE}/{target}.manifest.json",
    }
    return subprocess.run(
        [f"{runfiles}/{SUITE}/{target}"],
        env=environment,
        cwd=f"{runfiles}/_main",
        capture_output=True,
        text=True,
        check=False,
    )


def test_scenario_without_recording_says_how_to_make_one(tmp_path: Path) -> None:
    result = run("unexpected_test", tmp_path)
    assert result.returncode == 2
    assert "unexpected" in result.stdout.splitlines()[0]
    assert "fix: record it: bazel run //tests/rules/suite:record -- unexpected" in result.stdout
    assert "then bazel run //tests/rules/suite:refresh -- unexpected" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


def test_declared_scenario_without_any_file_says_what_is_missing(tmp_path: Path) -> None:
    result = run("override-gone_test", tmp_path)
    assert result.returncode == 2
    assert "tests/rules/suite/override-gone/input.json" in result.stdout.splitlines()[0]
    assert "Traceback" not in result.stdout + result.stderr


def test_guard_names_each_thing_that_is_wrong_with_the_tree(tmp_path: Path) -> None:
    result = run("suite_guard_test", tmp_path)
    assert result.returncode == 2
    for path in (
        "tests/rules/suite/nested",
        "tests/rules/suite/plain/notes.txt",
        "tests/rules/suite/plain/system-prompt.expected.md",
        "tests/rules/suite/undeclared-override/replay.override.json",
        "tests/rules/suite/override-gone",
        "tests/rules/suite/unexpected/stdout.expected.jsonl",
    ):
        assert path in result.stdout, path
    assert "Traceback" not in result.stdout + result.stderr
