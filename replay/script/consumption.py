"""Whether a run used its recording up, told from the journal that the model seam left behind (design 4.2)."""

from typing import TYPE_CHECKING, Any

from replay.errors import DivergenceError, Location
from replay.script.entry import nth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replay.script.entry import Lane

__all__ = ["check_consumption", "journalled_divergence", "unconsumed_sentences"]


def check_consumption(lanes: Sequence[Lane], journal_lines: Iterable[dict[str, Any]]) -> list[str]:
    """A sentence for each lane that was not served exactly its calls in order, [] where all is well."""
    served = dict.fromkeys((lane.name for lane in lanes), 0)
    sentences: list[str] = []
    for line in journal_lines:
        if line.get("kind") != "call":
            continue
        name, ordinal = str(line.get("lane")), line.get("ordinal")
        if name not in served:
            sentences.append(f'the journal names lane "{name}", which the recording lacks')
        elif ordinal != served[name] + 1:
            wanted = served[name] + 1
            sentences.append(f'lane "{name}" was served call {ordinal} where the {nth(wanted)} was due')
            served[name] = max(served[name], ordinal if isinstance(ordinal, int) else 0)
        else:
            served[name] += 1
    return sentences + unconsumed_sentences((lane, served[lane.name]) for lane in lanes)


def unconsumed_sentences(progress: Iterable[tuple[Lane, int]]) -> list[str]:
    """(lane, calls served) -> a sentence for each lane with calls left, or served more than it has."""
    sentences = []
    for lane, served in progress:
        count = len(lane.calls)
        if served > count:
            sentences.append(f'lane "{lane.name}" has {count} calls, {served} were served')
        elif served < count:
            call = lane.calls[served]
            sentences.append(
                f'lane "{lane.name}": {count - served} of {count} model calls were never made, '
                f"first the {call.describe()} at {call.where}"
            )
    return sentences


def journalled_divergence(journal_lines: Iterable[dict[str, Any]]) -> DivergenceError | None:
    """The first divergence that a journal tells of."""
    for line in journal_lines:
        if line.get("kind") == "diverged":
            number = line.get("line")
            where = Location(
                str(line.get("file", "")), number if isinstance(number, int) else 0, str(line.get("path", ""))
            )
            return DivergenceError(str(line.get("message", "")), where, str(line.get("fix", "")))
    return None
