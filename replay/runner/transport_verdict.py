"""The verdict on one play of a transport test: what stopped it, and a case for the subject and each transcript. Pure.

A run that left its recording explains whatever else went wrong, so it comes first; then how the subject ended, then what
it left unplayed. Surfaces are judged beside this (transport_surfaces.py).
"""

from collections.abc import Sequence
from typing import NamedTuple

from replay.errors import AgentError, DivergenceError, Location, ReplayError
from replay.runner.pipe_output import Output
from replay.runner.result import FAILED, PASSED, UNKNOWN, Case
from replay.runner.transport_subject import SubjectRun
from replay.transport.status import DIVERGED, UNCONSUMED, Status

__all__ = ["SUBJECT", "Verdict", "judge_play"]

SUBJECT = "subject"
_STDERR_LINES = 12
_MAX_LINE_CHARACTERS = 300
_MAX_LISTED = 3


class Verdict(NamedTuple):
    """`error` is what stopped the play, None for one that came to its end; `cases` are the subject and the transcripts."""

    error: ReplayError | None
    cases: Sequence[Case]
    evidence: Sequence[str]

    @property
    def ended_well(self) -> bool:
        return self.error is None and all(case.verdict == PASSED for case in self.cases)


def judge_play(run: SubjectRun, statuses: Sequence[Status], exit_seconds: float) -> Verdict:
    """What came of one play. exit_seconds: what the subject had to end after its run left the recording."""
    statuses = [_as_left(status) if run.failed else status for status in statuses]
    error = _divergence(statuses) or _end_of_subject(run, statuses) or _leftovers(run)
    evidence: list[str] = []
    if run.left_recording:
        evidence.append(
            f"the subject went on for {exit_seconds:g} s after that, and {run.ended_by[-1]} ended it"
            if run.ended_by
            else "the subject went on after that"
        )
    elif error is not None and run.status and not run.ended_by:
        evidence.append(f"after that the subject {run.how}")
    subject = _subject_case(run, error, statuses)
    if error is not None or subject.verdict != PASSED:
        evidence.extend(_progress(statuses))
        evidence.extend(_last_words(run, statuses))
    cases = [subject, *(_transcript_case(one, error, subject) for one in statuses)]
    return Verdict(error, cases, evidence)


def _as_left(status: Status) -> Status:
    """Of a subject that failed, a connection that closed early is what became of that, and not why."""
    return status._replace(outcome=UNCONSUMED) if status.closed_early else status


def _divergence(statuses: Sequence[Status]) -> ReplayError | None:
    for status in statuses:
        if status.outcome == DIVERGED:
            finding = status.finding
            assert finding is not None
            return DivergenceError(finding.what, Location(finding.where), finding.fix)
    return None


def _end_of_subject(run: SubjectRun, statuses: Sequence[Status]) -> ReplayError | None:
    if run.stopped:
        return AgentError(
            "SIGTERM or SIGINT ended the run before it was over: someone stopped it, or a test's time is up"
        )
    if run.hung:
        return AgentError(
            f"the subject did not end in {run.seconds:.1f} s, nearly all the time that the test has{_waits(statuses)}",
            fix="end the subject when its scenario is over; a longer one needs a larger size or timeout",
        )
    if run.status < 0 and not run.ended_by:
        return AgentError(f"the subject {run.how}")
    return None


def _leftovers(run: SubjectRun) -> ReplayError | None:
    if not run.leftovers or run.status:
        return None
    return AgentError(
        f"the subject left {_processes(run.leftovers)} behind, now ended: {'; '.join(run.leftovers[:_MAX_LISTED])}",
        fix="end what the subject starts before it exits: close the peers, and wait for them",
    )


def _subject_case(run: SubjectRun, error: ReplayError | None, statuses: Sequence[Status]) -> Case:
    if error is not None:
        return Case(SUBJECT, UNKNOWN, "the run was stopped", is_output=False)
    if not run.status:
        return Case(SUBJECT, PASSED)
    words = _own_words(run.stderr, statuses) or _own_words(run.stdout, statuses)
    said = f": {_shortened(words[-1])}" if words else ", and wrote nothing"
    return Case(SUBJECT, FAILED, f"the subject {run.how}{said}", is_output=False)


def _transcript_case(status: Status, error: ReplayError | None, subject: Case) -> Case:
    if status.is_consumed:
        return Case(status.provider, PASSED)
    finding = status.finding
    if status.outcome == DIVERGED or (error is None and subject.verdict == PASSED):
        if not status.played and not status.processes and status.outcome != DIVERGED:
            return Case(status.provider, FAILED, _untouched(status), is_output=False)
        what = str(finding).split("\n", 1)[0] if finding else f"{_played(status)}, the rest was left"
        return Case(status.provider, FAILED, what, is_output=False)
    return Case(status.provider, UNKNOWN, f"{_played(status)} when the run ended", is_output=False)


def _untouched(status: Status) -> str:
    return (
        f"nothing was consumed: the subject never started or dialled a peer for {status.transcript}, "
        f"which has {status.entries} entries (executables: $AGENT_REPLAY_PEERS, socket: $AGENT_REPLAY_TRANSPORT)"
    )


def _progress(statuses: Sequence[Status]) -> list[str]:
    """How far each transcript was played, and where it stopped."""
    lines = []
    for status in statuses:
        if status.is_consumed or status.outcome == DIVERGED:
            continue
        finding = f"; {status.finding.where}: {status.finding.what}" if status.finding else ""
        lines.append(f"{status.transcript}: {_played(status)}{finding}")
    return lines


def _waits(statuses: Sequence[Status]) -> str:
    waiting = [status for status in statuses if not status.is_consumed and status.finding is not None]
    return f"; {waiting[0].finding.what}" if waiting and waiting[0].finding else ""


def _last_words(run: SubjectRun, statuses: Sequence[Status]) -> list[str]:
    name, output = ("stderr", run.stderr) if run.stderr.count else ("stdout", run.stdout)
    return [f"{name}: {_shortened(line)}" for line in _own_words(output, statuses)]


def _own_words(output: Output, statuses: Sequence[Status]) -> list[str]:
    """The last lines that are the subject's: its peers say on the same stderr what the statuses say too."""
    findings = [str(status.finding).split("\n") for status in statuses if status.finding is not None]
    said = {line.strip() for lines in findings for line in lines}
    return [line for line in output.last_lines(_STDERR_LINES) if line.strip() not in said]


def _played(status: Status) -> str:
    return f"{status.played} of {status.entries} entries played"


def _processes(found: Sequence[str]) -> str:
    return "1 process" if len(found) == 1 else f"{len(found)} processes"


def _shortened(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARACTERS else line[:_MAX_LINE_CHARACTERS] + "…"
