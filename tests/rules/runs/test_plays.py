"""A transport test that Bazel made, started as Bazel starts it: what an order breaks is named, and can be played alone."""

import os
import subprocess
from pathlib import Path

PLAYS = "_main/tests/rules/plays"


def run(temporary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Starts the target as Bazel's own script does."""
    runfiles = os.environ["RUNFILES_DIR"]
    environment = {
        "PATH": os.environ["PATH"],
        "RUNFILES_DIR": runfiles,
        "TEST_TMPDIR": str(temporary),
        "AGENT_REPLAY_MANIFEST": f"{PLAYS}/broken_by_an_order.manifest.json",
    }
    return subprocess.run(
        [f"{runfiles}/{PLAYS}/broken_by_an_order", *arguments],
        env=environment,
        cwd=f"{runfiles}/_main",
        capture_output=True,
        text=True,
        check=False,
    )


def test_order_that_changes_a_surface_is_named(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("hello/acp: order 1: heard:3 $"), result.stdout
    assert "  1 of 2 orders break the subject: 1" in lines
    assert lines[-1] == (
        "  reproduce: bazel test //tests/rules/plays:broken_by_an_order --test_output=streamed --test_arg=--order=1"
    )
    assert "Traceback" not in result.stdout + result.stderr


def test_order_can_be_played_alone(tmp_path: Path) -> None:
    assert run(tmp_path, "--order=0").returncode == 0
    alone = run(tmp_path, "--order=1")
    assert alone.returncode == 1
    assert alone.stdout.startswith("hello/acp: heard:3 $"), alone.stdout
