"""Files and terminals of the client side act on the sandbox and on nothing outside it."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replay.acp import RESOURCE_NOT_FOUND, Pending, Refusal, TerminalExit, TerminalOutput
from replay.runner.client_host import SandboxHost
from replay.runner.loop import Loop
from replay.runner.terminal import Terminals


class Stage:
    """A host with its loop; answers that came later are in `answers`."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.loop = Loop()
        self.terminals = Terminals(self.loop, str(cwd), {"PATH": "/usr/bin:/bin", "SANDBOX": "1"})
        self.answers: dict[int, object] = {}
        self.host = SandboxHost(str(cwd), self.terminals, self.answers.__setitem__)

    def until(self, condition: Callable[[], object]) -> None:
        limit = time.monotonic() + 10
        while not condition() and time.monotonic() < limit:
            self.loop.step(0.05)
        assert condition()

    def start(self, code: str, limit: int | None = None, env: tuple[tuple[str, str], ...] = ()) -> str:
        name = self.host.terminal_create(sys.executable, ["-c", code], env, None, limit)
        assert isinstance(name, str)
        return name

    def output(self, name: str) -> TerminalOutput:
        output = self.host.terminal_output(name)
        assert isinstance(output, TerminalOutput)
        return output


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    stage = Stage(cwd)
    yield stage
    stage.terminals.close()
    stage.loop.close()


def test_file_is_written_and_read_back(stage: Stage) -> None:
    path = str(stage.cwd / "sub" / "a.txt")
    assert stage.host.write_text_file(path, "one\r\ntwo\u2028") is None
    assert stage.host.read_text_file(path) == "one\r\ntwo\u2028"


def test_path_outside_is_refused_however_it_gets_there(stage: Stage) -> None:
    outside = stage.cwd.parent / "outside.txt"
    outside.write_text("secret")
    (stage.cwd / "link").symlink_to(outside)
    (stage.cwd / "up").symlink_to(stage.cwd.parent)
    for path in (
        str(outside),
        f"{stage.cwd}/../outside.txt",
        f"{stage.cwd}/link",
        f"{stage.cwd}/up/outside.txt",
        "relative",
    ):
        assert isinstance(stage.host.read_text_file(path), Refusal), path
        assert isinstance(stage.host.write_text_file(path, "x"), Refusal), path
    assert isinstance(stage.host.terminal_create("true", [], [], f"{stage.cwd}/up", None), Refusal)
    assert outside.read_text() == "secret"


def test_file_that_is_none_or_no_text_is_refused(stage: Stage) -> None:
    missing = stage.host.read_text_file(str(stage.cwd / "none"))
    assert isinstance(missing, Refusal) and missing.code == RESOURCE_NOT_FOUND
    (stage.cwd / "raw").write_bytes(b"\xff\xfe")
    assert isinstance(stage.host.read_text_file(str(stage.cwd / "raw")), Refusal)
    assert isinstance(stage.host.read_text_file(str(stage.cwd)), Refusal)


def test_terminal_runs_in_the_sandbox_and_gives_all_of_its_output(stage: Stage) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['SANDBOX'], os.environ['X'], flush=True); print('err', file=sys.stderr); sys.exit(3)"
    name = stage.start(code, env=(("X", "y"),))
    waiting = stage.host.terminal_wait_for_exit(name)
    assert isinstance(waiting, Pending)
    stage.until(lambda: stage.answers)
    assert stage.answers == {waiting.token: TerminalExit(3)}
    assert stage.output(name) == TerminalOutput(f"{stage.cwd} 1 y\nerr\n", False, TerminalExit(3))
    assert stage.host.terminal_wait_for_exit(name) == TerminalExit(3)


def test_output_limit_keeps_the_end_and_whole_characters(stage: Stage) -> None:
    name = stage.start("print('a' + 'ü' * 50, end='')", limit=7)
    stage.until(lambda: stage.output(name).exit)
    assert stage.output(name).output == "üüü"
    assert stage.output(name).truncated


def test_killed_terminal_says_the_signal_and_stays(stage: Stage) -> None:
    name = stage.start("import time; time.sleep(60)")
    assert stage.host.terminal_kill(name) is None
    stage.until(lambda: stage.output(name).exit)
    assert stage.output(name).exit == TerminalExit(None, "SIGKILL")


def test_release_answers_a_pending_wait_and_forgets_the_terminal(stage: Stage) -> None:
    name = stage.start("import time; time.sleep(60)")
    waiting = stage.host.terminal_wait_for_exit(name)
    assert isinstance(waiting, Pending)
    assert stage.host.terminal_release(name) is None
    assert stage.answers == {waiting.token: TerminalExit(None, "SIGKILL")}
    assert isinstance(stage.host.terminal_output(name), Refusal)


def test_command_that_is_none_is_refused(stage: Stage) -> None:
    assert isinstance(stage.host.terminal_create("no-such-program", [], [], None, None), Refusal)
