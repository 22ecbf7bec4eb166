"""The end of a recording: the transcript's file, checked as the guard checks it and written whole or not at all."""

import os

from replay.errors import FixtureError
from replay.scenario.content import find_secrets
from replay.scenario.write_back import write_back
from replay.surface.secrets import Scanner
from replay.transport.profile import profile
from replay.transport.transcript import Transcript, read_transcript, write_transcript

__all__ = ["checked_bytes", "write_transcript_file"]


def write_transcript_file(path: str, transcript: Transcript, scanner: Scanner) -> bool:
    """Write the transcript to `path`; whether that changed anything.

    Raises FixtureError where a secret is left in it or it could not be replayed, UsageError where the directory cannot
    be written. Whatever is raised, and whenever the process is killed, the old file is as it was.
    """
    directory, name = os.path.split(os.path.abspath(path))
    data = checked_bytes(transcript, name, scanner)
    return bool(write_back(directory, {name: data}))


def checked_bytes(transcript: Transcript, name: str, scanner: Scanner) -> bytes:
    """The file of a transcript. Raises FixtureError, which gives a secret's place and kind and never the secret."""
    try:
        data = write_transcript(transcript)
    except ValueError as error:
        raise FixtureError(str(error)) from None
    place = transcript.start.scenario
    read = read_transcript(data, f"{place}/{name}")
    profile(read.start.protocol).prepare(read.entries, read.place)
    found = find_secrets({name: data}, place, scanner)
    if found:
        first = found[0].error
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise FixtureError(
            f"the recording is not written: it holds what {first.what}{more}",
            first.where,
            fix=f"{first.fix}, or keep it from the provider, and record again",
        )
    return data
