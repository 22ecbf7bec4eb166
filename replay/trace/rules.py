"""What a suite does not compare exactly: rules by JSON path, read from its list. Pure.

    {"path": "$.input.timeout", "absolute": 0.5, "reason": "jitter of the network"}

A rule says one thing about the place that its path names: ignore, absolute, relative, unordered, pattern, similarity,
meaning. Tolerances, similarity and meaning hold for all that lies below, too, until a later rule says otherwise;
`ignore` hides that place, whether anything stands there or not, and nothing else; `pattern` and `unordered` are about
that value alone. Of two rules of one kind for one place the later counts.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from replay.errors import FixtureError, Location
from replay.pattern import Pattern, PatternError, parse_pattern
from replay.surface.values import Json
from replay.trace.json_paths import Cursor, Path, parse_path

__all__ = ["EXACT", "KINDS", "Demand", "Rule", "Rules", "read_rules"]

KINDS = ("ignore", "absolute", "relative", "unordered", "pattern", "similarity", "meaning")
_MAX_RULES = 200
_CLOSENESS = frozenset(("similarity", "meaning"))
_MEMBERS = frozenset(("path", "reason", *KINDS))


class Rule(NamedTuple):
    """One entry. `amount` of absolute, relative, similarity; `pattern` of pattern."""

    path: Path
    kind: str
    reason: str
    amount: float = 0.0
    pattern: Pattern | None = None


class Demand(NamedTuple):
    """What holds at one place. None: nothing but equality."""

    is_ignored: bool = False
    absolute: float | None = None
    relative: float | None = None
    is_unordered: bool = False
    pattern: Pattern | None = None
    similarity: float | None = None
    by_meaning: bool = False

    def below(self) -> Demand:
        """What of it holds for the values inside."""
        return self._replace(is_unordered=False, pattern=None)


class Rules:
    """The rules of a comparison; equality everywhere else."""

    __slots__ = ("listed", "paths")

    def __init__(self, listed: Sequence[Rule] = ()) -> None:
        self.listed = tuple(listed)
        self.paths = [rule.path for rule in self.listed]

    def __bool__(self) -> bool:
        return bool(self.listed)

    @property
    def needs_closeness(self) -> bool:
        """Whether a text model is asked."""
        return any(rule.kind in _CLOSENESS for rule in self.listed)

    @property
    def is_transitive(self) -> bool:
        """Whether a like b and b like c make a like c; a tolerance does not."""
        return all(rule.kind in ("ignore", "unordered") for rule in self.listed)

    def start(self) -> Cursor:
        """The cursor at `$`."""
        return Cursor(self.paths)

    def demand(self, cursor: Cursor, above: Demand) -> Demand:
        """What holds at the cursor's place, given what holds above it."""
        found = above
        for number in cursor.ended:
            rule = self.listed[number]
            match rule.kind:
                case "ignore":
                    found = found._replace(is_ignored=True)
                case "absolute":
                    found = found._replace(absolute=rule.amount)
                case "relative":
                    found = found._replace(relative=rule.amount)
                case "unordered":
                    found = found._replace(is_unordered=True)
                case "pattern":
                    found = found._replace(pattern=rule.pattern)
                case "similarity":
                    found = found._replace(similarity=rule.amount, by_meaning=False)
                case "meaning":
                    found = found._replace(similarity=None, by_meaning=True)
        return found

    def unmet(self, values: Sequence[Json]) -> list[str]:
        """A sentence for each rule whose path names nothing in any of the values."""
        met: set[int] = set()
        for value in values:
            for number in _ended(value, self.start(), self.paths):
                met.add(number)
        return [
            f"nothing stands at {rule.path.text} ({rule.reason}): drop the rule"
            for number, rule in enumerate(self.listed)
            if number not in met
        ]


def _ended(value: Json, cursor: Cursor, paths: Sequence[Path]) -> Iterator[int]:
    yield from cursor.ended
    inside: Sequence[tuple[str | int, Json]] = ()
    if isinstance(value, dict):
        inside = tuple(value.items())
    elif isinstance(value, list):
        inside = tuple(enumerate(value))
    for key, one in inside:
        yield from _ended(one, cursor.step(paths, key), paths)


EXACT = Rules()


def read_rules(listed: Any, place: str = "$.compare", file: str = "") -> Rules:
    """The rules of a suite's list. Raises FixtureError with the JSON path of the entry that is wrong."""
    if not isinstance(listed, list):
        raise FixtureError("is no list of rules", Location(file, 0, place), 'write [{"path", "reason", …}]')
    if len(listed) > _MAX_RULES:
        raise FixtureError(f"has {len(listed)} rules, {_MAX_RULES} are allowed", Location(file, 0, place))
    return Rules(
        [_rule(entry, Location(file, 0, f"{place}[{number}]")) for number, entry in enumerate(listed)]
    )


def _rule(entry: Any, where: Location) -> Rule:
    fields = entry if isinstance(entry, dict) else {}
    kinds = [kind for kind in KINDS if kind in fields]
    text, reason = fields.get("path"), fields.get("reason")
    if len(kinds) != 1 or not isinstance(reason, str) or not reason.strip() or set(fields) - _MEMBERS:
        raise FixtureError(
            "is no rule of comparison",
            where,
            f'write {{"path", "reason" and one of {", ".join(KINDS)}}}: one rule says one thing, and says why',
        )
    path = parse_path(text) if isinstance(text, str) else None
    if path is None:
        raise FixtureError(
            f"{text!r} is no JSON path" if text is not None else "has no path",
            where._replace(path=where.path + ".path"),
            'write a path such as $.input.id, $.items[*].at, $..timestamp or $["odd key"]',
        )
    return _with_value(
        path, kinds[0], fields[kinds[0]], reason, where._replace(path=f"{where.path}.{kinds[0]}")
    )


def _with_value(path: Path, kind: str, value: Any, reason: str, where: Location) -> Rule:
    if kind in ("ignore", "unordered", "meaning"):
        if value is not True:
            raise FixtureError(f"{kind} is true or not there at all", where)
        return Rule(path, kind, reason)
    if kind == "pattern":
        return Rule(path, kind, reason, pattern=_pattern(value, where))
    most = 1.0 if kind in ("relative", "similarity") else float("inf")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        bounds = "a number between 0 and 1" if most == 1 else "a number, 0 or more"
        raise FixtureError(f"{kind} is {bounds}", where)
    return Rule(path, kind, reason, float(value))


def _pattern(value: Any, where: Location) -> Pattern:
    if not isinstance(value, str):
        raise FixtureError("pattern is a text", where)
    try:
        parse_pattern(value)
        # In a group of its own, so that whatever matches is told from a group that took no part.
        return parse_pattern(f"({value})")
    except PatternError as error:
        raise FixtureError(f"the pattern {value!r} {error}", where) from None
