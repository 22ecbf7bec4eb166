"""Words: the stem that their forms share, those that deny, those that say nothing, prefixes that deny. Pure. English."""

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Word", "denied_base", "is_announcing", "is_denying", "is_empty", "is_negation", "listed", "stem"]


class Word(NamedTuple):
    """One word: as written in lower case, its stem, and where it stands."""

    text: str
    stem: str
    start: int


def listed(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


@lru_cache(20_000)
def stem(word: str) -> str:
    """The part of a word that its forms share, roughly: pass of passed, passes, passing."""
    word = word.removesuffix("'s").removesuffix("'")
    word = _IRREGULAR.get(word, word)
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            word = word[: -len(ending)] + instead if ending else word
            break
    for ending in _OF_NOUNS:
        if word.endswith(ending) and len(word) - len(ending) >= 5:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


_ENDINGS = (
    ("ations", "at"),
    ("ation", "at"),
    ("ments", "ment"),
    ("ingly", ""),
    ("edly", ""),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ions", ""),
    ("ion", ""),
    ("sses", "ss"),
    ("ss", "ss"),
    ("us", "us"),
    ("ply", "ply"),
    ("ceed", "ceed"),
    ("need", "need"),
    ("eed", "ee"),
    ("ees", "ee"),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)

_IRREGULAR_FORMS = """
    use used uses using / find found / send sent / lose lost / take took taken / give gave given
    write wrote written / run ran / keep kept / begin began begun / make made / see saw seen
    know knew known / show shown / hold held / leave left / meet met / pay paid / say said / tell told
    think thought / bring brought / buy bought / build built / break broke broken / choose chose chosen
    drive drove driven / fall fell fallen / rise rose risen / grow grew grown / speak spoke spoken
    hear heard / feel felt / mean meant / spend spent / sell sold / catch caught / teach taught / win won
    throw threw thrown / draw drew drawn / hide hid hidden / freeze froze frozen / forget forgot forgotten
    steal stole stolen / lead led / understand understood / stand stood / sit sat / deal dealt
    eat ate eaten / fly flew flown / wear wore worn / come came / become became / go went gone
    child children / person people / man men / woman women
"""
_IRREGULAR = {
    form: first
    for line in _IRREGULAR_FORMS.strip().splitlines()
    for first, *others in map(str.split, line.split("/"))
    for form in others
}
# Taken off longer words alone: what is left of sentence and instance is another word.
_OF_NOUNS = ("able", "ible", "ence", "ance")


def is_negation(word: str) -> bool:
    """Whether the word denies by itself, contractions included."""
    return word in _NEGATIONS or word.endswith("n't")


def is_empty(word: str) -> bool:
    """Whether the word only holds a sentence together."""
    return word in _EMPTY


def is_announcing(word: str, after: str) -> bool:
    """Whether the word stands before an answer and is no part of it: the result is 7, it comes to 7, that makes 7, it
    reads: 7.

    after: what follows the word, without the space between.
    """
    return (
        word in _ANNOUNCING
        or (word in _COMING_TO and after.startswith("to "))
        or (word in _MAKING and bool(_AMOUNT.match(after)))
        or (word in _SAYING and after.startswith((":", '"')))
    )


@lru_cache(20_000)
def denied_base(word: str) -> str:
    """The word without a prefix by which it may deny: healthy of unhealthy, and dex of index; empty if it has none."""
    match = _PREFIXED.fullmatch(word)
    return match["base"] if match and stem(word) not in _NO_DENIALS else ""


def is_denying(word: str) -> bool:
    """Whether the word denies by its prefix, known by itself: unknown, incomplete."""
    return stem(word) not in _NO_DENIALS and bool(_SURELY_DENYING.match(word))


_PREFIXED = re.compile(r"(?:un|in|im(?=[bmp])|ir(?=r)|il(?=l)|dis|non)(?P<base>[a-z]{3,})")
_SURELY_DENYING = re.compile(
    r"un(?!i|der|til|less|do)\w{4,}|in(?:comp|corr|suff|act|val|vis|access)\w+|im(?:poss|prop)\w+|dis(?:sat|obe)\w+"
)
_NO_DENIALS = frozenset(
    map(
        stem,
        listed(
            "inside input income import increase indeed union unit under until display discover discount discuss distance "
            "inform install intend interest improve impact"
        ),
    )
)
_NEGATIONS = listed(
    "not no never none neither nor without unless nobody nothing nowhere cannot hardly barely unable lack lacks zero non "
    "missing absent gone"
)
_ANNOUNCING = listed("answer result total sum outcome equals")
_COMING_TO = listed("comes came amounts amounted")
_MAKING = listed("makes make made gives gave yields yielded totals totalled")
_AMOUNT = re.compile(r"[-$€£¥]*\d")
_SAYING = listed("says said reads read states stated shows showed reports reported tells told")
_EMPTY = listed(
    "a an the this that these those it its is are was were be been being am has have had do does did will would "
    "should could shall to of in on at by for from with as than then and or but if so we i you he she they them "
    "our your my his her their us me who which what there here also now just very still yet again any some "
    "each every all both it's i've we've you've us please sorry unfortunately thanks thank once up out into onto "
    "over about after before while because since until when where how me get got go went between during within through around"
)
