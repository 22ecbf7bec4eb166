"""Whether two texts affirm and deny the same: negations, and words with their opposites. Pure.

A *concept* has two poles, such as success and failure. A negation turns the pole of the next concept word of its
clause; one that meets none counts for the clause itself. Two texts are opposed where a concept that both speak of has
another pole in each, or where one clause is denied and its counterpart is not. English.
"""

import re
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from replay.trace.facts import Word, stem

__all__ = [
    "Polarity",
    "are_opposite_words",
    "is_announcing",
    "is_denying",
    "is_empty",
    "is_negation",
    "opposed_concepts",
    "polarity_of",
    "prefixed_opposites",
]

# One pole / the other. Forms of a word need no line of their own (facts.stem). Where a line begins with !, the second
# pole is a denial, and is one even where the other text does not speak of the concept.
_CONCEPTS = """
    ! succeed success successful successfully pass passing green / fail failure failing broken break
    ! enable enabled activate activated on / disable disabled deactivate deactivated off
    ! active / inactive dormant
    ! up running / down stopped
    open opened / close closed shut
    ! allow permit permitted allowed may can / forbid forbidden prohibit block blocked deny prevent disallow
    ! accept accepted approve approved approval grant confirm / reject rejected decline declined refuse denied disapprove
    add added insert include included contain / remove removed delete deleted exclude excluded omit
    increase increased grow grew grown growth rise rose risen raise climb / decrease decreased shrink shrank shrunk fall fell fallen drop dropped decline reduce
    more / less fewer
    higher highest most maximum max largest top best longest / lower lowest least minimum min smallest bottom worst shortest
    many most / few
    always / never rarely
    before earlier prior / after afterwards later
    early / late delayed
    start begin began / stop end ended finish
    true / false
    yes / no
    ! correct right / wrong incorrect
    ! valid / expired void
    ! safe secure / dangerous vulnerable
    ! healthy fine / sick degraded
    fast quick faster / slow slower
    easy simple / hard difficult
    full / empty
    ! available / unavailable sold
    free / charge cost costs
    same unchanged flat stable / change changed different differ
    remember remembered / forget forgot forgotten
    like prefer / dislike hate
    ! support confirm prove / refute contradict disprove
    ! agree / disagree
    ascending / descending
    upward / downward
    encrypted / plain plaintext
    hold held lock locked / release released unlock
    real genuine / spurious
    required must need needed necessary mandatory / optional needless
    win won gain profit / lose lost loss deficit
    public / private
    manual manually / automatic automatically
    synchronous / asynchronous
    strict / lenient
    permanent / temporary
    old / new
    connected online / disconnected offline
    ! complete / partial
    visible / hidden
    buy bought / sell sold
    import / export
    upgrade / downgrade
    mute muted silence silenced / unmuted
    compatible compatibly / breaking breaks break broken
"""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEGATIONS = _listed(
    "not no never none neither nor without unless nobody nothing nowhere cannot hardly barely unable lack lacks zero "
    "missing absent gone"
)
_NEGATING_PHRASES = re.compile(
    r"\bfree of\b|\bno longer\b|\bfail(?:s|ed)? to\b|\bcalled off\b|\bout of (?:stock|order|date|reach)\b|\bshort of\b"
    r"|\btoo (?:small|few|little|late)\b"
)
_NO_NEGATION = re.compile(
    r"\bnot only\b|\bno later than\b|\bno more than\b|\bno problem\b|\bwhether or not\b"
    r"|\b(?:nobody|no one|none|nothing) (?:but|except)\b"
)
_CLAUSE_END = re.compile(
    r"[.;:!?\n]|,| (?:but|and|because|since|although|while|so that|so|which|once|if|when|until|unless|for) ",
    re.IGNORECASE,
)
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non-", "non", "de")
_REACH = 6


