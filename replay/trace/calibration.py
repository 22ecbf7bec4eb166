"""What meaning.py is worth: precision and recall for each verdict on labelled pairs, by the part they belong to. Pure.

Thresholds and word lists are found on "tuned", and looked at on "development"; which of the two a pair belongs to
follows from its id, so that nobody can choose it. "fresh" is a file of its own: nobody who changes the rules has looked
at it, so that it is only ever measured.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.trace.meaning import VERDICTS, compare_meaning
from replay.trace.polarity import Closeness
from replay.trace.statistics import Confusion

__all__ = ["FRESH", "HALVES", "LABELS", "Pair", "half_of", "measure", "read_pairs", "render"]

HALVES = ("tuned", "development")
FRESH = "fresh"
LABELS = {"paraphrase": "same", **{name: name for name in VERDICTS if name != "same"}}


class Pair(NamedTuple):
    """Two texts and the verdict that a person gives; `part`: one of HALVES, or FRESH."""

    id: str
    part: str
    verdict: str
    domain: str
    left: str
    right: str


def read_pairs(data: bytes, place: str, part: str = "") -> list[Pair]:
    """The pairs of a JSONL file; `part`: of all of them, instead of its half of each. Raises FixtureError with the line."""
    pairs: list[Pair] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry: Any = orjson.loads(line)
            texts = [entry[key] for key in ("id", "label", "domain", "a", "b")]
        except orjson.JSONDecodeError, KeyError, TypeError:
            texts = []
        if not texts or not all(isinstance(text, str) and text for text in texts) or texts[1] not in LABELS:
            raise FixtureError(
                "is no labelled pair",
                Location(place, number),
                'write {"id", "label", "domain", "a", "b"}, label one of ' + ", ".join(LABELS),
            )
        pairs.append(Pair(texts[0], part or half_of(texts[0]), LABELS[texts[1]], *texts[2:]))
    if len({pair.id for pair in pairs}) < len(pairs):
        raise FixtureError(
            "has an id twice", Location(place), "the id decides the half: give each pair its own"
        )
    return pairs


def half_of(id: str) -> str:
    """The half of a pair: the lowest bit of the first byte of its id's SHA-256."""
    return HALVES[sha256(id.encode()).digest()[0] & 1]


def measure(pairs: Sequence[Pair], closeness: Closeness) -> dict[str, Confusion]:
    """What was said for what is true, by part; both orders of a pair count."""
    parts = dict.fromkeys(pair.part for pair in sorted(pairs, key=lambda pair: _ORDER.index(pair.part)))
    found = {part: Confusion(VERDICTS) for part in parts}
    for pair in pairs:
        for left, right in ((pair.left, pair.right), (pair.right, pair.left)):
            found[pair.part].add(pair.verdict, compare_meaning(left, right, closeness).verdict)
    return found


_ORDER = (*HALVES, FRESH)


def render(found: dict[str, Confusion]) -> str:
    """A table for a person."""
    lines = []
    for part, confusion in found.items():
        right = confusion.correct()
        low, high = right.wilson()
        lines.append(
            f"{part}: {right.total} comparisons, accuracy {right.share:.3f} (95% {low:.3f} to {high:.3f})"
        )
        lines.append(
            f"  {'':14}{'precision':>10}{'recall':>8}{'n':>6}   said: {' '.join(f'{name[:8]:>9}' for name in VERDICTS)}"
        )
        for name in VERDICTS:
            precision, recall = confusion.precision(name), confusion.recall(name)
            row = " ".join(f"{confusion.count(name, said):>9}" for said in VERDICTS)
            lines.append(
                f"  {name:14}{precision.share:>10.3f}{recall.share:>8.3f}{recall.total:>6}         {row}"
            )
    return "\n".join(lines)
