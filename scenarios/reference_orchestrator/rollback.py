"""What the provider is asked to forget. Pure."""

from scenarios.reference_orchestrator.adapters.base import Rollback
from scenarios.reference_orchestrator.projection import Thread

__all__ = ["turns_to_drop"]


def turns_to_drop(thread: Thread, provider_thread_id: str, run_ids: list[str]) -> Rollback | None:
    """The turns of the runs on that provider thread, one for every attempt; None where it had none."""
    ordinals = [run.ordinal for run in thread.runs if run.run_id in run_ids]
    known = next(kept for kept in thread.provider_threads if kept.provider_thread_id == provider_thread_id)
    turns = [turn for turn in known.turns if turn.status != "rolled_back"]
    dropped = [turn for turn in turns if turn.ordinal in ordinals]
    if not dropped:
        return None
    kept = [turn for turn in turns if turn.ordinal not in ordinals]
    resume_point = kept[-1].resume_point if kept else None
    return Rollback(len(dropped), resume_point or "", dropped[0].provider_turn_id)
