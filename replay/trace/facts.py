"""The hard facts of a text: quantities, names, code and paths, and its words. Pure.

A *code* is what a machine reads: a path, a file, a flag, an identifier, an address, whatever stands in backticks. A
*name* is capitalised inside a sentence or all capitals. Both are compared as they are spelled.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from replay.trace.quantities import Quantity, find_quantities, is_amount
from replay.trace.words import Word, stem

__all__ = ["Fact", "Facts", "facts_of"]

_SPELLINGS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u2011": "-"})
_CODE = re.compile(
    r"`(?P<inside>[^`]{1,500})`"
    r"|https?://[^\s<>\"')\]]*[^\s<>\"')\].,;:!?]"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]*[\w@+-])+/?|\b[\w.@+-]+(?:/[\w.@+-]*[\w@+-])+/?"
    r"|(?<![\w-])--[A-Za-z][\w-]*"
    r"|\bv?\d+(?:\.\d+){2,}(?:[-+][\w.]*\w)?\b"
    r"|\b[A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)+\b(?:\(\))?"
    r"|\b\w*[A-Za-z]\w*_\w+\b(?:\(\))?|\b[A-Za-z]\w*_\w*\b"
    r"|\b[a-z]+[A-Z]\w*\b(?:\(\))?|\b[A-Z]+[a-z0-9]+[A-Z]\w*\b(?:\(\))?"
    r"|\b(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b"
)
_NO_CODE = re.compile(
    r"(?i)(?:and/or|n/a|24/7|yes/no|his/her|either/or|i\.e|e\.g|[ap]\.m|u\.s)\.?"
    r"|q[1-4]|\d{4}-\d\d-\d\d|v?\d+\.\d+\.\d+(?:[-+][\w.]*)?"
)
# No word is so long. The other expressions may go over a run again for each of its characters; so it stays short.
_LONG = re.compile(r"\S{200,}")
# The number of an item in a list says nothing.
_LIST_NUMBER = re.compile(r"^[ \t]*\d{1,2}[.)](?=[ \t])", re.MULTILINE)
_TIMESTAMP = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)?Z?\b")
_PERCENTILE = re.compile(r"\bp(\d\d)\b")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;\n\"(*#>-])[\s\"'(*#>-]*$")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St)\.\s$")
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'll", "i'd", "ok"))


class Fact(NamedTuple):
    """One name or piece of code. `is_sure`: a capital inside a sentence, not only at its start."""

    text: str
    start: int
    is_sure: bool = True


class Facts(NamedTuple):
    """What a text says that can be looked up. `plain`: the text in one spelling of quotes and spaces."""

    plain: str
    quantities: tuple[Quantity, ...]
    codes: tuple[Fact, ...]
    names: tuple[Fact, ...]
    words: tuple[Word, ...]


def facts_of(text: str) -> Facts:
    """Everything at once; about 0.2 ms for a sentence."""
    plain = _PERCENTILE.sub(r"\1th percentile", text.translate(_SPELLINGS))
    plain = _TIMESTAMP.sub(r"\1 \2", plain)
    codes = [Fact(run[0], run.start()) for run in _LONG.finditer(plain)]
    plain_enough = _LONG.sub(lambda run: " " * len(run[0]), plain)
    plain_enough = _LIST_NUMBER.sub(lambda mark: " " * len(mark[0]), plain_enough)
    rest = list(plain_enough)
    for match in _CODE.finditer(plain_enough):
        if _NO_CODE.fullmatch(match[0]) or is_amount(match[0]):
            continue
        inside = (match["inside"] or match[0]).strip().removesuffix("()")
        codes.append(Fact(inside, match.start()))
        rest[match.start() : match.end()] = " " * (match.end() - match.start())
    quantities, without = find_quantities("".join(rest))
    names = [
        Fact(match[0].removesuffix("'s"), match.start(), is_sure)
        for match in _WORD.finditer(without)
        if match[0][0].isupper() and match[0].lower() not in _NO_NAMES
        for is_sure in [_is_sure(match[0], plain, match.start())]
    ]
    words = [Word(word[0].lower(), stem(word[0].lower()), word.start()) for word in _WORD.finditer(without)]
    codes.sort(key=lambda code: code.start)
    for place, one in enumerate(quantities[:_MOST_COUNTS]):
        quantities[place] = one._replace(is_soft=one.is_soft or _counts(one, plain, codes))
    return Facts(plain, tuple(quantities), tuple(codes), tuple(names), tuple(words))


def _counts(one: Quantity, plain: str, codes: Sequence[Fact]) -> bool:
    """Whether a number only says how many things are listed after it."""
    if one.kind or not 2 <= float(one.value) <= _MOST_LISTED:
        return False
    after = plain[one.start : one.start + _LISTED_WITHIN]
    _, colon, inline = _SENTENCE.match(after)[0].partition(": ")  # type: ignore[index]
    listed = (
        sum(code.start > one.start for code in codes),
        len(_ITEM.findall(after)),
        len(_BETWEEN_ITEMS.split(inline)) if colon else 0,
    )
    return one.value in listed


_MOST_COUNTS = 200
_MOST_LISTED = 20
_LISTED_WITHIN = 2000
_ITEM = re.compile(r"^[ \t]*(?:[-*\u2022]|\d{1,2}[.)])[ \t]", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s))*")
_BETWEEN_ITEMS = re.compile(r",\s(?:and\s)?|\sand\s")


def _is_sure(word: str, plain: str, start: int) -> bool:
    if len(word) > 1 and word.isupper():
        return True
    before = plain[max(0, start - 12) : start]
    return bool(_TITLE.search(before)) or not _SENTENCE_END.search(before)
