"""A suite's own rules, and what makes a regular expression safe to run over any text.

A rule is refused if it could take exponential time, could match nothing at all, or could undo itself: a pattern of a
suite runs over every string of every surface of every scenario, and a hang there would look like a hang of the agent.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.errors import Location, UsageError
from replay.surface.names import TOKEN
from replay.surface.pieces import Replacement, replace

__all__ = ["CompiledRules", "Rule", "unsafe_because"]

_MAX_PATTERN_LENGTH = 500
_MAX_UNBOUNDED = 4
_BUILT_IN: Final = frozenset(
    ("cwd", "home", "tmp", "spill", "sessionId", "uuid", "time", "duration", "pid", "id", "system", "tools")
)
_BRACES: Final = re.compile(r"\{(\d*)(,?)(\d*)\}")
_INLINE_FLAGS: Final = re.compile(r"\(\?([ims]+)\)")


class Rule(NamedTuple):
    """Text that matches `pattern` becomes `placeholder` ("{{date}}"); `reason` says why it may differ."""

    pattern: str
    placeholder: str
    reason: str


def unsafe_because(pattern: str) -> str:
    """Why `pattern` is refused, "" if it is safe: no backreference, no repeat inside a repeat, no empty match.

    A repeated group may hold neither a repeat nor an alternative, which leaves no way to match one text in
    exponentially many ways.
    """
    if not pattern:
        return "it is empty"
    if len(pattern) > _MAX_PATTERN_LENGTH:
        return f"it is longer than {_MAX_PATTERN_LENGTH} characters"
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        return f"it is no regular expression: {error}"
    except RecursionError, OverflowError:
        return "it is nested too deeply or repeats too often"
    if compiled.match("") is not None:
        return "it matches the empty text"
    return _scan(pattern)


def _scan(pattern: str) -> str:
    """The structural half of `unsafe_because`, for a pattern that compiles."""
    groups: list[bool] = []  # whether the open group holds a repeat or an alternative
    closed = False  # whether the atom just read is a group that holds one
    unbounded = 0
    at = 0
    while at < len(pattern):
        char = pattern[at]
        width = 1
        repeat, most, varies = _repeat_at(pattern, at)
        if repeat:
            width = repeat
            unbounded += most is None
            if closed and most != 1:
                return "a repeated group in it holds a repeat or an alternative"
            if varies and most != 1 and groups:
                groups[-1] = True
            closed = False
        elif char == "\\":
            if pattern[at + 1 : at + 2].isdigit() and pattern[at + 1] != "0":
                return "it refers back to a group"
            width, closed = 2, False
        elif char == "[":
            width, closed = _class_width(pattern, at), False
        elif char == "(":
            if pattern.startswith(("(?P=", "(?("), at):
                return "it refers back to a group"
            groups.append(False)
            closed = False
            width = 2 if pattern.startswith("(?", at) else 1
        elif char == ")":
            closed = bool(groups) and groups.pop()
            if closed and groups:
                groups[-1] = True
        else:
            if char == "|" and groups:
                groups[-1] = True
            closed = False
        at += width
    if unbounded > _MAX_UNBOUNDED:
        return f"it holds more than {_MAX_UNBOUNDED} unbounded repeats"
    return ""


def _repeat_at(pattern: str, at: int) -> tuple[int, int | None, bool]:
    """The repeat at `at`: its width (0: there is none), how often at most (None: no limit), whether that varies."""
    char = pattern[at]
    width, most, varies = 1, None, True
    if char == "?":
        most = 1
    elif char not in "*+":
        braces = _BRACES.match(pattern, at)
        if braces is None or not (braces[1] or braces[3]):
            return 0, None, False
        width = len(braces.group())
        top = braces[3] if braces[2] else braces[1]
        most, varies = int(top) if top else None, bool(braces[2])
    if pattern[at + width : at + width + 1] in ("?", "+"):
        width += 1
    return width, most, varies


def _class_width(pattern: str, at: int) -> int:
    """The width of the character class that opens at `at`."""
    end = at + 1
    if pattern[end : end + 1] == "^":
        end += 1
    if pattern[end : end + 1] == "]":
        end += 1
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    return end + 1 - at


class CompiledRules:
    """A suite's rules, ready to run over texts; placeholders that stand in a text are left alone."""

    __slots__ = ("_compiled",)

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Raises UsageError naming the rule by its index and what is wrong with it."""
        self._compiled = [(_compile(rule, index), rule.placeholder) for index, rule in enumerate(rules)]

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def apply(self, pieces: list[str]) -> list[str]:
        """`pieces` of one text with every rule applied until none applies any more, which makes rules idempotent.

        Each pass turns some text into placeholders, which no later pass touches, so passes end.
        """
        before: list[str] = []
        while before != pieces:
            before = pieces
            for pattern, placeholder in self._compiled:
                found = [
                    Replacement(match.start(), match.end(), placeholder)
                    for match in pattern.finditer("".join(pieces))
                    if match[1] is None and match.group()
                ]
                if found:
                    pieces = replace(pieces, found)
        return pieces


def _compile(rule: Rule, index: int) -> re.Pattern[str]:
    where = f"$.rules[{index}]"
    found = TOKEN.fullmatch(rule.placeholder)
    if found is None:
        raise UsageError(
            f"a placeholder is written {{{{name}}}}, not {rule.placeholder!r}",
            Location(path=f"{where}.placeholder"),
        )
    if found[1] in _BUILT_IN:
        raise UsageError(
            f"{rule.placeholder} is a placeholder of the normaliser's own",
            Location(path=f"{where}.placeholder"),
            "choose another name",
        )
    if not rule.reason.strip():
        raise UsageError(
            f"the rule {rule.pattern!r} has no reason",
            Location(path=f"{where}.reason"),
            "say why this text may differ between two runs",
        )
    problem = unsafe_because(rule.pattern)
    if problem:
        raise UsageError(
            f"the pattern {rule.pattern!r} is refused: {problem}",
            Location(path=f"{where}.pattern"),
            "write a pattern without nested repeats",
        )
    return _beside_tokens(rule.pattern)


def _beside_tokens(pattern: str) -> re.Pattern[str]:
    """`pattern` with placeholders matched first, so that the text of one is never matched."""
    flags = ""
    inline = _INLINE_FLAGS.match(pattern)
    if inline is not None:
        flags, pattern = inline[1], pattern[inline.end() :]
    return re.compile(f"({TOKEN.pattern})|(?{flags}:{pattern})")
