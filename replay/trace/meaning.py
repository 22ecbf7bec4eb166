"""Whether two texts mean the same: hard facts first, closeness second. Pure.

A cosine alone cannot say it: a statement and its opposite are as close as a statement and its paraphrase. So the
questions are asked in this order, and the first that finds a difference answers:

    unrelated      hardly a word or a direction in common
    number         another amount, date, time or version, in any spelling
    name           another person, place, path, identifier, command
    contradiction  a word that the one affirms and the other denies (polarity.py)
    same           all that is said is the same, and only announced in other words: the result is 7, it comes to 7
    a place        all alike but for a few words: an opposite, another name, or a synonym
    an order       the same facts among each other's words: 3 added and 4 removed, 4 added and 3 removed
    unrelated      too little evidence that they say the same (likeness.py)

The thresholds were found on tests/trace/meaning_pairs.jsonl; calibration.py tells what they are worth on pairs that
nobody had seen. What it cannot know: facts of the world, irony, whatever is said without a word for it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from replay.trace.facts import Facts, facts_of
from replay.trace.likeness import changed_order, changed_words, evidence_of, is_said_alike
from replay.trace.polarity import Closeness, opposed, sayings_of
from replay.trace.quantities import Quantity, is_same_quantity
from replay.trace.words import is_empty

__all__ = ["MAX_TEXT", "VERDICTS", "Closeness", "Meaning", "Thresholds", "compare_meaning"]

MAX_TEXT = 20_000
VERDICTS = ("same", "contradiction", "number", "name", "unrelated")


class Thresholds(NamedTuple):
    """unrelated: below this cosine two texts without a common word have nothing to do with each other; word: from
    this cosine on two words are synonyms; denied: from it on a word that one denies is another one that only the other
    has; same: from this evidence on two texts without a difference in facts are paraphrases.
    """

    unrelated: float = 0.25
    word: float = 0.5
    denied: float = 0.45
    same: float = 0.57


class Meaning(NamedTuple):
    """The answer, the cosine, and a sentence for each difference that was found."""

    verdict: str
    closeness: float
    reasons: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return self.verdict == "same"


def compare_meaning(
    expected: str, actual: str, closeness: Closeness, limits: Thresholds | None = None
) -> Meaning:
    """What `actual` says against what `expected` says. closeness: the cosine of two texts."""
    limits = limits or Thresholds()
    if expected.split() == actual.split():
        return Meaning("same", 1.0)
    if max(len(expected), len(actual)) > MAX_TEXT:
        reason = f"a text of more than {MAX_TEXT} characters is compared as it is, and it differs"
        return Meaning("unrelated", 0.0, (reason,))
    near = closeness(expected, actual)
    left, right = facts_of(expected), facts_of(actual)
    shared = {word.stem for word in left.words if not is_empty(word.text)} & {
        word.stem for word in right.words
    }
    if near < limits.unrelated and not shared and not _shared_facts(left, right):
        return Meaning("unrelated", near, (f"the texts have nothing in common (closeness {near:.2f})",))
    for verdict, reasons in (
        ("number", _numbers(left, right)),
        ("name", _names(left, right)),
        ("contradiction", _denials(left, right, closeness, limits)),
    ):
        if reasons:
            return Meaning(verdict, near, tuple(reasons))
    if is_said_alike(left, right):
        return Meaning("same", near)
    for verdict, reasons in (changed_words(left, right, closeness, limits.word), changed_order(left, right)):
        if reasons:
            return Meaning(verdict, near, tuple(reasons))
    evidence = evidence_of(left, right, near, closeness)
    if evidence < limits.same:
        reason = f"they have too little in common (evidence {evidence:.2f}, below {limits.same:g})"
        return Meaning("unrelated", near, (reason,))
    return Meaning("same", near)


def _shared_facts(left: Facts, right: Facts) -> bool:
    return any(is_same_quantity(one, other) for one in left.quantities for other in right.quantities) or len(
        _foreign_codes(left, right)
    ) < len(left.codes)


def _numbers(left: Facts, right: Facts) -> list[str]:
    lost = _unmatched(left.quantities, right.quantities)
    gained = _unmatched(right.quantities, left.quantities)
    reasons = []
    for one in list(lost):
        other = next((other for other in gained if other.kind == one.kind), None)
        if other:
            reasons.append(f'"{_shown(one)}" became "{_shown(other)}"')
            lost.remove(one)
            gained.remove(other)
    ours, theirs = ({piece for code in side.codes for piece in code.text.split()} for side in (left, right))
    lost = [one for one in lost if not one.is_soft and one.text not in theirs]
    gained = [one for one in gained if not one.is_soft and one.text not in ours]
    while lost and gained:
        reasons.append(f'"{_shown(lost.pop(0))}" became "{_shown(gained.pop(0))}"')
    reasons += [f'"{_shown(one)}" is missing' for one in lost]
    reasons += [f'"{_shown(one)}" was added' for one in gained]
    return reasons


def _unmatched(these: Sequence[Quantity], those: Sequence[Quantity]) -> list[Quantity]:
    known = {(one.kind, one.value) for one in those}
    return [
        one
        for one in these
        if one.kind not in _NAMED
        and (one.kind, one.value) not in known
        and not any(is_same_quantity(one, two) for two in those)
    ]


# Days and months without a number are told apart as names are.
_NAMED = ("weekday", "month")


def _shown(one: Quantity) -> str:
    return one.text.strip()


def _names(left: Facts, right: Facts) -> list[str]:
    lost, gained = _foreign_codes(left, right), _foreign_codes(right, left)
    reasons = [f'"{one}" became "{other}"' for one, other in zip(lost, gained, strict=False)]
    paired = len(reasons)
    reasons += [f'"{one}" is missing' for one in lost[paired:]]
    reasons += [f'"{one}" was added' for one in gained[paired:]]
    missing, new = _foreign_names(left, right), _foreign_names(right, left)
    # One side may call a thing by its name and the other describe it: that alone is no change.
    return reasons + [f'"{one}" became "{other}"' for one, other in zip(missing, new, strict=False)]


def _foreign_codes(these: Facts, those: Facts) -> list[str]:
    known: dict[str, list[str]] = {}
    for code in those.codes:
        known.setdefault(code.text.rpartition("/")[2], []).append(code.text)
    return [code.text for code in these.codes if not _stands_in(code.text, those, known)]


def _stands_in(code: str, facts: Facts, known: dict[str, list[str]]) -> bool:
    """Whether a text holds the code, or a longer path that ends with it, or its own last part."""
    for other in known.get(code.rpartition("/")[2], ()):
        if other == code or code.endswith("/" + other) or other.endswith("/" + code):
            return True
    start = facts.plain.find(code)
    while start >= 0:
        end = start + len(code)
        before, after = facts.plain[start - 1 : start] if start else "", facts.plain[end : end + 1]
        if not any(char.isalnum() or (char and char in "_-") for char in (before, after)):
            return True
        start = facts.plain.find(code, end)
    return False


def _foreign_names(these: Facts, those: Facts) -> list[str]:
    known = {word.text.removesuffix("'s") for word in those.words} | {word.stem for word in those.words}
    named = [
        one.text
        for one in these.quantities
        if one.kind in _NAMED and not any(is_same_quantity(one, other) for other in those.quantities)
    ]
    return named + [
        name.text
        for name in these.names
        if name.is_sure
        and name.text.lower() not in known
        and not any(name.text in code.text for code in those.codes)
    ]


def _denials(left: Facts, right: Facts, closeness: Closeness, limits: Thresholds) -> list[str]:
    one, other = (
        sayings_of(
            side.plain, side.words, frozenset(name.text.lower() for name in side.names if name.is_sure)
        )
        for side in (left, right)
    )
    found = opposed(one, other, closeness, limits.denied)
    return [f'"{found[0]}" is opposed to "{found[1]}"'] if found else []
