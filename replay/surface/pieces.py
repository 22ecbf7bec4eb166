"""Replacing text that may be cut into pieces: what a model streams as several deltas is one text to a reader."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Replacement", "replace"]


class Replacement(NamedTuple):
    """The text from `start` to before `end` becomes `text`."""

    start: int
    end: int
    text: str


def replace(pieces: Sequence[str], replacements: Sequence[Replacement]) -> list[str]:
    """`pieces` with `replacements`, which count in their joined text, in order and without overlap.

    As many pieces come back as went in: a replacement stands in the piece where it begins, and what it covers of
    later pieces is cut out of them.
    """
    return list(_replace(pieces, replacements))


def _replace(pieces: Sequence[str], replacements: Sequence[Replacement]) -> Iterator[str]:
    begin = 0
    index = 0
    for piece in pieces:
        end = begin + len(piece)
        here = begin
        out: list[str] = []
        while index < len(replacements) and replacements[index].start < end:
            start, stop, text = replacements[index]
            if start >= begin:
                out.append(piece[here - begin : start - begin])
                out.append(text)
            here = min(stop, end)
            if stop > end:
                break  # the rest of it lies in later pieces
            index += 1
        out.append(piece[here - begin :])
        yield "".join(out)
        begin = end
