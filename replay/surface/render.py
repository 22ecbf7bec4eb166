"""Words for a difference: one line that says it, and a short diff around it. Nothing here decides anything."""

from collections.abc import Iterator, Sequence

import orjson

from replay.surface.compare import Difference
from replay.surface.values import ABSENT, Absent, Json

__all__ = ["render_difference", "unified"]

_LEAF_CHARS = 100
_LINE_CHARS = 160
_WINDOW_LINES = 300


def render_difference(difference: Difference) -> str:
    """`stdout:3 $.params.update.content.text: expected "DONE", actual "DONE!"`, without a final full stop."""
    expected, actual = _pair(difference.expected, difference.actual)
    place = f"{difference.surface}:{difference.line}" if difference.surface else f"line {difference.line}"
    if difference.path == "$" and isinstance(difference.expected, Absent):
        return f"{place} $: unexpected line {actual}"
    if difference.path == "$" and isinstance(difference.actual, Absent):
        return f"{place} $: missing line {expected}"
    return f"{place} {difference.path}: expected {expected}, actual {actual}"


def unified(expected: Sequence[Json], actual: Sequence[Json], context: int = 2, max_lines: int = 60) -> str:
    """A unified diff of two surfaces: lines that agree short, of lines that differ only the parts that do.

    At most `max_lines` lines come back, the last of which then counts the rest; "" if the sides agree.
    """
    lines = list(_diff(expected, actual, context))
    if not lines:
        return ""
    lines = ["--- expected", "+++ actual", *lines]
    if len(lines) > max_lines:
        left = len(lines) - max_lines + 1
        lines = [*lines[: max_lines - 1], f"… {left} more lines"]
    return "\n".join(lines)


def _pair(expected: Json | Absent, actual: Json | Absent) -> tuple[str, str]:
    """Both values as JSON; of two long ones that are alike, the neighbourhood of the first difference."""
    left, right = _compact(expected), _compact(actual)
    if max(len(left), len(right)) <= _LEAF_CHARS:
        return left, right
    return _neighbourhoods(left, right, _LEAF_CHARS)


def _neighbourhoods(left: str, right: str, width: int) -> tuple[str, str]:
    """The `width` characters of each text around the first place where they differ."""
    common = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        common += 1
    begin = max(0, common - width // 3)
    return _cut(left, begin, width), _cut(right, begin, width)


def _cut(text: str, begin: int, width: int) -> str:
    head = "…" if begin else ""
    tail = "…" if begin + width < len(text) else ""
    return head + text[begin : begin + width] + tail


def _compact(value: Json | Absent) -> str:
    if isinstance(value, Absent):
        return repr(ABSENT)
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return ascii(value)  # a lone surrogate, which a terminal could not show either


def _pretty(value: Json) -> list[str]:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().split("\n")
    except TypeError:
        return [ascii(value)]


def _diff(expected: Sequence[Json], actual: Sequence[Json], context: int) -> Iterator[str]:
    import difflib  # 8 ms, and only a failing run gets here

    left, right = [_compact(value) for value in expected], [_compact(value) for value in actual]
    begin = _common_prefix(left, right)
    if begin == max(len(left), len(right)):
        return
    # Aligning is quadratic in bad cases: only the neighbourhood of the first difference is worth it.
    first = max(0, begin - context)
    window = slice(first, begin + _WINDOW_LINES)
    matcher = difflib.SequenceMatcher(None, left[window], right[window], autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        yield f"@@ line {first + group[0][1] + 1} @@"
        for tag, left_from, left_to, right_from, right_to in group:
            ours = range(first + left_from, first + left_to)
            theirs = range(first + right_from, first + right_to)
            if tag == "equal":
                yield from (" " + _cut(left[index], 0, _LINE_CHARS) for index in ours)
                continue
            paired = min(len(ours), len(theirs)) if tag == "replace" else 0
            for index, other in zip(ours[:paired], theirs[:paired], strict=True):
                yield from _diff_line(expected[index], actual[other], index + 1, context)
            yield from ("-" + _cut(left[index], 0, _LINE_CHARS) for index in ours[paired:])
            yield from ("+" + _cut(right[index], 0, _LINE_CHARS) for index in theirs[paired:])


def _common_prefix(left: list[str], right: list[str]) -> int:
    common = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        common += 1
    return common


def _diff_line(expected: Json, actual: Json, number: int, context: int) -> Iterator[str]:
    """Two lines that stand for each other, pretty-printed, and of that only what differs."""
    import difflib

    left, right = _pretty(expected), _pretty(actual)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        yield f" line {number}, from its line {group[0][1] + 1} when indented:"
        for tag, left_from, left_to, right_from, right_to in group:
            if tag == "equal":
                yield from (" " + _cut(line, 0, _LINE_CHARS) for line in left[left_from:left_to])
                continue
            paired = min(left_to - left_from, right_to - right_from)
            pairs = [
                _neighbourhoods(left[left_from + at], right[right_from + at], _LINE_CHARS)
                for at in range(paired)
            ]
            yield from ("-" + line for line, _ in pairs)
            yield from ("-" + _cut(line, 0, _LINE_CHARS) for line in left[left_from + paired : left_to])
            yield from ("+" + line for _, line in pairs)
            yield from ("+" + _cut(line, 0, _LINE_CHARS) for line in right[right_from + paired : right_to])
