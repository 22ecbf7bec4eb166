"""The sentence for an outbound frame that the transcript does not have, or not here. Pure.

It names transcript and line, the entry's ordinal and label, the entry that is closest, the JSON path of the first
difference, what was expected and what came. What looks like a secret is not shown.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import DivergenceError, counted
from replay.surface.values import ABSENT
from replay.transport.matcher import Difference
from replay.transport.prepared import Prepared
from replay.transport.reasons import entry_words
from replay.transport.transcript import Frame, RuntimeExit

__all__ = ["Mismatch", "explain"]

_VALUE_CHARACTERS = 100
_MAX_COMPARED = 500
_FIX = (
    "if what the orchestrator does now is right, record the transcript again; "
    'if the field may vary, write {{any}} or {{capture:NAME}} there, or "match":"subset" in the entry'
)

type Compare = Callable[[int], list[Difference]]
"""The differences of the frame from the outbound entry of an index."""


class Mismatch(NamedTuple):
    """frame: what came, as outbound frame `ordinal` of its process. expected: what could have come; ahead: all that is still to come."""

    frame: Frame
    ordinal: int
    process: str
    expected: Sequence[int]
    ahead: Sequence[int]
    played: Sequence[int]
    """Outbound entries whose frames have come."""


def explain(prepared: Prepared, mismatch: Mismatch, compare: Compare) -> DivergenceError:
    """The divergence. Its place is the closest of the entries that could have come, else of those still to come."""
    came = _came(prepared, mismatch)
    if not mismatch.expected:
        return _beyond(prepared, mismatch, came, compare)
    first = _closest(prepared, mismatch.frame, mismatch.expected, compare)
    differences = compare(first)
    where = prepared.where(first, "$.frame" + differences[0].path.removeprefix("$") if differences else "")
    if len(mismatch.expected) > 1:
        others = counted(len(mismatch.expected), "entry").replace("entrys", "entries")
        head = f"{came}; {others} of the group may come now, the closest is {entry_words(prepared, first)}"
    else:
        head = f"{came}; {entry_words(prepared, first)} comes next"
    closest = _closest(prepared, mismatch.frame, [*mismatch.expected, *mismatch.ahead], compare)
    if closest in mismatch.expected:
        return DivergenceError(f"{head}: {_shown(differences)}", where, _FIX)
    near = compare(closest)
    place = f"{prepared.place}:{prepared.entries[closest].line}"
    if not near:
        what = f"{head}, and {entry_words(prepared, closest)} ({place}), which it is, only later"
        fix = 'if their order does not matter, give the entries between one "group"; else record again'
        return DivergenceError(what, prepared.where(first), fix)
    words = f"closest is {entry_words(prepared, closest)} ({place}): {_shown(near)}"
    return DivergenceError(f"{head}; {words}", prepared.where(first), _FIX)


def _beyond(prepared: Prepared, mismatch: Mismatch, came: str, compare: Compare) -> DivergenceError:
    """Nothing more was to come, in this life of the process at least."""
    known = list(mismatch.ahead) or list(mismatch.played)
    if not known:
        return DivergenceError(f"{came}, and the transcript expects no frame", prepared.where(0), _FIX)
    closest = _closest(prepared, mismatch.frame, known, compare)
    near = compare(closest)
    detail = "which it equals" if not near else _shown(near)
    when = "the process was to end first" if mismatch.ahead else "every expected frame has come already"
    what = f"{came}, and {when}; closest is {entry_words(prepared, closest)}, {detail}"
    return DivergenceError(what, prepared.where(closest), _FIX)


def _came(prepared: Prepared, mismatch: Mismatch) -> str:
    kind = prepared.profile.kind_of(mismatch.frame)
    name = f" {orjson.dumps(kind).decode()}" if kind else " an answer"
    process = f" to {mismatch.process}" if mismatch.process else ""
    return f"the orchestrator sent{name}{process} as outbound frame {mismatch.ordinal}"


def _closest(prepared: Prepared, frame: Frame, indices: Sequence[int], compare: Compare) -> int:
    """The entry with the fewest differences; one of the frame's own kind before others, an earlier one before a later."""
    kind = prepared.profile.kind_of(frame)

    def distance(index: int) -> tuple[bool, int]:
        entry = prepared.entries[index]
        own = "" if isinstance(entry, RuntimeExit) else prepared.profile.kind_of(entry.frame)
        return own != kind, len(compare(index))

    # Far away there is nothing that the orchestrator could have meant now.
    return min(indices[:_MAX_COMPARED], key=distance)


def _shown(differences: Sequence[Difference]) -> str:
    """The first difference; how many more there are."""
    [first, *rest] = differences
    left, right = _pair(first.expected, first.actual)
    more = f" (and {counted(len(rest), 'difference')} more)" if rest else ""
    return f"{first.path}: expected {left}, actual {right}{more}"


def _pair(expected: Any, actual: Any) -> tuple[str, str]:
    """Both values; of long ones the neighbourhood of the first character that differs."""
    left, right = _text(expected), _text(actual)
    common = 0
    if max(len(left), len(right)) > _VALUE_CHARACTERS:
        while common < min(len(left), len(right)) and left[common] == right[common]:
            common += 1
    begin = max(0, common - _VALUE_CHARACTERS // 3)
    return _cut(left, begin), _cut(right, begin)


def _cut(text: str, begin: int) -> str:
    shown = text[begin : begin + _VALUE_CHARACTERS]
    return "…" * (begin > 0) + shown + "…" * (begin + _VALUE_CHARACTERS < len(text))


def _text(value: Any) -> str:
    if value is ABSENT:
        return "absent"
    text = orjson.dumps(value, default=repr).decode()
    return text if not _has_secret(text) else "(not shown: it holds what looks like a secret)"


def _has_secret(text: str) -> bool:
    from replay.surface.secrets import scan  # only a mismatch pays for it

    return any(not secret.is_personal for secret in scan(text))
