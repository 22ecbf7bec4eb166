"""Whether two recordings tell the same course: the same frames each way, but for what differs every time.

A recording of unchanged behaviour then leaves the committed file alone, and a diff shows what changed. What differs
every time: ids and slugs that a source of chance made, one for one; times, durations and process ids, by the names of their keys;
dates in a text that also holds one of the former; and how the frames of one way lie between those of the other, since
the two sides write whenever they like. All else is a change.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from replay.surface.names import UUID
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit, Transcript

__all__ = ["first_difference", "is_same_course"]

_TIMES: Final = re.compile(
    r"(?:[aA]t|[aA]tMs|_at|_at_ms|[mM]s|[tT]ime|[tT]imestamp|[sS]econds)$|^(?:ttft|duration|time_to|created|updated|start|end)|^(?:pid|processId)$"
)
_DATE: Final = re.compile(
    r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}[-:]\d{2}[-:]\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_SLUG: Final = "slug"
# Ids with a time in them, such as ses_… and msg_… of some providers.
_MINTED: Final = re.compile(r"\b[a-z]{2,8}_[0-9A-Za-z]{20,40}\b")


def is_same_course(old: Transcript, new: Transcript) -> bool:
    """Whether `new` tells nothing that `old` does not."""
    return not first_difference(old, new)


def first_difference(old: Transcript, new: Transcript) -> str:
    """Where the courses part, in a few words; "" where they are the same. The day of a recording is no part of it."""
    if old.start._replace(metadata={}, line=0) != new.start._replace(metadata={}, line=0):
        return "the provider, its version or the scenario"
    if _undated(old.start.metadata) != _undated(new.start.metadata):
        return "the metadata"
    alike = _Alike()
    for process in sorted({entry.process for entry in (*old.entries, *new.entries)}):
        for way, kinds in (("out", (ExpectOutbound, RuntimeExit)), ("in", (EmitInbound, RuntimeExit))):
            left, right = _of(old.entries, process, kinds), _of(new.entries, process, kinds)
            for number, (one, other) in enumerate(zip(left, right, strict=False), 1):
                if not alike.are(one, other):
                    named = f"{one['label'] or 'the end'}, then {other['label'] or 'the end'}"
                    return (
                        f"frame {number} {way}: {named if one['label'] != other['label'] else one['label']}"
                    )
            if len(left) != len(right):
                return f"{len(left)}, then {len(right)} frames {way}"
    return ""


def _undated(metadata: Any) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != "capturedAt"}


def _of(entries: Iterable[Entry], process: str, kinds: tuple[type, ...]) -> list[Any]:
    return [
        {**entry._asdict(), "line": 0}
        for entry in entries
        if entry.process == process and isinstance(entry, kinds)
    ]


class _Alike:
    """Compares values; which id became which is the same throughout."""

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def are(self, old: Any, new: Any) -> bool:
        return self._is(old, new, "")

    def _is(self, old: Any, new: Any, key: str) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            return list(old) == list(new) and all(self._is(old[name], new[name], name) for name in old)
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(
                self._is(left, right, key) for left, right in zip(old, new, strict=True)
            )
        if type(old) is not type(new):
            return False
        if isinstance(old, str):
            return self._bind(old, new) if key == _SLUG else self._is_text(old, new, key)
        is_number = isinstance(old, (int, float)) and not isinstance(old, bool)
        return bool(old == new) or (is_number and _TIMES.search(key) is not None)

    def _is_text(self, old: str, new: str, key: str) -> bool:
        if old != new and old.isdigit() and new.isdigit():
            return _TIMES.search(key) is not None
        ids = [pattern.findall(text) for pattern in (UUID, _MINTED) for text in (old, new)]
        if len(ids[0]) != len(ids[1]) or len(ids[2]) != len(ids[3]):
            return False
        pairs = [*zip(ids[0], ids[1], strict=True), *zip(ids[2], ids[3], strict=True)]
        if not all(self._bind(left, right) for left, right in pairs):
            return False
        dates = [_DATE.findall(text) for text in (old, new)]
        if len(dates[0]) != len(dates[1]):
            return False
        return _masked(old) == _masked(new)

    def _bind(self, old: str, new: str) -> bool:
        """Whether one id may stand for the other, from now on and as before."""
        return self._there.setdefault(old, new) == new and self._back.setdefault(new, old) == old


def _masked(text: str) -> str:
    for pattern in (UUID, _MINTED, _DATE):
        text = pattern.sub("{}", text)
    return text
