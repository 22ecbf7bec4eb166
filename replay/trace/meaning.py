"""Whether two texts mean the same: hard facts first, closeness second. Pure.

A cosine alone cannot say it: a statement and its opposite are as close as a statement and its paraphrase. So the
questions are asked in this order, and the first that finds a difference answers:

    unrelated      hardly a word or a direction in common
    number         another amount, date, time or version, in any spelling
    name           another person, place, path, identifier, command
    contradiction  the same affirmed and denied
    same           all that is said is the same, and only announced in other words: the result is 7, it comes to 7
    one word       all alike but for one word: its opposite, another name, or a synonym
    unrelated      not close enough to be a paraphrase

The thresholds were found on one half of tests/trace/meaning_pairs.jsonl; calibration.py tells what they are worth on
the other. What it cannot know: facts of the world, irony, whatever is said without a word for it.
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from replay.trace.facts import Fact, Facts, facts_of, stem
from replay.trace.polarity import (
    are_opposite_words,
    is_announcing,
    is_denying,
    is_empty,
    is_negation,
    opposed_concepts,
    polarity_of,
    prefixed_opposites,
)
from replay.trace.quantities import Quantity, is_same_quantity

__all__ = ["MAX_TEXT", "VERDICTS", "Closeness", "Meaning", "Thresholds", "compare_meaning"]

type Closeness = Callable[[str, str], float]
MAX_TEXT = 100_000
VERDICTS = ("same", "contradiction", "number", "name", "unrelated")


class Thresholds(NamedTuple):
    """unrelated: below this cosine two texts without a common word have nothing to do with each other; word: from
    this cosine on two words are synonyms; denied: from it on a denial is taken for one of the same thing; same: from
    this evidence on two texts without a difference in facts are paraphrases. Evidence is the cosine of the texts,
    plus half the cosine of what they do not share, plus half the share of words that they do.
    """

    unrelated: float = 0.25
    word: float = 0.5
    denied: float = 0.5
    same: float = 0.9


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
        ("contradiction", _denials(left, right, near, limits)),
    ):
        if reasons:
            return Meaning(verdict, near, tuple(reasons))
    if _is_said_alike(left, right):
        return Meaning("same", near)
    for verdict, reasons in (_one_word(left, right, closeness, limits), ("name", _roles(left, right))):
        if reasons:
            return Meaning(verdict, near, tuple(reasons))
    evidence = near + _evidence(left, right, closeness)
    if evidence < limits.same:
        reason = f"they have too little in common (evidence {evidence:.2f}, below {limits.same:g})"
        return Meaning("unrelated", near, (reason,))
    return Meaning("same", near)


def _evidence(left: Facts, right: Facts, closeness: Closeness) -> float:
    """How far what differs means the same, and how much does not differ: -0.5..1."""
    these, those = ([word for word in side.words if not is_empty(word.text)] for side in (left, right))
    ours, theirs = {word.stem for word in these}, {word.stem for word in those}
    rest = " ".join(word.text for word in these if word.stem not in theirs)
    other_rest = " ".join(word.text for word in those if word.stem not in ours)
    share = len(ours & theirs) / max(1, min(len(ours), len(theirs)))
    return (closeness(rest, other_rest) + share) / 2


def _shared_facts(left: Facts, right: Facts) -> bool:
    return any(is_same_quantity(one, other) for one in left.quantities for other in right.quantities) or any(
        _stands_in(code, right) for code in left.codes
    )


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
    lost, gained = ([one for one in side if not one.is_soft] for side in (lost, gained))
    while lost and gained:
        reasons.append(f'"{_shown(lost.pop(0))}" became "{_shown(gained.pop(0))}"')
    reasons += [f'"{_shown(one)}" is missing' for one in lost]
    reasons += [f'"{_shown(one)}" was added' for one in gained]
    return reasons


def _unmatched(these: Sequence[Quantity], those: Sequence[Quantity]) -> list[Quantity]:
    return [
        one
        for one in these
        if one.kind not in _NAMED and not any(is_same_quantity(one, two) for two in those)
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
    return [code.text for code in these.codes if not _stands_in(code, those)]


def _stands_in(code: Fact, facts: Facts) -> bool:
    """Whether a text holds the code, or a longer path that ends with it, or its own last part."""
    if any(
        code.text.endswith("/" + other.text) or other.text.endswith("/" + code.text) for other in facts.codes
    ):
        return True
    start = facts.plain.find(code.text)
    while start >= 0:
        end = start + len(code.text)
        before, after = facts.plain[start - 1 : start] if start else "", facts.plain[end : end + 1]
        if not any(char.isalnum() or (char and char in "_-") for char in (before, after)):
            return True
        start = facts.plain.find(code.text, end)
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


def _denials(left: Facts, right: Facts, near: float, limits: Thresholds) -> list[str]:
    one, other = (
        polarity_of(
            side.plain, side.words, frozenset(name.text.lower() for name in side.names if name.is_sure)
        )
        for side in (left, right)
    )
    opposed = opposed_concepts(one, other)
    if opposed:
        return [f'"{opposed[0]}" is opposed to "{opposed[1]}"']
    shared = set(one.poles) & set(other.poles)
    turned = prefixed_opposites(left.words, right.words)
    # A prefix that is known to deny was counted with its text.
    unseen = sum(not any(map(is_denying, pair)) for pair in turned)
    if (one.denials(shared) + other.denials(shared) + unseen) % 2 == 0 or near < limits.denied:
        return []
    return [
        f'"{turned[0][0]}" is opposed to "{turned[0][1]}"' if turned else "one denies what the other affirms"
    ]


def _is_said_alike(left: Facts, right: Facts) -> bool:
    """Whether two texts come to the same facts and words, in one order, without the words that announce them."""
    ours, theirs = _announced(left), _announced(right)
    if not (left.quantities or left.codes or ours) or ours != theirs:
        return False
    if [code.text for code in left.codes] != [code.text for code in right.codes]:
        return False
    return len(left.quantities) == len(right.quantities) and all(
        map(is_same_quantity, left.quantities, right.quantities, strict=True)
    )


def _announced(side: Facts) -> list[str]:
    """The stems of the words that say something, a denial among them."""
    said = []
    for word in side.words:
        end = word.start + len(word.text)
        after = side.plain[end : end + _AFTER].lstrip()
        if not (is_empty(word.text) or is_announcing(word.text, after)):
            said.append(word.stem)
    return said


def _one_word(left: Facts, right: Facts, closeness: Closeness, limits: Thresholds) -> tuple[str, list[str]]:
    """What the one place says at which the texts differ, if all the rest is alike."""
    these, those = ([word.text for word in side.words] for side in (left, right))
    matcher = SequenceMatcher(
        None, [stem(word) for word in these], [stem(word) for word in those], autojunk=False
    )
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changed) != 1 or changed[0][0] != "replace" or matcher.ratio() < _ALIKE:
        return "", []
    _, start, end, new_start, new_end = changed[0]
    old, new = (
        [word for word in side if not is_empty(word)] for side in (these[start:end], those[new_start:new_end])
    )
    # A denial was judged before, with what it denies.
    if len(old) != 1 or len(new) != 1 or any(map(is_negation, these[start:end] + those[new_start:new_end])):
        return "", []
    reason = [f'"{old[0]}" became "{new[0]}"']
    if are_opposite_words(old[0], new[0]):
        return "contradiction", reason
    near = closeness(old[0], new[0])
    return ("name", reason) if near < limits.word else ("", [])


_ALIKE = 0.6
_AFTER = 8


def _roles(left: Facts, right: Facts) -> list[str]:
    """The same words, and the facts in another order: Alice reports to Bob, Bob reports to Alice."""
    if sorted(word.stem for word in left.words) != sorted(word.stem for word in right.words):
        return []
    orders = []
    for side in (left, right):
        facts = [(fact.start, fact.text) for fact in (*side.names, *side.codes)]
        facts += [(one.start, one.text) for one in side.quantities]
        orders.append([text for _, text in sorted(facts)])
    shared = set(orders[0]) & set(orders[1])
    first, second = ([text for text in order if text in shared] for order in orders)
    if first == second or sorted(first) != sorted(second):
        return []
    return [f"the order of {' and '.join(first[:2])} changed"]
