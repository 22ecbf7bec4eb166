"""Placeholders inside frames: what they are, what they match, what stands in their place. Pure.

    {{any}}             any JSON as a whole value, any text inside a string
    {{workspace}}       the directory of this run
    {{regex:R}}         a text that R matches as a whole (pattern.py says which expressions are safe)
    {{capture:NAME}}    like any, and remembered; {{capture:NAME:R}} like regex, and remembered
    {{ref:NAME}}        what was remembered
    {{text:any}}        the text "{{any}}" itself, and so for every other placeholder

Anything else between braces is text. What is sent (inbound frames) holds workspace, ref and text only, and keys of objects
workspace and text: the others have nothing to say there. compile_frame leaves a frame without placeholders as it is,
object for object.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location
from replay.pattern import Pattern, PatternError, parse_pattern
from replay.surface.values import json_path_step

__all__ = [
    "Hole",
    "Template",
    "compile_frame",
    "escape",
    "fill",
    "from_wild",
    "has_template",
    "holes",
    "match_text",
    "template_of",
]

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,99}"
_TOKEN: Final = re.compile(
    r"\{\{(?P<text>(?:text:)*)(?:(?P<plain>any|workspace)\}\}"
    rf"|ref:(?P<ref>{_NAME})\}}\}}|capture:(?P<capture>{_NAME})\}}\}}"
    rf"|(?:regex|capture:(?P<named>{_NAME})):(?P<regex>.{{1,512}}?)\}}\}}(?!\}}))",
    re.DOTALL,
)
_MAX_HOLES = 32
_MAX_ATTEMPTS = 10_000
_MAX_REGEX_CHARACTERS = 1_000_000
_SENDABLE = ("workspace", "ref")


class Hole(NamedTuple):
    """One placeholder. `kind` is any, workspace, regex, capture or ref; `source` the regular expression as written."""

    kind: str
    name: str = ""
    source: str = ""
    pattern: Pattern | None = None


class Template:
    """A string with placeholders. `text` is how the transcript spells it; `parts` are literal texts and holes in turn."""

    __slots__ = ("parts", "text")

    def __init__(self, text: str, parts: tuple[str | Hole, ...]) -> None:
        self.text = text
        self.parts = parts

    @property
    def whole(self) -> Hole | None:
        """The hole that is the whole string, if it is one."""
        [first, *rest] = self.parts
        return first if not rest and isinstance(first, Hole) else None

    def __repr__(self) -> str:
        return f"Template({self.text!r})"


def template_of(text: str) -> str | Template:
    """A string, taken apart if it holds placeholders. Raises PatternError for an expression that is refused."""
    parts: list[str | Hole] = []
    at = 0
    for token in _TOKEN.finditer(text):
        _append(parts, text[at : token.start()])
        _append(parts, "{{" + token[0][len("{{text:") :] if token["text"] else _hole(token))
        at = token.end()
    if not at:
        return text
    _append(parts, text[at:])
    if not any(isinstance(part, Hole) for part in parts):
        return "".join(map(str, parts))
    _refuse_ambiguous(parts)
    return Template(text, tuple(parts))


def _append(parts: list[str | Hole], part: str | Hole) -> None:
    """Keeps literal texts whole: two in a row become one."""
    if isinstance(part, str) and parts and isinstance(parts[-1], str):
        parts[-1] += part
    elif part != "":
        parts.append(part)


def _hole(token: re.Match[str]) -> Hole:
    if token["plain"]:
        return Hole(token["plain"])
    if token["ref"]:
        return Hole("ref", token["ref"])
    source = token["regex"] or ""
    pattern = parse_pattern(rf"\A(?:{source})\Z") if source else None
    name = token["capture"] or token["named"] or ""
    return Hole("capture" if name else "regex", name, source, pattern)


def _refuse_ambiguous(parts: list[str | Hole]) -> None:
    if sum(isinstance(part, Hole) for part in parts) > _MAX_HOLES:
        raise PatternError(f"has more than {_MAX_HOLES} placeholders in one string")
    for left, right in pairwise(parts):
        if _is_open(left) and _is_open(right):
            raise PatternError(
                "has two placeholders with no text between them: where the first ends is a guess"
            )


def _is_open(part: str | Hole) -> bool:
    return isinstance(part, Hole) and part.kind not in _SENDABLE


def compile_frame(frame: Any, where: Location, *, is_sent: bool, workspace: str) -> Any:
    """A frame with a Template wherever a string has placeholders, and the workspace filled in.

    Raises FixtureError, with the path, for a placeholder that cannot stand where it stands.
    """
    # Few frames have one, and looking for it is cheaper than keeping track of where it would be.
    return _compiled(frame, "$", where, is_sent, workspace) if _has_braces(frame) else frame


def _has_braces(value: Any) -> bool:
    if type(value) is str:
        return "{{" in value
    if type(value) is dict:
        for key, item in value.items():
            if "{{" in key or _has_braces(item):
                return True
    elif type(value) is list:
        for item in value:
            if _has_braces(item):
                return True
    return False


def _compiled(value: Any, path: str, where: Location, is_sent: bool, workspace: str) -> Any:
    if isinstance(value, str):
        return _compiled_text(value, path, where, is_sent, workspace) if "{{" in value else value
    if isinstance(value, dict):
        out: dict[str, Any] = {}
        is_same_object = True
        for key, item in value.items():
            new_key = key
            if "{{" in key:
                new_key = _compiled_key(key, path, where, workspace)
            new = _compiled(item, path + json_path_step(key), where, is_sent, workspace)
            is_same_object = is_same_object and new is item and new_key is key
            out[new_key] = new
        return value if is_same_object else out
    if isinstance(value, list):
        items = [_compiled(item, f"{path}[{at}]", where, is_sent, workspace) for at, item in enumerate(value)]
        is_same = all(new is item for new, item in zip(items, value, strict=True))
        return value if is_same else items
    return value


def _compiled_text(text: str, path: str, where: Location, is_sent: bool, workspace: str) -> Any:
    try:
        template = template_of(text)
    except PatternError as error:
        raise FixtureError(f"the placeholder in {_quoted(text)} {error}", where._replace(path=path)) from None
    if isinstance(template, str):
        return template
    parts: list[str | Hole] = []
    for part in template.parts:
        is_workspace = isinstance(part, Hole) and part.kind == "workspace"
        _append(parts, workspace if is_workspace else part)
    if is_sent:
        for part in parts:
            if isinstance(part, Hole) and part.kind != "ref":
                raise FixtureError(
                    f"{_quoted(text)} holds {{{{{part.kind}…}}}}, and an inbound frame is sent as it stands",
                    where._replace(path=path),
                    "write the value, {{workspace}} or {{ref:NAME}}; for the text itself write {{text:…}}",
                )
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts))
    return Template(text, tuple(parts))


def _compiled_key(key: str, path: str, where: Location, workspace: str) -> str:
    template = _compiled_text(key, path, where, True, workspace)
    if isinstance(template, Template):
        # A key that changes between matching and showing would have no path; no protocol of ours needs it.
        raise FixtureError(
            f"the key {_quoted(key)} holds a reference; only a value can", where._replace(path=path)
        )
    return str(template)


def holes(value: Any) -> Iterator[Hole]:
    """Every placeholder of a compiled frame, in reading order."""
    if isinstance(value, Template):
        yield from (part for part in value.parts if isinstance(part, Hole))
    elif isinstance(value, dict):
        for item in value.values():
            yield from holes(item)
    elif isinstance(value, list):
        for item in value:
            yield from holes(item)


def has_template(value: Any) -> bool:
    """Whether a compiled value holds a placeholder."""
    return next(holes(value), None) is not None


def fill(value: Any, of_hole: Callable[[Hole], Any]) -> Any:
    """A compiled value with `of_hole` of each placeholder in its place, as text where it stands inside a string."""
    if isinstance(value, Template):
        whole = value.whole
        if whole is not None:
            return of_hole(whole)
        return "".join(part if isinstance(part, str) else _as_text(of_hole(part)) for part in value.parts)
    if isinstance(value, dict):
        return {key: fill(item, of_hole) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, of_hole) for item in value]
    return value


def match_text(template: Template, actual: str, captured: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a string captures if the template matches it, else None. Each hole takes the shortest text that lets the rest match.

    Raises PatternError where finding out could take too long.
    """
    parts: list[str | Hole] = []
    for part in template.parts:
        is_known = isinstance(part, Hole) and part.kind == "ref"
        if isinstance(part, Hole) and is_known:
            if part.name not in captured:
                return None
            part = _as_text(captured[part.name])
        _append(parts, part)
    search = _Search(parts, actual)
    return search.captured if search.matches(0, 0) else None


