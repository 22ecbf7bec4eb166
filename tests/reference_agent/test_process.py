"""Running programs: whatever they start ends with them, and has ended when we go on."""

import asyncio
import os
import signal
from pathlib import Path

from scenarios.reference_agent.process import ProcessResult, run_process
from tests.reference_agent.workbench import is_running


def run(command: str, cwd: Path) -> tuple[ProcessResult, str]:
    output = bytearray()
    result = asyncio.run(
        run_process(
            ("bash", "--noprofile", "--norc", "-c", command),
            cwd=cwd,
            environment={"PATH": "/usr/bin:/bin"},
            timeout_ms=20_000,
            on_output=output.extend,
        )
    )
    return result, output.decode()


def test_nothing_that_a_command_left_running_is_alive_when_it_returns(tmp_path: Path) -> None:
    # So many that ending them takes a while, and with no pipe of ours that would close when they have gone.
    left = "for _ in {1..40}; do sleep 60 >/dev/null 2>&1 & echo $!; done"
    result, output = run(left, tmp_path)
    assert result == ProcessResult(0, timed_out=False)
    processes = [int(line) for line in output.split()]
    assert len(processes) == 40
    assert [process for process in processes if is_running(process)] == []


def test_process_that_left_the_group_on_purpose_is_not_followed(tmp_path: Path) -> None:
    leave = "setsid bash -c 'echo $$ > left; exec sleep 60' >/dev/null 2>&1 &"
    result, output = run(f"{leave} until [ -s left ]; do :; done; echo started", tmp_path)
    left = int((tmp_path / "left").read_text())
    try:
        assert (result, output) == (ProcessResult(0, timed_out=False), "started\n")
        assert is_running(left)
    finally:
        os.kill(left, signal.SIGKILL)
