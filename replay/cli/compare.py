"""What two runs of an agent did differently, by meaning: tools, permissions, files, prompts, stops, other frames, then texts.

Chunk boundaries, ids of messages and the order of independent frames are no difference here; the surfaces of a test
are stricter. Pure: stories in, sections of lines out. A line begins with "-" (only the first run), "+" (only the
second) or "~" (both, and changed).
"""

from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson

from replay.cli.client_view import ClientTurn, Permission, prompt_text, prompts_of
from replay.cli.session_view import ModelCall, Said, SessionView, ToolCall, ToolResult
from replay.cli.story import Story
from replay.scenario.layout import PINS, log_number
from replay.surface import first_difference, render_difference

__all__ = ["Section", "compare_stories"]

_MOST_CHARACTERS: Final = 160
_HASH_CHARACTERS: Final = 12


class Section(NamedTuple):
    """The differences of one kind; none of them where the runs are alike."""

    title: str
    lines: list[str]


class _Tool(NamedTuple):
    """A tool call as it is compared. `result` is None where nothing is known of it."""

    lane: str
    name: str
    arguments: Any
    result: str | None
    is_error: bool

    def shown(self) -> str:
        return _cut(f"{_lane(self.lane)}{self.name} {_json(self.arguments)}")


def compare_stories(left: Story, right: Story) -> list[Section]:
    """The sections in order of weight, empty ones among them."""
    by_log = bool(left.sessions and right.sessions)
    ours, theirs = (_tools(story, by_log) for story in (left, right))
    return [
        Section("tool calls", list(_compare_tools(ours, theirs))),
        Section("permissions", list(_compare_permissions(left, right))),
        Section("file effects", list(_compare_files(left, right))),
        Section("prompts", list(_compare(_prompts(left), _prompts(right)))),
        Section("stop reasons", list(_compare(_stops(left), _stops(right)))),
        Section("model calls", list(_compare(_calls(left), _calls(right))) if by_log else []),
        Section("other frames", list(_compare(_notes(left), _notes(right)))),
        Section("text", list(_compare(_texts(left, by_log), _texts(right, by_log)))),
    ]


# -- tools --------------------------------------------------------------------------------------------------------


def _tools(story: Story, by_log: bool) -> list[_Tool]:
    if not by_log:
        return [
            _Tool("parent", tool.title, tool.arguments, tool.text, tool.status == "failed")
            for turn in story.client
            for tool in turn.tools.values()
        ]
    return [tool for view in story.sessions for tool in _tools_of(view, story.client)]


def _tools_of(view: SessionView, client: Sequence[ClientTurn]) -> Iterator[_Tool]:
    results = {item.id: item for item in view.items if isinstance(item, ToolResult)}
    shown = {tool.id: tool for turn in client for tool in turn.tools.values()}
    for call in _tool_calls(view):
        result, seen = results.get(call.id), shown.get(call.id)
        if result is not None:
            yield _Tool(view.name, call.name, call.arguments, result.text, result.is_error)
        elif seen is not None:
            yield _Tool(view.name, call.name, call.arguments, seen.text, seen.status == "failed")
        else:
            yield _Tool(view.name, call.name, call.arguments, None, False)


def _tool_calls(view: SessionView) -> Iterator[ToolCall]:
    for item in view.items:
        if isinstance(item, ModelCall):
            yield from (inner for inner in item.items if isinstance(inner, ToolCall))
        elif isinstance(item, ToolCall):
            yield item


def _compare_tools(left: Sequence[_Tool], right: Sequence[_Tool]) -> Iterator[str]:
    ours_by, theirs_by = (
        [(tool.lane, tool.name, _json(tool.arguments)) for tool in side] for side in (left, right)
    )
    for tag, start, end, other_start, other_end in _opcodes(ours_by, theirs_by):
        ours, theirs = left[start:end], right[other_start:other_end]
        if tag == "equal":
            for one, other in zip(ours, theirs, strict=True):
                yield from _compare_results(one, other)
            continue
        yield from _compare_run(ours, theirs)


def _compare_run(left: Sequence[_Tool], right: Sequence[_Tool]) -> Iterator[str]:
    """Calls between two that are alike: those of one name stand for each other, in order."""
    ours_by, theirs_by = ([(tool.lane, tool.name) for tool in side] for side in (left, right))
    for tag, start, end, other_start, other_end in _opcodes(ours_by, theirs_by):
        if tag != "equal":
            yield from (f"- {tool.shown()}" for tool in left[start:end])
            yield from (f"+ {tool.shown()}" for tool in right[other_start:other_end])
            continue
        for one, other in zip(left[start:end], right[other_start:other_end], strict=True):
            difference = first_difference([one.arguments], [other.arguments])
            if difference is not None:
                found = render_difference(difference).removeprefix("line 1 ")
                yield f"~ {_lane(one.lane)}{one.name}: arguments {found}"
            yield from _compare_results(one, other)


def _compare_results(left: _Tool, right: _Tool) -> Iterator[str]:
    if left.result is None or right.result is None:
        return
    name = f"{_lane(left.lane)}{left.name}"
    if left.is_error != right.is_error:
        words = ["fails" if tool.is_error else "succeeds" for tool in (left, right)]
        yield f"~ {name}: {words[0]} -> {words[1]}"
    if left.result != right.result:
        yield from (f"~ {name}: result {change}" for change in _text_change(left.result, right.result))