class Polarity(NamedTuple):
    """Of a text: the poles (1, -1) of each concept it speaks of, and by which word; how many negations each took, its
    denying words among them; and how many denials there are besides.
    """

    poles: dict[int, frozenset[int]]
    spoken: dict[int, str]
    taken: dict[int, int]
    free: int

    def denials(self, shared: Set[int]) -> int:
        """How often something is denied, if the concepts in `shared` are judged by their poles instead."""
        return self.free + sum(count for concept, count in self.taken.items() if concept not in shared)


def _concepts() -> tuple[dict[str, list[tuple[int, int]]], dict[str, list[tuple[int, int]]], set[int]]:
    words: dict[str, list[tuple[int, int]]] = {}
    stems: dict[str, list[tuple[int, int]]] = {}
    denying = set()
    for number, line in enumerate(filter(str.strip, _CONCEPTS.splitlines())):
        if line.strip().startswith("!"):
            denying.add(number)
        for pole, side in zip((1, -1), line.replace("!", "").split("/"), strict=True):
            for word in side.split():
                words.setdefault(word, []).append((number, pole))
                stems.setdefault(stem(word), []).append((number, pole))
    return words, stems, denying


_BY_WORD, _BY_STEM, _DENYING = _concepts()


def poles_of(word: str) -> list[tuple[int, int]]:
    """The concepts and poles of one word in lower case."""
    return _BY_WORD.get(word) or _BY_STEM.get(stem(word)) or []


def polarity_of(plain: str, words: Sequence[Word], names: frozenset[str] = frozenset()) -> Polarity:
    """Reads the poles and denials of a text with its words; `names` in lower case have none."""
    poles: dict[int, set[int]] = {}
    spoken: dict[int, str] = {}
    taken: dict[int, int] = {}
    free = 0
    for part in _clauses(plain, words):
        waiting = [place for place, word in enumerate(part) if is_negation(word.text)]
        for place, word in enumerate(part):
            found = [] if word.text in names or is_negation(word.text) else poles_of(word.text)
            if not found or _is_thing(part, place):
                free += word.text not in names and is_denying(word.text)
                continue
            near = [at for at in waiting if place - _REACH <= at < place or _is_object(part, at, place)]
            # The next concept word is not denied again.
            waiting = [at for at in waiting if at not in near]
            for concept, pole in found:
                spoken.setdefault(concept, f"not {word.text}" if len(near) % 2 else word.text)
                poles.setdefault(concept, set()).add(-pole if len(near) % 2 else pole)
            first, pole = found[0]
            denies = pole < 0 and any(concept in _DENYING for concept, _ in found)
            taken[first] = taken.get(first, 0) + len(near) + denies
        free += len(waiting)
    return Polarity({key: frozenset(value) for key, value in poles.items()}, spoken, taken, free)


def is_denying(word: str) -> bool:
    """Whether the word's prefix denies: unknown, incomplete."""
    return word not in _NO_DENIALS and bool(_DENYING_WORD.match(word))


def _is_thing(part: Sequence[Word], place: int) -> bool:
    """Whether a word that can be a verb is a noun here: the change, an export."""
    return part[place].text in _ALSO_NOUNS and place > 0 and part[place - 1].text in _ARTICLES


def _is_object(part: Sequence[Word], negation: int, verb: int) -> bool:
    """Whether a verb is denied by what follows it: changes nothing, has no effect."""
    return negation == verb + 1 and part[negation].text in ("no", "nothing", "nobody", "none", "neither")


def is_negation(word: str) -> bool:
    """Whether the word denies by itself, contractions included."""
    return word in _NEGATIONS or word.endswith("n't")


