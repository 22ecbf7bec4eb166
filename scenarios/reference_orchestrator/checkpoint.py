"""Snapshots of a workspace as commits of its own git repository, and the way back to one.

A snapshot has an index of its own and a ref under refs/orchestrator/, so the user's index, branch and stash never change,
and nothing of it shows in `git log`. What git ignores is neither kept nor restored. The time of a commit is the clock's.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scenarios.reference_orchestrator.errors import WorkspaceError
from scenarios.reference_orchestrator.services import Clock

__all__ = ["Snapshots"]

IDENTITY = {
    "GIT_AUTHOR_NAME": "orchestrator",
    "GIT_AUTHOR_EMAIL": "orchestrator@localhost",
    "GIT_COMMITTER_NAME": "orchestrator",
    "GIT_COMMITTER_EMAIL": "orchestrator@localhost",
}


class Snapshots(NamedTuple):
    """`scratch` holds the indexes, one a thread; `environment` is what git runs with."""

    scratch: Path
    environment: Mapping[str, str]
    clock: Clock

    async def capture(self, workspace: str, thread_id: str, checkpoint_id: str, parent: str | None) -> str:
        """The commit that holds the workspace as it is. Raises WorkspaceError if that is no git repository."""
        git = self._git(workspace, thread_id)
        tree = await git.tree()
        seconds = self.clock.now_ms() // 1000
        dates = {"GIT_AUTHOR_DATE": f"@{seconds} +0000", "GIT_COMMITTER_DATE": f"@{seconds} +0000"}
        parents = () if parent is None else ("-p", parent)
        commit = await git.run("commit-tree", tree, *parents, "-m", checkpoint_id, **IDENTITY, **dates)
        await git.run("update-ref", f"refs/orchestrator/{thread_id}/{checkpoint_id}", commit)
        return commit

    async def restore(self, workspace: str, thread_id: str, commit: str) -> None:
        """Make the workspace what `commit` holds. Files that came since then are deleted."""
        git = self._git(workspace, thread_id)
        tree = await git.tree()
        added = await git.run(
            "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=A", commit, tree
        )
        for name in filter(None, added.split("\0")):
            remove(Path(workspace), Path(workspace) / name)
        await git.run("read-tree", commit)
        await git.run("checkout-index", "--all", "--force")

    def _git(self, workspace: str, thread_id: str) -> Git:
        return Git(
            workspace, dict(self.environment) | {"GIT_INDEX_FILE": str(self.scratch / f"{thread_id}.index")}
        )


class Git(NamedTuple):
    workspace: str
    environment: Mapping[str, str]

    async def tree(self) -> str:
        """The tree of the workspace as it is."""
        await self.run("add", "--all")
        return await self.run("write-tree")

    async def run(self, *arguments: str, **environment: str) -> str:
        """Its output without the last line end. Raises WorkspaceError with what git says."""
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                "--literal-pathspecs",
                *arguments,
                cwd=self.workspace,
                env={**self.environment, **environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise WorkspaceError(f"cannot run git in {self.workspace}: {error.strerror}") from error
        try:
            output, complaint = await process.communicate()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode != 0:
            said = complaint.decode(errors="replace").strip().partition("\n")[0]
            raise WorkspaceError(f"git {arguments[0]} failed in {self.workspace}: {said}")
        return output.decode(errors="surrogateescape").removesuffix("\n")


def remove(root: Path, path: Path) -> None:
    """The file, and the directories that it leaves empty."""
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == root:
            return
        with contextlib.suppress(OSError):
            parent.rmdir()
