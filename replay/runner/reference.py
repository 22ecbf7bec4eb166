"""What a fixture says and no agent can: it is put into the actual side before comparing and writing back.

    {{fromRequest:…}} in a recorded stream   the agent logs what it was served, the value of this run
    provenance in a header                   where the model half came from

Everything else of a log is compared as the agent wrote it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from replay.session import PACKED_DELTA

__all__ = ["keep_references"]

_REFERENCE = "{{fromRequest:"
_HEADER_KEYS = ("provenance",)


def keep_references(expected: Sequence[Any], actual: Sequence[Any]) -> list[Any]:
    """`actual` with the references of `expected`, where both hold the same stream row by row."""
    if not expected or not actual:
        return list(actual)
    kept = {
        key: expected[0][key] for key in _HEADER_KEYS if isinstance(expected[0], dict) and key in expected[0]
    }
    lines = [{**actual[0], **kept} if kept else actual[0], *actual[1:]]
    pairs = zip(_stream(expected), _stream(lines), strict=False)
    for index_expected, index_actual in list(pairs):
        lines[index_actual] = _bend(expected[index_expected], lines[index_actual])
    return lines


def _stream(lines: Sequence[Any]) -> Iterator[int]:
    """Indices of the rows that carry the model's stream."""
    for index, row in enumerate(lines):
        if isinstance(row, dict) and (
            row.get("type") == "assistant/chunk" or row.get("type") in PACKED_DELTA
        ):
            yield index


def _bend(expected: Any, actual: Any) -> Any:
    """`actual` with each string that is a reference in `expected`."""
    if isinstance(expected, str):
        return expected if _REFERENCE in expected and isinstance(actual, str) else actual
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {
            key: _bend(expected[key], value) if key in expected else value for key, value in actual.items()
        }
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_bend(left, right) for left, right in zip(expected, actual, strict=True)]
    return actual
