"""trials.jsonl: what each run of each trace came to, kept so that its votes are counted again without a run. Pure.

    {"trace_id":"apple","category":"prices","strategy":"consensus","of":5,"trials":[
        {"run":1,"answer":"That makes 7.","passed":true,"reasons":[],"notes":[],"fault":0}, …]}        a line a trace

Fewer trials than `of`: no further run could change the outcome, and none was made. Under another rule of the suite they
may leave it open, and nothing but more runs can say.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.session.chunk import shown
from replay.trace.codec import parse_document
from replay.trace.consensus import MAX_RUNS, Trial
from replay.trace.report import REASONS, Measured, Reason
from replay.trace.strategies import Strategy, strategy

__all__ = ["TRIALS", "TraceTrials", "read_trials", "write_trials"]

TRIALS: Final = "trials.jsonl"
_AGAIN: Final = "run the test again"


class TraceTrials(NamedTuple):
    """The runs of one trace. strategy.runs is how many there were to be at most.

    metrics: what the run in the middle used, by metric; {} where trials were read again, which do not hold it.
    """

    trace_id: str
    category: str
    strategy: Strategy
    trials: tuple[Trial, ...]
    metrics: Mapping[str, Measured] = {}

    @property
    def was_stopped(self) -> bool:
        """Whether runs were left out, since they could change nothing."""
        return len(self.trials) < self.strategy.runs


def write_trials(listed: Sequence[TraceTrials]) -> bytes:
    """The file, without traces that were not tried; the same trials give the same bytes."""
    return b"".join(
        orjson.dumps(
            {
                "trace_id": each.trace_id,
                "category": each.category,
                "strategy": each.strategy.name,
                "of": each.strategy.runs,
                "trials": [_fields(trial) for trial in each.trials],
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for each in listed
        if each.trials
    )


def read_trials(data: bytes, place: str) -> list[TraceTrials]:
    """The inverse. Raises FixtureError with the line, and the path in it, of what no test left."""
    found: dict[str, TraceTrials] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        where = Location(place, number)
        if number == len(lines):
            if line:
                raise FixtureError("ends in the middle of a line", where, _AGAIN)
            break
        try:
            each = _entry(parse_document(line, place), where)
        except FixtureError as error:
            raise FixtureError(error.what, error.where._replace(line=number), error.fix or _AGAIN) from None
        if each.trace_id in found:
            raise FixtureError(f"holds {shown(each.trace_id)} a second time", where, _AGAIN)
        found[each.trace_id] = each
    return list(found.values())


def _fields(trial: Trial) -> dict[str, Any]:
    reasons, notes = ([list(one) for one in listed] for listed in (trial.reasons, trial.notes))
    return trial._asdict() | {"reasons": reasons, "notes": notes}


def _entry(fields: Any, where: Location) -> TraceTrials:
    match fields:
        case {
            "trace_id": str(trace_id),
            "category": str(category),
            "strategy": str(name),
            "of": int(runs),
            "trials": list(rows),
        } if trace_id and type(runs) is int and 1 <= runs <= MAX_RUNS:
            try:
                chosen = strategy(name).with_changes(runs=runs)
            except UsageError as error:
                raise FixtureError(error.what, where._replace(path="$.strategy"), error.fix) from None
            if not 1 <= len(rows) <= runs:
                what = f"holds {len(rows)} trials of at most {runs}"
                raise FixtureError(what, where._replace(path="$.trials"))
            trials = [
                _trial(row, at, where._replace(path=f"$.trials[{at - 1}]")) for at, row in enumerate(rows, 1)
            ]
            return TraceTrials(trace_id, category, chosen, tuple(trials))
    raise FixtureError("is no trace with its trials", where)


def _trial(fields: Any, number: int, where: Location) -> Trial:
    match fields:
        case {
            "run": int(run),
            "answer": answer,
            "passed": bool(passed),
            "reasons": list(reasons),
            "notes": list(notes),
            "fault": int(fault),
        } if run == number and type(run) is int and type(fault) is int and 0 <= fault <= 4:
            if passed is bool(reasons):
                raise FixtureError("passed, and says why not, or the other way round", where)
            return Trial(run, answer, passed, _reasons(reasons, where), _reasons(notes, where), fault)
    raise FixtureError(f"is not the trial of run {number}", where)


def _reasons(rows: Sequence[Any], where: Location) -> tuple[Reason, ...]:
    found = []
    for row in rows:
        match row:
            case [str(kind), str(message)] if kind in REASONS:
                found.append(Reason(kind, message))
            case _:
                raise FixtureError("holds what is no reason", where)
    return tuple(found)
