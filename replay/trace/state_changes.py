"""What a run did to a state, and whether two runs did the same to theirs. Pure.

States are rarely equal between two runs: a clock, a counter, a file of another day. What counts is what changed from
before to after, so the changes of both runs are compared, path by path.
"""

from replay.surface.values import Json
from replay.trace.comparators import Closeness, Mismatch, differences, shown
from replay.trace.rules import EXACT, Rules

__all__ = ["changes", "state_differences"]

type Span = tuple[Json, Json]


def changes(before: Json, after: Json, rules: Rules = EXACT, path: str = "$") -> list[Mismatch]:
    """What is not after as it was before, by path: `expected` is before, `actual` after; ABSENT where it was not."""
    return differences(before, after, rules, path=path)


def state_differences(
    expected: Span, actual: Span, rules: Rules = EXACT, closeness: Closeness | None = None, path: str = "$"
) -> list[Mismatch]:
    """Where two runs, each (before, after), did not do the same to the state.

    "missing": the baseline changed this and the run did not; "extra": the other way round; else both changed it, to
    different values.
    """
    # Where both began alike, their ends say all, and say it shorter.
    if not differences(expected[0], actual[0]):
        return differences(expected[1], actual[1], rules, closeness, path)
    ignoring = Rules([rule for rule in rules.listed if rule.kind == "ignore"])
    ours, theirs = ({one.path: one for one in changes(*span, ignoring, path)} for span in (expected, actual))
    found: list[Mismatch] = []
    for place in (*ours, *(place for place in theirs if place not in ours)):
        one, other = ours.get(place), theirs.get(place)
        if one is None and other is not None:
            found.append(_alone(other, "extra", "the run changed"))
        elif other is None and one is not None:
            found.append(_alone(one, "missing", "only the baseline changed"))
        elif one is not None and other is not None:
            found += differences(one.actual, other.actual, rules, closeness, path, at=one.place)
    return found


def _alone(change: Mismatch, kind: str, who: str) -> Mismatch:
    message = f"{who} {shown(change.expected)} to {shown(change.actual)}"
    return change._replace(kind=kind, message=message)
