"""Snapshots with real git: what they hold, what they give back, and that the user's repository does not notice."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from scenarios.reference_orchestrator.checkpoint import Snapshots
from scenarios.reference_orchestrator.errors import WorkspaceError
from scenarios.reference_orchestrator.services import VirtualClock

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "u",
    "GIT_AUTHOR_EMAIL": "u@localhost",
    "GIT_COMMITTER_NAME": "u",
    "GIT_COMMITTER_EMAIL": "u@localhost",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A user's repository with one thing staged, one changed, one new and one ignored."""
    place = tmp_path / "workspace"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    (place / ".gitignore").write_text("*.log\n")
    (place / "kept.txt").write_text("as committed\n")
    (place / "staged.txt").write_text("as committed\n")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=first")
    (place / "staged.txt").write_text("staged\n")
    git(place, "add", "staged.txt")
    (place / "kept.txt").write_text("changed\n")
    (place / "new.txt").write_text("new\n")
    (place / "run.log").write_text("ignored\n")
    return place


def git(place: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", *arguments), cwd=place, env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout


def what_the_user_sees(place: Path) -> list[str]:
    looks = ("status --porcelain", "diff --cached", "branch --all", "stash list", "rev-parse HEAD")
    return [git(place, *look.split()) for look in looks]


def snapshots(scratch: Path) -> Snapshots:
    return Snapshots(scratch, ENVIRONMENT, VirtualClock(1_750_000_000_000))


def test_restore_gives_back_what_was_captured(workspace: Path, tmp_path: Path) -> None:
    (workspace / "tool.sh").write_text("#!/bin/sh\n")
    (workspace / "tool.sh").chmod(0o755)
    (workspace / "link").symlink_to("kept.txt")
    (workspace / "a b").mkdir()
    (workspace / "a b" / "ü\n*.txt").write_text("odd name\n")
    held = snapshots(tmp_path)
    commit = asyncio.run(held.capture(str(workspace), "t", "one", None))

    (workspace / "kept.txt").write_text("changed again\n")
    (workspace / "new.txt").unlink()
    (workspace / "tool.sh").unlink()
    (workspace / "tool.sh").mkdir()
    (workspace / "tool.sh" / "inside").write_text("a directory now\n")
    (workspace / "link").unlink()
    (workspace / "added" / "deep").mkdir(parents=True)
    (workspace / "added" / "deep" / "file").write_text("added\n")
    (workspace / "a b" / "ü\n*.txt").write_text("changed\n")
    (workspace / "run.log").write_text("ignored, and still written\n")
    asyncio.run(held.restore(str(workspace), "t", commit))

    assert (workspace / "kept.txt").read_text() == "changed\n"
    assert (workspace / "new.txt").read_text() == "new\n"
    assert (workspace / "tool.sh").stat().st_mode & 0o111
    assert (workspace / "link").readlink() == Path("kept.txt")
    assert (workspace / "a b" / "ü\n*.txt").read_text() == "odd name\n"
    assert not (workspace / "added").exists()
    assert (workspace / "run.log").read_text() == "ignored, and still written\n"


def test_the_user_s_repository_does_not_notice(workspace: Path, tmp_path: Path) -> None:
    before = what_the_user_sees(workspace)
    held = snapshots(tmp_path)
    commit = asyncio.run(held.capture(str(workspace), "t", "one", None))
    asyncio.run(held.capture(str(workspace), "t", "two", commit))
    asyncio.run(held.restore(str(workspace), "t", commit))
    assert what_the_user_sees(workspace) == before
    refs = git(workspace, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", "refs/orchestrator/t/one", "refs/orchestrator/t/two"]


def test_the_same_workspace_at_the_same_time_is_the_same_commit(workspace: Path, tmp_path: Path) -> None:
    held = snapshots(tmp_path)
    assert asyncio.run(held.capture(str(workspace), "t", "one", None)) == asyncio.run(
        held.capture(str(workspace), "t", "one", None)
    )


def test_a_workspace_without_a_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    held = Snapshots(tmp_path, ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(tmp_path)}, VirtualClock())
    with pytest.raises(WorkspaceError, match="not a git repository"):
        asyncio.run(held.capture(str(tmp_path / "plain"), "t", "one", None))
    with pytest.raises(WorkspaceError, match="cannot run git"):
        asyncio.run(held.capture(str(tmp_path / "nowhere"), "t", "one", None))
