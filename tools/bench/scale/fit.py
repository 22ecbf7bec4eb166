"""How a cost grows: the exponent k of cost ~ size^k."""

import math
from collections.abc import Mapping

__all__ = ["exponent", "last_exponent"]


def exponent(costs: Mapping[int, float]) -> float | None:
    """The slope of the line of least squares through the logarithms; None for fewer than two sizes.

    costs: size to cost, all above 0.
    """
    points = [(math.log(size), math.log(cost)) for size, cost in costs.items() if cost > 0]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / sum((x - mean_x) ** 2 for x, _ in points)


def last_exponent(costs: Mapping[int, float]) -> float | None:
    """The same between the two largest sizes only, where a constant part hides the least."""
    return exponent({size: costs[size] for size in sorted(costs)[-2:]})
