"""What a test may do to a running host: hold, release, wait, ask; the same from Python and over the socket.

Runs on the host's loop. An answer is a dict of facts, or the error that says why there is none; a wait is answered
when its entry was played, or as soon as it can be played no more.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from replay.errors import DivergenceError, ReplayError, UsageError
from replay.transport.message import Control
from replay.transport.playing import Playing

__all__ = ["Answer", "Commands", "render_answer"]

type Answer = Callable[[dict[str, Any] | ReplayError], None]

_MOST_NAMES = 12


class _Waiting(NamedTuple):
    label: str
    number: int
    playing: Playing
    answer: Answer


class Commands:
    """The ops over the transcripts of one host."""

    def __init__(self, playings: Sequence[Playing], now: Callable[[], int]) -> None:
        self._playings = playings
        self._now = now
        self._waiting: list[_Waiting] = []

    def run(self, control: Control, answer: Answer) -> None:
        """Does one op and answers it, now or later."""
        try:
            facts = self._run(control, answer)
        except ReplayError as error:
            answer(error)
            return
        if facts is not None:
            answer(facts)

    def settle(self) -> None:
        """Answers the waits that are over; to be called whenever something was played."""
        left = []
        for waiting in self._waiting:
            if waiting.playing.has_played(waiting.label, waiting.number):
                waiting.answer({})
            elif reason := waiting.playing.never_plays(waiting.label, waiting.number):
                waiting.answer(DivergenceError(reason))
            else:
                left.append(waiting)
        self._waiting = left

    def forget(self, answer: Answer) -> None:
        """Drops the waits of somebody who is gone."""
        self._waiting = [waiting for waiting in self._waiting if waiting.answer is not answer]

    def abandon(self) -> None:
        """Answers every wait: the host ends."""
        for waiting in self._waiting:
            waiting.answer(DivergenceError(f'the host ended before "{waiting.label}" was played'))
        self._waiting = []

    def _run(self, control: Control, answer: Answer) -> dict[str, Any] | None:
        match control.op:
            case "now":
                return {"ms": self._now()}
            case "status":
                return {
                    "statuses": [orjson.loads(playing.status().to_json()) for playing in self._playings],
                    "waitsFor": {playing.name: playing.waits_for() for playing in self._playings},
                }
            case "hold":
                self._find(control, Playing.can_hold).hold(control.name)
            case "release":
                self._find(control, Playing.can_release).release(control.name)
            case _:
                playing = self._find(control, Playing.knows)
                name, number = _numbered(control.name, control.number)
                self._waiting.append(_Waiting(name, number, playing, answer))
                self.settle()
                return None
        return {}

    def _find(self, control: Control, knows: Callable[[Playing, str], bool]) -> Playing:
        """The one transcript that has the name. Raises UsageError where none or several have it."""
        asked = [
            each
            for each in self._playings
            if not control.transcript or control.transcript in (each.name, each.transcript.start.provider)
        ]
        if not asked:
            raise UsageError(
                f'no transcript is called "{control.transcript}"; there are {_listed(one.name for one in self._playings)}'
            )
        found = [each for each in asked if knows(each, control.name)]
        if len(found) == 1:
            return found[0]
        word = "gate or label" if control.op == "release" else "label"
        if found:
            raise UsageError(
                f'the {word} "{control.name}" stands in several transcripts: {_listed(one.name for one in found)}',
                fix=f'say which, as "transcript" of the op {control.op}',
            )
        names = [name for each in asked for name in each.names()]
        raise UsageError(
            f'no transcript has the {word} "{control.name}"; there are {_nearest(control.name, names)}'
        )


def render_answer(answer: dict[str, Any] | ReplayError) -> bytes:
    """An answer's line on the socket."""
    row = (
        {"ok": False, "error": answer.explained()}
        if isinstance(answer, ReplayError)
        else {"ok": True, **answer}
    )
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _numbered(label: str, number: int) -> tuple[str, int]:
    """ "delta#3" is the third of that label, as in a hold."""
    name, _, digits = label.rpartition("#")
    return (name, int(digits)) if name and digits.isdecimal() else (label, number)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"


def _nearest(name: str, names: Sequence[str]) -> str:
    """Some of the names, those that begin alike first."""

    def unlike(other: str) -> int:
        same = 0
        for one, two in zip(name.lower(), other.lower(), strict=False):
            if one != two:
                break
            same += 1
        return -same

    ranked = sorted(dict.fromkeys(names), key=unlike)
    rest = f" and {len(ranked) - _MOST_NAMES} more" if len(ranked) > _MOST_NAMES else ""
    return _listed(ranked[:_MOST_NAMES]) + rest
