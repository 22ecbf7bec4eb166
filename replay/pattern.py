"""Regular expressions that came with a fixture or a suite and run against live text: nobody vouches for either.

A backtracking engine can take exponential time, and no limit on time can stop it. So the expressions are a subset
of Python's: literals, `.`, classes, escapes, groups, alternatives, anchors, and quantifiers on single characters
(a group may only be made optional). Such an expression is a small set of branches, each a sequence of repeated
character sets, and an upper bound of the steps follows from the text itself: where a repeat can meet its neighbour
on the same character, its choices multiply; else they add. `check` and `last_match` refuse what could take more than
MAX_STEPS. Every room may import this module, which imports none.

re.ASCII holds: \\w, \\d and \\s are ASCII, which keeps the sets small enough to compare.
"""

import re
from typing import NamedTuple

__all__ = ["MAX_PATTERN_LENGTH", "MAX_STEPS", "MAX_TEXT_LENGTH", "Pattern", "PatternError", "parse_pattern"]

MAX_PATTERN_LENGTH = 256
MAX_TEXT_LENGTH = 8 << 20
MAX_STEPS = 100_000_000
_MAX_BRANCHES = 64
_MAX_REPEAT = 1000
_MAX_DEPTH = 16
_UNBOUNDED = 1 << 62
_NOT_ASCII = 128
_ASCII = [chr(code) for code in range(128)]
_EVERYTHING = frozenset(range(129))
_QUANTIFIER = re.compile(r"[*+?]|\{[0-9]+\}|\{[0-9]*,[0-9]*\}")
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\.)*\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[dDwWsSntrfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^a-zA-Z0-9])", re.DOTALL)
_SET_OPERATORS = ("--", "&&", "||", "~~")


class PatternError(ValueError):
    """Why an expression is refused; the caller says where it stands."""


class _Item(NamedTuple):
    """One repeated character set. `chars` holds ASCII codes, and 128 for "some other character"."""

    source: str
    chars: frozenset[int]
    low: int
    high: int


type _Branch = tuple[_Item, ...]


class Pattern:
    """A checked expression."""

    __slots__ = ("_branches", "_compiled", "_most_steps", "source")

    def __init__(self, source: str, compiled: re.Pattern[str], branches: list[_Branch]) -> None:
        self.source = source
        self._compiled = compiled
        self._branches = branches
        # Steps at each of a text's places are this many times its length at most; 0 where choices multiply.
        self._most_steps = (
            0 if any(map(_multiplies, branches)) else sum(len(branch) + 1 for branch in branches)
        )

    @property
    def can_be_empty(self) -> bool:
        """Whether there is a text, or a place in one, where the expression matches without a character."""
        return any(all(item.low == 0 or not item.source for item in branch) for branch in self._branches)

    def check(self, text: str) -> None:
        """Raises PatternError where looking for every match in the text could take too long."""
        if self._most_steps and self._most_steps * (len(text) + 1) ** 2 <= MAX_STEPS:
            return
        if self._steps(text) > MAX_STEPS:
            raise PatternError(
                f"could take more than {MAX_STEPS} steps on a text of {len(text)} characters; "
                "begin it with a longer literal text, or bound its repeats"
            )

    def last_match(self, text: str) -> str | None:
        """The first group (the whole, if there is none) of the last match in the text, or None.

        Only the last MAX_TEXT_LENGTH characters are searched. Raises PatternError where that could take too long.
        """
        text = text[-MAX_TEXT_LENGTH:]
        self.check(text)
        last = None
        for match in self._compiled.finditer(text):
            last = match
        if last is None:
            return None
        found: str | None = last[1] if self._compiled.groups else last[0]
        return found

    def _steps(self, text: str) -> int:
        runs: dict[str, int] = {}
        return sum(_starts(branch, text) * _cost(branch, text, runs) for branch in self._branches)


def _multiplies(branch: _Branch) -> bool:
    """Whether the branch holds a repeat that can meet what follows it on the same character."""
    following: frozenset[int] = frozenset()
    for item in reversed(branch):
        if item.low != item.high and item.chars & following:
            return True
        following = item.chars if item.low else item.chars | following
    return False


def _starts(branch: _Branch, text: str) -> int:
    literal = ""
    for item in branch:
        if len(item.chars) != 1 or (item.low, item.high) != (1, 1) or _NOT_ASCII in item.chars:
            break
        literal += chr(min(item.chars))
    return text.count(literal) if literal else len(text) + 1


def _cost(branch: _Branch, text: str, runs: dict[str, int]) -> int:
    """Most steps of one attempt to match the branch at one place."""
    cost = 1
    following: frozenset[int] = frozenset()
    for item in reversed(branch):
        reach = min(item.high, _longest_run(item, text, runs)) if item.high > 1 else 1
        if item.low == item.high or not item.chars & following:
            cost += reach
        else:
            cost = reach + max(1, reach - item.low + 1) * cost
        following = item.chars if item.low else item.chars | following
    return cost


def _longest_run(item: _Item, text: str, runs: dict[str, int]) -> int:
    if item.source not in runs:
        matches = re.finditer(f"{item.source}+", text, re.ASCII)
        runs[item.source] = max((match.end() - match.start() for match in matches), default=0)
    return runs[item.source]


