"""How much two texts have in common, apart from their hard facts. Pure.

Each word is matched with the nearest word of the other text: 1 for one of the same stem or concept, else the cosine of
the two. What that is on average over both texts, and the cosine of the texts as wholes, is the *evidence*.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations

from replay.trace.antonyms import are_opposite_words, poles_of
from replay.trace.facts import Facts
from replay.trace.polarity import Closeness
from replay.trace.quantities import Quantity, is_same_quantity
from replay.trace.words import is_announcing, is_empty, is_negation, stem

__all__ = ["changed_order", "changed_words", "evidence_of", "is_said_alike"]

_CONCEPT = 0.9
# So many words are matched by their vectors: what has more in common with nothing is no paraphrase.
_MOST_WORDS = 150
_ALIKE = 0.6
_AFTER = 8


def evidence_of(left: Facts, right: Facts, near: float, closeness: Closeness) -> float:
    """That two texts mean the same, -0.5..1: half the cosine `near`, and half how well their words match."""
    these, those = _content(left), _content(right)
    facts = min(len(side.quantities) + len(side.codes) for side in (left, right))
    matched = sum(_matched(one, other, facts, closeness) for one, other in ((these, those), (those, these)))
    return near / 2 + matched / 4


def _content(side: Facts) -> dict[str, str]:
    return {word.stem: word.text for word in reversed(side.words) if not is_empty(word.text)}


def _matched(these: dict[str, str], those: dict[str, str], facts: int, closeness: Closeness) -> float:
    """0..1; the hard facts, which are all matched, count as words."""
    candidates = list(those.values())[:_MOST_WORDS]
    total, tried = float(facts), 0
    for root, word in these.items():
        if root in those:
            total += 1
        elif tried < _MOST_WORDS:
            tried += 1
            total += max([0.0, *(_likeness(word, other, closeness) for other in candidates)])
    return total / max(1, facts + len(these))


def _likeness(word: str, other: str, closeness: Closeness) -> float:
    shared = {concept for concept, _ in poles_of(word)} & {concept for concept, _ in poles_of(other)}
    return _CONCEPT if shared else closeness(word, other)


def is_said_alike(left: Facts, right: Facts) -> bool:
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
    names = {name.start for name in side.names if name.is_sure}
    for word in side.words:
        end = word.start + len(word.text)
        after = side.plain[end : end + _AFTER].lstrip()
        if word.start in names or not (is_empty(word.text) or is_announcing(word.text, after)):
            said.append(word.stem)
    return said


def changed_words(left: Facts, right: Facts, closeness: Closeness, synonyms: float) -> tuple[str, list[str]]:
    """What one or two words became at places where all around them is alike, and the verdict on that.

    synonyms: the cosine from which on two words are.
    """
    these, those = ([word.stem for word in side.words] for side in (left, right))
    head = _common(these, those)
    tail = _common(these[head:][::-1], those[head:][::-1])
    middle, other = these[head : len(these) - tail], those[head : len(those) - tail]
    if max(len(middle), len(other)) > _MOST_CHANGED:
        return "", []
    matcher = SequenceMatcher(None, middle, other, autojunk=False)
    alike = head + tail + sum(block.size for block in matcher.get_matching_blocks())
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if 2 * alike < (_ALIKE if len(changed) == 1 else _VERY_ALIKE) * (len(these) + len(those)):
        return "", []
    for kind, start, end, new_start, new_end in changed:
        before, after = (
            [word.text for word in side.words[head + low : head + high]]
            for side, low, high in ((left, start, end), (right, new_start, new_end))
        )
        old, new = ([word for word in side if not is_empty(word)] for side in (before, after))
        # A denial was judged before, with what it denies.
        if (
            kind != "replace"
            or not (1 <= len(old) <= _FEW and 1 <= len(new) <= _FEW)
            or any(map(is_negation, before + after))
        ):
            continue
        reason = [f'"{" ".join(old)}" became "{" ".join(new)}"']
        if any(are_opposite_words(one, other) for one in old for other in new):
            return "contradiction", reason
        if closeness(" ".join(old), " ".join(new)) < synonyms:
            return "name", reason
    return "", []


_VERY_ALIKE = 0.8
_MOST_CHANGED = 300
_FEW = 3


def _common(these: list[str], those: list[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(these, those, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(these), len(those)))


def changed_order(left: Facts, right: Facts) -> tuple[str, list[str]]:
    """Facts that changed places, and the verdict: Alice reports to Bob, Bob reports to Alice; 3 added and 4 removed."""
    ours, theirs = list(_segments(left)), list(_segments(right))
    if sorted(ours) == sorted(theirs):
        return "", []
    has_same_words = sorted(word.stem for word in left.words) == sorted(word.stem for word in right.words)
    for verdict in ("number", "name"):
        these, those = _places(left, verdict), _places(right, verdict)
        shared, other = [key for key in these if key in those], [key for key in those if key in these]
        if has_same_words and shared != other:
            return verdict, [f"the order of {' and '.join(these[key] for key in shared[:2])} changed"]
        around = [_around(segments, shared) for segments in (ours, theirs)]
        for one, two in combinations(shared[:_MOST_FACTS], 2):
            if _are_exchanged(*(side[key] for side in around for key in (one, two))):
                return verdict, [f"{these[one]} and {these[two]} changed places"]
    return "", []


_MOST_FACTS = 50


def _places(side: Facts, verdict: str) -> dict[str, str]:
    """The facts that stand there once, in order: what they are compared by, and how they read."""
    facts: list[tuple[int, str, str]]
    if verdict == "number":
        facts = [(one.start, _spelled(one), one.text) for one in side.quantities]
    else:
        facts = [(code.start, code.text, code.text) for code in side.codes]
        for name in side.names:
            word = name.text.lower()
            if name.is_sure or not is_empty(word):
                facts.append((name.start, stem(word), name.text))
    counts = Counter(key for _, key, _ in facts)
    return {key: text for _, key, text in sorted(facts) if counts[key] == 1}


def _spelled(one: Quantity) -> str:
    return f"{one.kind} {one.value}"


def _around(segments: list[tuple[str, ...]], facts: Sequence[str]) -> dict[str, set[str]]:
    """For each fact the other words of the part of the sentence that it stands in."""
    found: dict[str, set[str]] = {fact: set() for fact in facts}
    for segment in segments:
        for fact in found.keys() & set(segment):
            found[fact] |= {text for text in segment if text not in found and not is_empty(text)}
    return found


def _are_exchanged(one: set[str], two: set[str], new_one: set[str], new_two: set[str]) -> bool:
    """Whether two facts stand now each among the words of the other, and rather there than among their own."""
    one, two, new_one, new_two = one - two, two - one, new_one - new_two, new_two - new_one
    there, back = one & new_two, two & new_one
    return bool(there and back) and len(there | back) >= len(one & new_one | two & new_two)


_SEGMENT_END = re.compile(r"[;!?\n]|,(?=\s)|\.(?=\s|$)|\b(?:and|but|or|while|then)\b")


def _segments(side: Facts) -> Iterator[tuple[str, ...]]:
    """The words and the facts between two commas, in order."""
    items = sorted(
        [(word.start, word.stem) for word in side.words]
        + [(one.start, _spelled(one)) for one in side.quantities]
        + [(code.start, code.text) for code in side.codes]
    )
    at = 0
    for start, end in [
        *(match.span() for match in _SEGMENT_END.finditer(side.plain)),
        (len(side.plain),) * 2,
    ]:
        part = []
        while at < len(items) and items[at][0] < end:
            # The word that parts two segments belongs to neither.
            if items[at][0] < start:
                part.append(items[at][1])
            at += 1
        if part:
            yield tuple(part)
