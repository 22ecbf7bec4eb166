"""Runs -> a transcript: what passed becomes entries, process by process, and then loses what nobody else may see.

Whatever stands in a frame and looks like a placeholder is escaped before any placeholder of ours is put in.
"""

import signal
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from replay import VERSION
from replay.errors import FixtureError, Location, counted
from replay.transport.placeholder import escape
from replay.transport.recorders.minted import with_references
from replay.transport.recorders.passage import Run, Sign, merge, parse_line
from replay.transport.recorders.readers import Named, Reader, reader_of
from replay.transport.recorders.redaction import Known, redact
from replay.transport.transcript import EmitInbound, Entry, ExpectOutbound, RuntimeExit, Start, Transcript

__all__ = ["About", "Recorded", "entries_of", "exit_of", "start_of", "transcript_of"]


class About(NamedTuple):
    """What a transcript says of itself. model_behind: "gateway", "scripted" or "live"; captured_at: YYYY-MM-DD."""

    provider: str
    protocol: str
    version: str
    scenario: str
    model: str | None
    model_behind: str
    binary: str
    captured_at: str


class Recorded(NamedTuple):
    """A transcript, and how many values were replaced in it by the name of the rule."""

    transcript: Transcript
    replaced: Mapping[str, int]

    def told(self, name: str) -> str:
        """One sentence for a person."""
        entries = self.transcript.entries
        outbound = sum(isinstance(entry, ExpectOutbound) for entry in entries)
        inbound = sum(isinstance(entry, EmitInbound) for entry in entries)
        rules = ", ".join(f"{rule} {count}" for rule, count in sorted(self.replaced.items())) or "nothing"
        frames = f"{counted(outbound, 'frame')} out, {counted(inbound, 'frame')} in"
        return f"{name}: {frames}; replaced: {rules}"


def transcript_of(runs: Iterable[Run], about: About, known: Known) -> Recorded:
    """The transcript of what passed. Raises FixtureError where nothing did, AgentError where it cannot be told apart."""
    entries = list(entries_of(runs, about.protocol))
    if not any(isinstance(entry, ExpectOutbound) for entry in entries):
        raise FixtureError(
            "nothing passed between the orchestrator and the provider",
            Location(about.provider),
            fix="see that the orchestrator starts the recorder in the provider's place",
        )
    redacted, replaced = redact(entries, about.protocol, known)
    return Recorded(
        Transcript(about.provider, start_of(about), tuple(with_references(redacted, about.protocol))),
        replaced,
    )


def entries_of(runs: Iterable[Run], protocol: str) -> Iterator[Entry]:
    """The entries in order of passage, frames as they were but for what looks like a placeholder."""
    readers: dict[int, Reader] = {}
    open_ended: dict[str, Run] = {}
    for moment in merge(runs):
        run, sign = moment.run, moment.passage.sign
        if sign is Sign.START:
            # A recorder that was killed with its provider wrote no end.
            if run.process in open_ended:
                yield exit_of(open_ended.pop(run.process))
            if run.status is None:
                open_ended[run.process] = run
            readers[moment.order] = reader_of(protocol, run.arguments)
            continue
        reader = readers[moment.order]
        if sign is Sign.OUTBOUND:
            yield from _expected(reader.outbound(parse_line(moment)), run)
        elif sign is Sign.END:
            yield from _expected(reader.end(), run)
        elif sign is Sign.INBOUND:
            for named in reader.inbound(parse_line(moment)):
                yield EmitInbound(escape(named.frame), named.label, run.process)
        elif sign is Sign.EXIT:
            yield exit_of(run)
    yield from map(exit_of, open_ended.values())


def _expected(named: Iterable[Named], run: Run) -> Iterator[Entry]:
    for each in named:
        yield ExpectOutbound(escape(each.frame), each.label, run.process)


def exit_of(run: Run) -> RuntimeExit:
    """How a process ended: of its own accord with a code or a signal, else because the orchestrator wanted it to."""
    status = run.status
    if status is None or run.was_signalled or (status == 0 and run.was_closed):
        return RuntimeExit("success", process=run.process)
    if status < 0:
        name = signal.Signals(-status).name
        return RuntimeExit("error", process=run.process, error=f"was ended by {name}", signal=name)
    if status == 0:
        return RuntimeExit("success", process=run.process, code=0)
    return RuntimeExit("error", process=run.process, error=f"exited with status {status}", code=status)


def start_of(about: About) -> Start:
    """The first line of a recording's transcript."""
    return Start(about.provider, about.protocol, about.version, about.scenario, _metadata(about))


def _metadata(about: About) -> dict[str, object]:
    return {
        "model": about.model,
        "cwdPolicy": "workspace",
        "capturedAt": about.captured_at,
        "provenance": {
            "kind": "recorded",
            "binary": {"name": about.binary, "version": about.version},
            "model_behind": about.model_behind,
            "tool": f"agent_replay {VERSION}",
        },
    }