def parse_pattern(source: str) -> Pattern:
    """Checks an expression. Raises PatternError, whatever the text is."""
    if not source:
        raise PatternError("is empty")
    if len(source) > MAX_PATTERN_LENGTH:
        raise PatternError(f"has {len(source)} characters, {MAX_PATTERN_LENGTH} are allowed")
    parser = _Parser(source)
    branches = parser.alternatives(0)
    if parser.at < len(source):
        raise PatternError(f'has a ")" too many at character {parser.at + 1}')
    for branch in branches:
        _refuse_catastrophe(branch)
    try:
        compiled = re.compile(source, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"is no regular expression: {error}") from None
    return Pattern(source, compiled, branches)


def _refuse_catastrophe(branch: _Branch) -> None:
    following: frozenset[int] = frozenset()
    ambiguous = 0
    for item in reversed(branch):
        if item.high == _UNBOUNDED and item.chars & following:
            ambiguous += 1
        following = item.chars if item.low else item.chars | following
    if ambiguous > 2:
        raise PatternError(
            f"has {ambiguous} unbounded repeats that can meet what follows on the same character, "
            "and could backtrack without end; make the character after each repeat one that it cannot match"
        )


class _Parser:
    """Recursive descent over one expression; yields branches without groups."""

    __slots__ = ("at", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def alternatives(self, depth: int) -> list[_Branch]:
        if depth > _MAX_DEPTH:
            raise PatternError(f"nests groups deeper than {_MAX_DEPTH}")
        branches = self._sequence(depth)
        while self.at < len(self.source) and self.source[self.at] == "|":
            self.at += 1
            branches += self._sequence(depth)
            self._check_count(len(branches))
        return branches

    def _sequence(self, depth: int) -> list[_Branch]:
        branches: list[_Branch] = [()]
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            pieces = self._group(depth) if self.source[self.at] == "(" else [self._item()]
            self._check_count(len(branches) * len(pieces))
            branches = [(*branch, *piece) for branch in branches for piece in pieces]
        return branches

    def _check_count(self, count: int) -> None:
        if count > _MAX_BRANCHES:
            raise PatternError(f"has more than {_MAX_BRANCHES} ways through its alternatives")

    def _group(self, depth: int) -> list[_Branch]:
        start = self.at
        self.at += 1
        if self.source.startswith("?", self.at):
            if not self.source.startswith("?:", self.at):
                raise PatternError(f'may use "(?:" but no other "(?" (character {start + 1})')
            self.at += 2
        branches = self.alternatives(depth + 1)
        if not self.source.startswith(")", self.at):
            raise PatternError(f'lacks the ")" of the group at character {start + 1}')
        self.at += 1
        low, high = self._quantifier()
        if high > 1:
            raise PatternError(
                f"repeats the group at character {start + 1}, which can backtrack without end; "
                "repeat single characters or classes"
            )
        return branches if low == high == 1 else [*branches, ()]

    def _item(self) -> _Branch:
        start = self.at
        char = self.source[start]
        if char in "^$" or self.source.startswith((r"\b", r"\B", r"\A", r"\Z"), start):
            self.at += 1 if char in "^$" else 2
            if self._quantifier() != (1, 1):
                raise PatternError(f"repeats an anchor (character {start + 1})")
            # An anchor can fail anywhere: it meets every character.
            return (_Item("", _EVERYTHING, 1, 1),)
        source = self._set()
        chars = _members(source)
        low, high = self._quantifier()
        return (_Item(source, chars, low, high),)

    def _set(self) -> str:
        char = self.source[self.at]
        if char in "*+?" or _QUANTIFIER.match(self.source, self.at):
            raise PatternError(f"repeats nothing at character {self.at + 1}, or repeats a repeat")
        if char in "[\\":
            match = (_CLASS if char == "[" else _ESCAPE).match(self.source, self.at)
            if match is None:
                raise PatternError(
                    f"has a {'class' if char == '[' else 'backslash'} at character {self.at + 1} that is not known "
                    "or not closed (no back-references; a [ inside a class is written \\[)"
                )
            if char == "[" and any(operator in match[0] for operator in _SET_OPERATORS):
                raise PatternError(f"has a doubled - & | or ~ in the class at character {self.at + 1}")
            self.at = match.end()
            return match[0]
        self.at += 1
        return char if char == "." else re.escape(char)

    def _quantifier(self) -> tuple[int, int]:
        match = _QUANTIFIER.match(self.source, self.at)
        if match is None:
            return 1, 1
        self.at = match.end()
        low, high = _bounds(match[0])
        if low > high or (high != _UNBOUNDED and high > _MAX_REPEAT) or low > _MAX_REPEAT:
            raise PatternError(f"repeats {match[0]}, which is no range below {_MAX_REPEAT + 1}")
        if self.source.startswith("?", self.at):
            self.at += 1
        return low, high


def _bounds(quantifier: str) -> tuple[int, int]:
    if quantifier in "*+?":
        return {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}[quantifier]
    low, comma, high = quantifier[1:-1].partition(",")
    least = int(low or 0)
    return least, int(high) if high else _UNBOUNDED if comma else least


def _members(source: str) -> frozenset[int]:
    try:
        one = re.compile(source, re.ASCII | re.DOTALL if source != "." else re.ASCII)
    except re.error as error:
        raise PatternError(f"has {source}, which is not valid: {error}") from None
    chars = {code for code, char in enumerate(_ASCII) if one.fullmatch(char)}
    # Cheaper than looking at a million characters, and never too few: negations and odd literals count as both.
    if source.startswith("[^") or not source.isascii() or source == "." or re.search(r"\\[DWSux]", source):
        chars.add(_NOT_ASCII)
    return frozenset(chars)
