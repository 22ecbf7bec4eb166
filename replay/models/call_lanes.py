"""Which calls of a recording belong to one conversation: the lanes, as far as the messages show them.

A call has at most one predecessor: the call whose conversation and answer it repeats, of several the one with the
longest; a call that failed or was cancelled has no answer to be repeated, so that its exact repetition is a retry. A
call without one goes on from the newest call of a lane with the same system prompt and tools whose answer it still
repeats: such an agent rewrote what came before. Where several calls go on from one, all but one are forks.
"""

from typing import TYPE_CHECKING

from replay.models.wire import model_request
from replay.script.conversation import repeats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replay.models.call_log import ModelCall
    from replay.models.wire import Json

__all__ = ["assign_lanes"]


def assign_lanes(calls: Sequence[ModelCall]) -> None:
    """Sets `lane` and `ordinal` of each call. calls: in order of arrival, with what was answered.

    A call goes on with a lane if its messages extend those of the lane's newest request, by role and text, and repeat
    its answer; the exact repetition of a failed or cancelled call is its retry; any other call begins a lane. Where
    two calls go on from one, the lane stays with the one that has the same system prompt and tools, then with the one
    that more calls follow, then with the first. The main conversation, "parent", is the one that offers tools, then
    the one of most calls, then of most messages, then the first to arrive; a fork is never it. The others are
    "child 1" and so on, in the order in which they began.
    """
    if not calls:
        return
    before = _predecessors(calls)
    heirs = _heirs(calls, before)
    chains = [_chain(first, heirs) for first in range(len(calls)) if first not in heirs.values()]
    main = max(
        (chain for chain in chains if before[chain[0]] is None),
        key=lambda chain: (*_weight([calls[index] for index in chain]), -chain[0]),
    )
    others = [chain for chain in chains if chain is not main]
    for number, chain in enumerate([main, *others]):
        for ordinal, index in enumerate(chain, 1):
            calls[index].lane = f"child {number}" if number else "parent"
            calls[index].ordinal = ordinal


def _weight(calls: Sequence[ModelCall]) -> tuple[bool, int, int]:
    return (
        any(call.request.tools for call in calls),
        len(calls),
        max(len(call.conversation) for call in calls),
    )


def _chain(first: int, heirs: dict[int, int]) -> list[int]:
    chain = [first]
    while chain[-1] in heirs:
        chain.append(heirs[chain[-1]])
    return chain


def _predecessors(calls: Sequence[ModelCall]) -> list[int | None]:
    """Of each call the index of the one that it goes on from."""
    found: list[int | None] = []
    followed: set[int] = set()
    for at, call in enumerate(calls):
        # Of twins, one that nobody goes on from yet; of retries, the last.
        ranked = max(
            (
                (_repeated(earlier, call), index not in followed, index)
                for index, earlier in enumerate(calls[:at])
            ),
            default=(0, False, 0),
        )
        before = ranked[2] if ranked[0] else next(_rewritten(calls[:at], call, followed), None)
        found.append(before)
        if before is not None:
            followed.add(before)
    return found


def _repeated(earlier: ModelCall, call: ModelCall) -> int:
    """How many messages of `call` are the conversation of `earlier` and its answer; 0 if it does not go on from there."""
    asked, now = earlier.conversation, call.conversation
    length = len(asked)
    if length > len(now) or not all(_is_alike(call, *pair) for pair in zip(asked, now, strict=False)):
        return 0
    answer = earlier.answer
    if not answer or not answer["content"]:
        return length
    return length + 1 if length < len(now) and repeats(now[length], answer) else 0


def _is_alike(call: ModelCall, one: Json, other: Json) -> bool:
    if one["role"] != other["role"]:
        return False
    return model_request([one], None, None).text == model_request([other], None, None).text or call.is_same(
        one, other
    )


def _rewritten(earlier: Sequence[ModelCall], call: ModelCall, followed: set[int]) -> Iterator[int]:
    """The newest calls of lanes whose answer `call` repeats somewhere, the newest first."""
    said = [message for message in call.conversation if message["role"] == "assistant"]
    for index in range(len(earlier) - 1, -1, -1):
        answer = earlier[index].answer
        if (
            index in followed
            or not answer
            or not answer["content"]
            or _header(earlier[index]) != _header(call)
        ):
            continue
        if any(repeats(message, answer) for message in said):
            yield index


def _heirs(calls: Sequence[ModelCall], before: Sequence[int | None]) -> dict[int, int]:
    """Index of a call -> index of the one that keeps its lane."""
    sizes = [1] * len(calls)
    followers: dict[int, list[int]] = {}
    for at in range(len(calls) - 1, -1, -1):
        origin = before[at]
        if origin is not None:
            sizes[origin] += sizes[at]
            followers.setdefault(origin, []).append(at)
    return {
        origin: max(ones, key=lambda at: (_header(calls[at]) == _header(calls[origin]), sizes[at], -at))
        for origin, ones in followers.items()
    }


def _header(call: ModelCall) -> tuple[str, str]:
    return call.hashes.get("system", ""), call.hashes.get("tools", "")
