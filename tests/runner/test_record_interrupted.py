"""A recording that somebody stops, kills or gives no room: the fixture is the old one or the new one."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from replay.scenario.write_back import ASIDE, recover
from tests.models.provider import HOLD, Answer, Provider, said
from tests.runner.recorder import Tree

_KILLS = 20


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path, logs_itself=False)
    tree.add("hello", "say hello")
    with Provider(said("Old words.")) as provider:
        assert tree.record("hello", upstream=provider.url).code == 0
    return tree


def wait_for(condition) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_while_the_model_speaks_leaves_the_old_fixture(tree: Tree, number: int) -> None:
    before = tree.files("hello")
    with Provider(Answer([*said("New").parts[:1], HOLD])) as provider:
        running = tree.start("hello", upstream=provider.url)
        wait_for(lambda: provider.seen)
        os.kill(running.pid, number)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 130, (out, err)
    assert b"Traceback" not in out + err and b"nothing was written" in out
    assert tree.files("hello") == before
    wait_for(lambda: not tree.processes())


def test_stop_of_several_names_those_that_were_not_begun(tree: Tree) -> None:
    tree.add("more", "say hello")
    with Provider(Answer([HOLD])) as provider:
        running = tree.start("--all", upstream=provider.url)
        wait_for(lambda: provider.seen)
        os.killpg(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"1 failed, 1 not run" in out
    assert list(tree.files("more")) == ["input.json"]


def test_kill_at_any_point_leaves_the_old_fixture_or_the_new_one(tree: Tree) -> None:
    old = tree.files("hello")
    began = time.monotonic()
    with Provider(said("New words.")) as provider:
        assert tree.record("hello", upstream=provider.url).code == 0
    whole = time.monotonic() - began
    new = tree.files("hello")
    assert new != old
    chance = random.Random(20)
    seen = set()
    for number in range(_KILLS):
        for name, data in old.items():
            (tree.fixture("hello") / name).write_bytes(data)
        # Half of them where the files are written, at the end.
        at = whole * (chance.uniform(0, 1) if number % 2 else chance.uniform(0.75, 1.05))
        with Provider(said("New words.")) as provider:
            running = tree.start("hello", upstream=provider.url)
            time.sleep(at)
            (os.killpg if number % 4 < 2 else os.kill)(running.pid, signal.SIGKILL)
            running.communicate(timeout=30)
            wait_for(lambda: not tree.processes())
        recover(str(tree.fixture("hello")))
        after = tree.files("hello")
        assert after in (old, new), f"killed after {at:.3f} s of {whole:.3f}: {sorted(after)}"
        seen.add(after == new)
    assert False in seen


def test_killed_write_is_put_right_by_the_next_recording(tree: Tree) -> None:
    aside = tree.fixture("hello") / ASIDE / "new"
    aside.mkdir(parents=True)
    (aside / "session.jsonl").write_text("half")
    before = {name: data for name, data in tree.files("hello").items() if not name.startswith(ASIDE)}
    with Provider() as provider:
        outcome = tree.record("hello", upstream=provider.url)
        assert provider.seen == []
    assert outcome.code == 2 and "a write was killed here" in outcome.out
    assert tree.files("hello") == before


def test_directory_that_cannot_be_written_leaves_the_old_fixture(tree: Tree) -> None:
    before = tree.files("hello")
    # A file in the place of the directory in which new files are prepared: as hopeless as a full disk.
    (tree.fixture("hello") / ASIDE).write_text("")
    with Provider(said("New words.")) as provider:
        outcome = tree.record("hello", upstream=provider.url)
    (tree.fixture("hello") / ASIDE).unlink()
    assert outcome.code == 2, outcome
    assert "cannot write the fixture" in outcome.out and "Traceback" not in outcome.out
    assert tree.files("hello") == before


def test_killed_job_is_told_and_the_others_go_on(tree: Tree) -> None:
    tree.add("more", "say hello")
    with Provider(Answer([HOLD]), said("Hi.")) as provider:
        running = tree.start("hello", "more", upstream=provider.url)
        wait_for(lambda: provider.seen)
        [job] = [pid for pid in tree.processes() if _parent(pid) == running.pid]
        os.kill(job, signal.SIGKILL)
        out, _ = running.communicate(timeout=30)
    assert running.returncode == 4
    assert b"hello: its process was killed" in out and b"more: wrote" in out
    wait_for(lambda: not tree.processes())


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_other_commands_leave_a_scenario_alone_that_is_being_recorded(tree: Tree) -> None:
    before = tree.files("hello")
    with Provider(Answer([*said("New").parts[:1], HOLD])) as provider:
        running = tree.start("hello", upstream=provider.url)
        wait_for(lambda: provider.seen)
        for other in (tree.refresh("hello"), tree.record("hello", upstream=provider.url)):
            assert other.code == 2 and "hello: another command is at work on this scenario" in other.out
        assert len(provider.seen) == 1
        os.kill(running.pid, signal.SIGTERM)
        running.communicate(timeout=30)
    assert tree.files("hello") == before
    assert tree.refresh("hello").out == "hello: unchanged\n"
