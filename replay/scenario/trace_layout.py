"""Which files of a package belong to a trace suite: what its commands may write. The same names as the guard's."""

import re
from typing import Final

__all__ = ["is_trace_file"]

_OURS: Final = re.compile(
    r"traces/[A-Za-z0-9_][A-Za-z0-9_.+-]*\.json"
    r"|traces/blobs/[0-9a-f]{64}"
    r"|snapshots/[A-Za-z0-9_][A-Za-z0-9_.+-]*/[A-Za-z0-9_-]+(\.[0-9]+)?\.json"
)


def is_trace_file(name: str) -> bool:
    """Whether `name`, relative to the package, is a trace, a blob of one, or a snapshot."""
    return _OURS.fullmatch(name) is not None
