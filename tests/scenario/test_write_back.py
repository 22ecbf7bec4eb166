"""Writing a scenario back is all or nothing, wherever the process dies."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from replay.errors import ReplayError, UsageError
from replay.scenario import write_back as module
from replay.scenario.write_back import ASIDE, Change, claimed, planned_changes, recover, write_back

OLD = {"session.jsonl": b"old 0\n", "session.1.jsonl": b"old 1\n", "session.2.jsonl": b"old 2\n", "stdout.expected.jsonl": b"old\n"}  # fmt: skip
NEW = {"session.jsonl": b"new 0\n", "session.1.jsonl": b"new 1\n", "stdout.expected.jsonl": b"new\n"}


@pytest.fixture
def directory(tmp_path):
    for name, data in OLD.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "input.json").write_bytes(b"{}")
    return tmp_path


def tree(directory: Path):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "input.json"
    }


def test_files_are_written_and_children_that_went_are_deleted(directory):
    changes = write_back(str(directory), NEW)
    assert changes == sorted(
        [*(Change(name, OLD[name], NEW[name]) for name in NEW), Change("session.2.jsonl", b"old 2\n", None)]
    )
    assert tree(directory) == NEW


def test_unchanged_files_are_not_touched(directory):
    before = (directory / "session.jsonl").stat()
    assert write_back(str(directory), OLD) == []
    assert (directory / "session.jsonl").stat() == before
    assert not (directory / ASIDE).exists()


def test_outputs_without_logs_delete_no_children(directory):
    changes = write_back(str(directory), {"stdout.expected.jsonl": b"x\n"})
    assert changes == [Change("stdout.expected.jsonl", b"old\n", b"x\n")]
    assert tree(directory) == {**OLD, "stdout.expected.jsonl": b"x\n"}


def test_a_file_in_the_expected_workspace_gets_its_directories(directory):
    write_back(str(directory), {"workspace.expected/a/b.txt": b"x"})
    assert (directory / "workspace.expected/a/b.txt").read_bytes() == b"x"


def test_stale_files_go_and_leave_no_empty_directory(directory):
    kept = {f"workspace.expected/{name}": b"x" for name in ("a/kept.txt", "b.txt")}
    gone = [f"workspace.expected/{name}" for name in ("a/gone.txt", "c/d/1.txt", "c/d/2.txt")]
    write_back(str(directory), {**kept, **dict.fromkeys(gone, b"y")})
    changes = write_back(str(directory), kept, [*gone, "workspace.expected/never/was.txt"])
    assert changes == [Change(name, b"y", None) for name in gone]
    assert tree(directory) == {**OLD, **kept}
    assert not (directory / "workspace.expected/c").exists()


def test_what_is_planned_is_what_is_written_and_a_file_that_was_there_keeps_its_mode(directory):
    files = {f"workspace.expected/{name}": b"x" for name in ("made", "rewritten")}
    (directory / "workspace.expected").mkdir()
    old = directory / "workspace.expected/rewritten"
    old.write_bytes(b"y")
    old.chmod(0o750)
    planned = planned_changes(str(directory), files)
    assert write_back(str(directory), files) == planned
    assert [(change.name, change.before) for change in planned] == [
        ("workspace.expected/made", None),
        ("workspace.expected/rewritten", b"y"),
    ]
    assert old.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["../escape", "workspace/../../escape", "notes.txt", "/etc/passwd"])
def test_a_name_that_is_no_fixture_file_is_refused(directory, name):
    with pytest.raises(ReplayError, match="refuses to write"):
        write_back(str(directory), {name: b""})
    with pytest.raises(ReplayError, match="refuses to write"):
        write_back(str(directory), {}, [name])
    assert tree(directory) == OLD


def test_an_unwritable_directory_is_a_users_mistake_and_changes_nothing(tmp_path):
    with pytest.raises(UsageError, match="cannot write the fixture"):
        write_back(str(tmp_path / "nowhere"), NEW)


DIE_AFTER = """
import os, signal, sys
from replay.scenario.write_back import write_back
count = int(sys.argv[2])
calls = 0
def dying(real):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls > count:
            if sys.argv[3] == "SIGKILL":
                os.kill(os.getpid(), signal.SIGKILL)
            calls = -10**9
            raise {"ENOSPC": OSError(28, "No space left on device"), "SIGINT": KeyboardInterrupt()}[sys.argv[3]]
        return real(*args, **kwargs)
    return call
for name in ("fsync", "replace", "rename", "unlink", "rmdir", "mkdir"):
    setattr(os, name, dying(getattr(os, name)))
write_back(sys.argv[1], FILES)
print("finished" if calls > 0 else "went on: the failing call did not matter")
""".replace("FILES", repr(NEW))


@pytest.mark.parametrize("how", ["SIGKILL", "ENOSPC", "SIGINT"])
def test_a_write_that_dies_at_any_call_leaves_the_old_or_the_new_files(tmp_path, how):
    seen = set()
    for count in range(200):
        directory = tmp_path / str(count)
        directory.mkdir()
        for name, data in OLD.items():
            (directory / name).write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", DIE_AFTER, str(directory), str(count), how],
            capture_output=True, text=True, env={"PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        if "finished" in done.stdout:
            assert tree(directory) == NEW
            break
        if how == "SIGKILL":
            assert done.returncode == -signal.SIGKILL
        recover(str(directory))
        assert tree(directory) in (OLD, NEW), f"a mix after call {count}"
        assert not (directory / ASIDE).exists()
        seen.add("new" if tree(directory) == NEW else "old")
    else:
        pytest.fail("never finished")
    assert seen == {"old", "new"}, "the test must have killed it on both sides of the commit"


def test_full_disk_before_the_commit_needs_no_recovery(directory, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device") as caught:
        write_back(str(directory), NEW)
    assert "as it was" in caught.value.fix
    assert tree(directory) == OLD
    assert not (directory / ASIDE).exists()


def test_the_next_write_completes_a_killed_one(directory):
    (directory / ASIDE / "new").mkdir(parents=True)
    (directory / ASIDE / "new" / "session.jsonl").write_bytes(b"new 0\n")
    (directory / ASIDE / "commit").write_bytes(b'{"write":["session.jsonl"],"delete":["session.2.jsonl"]}')
    write_back(str(directory), {"stdout.expected.jsonl": b"newer\n"})
    assert tree(directory) == {
        "session.jsonl": b"new 0\n",
        "session.1.jsonl": b"old 1\n",
        "stdout.expected.jsonl": b"newer\n",
    }


def test_a_fixture_that_a_command_holds_is_held_by_no_other(directory):
    with claimed(str(directory)):
        with (
            pytest.raises(UsageError, match="another command is at work on this scenario"),
            claimed(str(directory)),
        ):
            pytest.fail("held twice")
        write_back(str(directory), NEW)
    with claimed(str(directory)):
        assert tree(directory) == NEW


def test_whoever_takes_up_a_killed_write_begins_again(directory):
    (directory / ASIDE).mkdir()
    with pytest.raises(UsageError, match="a write was killed here"), claimed(str(directory)):
        pytest.fail("held with files that were read before")
    with claimed(str(directory)):
        assert tree(directory) == OLD


def test_a_directory_that_is_not_there_is_a_users_mistake(directory):
    with pytest.raises(UsageError, match="No such file or directory"), claimed(str(directory / "gone")):
        pytest.fail("held nothing")
