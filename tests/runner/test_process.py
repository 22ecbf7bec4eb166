"""Processes: started in a session of their own, seen ending, and none left."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from replay.errors import AgentError
from replay.runner.process import descendants, describe_status, spawn

_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def _python(code: str, cwd: Path, *, merge: bool = False):
    return spawn([sys.executable, "-c", code], _ENVIRONMENT, str(cwd), merge_stderr=merge)


def test_child_starts_where_told_and_the_runner_stays_where_it_was(tmp_path: Path) -> None:
    before = Path.cwd()
    process = _python("import os; print(os.getcwd(), os.getsid(0) == os.getpid(), flush=True)", tmp_path)
    assert process.wait(10) == 0
    assert os.read(process.stdout, 4096).decode() == f"{tmp_path} True\n"
    assert Path.cwd() == before
    process.close()


def test_only_the_three_standard_descriptors_are_inherited(tmp_path: Path) -> None:
    with (tmp_path / "held").open("w"):
        process = _python(
            "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))), flush=True)", tmp_path
        )
        assert process.wait(10) == 0
    # The fourth is the listing itself.
    assert os.read(process.stdout, 4096) == b"[0, 1, 2, 3]\n"
    process.close()


def test_program_that_is_none_is_an_agent_error_and_leaks_nothing(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(AgentError, match="cannot be started: No such file"):
        spawn([str(tmp_path / "none")], _ENVIRONMENT, str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before


def test_signals_are_told_from_statuses(tmp_path: Path) -> None:
    process = _python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert process.wait(10) == -signal.SIGKILL
    assert describe_status(-signal.SIGKILL) == "was ended by SIGKILL"
    assert describe_status(4) == "exited with status 4"
    assert describe_status(-63) == "was ended by signal 63" or "SIG" in describe_status(-63)
    process.close()


def test_descendants_are_found_below_a_process(tmp_path: Path) -> None:
    process = _python(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])",
        tmp_path,
    )
    limit = time.monotonic() + 10
    found = descendants(process.pid)
    while not found and time.monotonic() < limit:
        time.sleep(0.01)
        found = descendants(process.pid)
    assert len(found) == 1
    process.signal_group(signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL
    process.close()
