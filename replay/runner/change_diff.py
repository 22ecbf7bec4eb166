"""Changes of a fixture as a person reads them before they are taken: a diff a file, secrets hidden, in colour on a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from replay.scenario.write_back import Change
from replay.surface import unified
from replay.surface.secrets import scan

__all__ = ["counts", "in_colour", "render_change", "summary"]

_CONTEXT: Final = 2
_COLOURS: Final = {"-": "31", "+": "32", "@": "36"}


def summary(change: Change) -> str:
    """`wrote stdout.expected.jsonl (+2 -1)`: what became of a file, with the lines that came and went."""
    added, removed = counts(change)
    verb = "deleted" if change.after is None else "wrote"
    return f"{verb} {change.name} (+{added} -{removed})"


def counts(change: Change) -> tuple[int, int]:
    """Lines that come, lines that go."""
    from difflib import SequenceMatcher

    before, after = _lines(change.before), _lines(change.after)
    added = removed = 0
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after).get_opcodes():
        if kind != "equal":
            removed += end - start
            added += new_end - new_start
    return added, removed


def render_change(change: Change, max_lines: int) -> list[str]:
    """The diff of one file, at most `max_lines` lines."""
    before, after = change.before or b"", change.after or b""
    if not (_is_text(before) and _is_text(after)):
        return [f"{change.name} is no text: {len(before)} bytes before, {len(after)} after"]
    if change.name.endswith(".jsonl"):
        lines = unified(_values(before), _values(after), _CONTEXT, max_lines).split("\n")
    else:
        lines = list(_unified_text(_hidden(before.decode()), _hidden(after.decode()), max_lines))
    if not any(lines):
        return ["(what differs is hidden: it looks like a secret)"]
    return lines


def in_colour(lines: Sequence[str]) -> list[str]:
    """Lines of a diff with the colours of a terminal."""
    return [f"\x1b[{_COLOURS[line[0]]}m{line}\x1b[0m" if line[:1] in _COLOURS else line for line in lines]


def _without_secrets(value: Any) -> Any:
    """A JSON value with whatever looks like a secret hidden in its texts, keys among them."""
    if isinstance(value, str):
        return _hidden(value)
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {_hidden(key): _without_secrets(item) for key, item in value.items()}
    return value


def _hidden(text: str) -> str:
    """`text` cut off where a secret begins, which says its kind; of personal data its line only."""
    found = scan(text)
    if not found:
        return text
    lines = text.split("\n")
    for secret in reversed(found):
        kept = lines[secret.line - 1][: max(0, secret.column - 1)]
        lines[secret.line - 1] = f"{kept}[{secret.kind}]"
        if not secret.is_personal:
            # A key or what is wrapped goes on over lines.
            del lines[secret.line :]
    return "\n".join(lines)


def _unified_text(before: str, after: str, max_lines: int) -> Iterator[str]:
    from difflib import unified_diff

    lines = list(
        unified_diff(before.split("\n"), after.split("\n"), "expected", "actual", lineterm="", n=_CONTEXT)
    )
    yield from lines[:max_lines]
    if len(lines) > max_lines:
        yield f"… {len(lines) - max_lines} more lines"


def _values(data: bytes) -> list[Any]:
    """The lines of a JSONL file; a line that is no JSON stands as a text."""
    return [_without_secrets(_value(line)) for line in data.split(b"\n") if line]


def _value(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return line.decode("utf-8", "backslashreplace")


def _lines(data: bytes | None) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
