"""The doctor's look at transcripts: each one parsed, written and read again, and played to its end by a machine.

Reads any directory, another project's too. The ignore rules of every protocol that was met are printed with their
reasons, since what a profile ignores no test will see.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from replay.cli.page import show_table
from replay.errors import DivergenceError, FixtureError, Location, ReplayError, UsageError, counted
from replay.transport.interleave import Orders
from replay.transport.mechanical import Played, play
from replay.transport.profile import profile
from replay.transport.transcript import (
    MAX_FILE_BYTES,
    Entry,
    Transcript,
    read_transcript,
    write_transcript,
)

__all__ = ["CheckedTranscript", "check_transcripts", "find_transcripts", "print_transcripts", "summary"]

_SKIPPED: Final = frozenset((".git", "node_modules", "__pycache__"))
_ENDINGS: Final = (".transcript.ndjson", "_transcript.ndjson")


class CheckedTranscript(NamedTuple):
    """One file. transcript, played: None where it did not get that far; error: what is wrong with it."""

    place: str
    transcript: Transcript | None
    played: Played | None
    orders: int
    """Legal orders of its races."""
    error: ReplayError | None


def find_transcripts(directory: str) -> list[str]:
    """The transcripts at or below a directory, sorted. Links are not followed."""
    found = []
    for path, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if name not in _SKIPPED)
        found += [
            f"{path.rstrip('/')}/{name}"
            for name in names
            if name.endswith(_ENDINGS) and not Path(path, name).is_symlink()
        ]
    return sorted(found)


def check_transcripts(paths: Sequence[str]) -> list[CheckedTranscript]:
    """Every file's verdict, in order."""
    return [_check(path) for path in paths]


def _check(path: str) -> CheckedTranscript:
    transcript: Transcript | None = None
    played: Played | None = None
    orders = 0
    try:
        transcript = read_transcript(_read(path), path)
        _check_round_trip(transcript)
        rules = profile(transcript.start.protocol)
        orders = Orders(transcript, rules).total
        played = play(transcript, rules)
        finding = played.status.finding
        if finding is not None:
            raise DivergenceError(f"cannot be played to its end: {finding}", Location(path))
    except ReplayError as error:
        return CheckedTranscript(path, transcript, played, orders, error.at(path))
    return CheckedTranscript(path, transcript, played, orders, None)


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


def _check_round_trip(transcript: Transcript) -> None:
    written = write_transcript(transcript)
    again = read_transcript(written, transcript.place)
    if again.start._replace(line=0) != transcript.start._replace(line=0):
        raise FixtureError("its start line does not survive writing", Location(transcript.place, 1))
    for before, after in zip(transcript.entries, again.entries, strict=True):
        if _unplaced(before) != _unplaced(after):
            raise FixtureError("the entry does not survive writing", Location(transcript.place, before.line))


def _unplaced(entry: Entry) -> tuple[object, ...]:
    return (type(entry), *entry._replace(line=0))


def print_transcripts(checked: Sequence[CheckedTranscript]) -> None:
    """A table, a row a file, and below it what the profiles ignore."""
    from rich.table import Table

    table = Table(
        *("transcript", "protocol", "version", "form", "entries", "played", "out", "in"),
        *("processes", "ids renumbered", "orders", "verdict"),
        box=None,
        pad_edge=False,
    )
    for column in table.columns[4:11]:
        column.justify = "right"
    for one in checked:
        table.add_row(*_row(one))
    show_table(table)
    for line in _ignore_lines(checked):
        print(line)


def _row(one: CheckedTranscript) -> list[str]:
    if one.transcript is None:
        return [one.place, *[""] * 10, "error"]
    start = one.transcript.start
    head = [one.place, start.protocol, start.version, "1" if start.schema else "wild"]
    head.append(str(len(one.transcript.entries)))
    if one.played is None:
        return [*head, *[""] * 6, "error"]
    status = one.played.status
    counts = (
        status.played,
        status.outbound,
        status.inbound,
        status.processes,
        one.played.renumbered,
        one.orders,
    )
    return [*head, *map(str, counts), status.outcome]


def _ignore_lines(checked: Sequence[CheckedTranscript]) -> Iterator[str]:
    met = {one.transcript.start.protocol for one in checked if one.played is not None and one.transcript}
    for protocol in sorted(met):
        rules = profile(protocol).ignored
        yield f"{protocol} compares {profile(protocol).match} and ignores {counted(len(rules), 'field')}"
        for rule in rules:
            kinds = f" of {', '.join(rule.kinds)}" if rule.kinds else ""
            yield f"  {rule.name}: {rule.where}{kinds}: {rule.reason}"


def summary(checked: Sequence[CheckedTranscript]) -> str:
    """`41 transcripts of 5 protocols, 1689 entries: 41 parsed and round-tripped, 41 played to the end, 0 exceptions`."""
    read = [one.transcript for one in checked if one.transcript is not None]
    protocols = {transcript.start.protocol for transcript in read}
    entries = sum(len(transcript.entries) for transcript in read)
    sound = sum(one.orders > 0 for one in checked)
    played = sum(one.played is not None and one.played.status.is_consumed for one in checked)
    wrong = sum(one.error is not None for one in checked)
    return (
        f"{counted(len(checked), 'transcript')} of {counted(len(protocols), 'protocol')}, {entries} entries: "
        f"{sound} parsed and round-tripped, {played} played to the end, {counted(wrong, 'exception')}"
    )
