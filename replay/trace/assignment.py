"""Who belongs to whom: the most pairs that may be made, and the cheapest pairs of two lists. Pure.

Greedy choices are wrong where "equal" allows a tolerance: a first that takes the wrong partner leaves none for the
second. So pairs are found by augmenting paths, and what is left is paired at the least total cost.
"""

from collections.abc import Callable, Sequence

__all__ = ["MAX_EXACT", "cheapest_pairs", "most_pairs", "out_of_order", "pairs_in_order"]

MAX_EXACT = 150
"""So many on the longer side are assigned at the least cost (cubic time); beyond it the cheapest pair goes first."""


def most_pairs(
    left: int, right: int, is_pair: Callable[[int, int], bool], start: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """The largest set of pairs in which nobody stands twice.

    left, right: how many there are on each side. `start`: pairs to begin with; whoever stands in them keeps a partner.
    Quadratic calls of is_pair, each at most once.
    """
    partners: dict[int, list[int]] = {}

    def partners_of(one: int) -> list[int]:
        if one not in partners:
            partners[one] = [other for other in range(right) if is_pair(one, other)]
        return partners[one]

    owner = {other: one for one, other in start}
    busy = set(owner.values())
    for one in range(left):
        if one not in busy:
            _augment(one, partners_of, owner)
    return sorted((one, other) for other, one in owner.items())


def _augment(start: int, partners_of: Callable[[int], list[int]], owner: dict[int, int]) -> None:
    """Finds `start` a partner, moving others to further partners of theirs where it must; breadth first."""
    came_from: dict[int, int] = {}
    waiting = [start]
    for one in waiting:
        for other in partners_of(one):
            if other in came_from:
                continue
            came_from[other] = one
            if other not in owner:
                _turn(other, start, came_from, owner)
                return
            waiting.append(owner[other])


def _turn(free: int, start: int, came_from: dict[int, int], owner: dict[int, int]) -> None:
    """Gives everyone on the way the partner that was found for them."""
    held = {one: other for other, one in owner.items()}
    while True:
        one = came_from[free]
        owner[free] = one
        if one == start:
            return
        free = held[one]


def pairs_in_order(left: int, right: int, is_pair: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """The longest run of pairs that is in order on both sides. Calls is_pair once for each of left * right."""
    longest = [[0] * (right + 1) for _ in range(left + 1)]
    fits = [[is_pair(one, other) for other in range(right)] for one in range(left)]
    for one in reversed(range(left)):
        for other in reversed(range(right)):
            longest[one][other] = (
                longest[one + 1][other + 1] + 1
                if fits[one][other]
                else max(longest[one + 1][other], longest[one][other + 1])
            )
    found = []
    one = other = 0
    while one < left and other < right:
        if fits[one][other] and longest[one][other] == longest[one + 1][other + 1] + 1:
            found.append((one, other))
            one, other = one + 1, other + 1
        elif longest[one + 1][other] >= longest[one][other + 1]:
            one += 1
        else:
            other += 1
    return found


def out_of_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The fewest pairs without which the rest is in order on both sides. `pairs` sorted by their first."""
    best: list[int] = []  # best[i]: the length of the longest ordered run that ends with pair i
    previous: list[int] = []
    for at, (_, other) in enumerate(pairs):
        before = max(
            (place for place in range(at) if pairs[place][1] < other),
            key=lambda place: best[place],
            default=-1,
        )
        previous.append(before)
        best.append(1 + (best[before] if before >= 0 else 0))
    kept = set()
    at = max(range(len(pairs)), key=lambda place: best[place], default=-1)
    while at >= 0:
        kept.add(at)
        at = previous[at]
    return [pair for place, pair in enumerate(pairs) if place not in kept]


def cheapest_pairs(
    left: Sequence[int], right: Sequence[int], cost: Callable[[int, int], float | None]
) -> list[tuple[int, int]]:
    """Pairs of the least total cost among the largest sets of pairs; a cost of None is no pair. Costs are 0..1."""
    costs = {
        (one, other): price for one in left for other in right if (price := cost(one, other)) is not None
    }
    if not costs:
        return []
    if max(len(left), len(right)) > MAX_EXACT:
        return _greedy(costs)
    never = 2.0 * max(len(left), len(right)) + 2
    size = max(len(left), len(right))
    table = [
        [
            costs.get((left[row], right[column]), never) if row < len(left) and column < len(right) else never
            for column in range(size)
        ]
        for row in range(size)
    ]
    chosen = _hungarian(table)
    return sorted(
        (left[row], right[column])
        for row, column in enumerate(chosen)
        if row < len(left) and column < len(right) and (left[row], right[column]) in costs
    )


def _greedy(costs: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    used_left: set[int] = set()
    used_right: set[int] = set()
    pairs = []
    for one, other in sorted(costs, key=lambda pair: (costs[pair], pair)):
        if one not in used_left and other not in used_right:
            used_left.add(one)
            used_right.add(other)
            pairs.append((one, other))
    return sorted(pairs)


def _hungarian(table: list[list[float]]) -> list[int]:
    """The column of each row in a square table, at the least sum. By shortest augmenting paths with potentials."""
    size = len(table)
    rows, columns = [0.0] * (size + 1), [0.0] * (size + 1)
    owner = [0] * (size + 1)
    for row in range(1, size + 1):
        owner[0] = row
        column = 0
        least = [float("inf")] * (size + 1)
        came_from = [0] * (size + 1)
        done = [False] * (size + 1)
        while owner[column]:
            done[column] = True
            here, step, following = owner[column], float("inf"), 0
            for other in range(1, size + 1):
                if done[other]:
                    continue
                price = table[here - 1][other - 1] - rows[here] - columns[other]
                if price < least[other]:
                    least[other], came_from[other] = price, column
                if least[other] < step:
                    step, following = least[other], other
            for other in range(size + 1):
                if done[other]:
                    rows[owner[other]] += step
                    columns[other] -= step
                else:
                    least[other] -= step
            column = following
        while column:
            before = came_from[column]
            owner[column] = owner[before]
            column = before
    found = [0] * size
    for column in range(1, size + 1):
        found[owner[column] - 1] = column - 1
    return found
