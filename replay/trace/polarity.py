"""What a text affirms and what it denies, word by word: negations, and words with their opposites. Pure.

Each word that says something has a *key*: its stem, and the concept of which it is a pole, such as success and failure.
A negation denies the concept word that follows it in its clause, else the verb or noun that follows, else the word
before it; what else stands in a denied clause is neither affirmed nor denied. English.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from replay.trace.antonyms import DENYING, PHRASES, RELATIONS, is_particle, poles_of
from replay.trace.words import Word, denied_base, is_denying, is_empty, is_negation, listed, stem

__all__ = ["Closeness", "Saying", "opposed", "sayings_of"]

type Closeness = Callable[[str, str], float]

_NO_NEGATION = re.compile(
    r"\bnot only\b|\bno later than\b|\bno more than\b|\bno problem\b|\bwhether or not\b"
    r"|\b(?:nobody|no one|none|nothing) (?:but|except)\b"
)
_CLAUSE_END = re.compile(
    r"[.;:!?\n]|,| (?:but|and|because|since|although|while|so that|so|which|once|if|when|until|unless|for) "
    r"| (?=(?:instead of|rather than)\b)",
    re.IGNORECASE,
)
_OF_NOUNS = frozenset(("no", "without", "lack", "lacks", "zero", "neither", "nor", "missing", "none", "non"))
_PRONOUNS = frozenset(("nothing", "nobody", "none", "neither"))
_ANSWER = re.compile(r"\s*[,.!;:]")
_LIGHT = listed(
    "able possible manage managed want wanted try tried seem seems appear appears have had need really actually yet even "
    "currently longer fully completely ever either necessarily going supposed expected"
)
_ARTICLES = listed("the a an its their his her my your our this that each every of any such")
_ALSO_NOUNS = listed(
    "change changes upgrade upgrades export exports import imports start end ends stop lock release releases support order "
    "drop charge cost costs block addition permit close open increase decrease"
)
_REACH = 6
_SCOPE = 30
# So many words are compared with so many by their vectors, in a text that has no end.
_MOST_DENIED, _MOST_AFFIRMED = 30, 150
_NOT = "not "
_COMPARED = re.compile(r"(?:more|less|fewer) than\b", re.IGNORECASE)


class Saying(NamedTuple):
    """One word of a text: by which key others are compared with it, as it reads, whether it is affirmed (1) or denied
    (-1), and whether a negation did that, and not the word.
    """

    key: str
    text: str
    sign: int
    is_negated: bool = False


type Sayings = dict[str, list[Saying]]


def sayings_of(plain: str, words: Sequence[Word], names: Set[str] = frozenset()) -> list[Saying]:
    """What a text affirms and denies; `names` in lower case have no opposites."""
    found: list[Saying] = []
    was_denied_unless = False
    for part, conjunction in _clauses(plain, words):
        # Not unless it is set: only if it is set.
        spoken = [word for word in part if not (was_denied_unless and word.text == "unless")]
        found += _of_clause(plain, spoken, names, conjunction)
        was_denied_unless = conjunction == "unless" and any(is_negation(word.text) for word in part)
    return found


def _of_clause(plain: str, part: list[Word], names: Set[str], conjunction: str) -> Iterator[Saying]:
    poles = [[] if word.text in names else _poles(plain, part, place) for place, word in enumerate(part)]
    negations = [
        place for place, word in enumerate(part) if is_negation(word.text) and not _is_answer(plain, word)
    ]
    targets = Counter(target for negation in negations for target in _targets(plain, part, negation, poles))
    is_denied = bool(negations) or any(
        _is_denying(word, poles[place]) and not _is_attribute(part, place) for place, word in enumerate(part)
    )
    for place, word in enumerate(part):
        if place in negations:
            continue
        # Not until it is here: once it is here. And open until eight is closed from eight on.
        if (conjunction == "until" and poles[place]) or (
            conjunction in ("until", "unless") and place in targets
        ):
            continue
        is_negated = targets[place] % 2 == 1
        sign = -1 if is_negated else 1
        text = _NOT + word.text if is_negated else word.text
        for concept, pole in poles[place]:
            key = f"#{concept}"
            if concept in RELATIONS:
                key += _after(part, place)
            yield Saying(key, text, sign * pole, is_negated)
        is_said = not is_denied or place in targets or is_denying(word.text)
        if poles[place] or not is_said or is_empty(word.text):
            continue
        yield Saying(word.stem, text, sign, is_negated)
        if base := denied_base(word.text):
            yield Saying(stem(base), text, -sign, not is_negated)


def _is_denying(word: Word, poles: list[tuple[int, int]]) -> bool:
    return is_denying(word.text) or any(pole < 0 and concept in DENYING for concept, pole in poles)


def _is_answer(plain: str, word: Word) -> bool:
    return word.text == "no" and bool(_ANSWER.match(plain, word.start + 2))


def _poles(plain: str, part: Sequence[Word], place: int) -> list[tuple[int, int]]:
    word = part[place]
    if _is_thing(part, place):
        return []
    found = poles_of(word.text)
    is_state = not is_particle(word.text) or _is_state(plain, word)
    return [(concept, pole) for concept, pole in found if is_state or concept in RELATIONS]


def _is_thing(part: Sequence[Word], place: int) -> bool:
    """Whether a word that can be a verb is a noun here: the change, an export."""
    return part[place].text in _ALSO_NOUNS and place > 0 and part[place - 1].text in _ARTICLES


_STATE = re.compile(r"\s*(?:[.,;:!?)\n]|$|(?:again|since|now|for|and|but|because|at the|by default)\b)")


def _is_state(plain: str, particle: Word) -> bool:
    """Whether on, off, up, down say how a thing is, and not where."""
    return bool(_STATE.match(plain, particle.start + len(particle.text)))


def _is_attribute(part: Sequence[Word], place: int) -> bool:
    return place + 1 < len(part) and not is_empty(part[place + 1].text)


def _after(part: Sequence[Word], place: int) -> str:
    return next((word.stem for word in part[place + 1 : place + _SCOPE] if not is_empty(word.text)), "")


def _targets(
    plain: str, part: Sequence[Word], negation: int, poles: Sequence[list[tuple[int, int]]]
) -> list[int]:
    """The places of the words that a negation denies."""
    word = part[negation].text
    has_verb = negation > 0 and bool(poles[negation - 1])
    if has_verb and word in _PRONOUNS:
        return [negation - 1]
    later = [
        place
        for place in range(negation + 1, min(len(part), negation + _SCOPE))
        if not is_negation(part[place].text)
        and part[place].text not in _LIGHT
        and (poles[place] or not is_empty(part[place].text))
    ]
    if word in _OF_NOUNS:
        for place in later:
            if poles[place] and place <= negation + _REACH and not _is_attribute(part, place):
                return [place]
        if has_verb and word == "no":
            return [negation - 1]
    if later:
        # Not more than once: what is denied is the more.
        compared = [place for place in later if _COMPARED.match(plain, part[place].start)]
        return compared[:1] or later[:1]
    before = range(negation - 1, max(-1, negation - _SCOPE), -1)
    return [place for place in before if not is_empty(part[place].text)][:1]


def _clauses(plain: str, words: Sequence[Word]) -> Iterator[tuple[list[Word], str]]:
    """The words of each clause, and what comes between it and the next."""
    lowered = plain.lower()
    phrases = [(match, instead) for pattern, instead in PHRASES for match in pattern.finditer(lowered)]
    spared, replaced = set[int](), set[int]()
    for match in _NO_NEGATION.finditer(lowered):
        spared.update(range(*match.span()))
    for match, _ in phrases:
        replaced.update(range(*match.span()))
    kept = [
        word
        for word in words
        if not (word.start in replaced or (word.start in spared and is_negation(word.text)))
    ]
    kept += [Word(instead, stem(instead), match.start()) for match, instead in phrases]
    kept.sort(key=lambda word: word.start)
    at = 0
    # A conjunction belongs to what follows it.
    ends = [(match.start() + 1, match[0].strip().lower()) for match in _CLAUSE_END.finditer(plain)]
    for end, conjunction in [*ends, (len(plain) + 1, "")]:
        part = []
        while at < len(kept) and kept[at].start < end:
            part.append(kept[at])
            at += 1
        if part:
            yield part, conjunction


def opposed(
    left: Sequence[Saying], right: Sequence[Saying], closeness: Closeness, synonyms: float
) -> tuple[str, str] | None:
    """How each text speaks of what one affirms and the other denies, if there is such a thing.

    synonyms: the cosine from which on a denied word that the other text lacks is taken for another word there.
    """
    ours, theirs = _by_key(left), _by_key(right)
    for key in sorted(ours.keys() & theirs.keys()):
        these, those = ([saying.sign for saying in side[key]] for side in (ours, theirs))
        is_turned = set(these) != set(those) and len(set(these)) == len(set(those)) == 1
        if is_turned or (len(these) == len(those) and sum(these) != sum(those)):
            sign = 1 if sum(these) * len(those) > sum(those) * len(these) else -1
            return _text_of(ours[key], sign), _text_of(theirs[key], -sign)
    for denied, affirmed in ((ours, theirs), (theirs, ours)):
        for one in _alone(denied, affirmed, -1)[:_MOST_DENIED]:
            for other in _alone(affirmed, denied, 1)[:_MOST_AFFIRMED]:
                if closeness(one.text.removeprefix(_NOT), other.text) >= synonyms:
                    return (one.text, other.text) if denied is ours else (other.text, one.text)
    return None


def _alone(these: Sayings, those: Sayings, sign: int) -> list[Saying]:
    """What only one text speaks of, once, as denied by a negation or plainly affirmed."""
    return [
        saying
        for key, (saying, *more) in these.items()
        if key not in those
        and not more
        and saying.sign == sign
        and saying.is_negated == (sign < 0)
        and not is_denying(saying.text)
    ]


def _text_of(sayings: Sequence[Saying], sign: int) -> str:
    return next((saying.text for saying in sayings if saying.sign == sign), sayings[0].text)


def _by_key(sayings: Sequence[Saying]) -> Sayings:
    found: Sayings = {}
    for saying in sayings:
        found.setdefault(saying.key, []).append(saying)
    return found
