"""Words with their opposites, and phrases that say what one word says. Pure data and its lookup.

A *concept* has two poles, such as success and failure: each line below, one pole / the other. Forms of a word need no
line of their own (words.stem). English, and what people say of programs, services, figures, appointments and orders.
"""

import re

from replay.trace.words import denied_base, stem

__all__ = ["DENYING", "PHRASES", "RELATIONS", "are_opposite_words", "is_particle", "poles_of"]

# Where a line begins with !, the second pole is itself a denial: nothing else in its clause counts as affirmed. Where it
# begins with ~, it is about the word that follows: before lunch.
_CONCEPTS = """
    ! succeed success successful successfully pass passing green / fail failure failing broken break
    ! enable enabled activate activated on / disable disabled deactivate deactivated off
    ! active busy / inactive dormant idle
    ! up running / down stopped
    ~ up / down
    open opened / close closed shut
    ! allow permit permitted allowed / forbid forbidden prohibit block blocked deny prevent disallow
    ! accept accepted approve approved approval grant confirm / reject rejected decline declined refuse denied disapprove
    ! add added insert include included contain / remove removed delete deleted exclude excluded omit
    ! keep kept retain / delete deleted remove removed discard
    increase increased grow grew grown growth rise rose risen raise climb / decrease decreased shrink shrank shrunk fall fell fallen drop dropped decline reduce
    more / less fewer
    above exceed / below
    high higher highest most maximum max largest top best longest / low lower lowest least minimum min smallest bottom worst shortest
    many most / few
    always / never rarely
    ~ before prior / after afterwards
    early earlier punctual / late later delayed overdue
    start begin began / stop end ended finish
    running ongoing pending / finished done completed ended
    true / false
    yes / no
    ! correct right / wrong incorrect
    ! valid apply / expired expire void
    ! safe secure / dangerous vulnerable
    ! healthy fine / sick degraded
    fast quick faster / slow slower
    easy simple / hard difficult
    ! full / empty
    ! available / unavailable sold
    free / charge cost costs
    free vacant / busy booked occupied
    same identical unchanged keep kept flat stable / change changed different differ
    remember remembered / forget forgot forgotten
    like prefer / dislike hate
    ! support confirm prove / refute contradict disprove
    ! agree accept / disagree reject refuse decline
    ascending / descending
    upward / downward
    ~ ahead / behind
    positive / negative
    present / absent
    encrypted / plain plaintext
    hold held lock locked / release released unlock
    real genuine / spurious
    resolved solved fixed / ongoing unsolved
    required must need needed necessary mandatory / optional needless
    win won gain profit / lose lost loss deficit
    public / private
    manual manually / automatic automatically
    synchronous / asynchronous
    strict / lenient
    permanent / temporary
    forward / postpone postponed
    attend / miss missed
    old / new
    connected online / disconnected offline
    ! complete / partial
    visible / hidden
    buy bought / sell sold
    import / export
    upgrade / downgrade
    mute muted silence silenced / unmuted
    strong strongly / weak weakly
    compatible compatibly / breaking breaks break broken
    cheap cheaper / expensive
    continue proceed persist resume / stop pause suspend cease discontinue
    appear / disappear vanish
    create / destroy
    clean / dirty
    clear / unclear ambiguous
    hot warm / cold
    common frequent often / rare seldom
    correct / wrong faulty
    good / bad poor
    big large huge / small tiny little
    long / short
    heavy / light
    deep / shallow
    wide broad / narrow
    thick / thin
    near close / far
    dry / wet
    loud / quiet
    rich / poor
    tight / loose
    rough / smooth
    internal / external
    inner / outer
    inside indoors / outside outdoors
    local / remote
    serial sequential / parallel concurrent
    simple / complex complicated
    consider / ignore disregard
    promote / demote
    current recent / outdated obsolete deprecated
    majority / minority
    enough sufficient / insufficient
    optimistic / pessimistic
    horizontal / vertical
    useful / useless
    attach / detach
    expand / collapse
    merge / split
    confidential secret / public
    innocent / guilty
    alive / dead
    together / apart
    overestimate / underestimate
"""

# What counts as the one word instead; "not" denies what follows.
PHRASES = tuple(
    (re.compile(rf"\b(?:{pattern})\b"), instead)
    for pattern, instead in (
        (r"free of(?! charge)|no longer|fail(?:s|ed)? to|out of (?:order|date|reach)|short of", "not"),
        (r"too (?:small|few|little|late)|unable to|called off|instead of|rather than", "not"),
        (r"out of stock|sold out", "unavailable"),
        (r"in stock", "available"),
        (r"r[au]ns? out|running out", "expire"),
        (r"false (?:alarm|positive)s?", "spurious"),
        (r"on time", "punctual"),
        (r"turn(?:s|ed)? down", "reject"),
        (r"as (?:it|they) (?:is|was|are|were)", "unchanged"),
        (r"free of charge", "free"),
    )
)
_PARTICLES = frozenset(("on", "off", "up", "down"))


def _concepts() -> tuple[
    dict[str, list[tuple[int, int]]], dict[str, list[tuple[int, int]]], set[int], set[int]
]:
    words: dict[str, list[tuple[int, int]]] = {}
    stems: dict[str, list[tuple[int, int]]] = {}
    marked: dict[str, set[int]] = {"!": set(), "~": set()}
    for number, line in enumerate(filter(str.strip, _CONCEPTS.splitlines())):
        first, rest = line.split(None, 1)
        if first in marked:
            marked[first].add(number)
            line = rest
        for pole, side in zip((1, -1), line.split("/"), strict=True):
            for word in side.split():
                words.setdefault(word, []).append((number, pole))
                stems.setdefault(stem(word), []).append((number, pole))
    return words, stems, marked["!"], marked["~"]


_BY_WORD, _BY_STEM, DENYING, RELATIONS = _concepts()


def poles_of(word: str) -> list[tuple[int, int]]:
    """The concepts and poles of one word in lower case."""
    found = _BY_WORD.get(word) or _BY_STEM.get(stem(word))
    if not found and (base := denied_base(word)):
        found = [(concept, -pole) for concept, pole in _BY_WORD.get(base, ())]
    return found or []


def is_particle(word: str) -> bool:
    """Whether the word says a state only where nothing follows it: it is on, on the table."""
    return word in _PARTICLES


def are_opposite_words(left: str, right: str) -> bool:
    """Whether the words are the poles of a concept, or one is the other with a prefix that denies: healthy, unhealthy."""
    ours, theirs = poles_of(left), poles_of(right)
    if any((concept, -pole) in theirs for concept, pole in ours):
        return True
    bases = (denied_base(left), denied_base(right))
    return stem(bases[0]) == stem(right) or stem(bases[1]) == stem(left)