# -- the rest -----------------------------------------------------------------------------------------------------


def _compare_permissions(left: Story, right: Story) -> Iterator[str]:
    """What was asked, and where both ask the same, what was answered."""
    ours, theirs = ([one for turn in story.client for one in turn.permissions] for story in (left, right))
    for tag, start, end, other_start, other_end in _opcodes([*map(_asked, ours)], [*map(_asked, theirs)]):
        if tag != "equal":
            yield from (f"- {_asked(one)}: {one.answer}" for one in ours[start:end])
            yield from (f"+ {_asked(one)}: {one.answer}" for one in theirs[other_start:other_end])
            continue
        for one, other in zip(ours[start:end], theirs[other_start:other_end], strict=True):
            if one.answer != other.answer:
                yield f"~ {_asked(one)}: {one.answer} -> {other.answer}"


def _asked(permission: Permission) -> str:
    return _cut(f"{permission.title} ({', '.join(permission.options)})")


def _stops(story: Story) -> list[str]:
    return [f"turn {number}: {turn.stop}" for number, turn in enumerate(story.client, 1) if turn.stop]


def _prompts(story: Story) -> list[str]:
    """What tells one system prompt and one set of tool schemas from another: their hashes, and the files that pin them."""
    told = []
    for name in sorted(story.files):
        if name in PINS:
            told.append(f"{name} {sha256(story.files[name]).hexdigest()[:_HASH_CHARACTERS]}")
        number = log_number(name)
        if number is None:
            continue
        lane = _lane(f"child {number}" if number else "parent")
        for line in story.files[name].split(b"\n"):
            if b'"request/header"' not in line:
                continue
            data = orjson.loads(line).get("data")
            hashes = data.get("hashes") if isinstance(data, dict) else None
            for what, value in hashes.items() if isinstance(hashes, dict) else ():
                told.append(f"{lane}{what} {str(value).removeprefix('sha256:')[:_HASH_CHARACTERS]}")
    return told


def _calls(story: Story) -> list[str]:
    return [
        f"{_lane(view.name)}call {item.number}: {' '.join(filter(None, (item.finish, item.outcome)))}"
        for view in story.sessions
        for item in view.items
        if isinstance(item, ModelCall)
    ]


def _notes(story: Story) -> list[str]:
    return sorted(f"{kind} {_json(value)}" for turn in story.client for kind, value in turn.notes)


def _texts(story: Story, by_log: bool) -> list[str]:
    """What was said, a line a text, by whom; texts of a log where both sides have one."""
    if not by_log:
        prompts = [f"user: {prompt_text(step)}" for step in prompts_of(story.script)]
        return prompts + [f"{who}: {text}" for turn in story.client for who, text in turn.said]
    found: list[str] = []
    for view in story.sessions:
        for item in view.items:
            inner = item.items if isinstance(item, ModelCall) else [item]
            found += [f"{_lane(view.name)}{one.who}: {one.text}" for one in inner if isinstance(one, Said)]
    return found


def _compare_files(left: Story, right: Story) -> Iterator[str]:
    for select in (_told_files, _left_files):
        ours, theirs = select(left), select(right)
        for path in sorted({*ours, *theirs}):
            before, after = ours.get(path), theirs.get(path)
            if before is None or after is None:
                yield f"{'+' if before is None else '-'} {path}"
            elif before != after:
                yield from (f"~ {path}: {change}" for change in _text_change(before, after))


def _told_files(story: Story) -> dict[str, str]:
    """What the agent told its client that it wrote, the last content of each file."""
    return {path: text for turn in story.client for path, text in turn.files.items()}


def _left_files(story: Story) -> dict[str, str]:
    return {
        f"workspace.expected/{name}": data.decode("utf-8", "backslashreplace")
        for name, data in story.workspace.items()
    }


def _compare(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    for tag, start, end, other_start, other_end in _opcodes(left, right):
        ours, theirs = left[start:end], right[other_start:other_end]
        if tag == "replace" and len(ours) == len(theirs):
            for before, after in zip(ours, theirs, strict=True):
                yield from (f"~ {change}" for change in _text_change(before, after))
        elif tag != "equal":
            yield from (f"- {_cut(text)}" for text in ours)
            yield from (f"+ {_cut(text)}" for text in theirs)


def _opcodes[T: Hashable](left: Sequence[T], right: Sequence[T]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, left, right, autojunk=False).get_opcodes()


def _text_change(before: str, after: str) -> Iterator[str]:
    """Two texts that stand for each other: whole where they are short, else around their first difference."""
    common = next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )
    begin = max(0, common - _MOST_CHARACTERS // 4) if max(len(before), len(after)) > _MOST_CHARACTERS else 0
    head = "…" if begin else ""
    yield f"{head}{_quoted(before[begin:])} -> {head}{_quoted(after[begin:])}"


def _quoted(text: str) -> str:
    return orjson.dumps(_cut(text)).decode()


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…"


def _lane(name: str) -> str:
    return "" if name == "parent" else f"{name}: "


def _json(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
