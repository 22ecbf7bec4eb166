"""A run: everything that passed between an orchestrator and one process of a provider, as it was and in order.

Its file has a line a passage, `<nanoseconds> <sign> <data>`, written as it passes, so that a recorder that is killed
leaves what had passed by then; a last line without its end is no passage. Times are of the machine's monotonic clock,
so runs of several processes can be put in one order. Pure: the clock and the file are the recorder's.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import AgentError, FixtureError, Location

__all__ = [
    "Moment",
    "Passage",
    "Run",
    "Sign",
    "encode_passage",
    "merge",
    "parse_line",
    "read_run",
    "start_of",
]

_SHOWN: Final = 120
_ENDING: Final = frozenset((1, 2, 3, 9, 15))


class Sign(StrEnum):
    """What passed. END: the orchestrator closed the provider's stdin; CLOSED: the provider its stdout."""

    START = "s"
    OUTBOUND = ">"
    INBOUND = "<"
    END = "e"
    CLOSED = "c"
    SIGNAL = "k"
    EXIT = "x"


class Passage(NamedTuple):
    """at_ns: on the machine's monotonic clock. data: without a line feed."""

    at_ns: int
    sign: Sign
    data: bytes


class Run(NamedTuple):
    """One process of the provider. status: as os.waitstatus_to_exitcode gives it, None if the recorder was killed."""

    place: str
    """What errors call the run: its file."""
    process: str
    """The name of the process in the transcript, "" where there is one."""
    arguments: Sequence[str]
    """What the orchestrator started it with, behind the program's own name."""
    passages: Sequence[Passage]
    status: int | None

    @property
    def at_ns(self) -> int:
        return self.passages[0].at_ns

    @property
    def was_closed(self) -> bool:
        """Whether the orchestrator closed the provider's stdin before that ended by itself."""
        signs = [passage.sign for passage in self.passages]
        return Sign.END in signs and Sign.CLOSED not in signs[: signs.index(Sign.END)]

    @property
    def was_signalled(self) -> bool:
        """Whether the orchestrator sent it a signal to end, before it ended by itself."""
        for passage in self.passages:
            if passage.sign is Sign.SIGNAL and int(passage.data) in _ENDING:
                return True
            if passage.sign is Sign.CLOSED:
                break
        return False


def encode_passage(passage: Passage) -> bytes:
    """The line of a passage, with its line feed."""
    return b"%d %s %s\n" % (passage.at_ns, passage.sign.value.encode(), passage.data)


def read_run(data: bytes, place: str) -> Run:
    """The run of a file. Raises FixtureError where the file is none."""
    # What follows the last line feed was being written when the recorder was killed.
    passages = [_read_passage(line, place, at) for at, line in enumerate(data.split(b"\n")[:-1], 1)]
    if not passages or passages[0].sign is not Sign.START:
        raise FixtureError(
            "this is no run: it does not begin with the start of a process", Location(place, 1)
        )
    started = orjson.loads(passages[0].data)
    exits = [int(passage.data) for passage in passages if passage.sign is Sign.EXIT]
    return Run(place, started["process"], started["arguments"], passages, exits[0] if exits else None)


def _read_passage(line: bytes, place: str, number: int) -> Passage:
    at, _, rest = line.partition(b" ")
    sign, _, data = rest.partition(b" ")
    try:
        return Passage(int(at), Sign(sign.decode("ascii")), data)
    except ValueError:
        raise FixtureError("this line is no passage of a run", Location(place, number)) from None


def start_of(process: str, arguments: Sequence[str]) -> bytes:
    """The data of a run's first passage."""
    return orjson.dumps({"process": process, "arguments": list(arguments)})


class Moment(NamedTuple):
    """A passage and whose it is. order: its run's number, by start. line: of the run's file."""

    at_ns: int
    order: int
    line: int
    run: Run
    passage: Passage


def merge(runs: Iterable[Run]) -> list[Moment]:
    """All passages in order of time; at one time those of the process that started first come first.

    Raises AgentError where two processes of one name ran at once: a transcript could not tell them apart.
    """
    ordered = sorted(runs, key=lambda run: run.at_ns)
    latest: dict[str, Run] = {}
    for run in ordered:
        before = latest.get(run.process)
        if before is not None and before.passages[-1].at_ns > run.at_ns:
            named = f'processes called "{run.process}"' if run.process else "processes without a name"
            raise AgentError(
                f"two {named} ran at the same time",
                Location(run.place),
                fix="let the orchestrator give each its AGENT_REPLAY_PROCESS",
            )
        latest[run.process] = run
    moments = [
        Moment(passage.at_ns, order, line, run, passage)
        for order, run in enumerate(ordered)
        for line, passage in enumerate(run.passages, 1)
    ]
    # Stable: of one run the passages stay as they were, whatever a clock of low resolution says.
    return sorted(moments, key=lambda moment: (moment.at_ns, moment.order))


def parse_line(moment: Moment) -> Any:
    """The JSON object that passed. Raises AgentError where it was something else."""
    data = moment.passage.data
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        return value
    shown = data[:_SHOWN].decode("utf-8", "backslashreplace")
    raise AgentError(
        f"what passed here is no JSON object: {shown!r}",
        Location(moment.run.place, moment.line),
        fix="let the provider write its log to stderr; stdout is the protocol's",
    )
