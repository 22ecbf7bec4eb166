"""A suite's own rules.

A rule is refused if it could take too long (replay/pattern.py), could match nothing at all, or could undo itself: a
pattern of a suite runs over every string of every surface of every scenario, and a hang there would look like a hang
of the agent.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from replay.errors import Location, UsageError
from replay.pattern import Pattern, PatternError, parse_pattern
from replay.surface.names import TOKEN
from replay.surface.pieces import Replacement, replace

__all__ = ["CompiledRules", "Rule"]

_BUILT_IN: Final = frozenset(
    ("cwd", "home", "tmp", "spill", "sessionId", "uuid", "time", "duration", "pid", "id", "system", "tools")
)


class Rule(NamedTuple):
    """Text that matches `pattern` becomes `placeholder` ("{{date}}"); `reason` says why it may differ."""

    pattern: str
    placeholder: str
    reason: str


class CompiledRules:
    """A suite's rules, ready to run over texts; placeholders that stand in a text are left alone."""

    __slots__ = ("_compiled",)

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Raises UsageError naming the rule by its index and what is wrong with it."""
        self._compiled = [_Compiled(rule, index) for index, rule in enumerate(rules)]

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def apply(self, pieces: list[str]) -> list[str]:
        """`pieces` of one text with every rule applied until none applies any more, which makes rules idempotent.

        Each pass turns some text into placeholders, which no later pass touches, so passes end. Raises UsageError for
        a rule that could take too long on this text.
        """
        before: list[str] = []
        while before != pieces:
            before = pieces
            for rule in self._compiled:
                found = rule.find("".join(pieces))
                if found:
                    pieces = replace(pieces, found)
        return pieces


class _Compiled:
    """One rule, checked."""

    __slots__ = ("_expression", "_pattern", "_placeholder", "_where")

    def __init__(self, rule: Rule, index: int) -> None:
        where = f"$.rules[{index}]"
        _check_placeholder(rule, where)
        self._where = Location(path=f"{where}.pattern")
        self._placeholder = rule.placeholder
        try:
            self._pattern: Pattern = parse_pattern(rule.pattern)
        except PatternError as error:
            raise self._refusal(rule.pattern, str(error)) from None
        if self._pattern.can_be_empty:
            raise self._refusal(rule.pattern, "can match the empty text")
        # Placeholders are matched first, so that the text of one is never matched.
        self._expression = re.compile(f"({TOKEN.pattern})|(?:{rule.pattern})", re.ASCII)

    def find(self, text: str) -> list[Replacement]:
        """What the rule replaces in `text`."""
        try:
            self._pattern.check(text)
        except PatternError as error:
            raise self._refusal(self._pattern.source, str(error)) from None
        return [
            Replacement(match.start(), match.end(), self._placeholder)
            for match in self._expression.finditer(text)
            if match[1] is None
        ]

    def _refusal(self, pattern: str, problem: str) -> UsageError:
        return UsageError(f"the pattern {pattern!r} {problem}", self._where, "write a simpler pattern")


def _check_placeholder(rule: Rule, where: str) -> None:
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