def _clauses(plain: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    lowered = _NO_NEGATION.sub(lambda match: " " * len(match[0]), plain.lower())
    extra = [Word("not", "not", match.start()) for match in _NEGATING_PHRASES.finditer(lowered)]
    kept = [word for word in words if not is_negation(word.text) or lowered[word.start] != " "]
    # A phrase that denies stands for the negation that it holds.
    kept = [word for word in kept if not any(one.start == word.start for one in extra)]
    ends = [match.end() for match in _CLAUSE_END.finditer(plain)] + [len(plain)]
    rest = sorted([*kept, *extra], key=lambda word: word.start)
    for end in ends:
        part = [word for word in rest if word.start < end]
        rest = rest[len(part) :]
        if part:
            yield part


def opposed_concepts(left: Polarity, right: Polarity) -> tuple[str, str] | None:
    """The words for a concept of which both speak, each at one pole, and not at the same."""
    for concept in sorted(set(left.poles) & set(right.poles)):
        ours, theirs = left.poles[concept], right.poles[concept]
        if len(ours) == len(theirs) == 1 and ours != theirs:
            return left.spoken[concept], right.spoken[concept]
    return None


def prefixed_opposites(left: Sequence[Word], right: Sequence[Word]) -> list[tuple[str, str]]:
    """Pairs of words of which one is the other with a prefix that denies, and neither stands on both sides."""
    ours, theirs = {word.text for word in left}, {word.text for word in right}
    return [
        (one, other)
        for one in sorted(ours - theirs)
        for other in sorted(theirs - ours)
        if (_is_denial_of(one, other) or _is_denial_of(other, one))
        # The poles of a concept have been compared already.
        and not {concept for concept, _ in poles_of(one)} & {concept for concept, _ in poles_of(other)}
    ]


def is_empty(word: str) -> bool:
    """Whether the word only holds a sentence together."""
    return word in _EMPTY


def is_announcing(word: str, after: str) -> bool:
    """Whether the word stands before an answer and is no part of it: the result is 7, it comes to 7, it reads: 7.

    after: what follows the word, without the space between.
    """
    return (
        word in _ANNOUNCING
        or (word in _COMING_TO and after.startswith("to "))
        or (word in _SAYING and after.startswith((":", '"')))
    )


def are_opposite_words(left: str, right: str) -> bool:
    """Whether the words are the poles of a concept, or one is the other with a prefix that denies: healthy, unhealthy."""
    ours, theirs = poles_of(left), poles_of(right)
    if any((concept, -pole) in theirs for concept, pole in ours):
        return True
    return _is_denial_of(left, right) or _is_denial_of(right, left)


def _is_denial_of(long: str, short: str) -> bool:
    return long not in _NO_DENIALS and any(
        long.startswith(prefix) and len(short) > 2 and _shares_stem(long.removeprefix(prefix), short)
        for prefix in _PREFIXES
    )


_NO_DENIALS = _listed(
    "inside input income import increase indeed union unit under until design display discover discount discuss distance "
    "delay deliver depend detail develop define decide demand inform install intend interest improve impact"
)


_DENYING_WORD = re.compile(
    r"un(?!i|der|til|less)\w{4,}|in(?:comp|corr|suff|act|val|vis|access)\w+|imposs\w+|dis(?:sat|obe)\w+"
)
_ARTICLES = _listed("the a an its their his her my your our this that each every")
_ALSO_NOUNS = _listed(
    "change changes upgrade upgrades export exports import imports start end ends stop lock release releases support order "
    "drop charge cost costs block addition permit close open increase decrease"
)


def _shares_stem(left: str, right: str) -> bool:
    return stem(left) == stem(right) or (min(len(left), len(right)) > 4 and stem(left)[:5] == stem(right)[:5])


_ANNOUNCING = _listed("answer result total sum outcome equals")
_COMING_TO = _listed("comes came amounts amounted")
_SAYING = _listed("says said reads read states stated shows showed reports reported tells told")
_EMPTY = _listed(
    "a an the this that these those it its is are was were be been being am has have had do does did will would "
    "should could shall to of in on at by for from with as than then and or but if so we i you he she they them "
    "our your my his her their us me who which what there here also now just very still yet again any some "
    "each every all both it's i've we've you've us please sorry unfortunately thanks thank once up out into onto "
    "over about after before while because since until when where how me get got go went"
)
