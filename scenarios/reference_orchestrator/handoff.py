"""What a provider is told of the runs that it has not seen, because they were another's or its own thread was lost."""

from typing import Literal, NamedTuple

from scenarios.reference_orchestrator.projection import ProviderThread, Run, Thread

__all__ = ["Digest", "digest_for"]

# Oldest turns go first: what a provider is told must leave room for its work.
MAX_CHARACTERS = 60_000
OPENINGS = {
    "full": "You take over a conversation that another assistant led. This is what was said so far:",
    "delta": "While you were away another assistant went on with the conversation. This is what was said:",
}


class Digest(NamedTuple):
    """`full` for a provider thread that knows nothing yet, `delta` for one that knows what came before."""

    kind: Literal["full", "delta"]
    ordinals: list[int]
    text: str


def digest_for(thread: Thread, known: ProviderThread, run: Run) -> Digest | None:
    """None where the provider knows all that stands before `run`."""
    unseen = [
        past
        for past in thread.standing_runs()
        if past.ordinal < run.ordinal and past.ordinal not in known.seen and was_heard(past)
    ]
    if not unseen:
        return None
    kind: Literal["full", "delta"] = "delta" if known.seen else "full"
    told = [spoken(thread, past) for past in unseen]
    while len(told) > 1 and sum(map(len, told)) > MAX_CHARACTERS:
        del told[0]
    text = "\n\n".join((OPENINGS[kind], *told, "The user's next message:", ""))
    return Digest(kind, [past.ordinal for past in unseen], text)


def was_heard(run: Run) -> bool:
    """Whether any provider took it up; a message that reached nobody is no part of the conversation."""
    return any(attempt.provider_turn_id is not None for attempt in run.attempts)


def spoken(thread: Thread, run: Run) -> str:
    """The run as two voices. What an attempt said before it was steered away counts as well."""
    answers = [
        node.text
        for node in thread.nodes.values()
        if node.run_id == run.run_id
        and node.item_kind == "agent_message"
        and node.text
        and is_own(thread, node.parent_id)
    ]
    asked = [attempt.text for attempt in run.attempts if attempt.reason == "steer"]
    return "\n\n".join(
        (f"User: {run.text}", *(f"User: {text}" for text in asked), f"Assistant: {'\n'.join(answers)}")
    )


def is_own(thread: Thread, parent_id: str | None) -> bool:
    """Whether it was said to the user, and not by a subagent to its parent."""
    return parent_id is not None and thread.nodes[parent_id].kind == "turn"
