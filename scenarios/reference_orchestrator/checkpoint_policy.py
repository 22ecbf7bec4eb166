"""When the workspace of a thread is snapshot, and which snapshot a rollback goes back to.

Before the first run, after every run (scope "root": it advances the run count) and after every subagent (scope
"subagent": inside a run, which it does not advance). A workspace that cannot be snapshot stops no run.
"""

from typing import Literal, NamedTuple

from scenarios.reference_orchestrator import events as e
from scenarios.reference_orchestrator.checkpoint import Snapshots
from scenarios.reference_orchestrator.errors import WorkspaceError
from scenarios.reference_orchestrator.journal import Journal
from scenarios.reference_orchestrator.projection import Run

__all__ = ["CheckpointPolicy"]


class CheckpointPolicy(NamedTuple):
    journal: Journal
    snapshots: Snapshots

    async def before_first(self, thread_id: str, run: Run) -> None:
        # A later run would find what the first one made.
        if not any(past.attempts for past in self.journal.thread(thread_id).runs):
            await self._capture(thread_id, "root", 0, run.run_id, None)

    async def after_run(self, thread_id: str, run: Run) -> None:
        await self._capture(thread_id, "root", run.ordinal, run.run_id, None)

    async def after_subagent(self, thread_id: str, node_id: str) -> None:
        thread = self.journal.thread(thread_id)
        run = thread.run(thread.nodes[node_id].run_id)
        await self._capture(thread_id, "subagent", run.ordinal, run.run_id, node_id)

    async def go_back(self, thread_id: str, run_ids: list[str]) -> None:
        """To before the runs `run_ids`, the last that stand. Raises WorkspaceError."""
        thread = self.journal.thread(thread_id)
        kept = [run.ordinal for run in thread.standing_runs() if run.run_id not in run_ids]
        checkpoint = thread.checkpoint_after(kept[-1] if kept else 0)
        if checkpoint is None:
            raise WorkspaceError("the workspace has no checkpoint to go back to")
        await self.snapshots.restore(thread.workspace, thread_id, checkpoint.commit)
        self.journal.record(thread_id, e.CheckpointRestored(checkpoint.checkpoint_id))

    async def _capture(
        self,
        thread_id: str,
        scope: Literal["root", "subagent"],
        ordinal: int,
        run_id: str,
        node_id: str | None,
    ) -> None:
        thread = self.journal.thread(thread_id)
        roots = [kept for kept in thread.checkpoints if kept.scope == "root"]
        parent = roots[-1].commit if roots else None
        checkpoint_id = self.journal.services.ids.new("checkpoint")
        event: e.Event
        try:
            commit = await self.snapshots.capture(thread.workspace, thread_id, checkpoint_id, parent)
        except WorkspaceError as error:
            event = e.CheckpointFailed(scope, ordinal, run_id, node_id, str(error))
        else:
            event = e.CheckpointCaptured(checkpoint_id, scope, ordinal, run_id, node_id, commit)
        self.journal.record(thread_id, event)
