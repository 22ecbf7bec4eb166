"""Values that a suite does not compare: at a path of a surface a value has to be there, and may be any.

A list of `{"surface", "kind"?, "path", "reason"}`. `path` is a JSON path as a failing test prints it, where `[*]` stands
for any index and a final `.*` for each value directly below. `kind` picks the lines of one kind: a method, the kind of a
session/update, the type of an event, of the workspace a file's path. What is ignored is no difference, is shown nowhere
and is not written anew.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import Location, UsageError
from replay.surface.values import Json

__all__ = ["IGNORED", "Ignored"]

IGNORED: Final = "{{ignored}}"
"""Stands for an ignored value on both sides of a comparison; no file ever holds it."""

_SURFACES: Final = ("requests", "session", "stdout", "workspace")
_STEP: Final = re.compile(
    r"""\[(?P<index>\d{1,9})\]|(?P<any>\[\*\])|(?P<below>\.\*)$|\.(?P<name>[^.\[\]"*\s]+)|\[(?P<key>"(?:[^"\\]|\\.)*")\]"""
)


class _Each:
    """The step to any index of a list, or, as the last one, to whatever lies directly below."""

    __slots__ = ("of_objects",)

    def __init__(self, of_objects: bool) -> None:
        self.of_objects = of_objects


type _Step = str | int | _Each


class _Rule(NamedTuple):
    surface: str
    kind: str
    path: str
    reason: str
    steps: tuple[_Step, ...]

    def fits(self, surface: str, value: Json) -> bool:
        is_named = surface.partition(".")[0] == self.surface
        return is_named and (not self.kind or self.kind in _kinds(value))


class Ignored:
    """What a suite ignores. Raises UsageError for a malformed list, naming the entry and its path."""

    __slots__ = ("_rules",)

    def __init__(self, listed: Sequence[Any]) -> None:
        self._rules = [_rule(entry, index) for index, entry in enumerate(listed)]

    def masked(self, surface: str, values: Sequence[Json]) -> list[Json]:
        """`values` of a surface with IGNORED in the place of each value that is ignored; idempotent."""
        rules = [rule for rule in self._rules if rule.surface == surface.partition(".")[0]]
        return [_masked_by(rules, surface, value) for value in values] if rules else list(values)

    def kept(self, surface: str, committed: Sequence[Json], actual: Sequence[Json]) -> list[Json]:
        """`actual` with the committed line wherever a line differs from it by nothing but what is ignored."""
        out = list(actual)
        if not any(rule.surface == surface.partition(".")[0] for rule in self._rules):
            return out
        from difflib import SequenceMatcher  # only where a surface is written

        before, after = (list(map(orjson.dumps, self.masked(surface, side))) for side in (committed, actual))
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        for kind, start, end, new_start, new_end in matcher.get_opcodes():
            if kind == "equal":
                out[new_start:new_end] = committed[start:end]
        return out

    def unmet(self, surfaces: Mapping[str, Sequence[Json]]) -> list[str]:
        """A sentence for each path that is found nowhere in `surfaces`; a surface that is not among them says nothing."""
        found: list[str] = []
        for rule in self._rules:
            own = {
                name: values for name, values in surfaces.items() if name.partition(".")[0] == rule.surface
            }
            lines = [value for name, values in own.items() for value in values if rule.fits(name, value)]
            if own and not any(_masked(value, rule.steps)[1] for value in lines):
                where = f"{rule.surface} {rule.kind}" if rule.kind else rule.surface
                found.append(
                    f'nothing stands at {rule.path} of "{where}", which is ignored ({rule.reason}): drop it'
                )
        return found


def _masked_by(rules: Sequence[_Rule], surface: str, value: Json) -> Json:
    # All are chosen first: a rule that masks the whole line would hide its kind from the next.
    for steps in [rule.steps for rule in rules if rule.fits(surface, value)]:
        value, _ = _masked(value, steps)
    return value


def _masked(value: Json, steps: tuple[_Step, ...]) -> tuple[Json, bool]:
    """`value` with IGNORED at the path, and whether anything stands there."""
    if not steps:
        return IGNORED, True
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        keys = [step] if isinstance(step, str) else list(value) if _reaches_all(step) else []
        done = {key: _masked(value[key], rest) for key in keys if key in value}
        return {**value, **{key: new for key, (new, _) in done.items()}}, _any(done.values())
    if isinstance(value, list):
        places = range(len(value)) if isinstance(step, _Each) else [step] if isinstance(step, int) else []
        items = list(value)
        met = False
        for place in places:
            if place < len(items):
                items[place], is_met = _masked(items[place], rest)
                met = met or is_met
        return items, met
    return value, False


def _reaches_all(step: _Step) -> bool:
    return isinstance(step, _Each) and step.of_objects


def _any(done: Any) -> bool:
    return any(met for _, met in done)


def _kinds(value: Json) -> Iterator[Json]:
    """What a rule may call a line by."""
    if isinstance(value, dict):
        yield from (value[key] for key in ("method", "type", "path") if key in value)
        params = value.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if isinstance(update, dict):
            yield update.get("sessionUpdate")


def _rule(entry: Any, index: int) -> _Rule:
    where = f"$.options.ignored[{index}]"
    fields = entry if isinstance(entry, dict) else {}
    texts = [fields.get(key) for key in ("surface", "path", "reason")]
    kind = fields.get("kind", "")
    if not all(isinstance(text, str) and text for text in texts) or not isinstance(kind, str):
        raise UsageError(
            'ignored: write {"surface", "path", "reason"}, each a string with text', Location(path=where)
        )
    surface, path, reason = map(str, texts)
    if surface not in _SURFACES:
        raise UsageError(
            f'ignored: "{surface}" is no surface',
            Location(path=f"{where}.surface"),
            f"write one of {', '.join(_SURFACES)}",
        )
    steps = _steps(path)
    if steps is None or not (steps or kind):
        what = "is every line as a whole" if steps == () else "is no JSON path"
        raise UsageError(
            f"ignored: {path} of {surface} {what}",
            Location(path=f"{where}.path"),
            "write a path as a failing test prints it, such as $.params.update.title; [*] is any index, a final .* "
            "each value below",
        )
    return _Rule(surface, kind, path, reason, steps)


def _steps(path: str) -> tuple[_Step, ...] | None:
    """The steps of a JSON path, None for a text that is none."""
    if not path.startswith("$"):
        return None
    steps: list[_Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        at = found.end()
        if found["index"]:
            steps.append(int(found["index"]))
        elif found["any"] or found["below"]:
            steps.append(_Each(of_objects=bool(found["below"])))
        else:
            steps.append(found["name"] or _unquoted(found["key"]))
    return tuple(steps)


def _unquoted(key: str) -> str:
    """The inverse of what a printed path does to an odd key."""
    return re.sub(r"\\(.)", r"\1", key[1:-1], flags=re.DOTALL)
