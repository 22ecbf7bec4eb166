"""One spelling for values that are alike: keys sorted, a number as an integer where it is one. Pure."""

import orjson

from replay.errors import FixtureError
from replay.surface.values import Json

__all__ = ["canonical", "plain"]


def canonical(value: Json) -> bytes:
    """The same bytes for two values exactly where comparators.differences finds nothing between them.

    Raises FixtureError for a number that JSON cannot hold.
    """
    return orjson.dumps(plain(value), option=orjson.OPT_SORT_KEYS)


def plain(value: Json) -> Json:
    """Numbers in one spelling: what is equal is spelled alike. Raises FixtureError for one that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, float) and not value.is_integer():
        if value - value != 0:
            raise FixtureError(f"the value holds {value}, which JSON has no number for")
        return value
    if -(1 << 63) <= value < 1 << 64:
        return int(value)
    if isinstance(value, int):
        raise FixtureError("the value holds an integer of more than 64 bits")
    return value