class _Search:
    """Backtracking over the ends of holes, bounded in steps."""

    __slots__ = ("_attempts", "_parts", "_regex_characters", "_text", "captured")

    def __init__(self, parts: list[str | Hole], text: str) -> None:
        self._parts = parts
        self._text = text
        self._attempts = 0
        self._regex_characters = 0
        self.captured: dict[str, Any] = {}

    def matches(self, index: int, at: int) -> bool:
        """Whether the parts from `index` on match the text from `at` on."""
        if index == len(self._parts):
            return at == len(self._text)
        part = self._parts[index]
        if isinstance(part, str):
            return self._text.startswith(part, at) and self.matches(index + 1, at + len(part))
        return any(
            self._takes(part, at, end) and self.matches(index + 1, end) for end in self._ends(index, at)
        )

    def _ends(self, index: int, at: int) -> Iterator[int]:
        """Where the hole may end: before each place of the literal text that follows it."""
        if index + 1 == len(self._parts):
            yield len(self._text)
            return
        literal = str(self._parts[index + 1])
        if index + 2 == len(self._parts):
            end = len(self._text) - len(literal)
            if end >= at:
                yield end
            return
        end = self._text.find(literal, at)
        while end >= 0:
            self._attempts += 1
            if self._attempts > _MAX_ATTEMPTS:
                raise PatternError(f"could take more than {_MAX_ATTEMPTS} attempts on this text")
            yield end
            end = self._text.find(literal, end + 1)

    def _takes(self, hole: Hole, at: int, end: int) -> bool:
        found = self._text[at:end]
        if hole.pattern is not None:
            self._regex_characters += len(found)
            if self._regex_characters > _MAX_REGEX_CHARACTERS:
                raise PatternError("could take too long on this text; put more literal text around it")
            if hole.pattern.last_match(found) is None:
                return False
        if hole.kind == "capture":
            self.captured[hole.name] = found
        return True


def escape(value: Any) -> Any:
    """A live frame as a transcript spells it: text that looks like a placeholder is marked as text."""
    return _mapped(value, _escaped)


def from_wild(value: Any, *, is_sent: bool) -> Any:
    """A frame of the wild form in the spelling of format 1. In what is sent `<any>` is text."""

    def spelled(text: str) -> str:
        text = _escaped(text) if "{{" in text else text
        if "<workspace>" in text:
            text = text.replace("<workspace>", "{{workspace}}")
        return text if is_sent or "<any>" not in text else text.replace("<any>", "{{any}}")

    return _mapped(value, spelled)


def _escaped(text: str) -> str:
    return _TOKEN.sub(lambda token: "{{text:" + token[0][2:], text) if "{{" in text else text


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with every string and key changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _quoted(text: str) -> str:
    shown = text if len(text) <= 80 else text[:79] + "…"
    return orjson.dumps(shown).decode()
