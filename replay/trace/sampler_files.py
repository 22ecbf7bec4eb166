"""Sampling from files: traces are read one by one, and once more those that were chosen. Touches files and processes.

Sources are files of a trace each (.json), files of a trace a line (.jsonl), and directories of both. A trace that a
pool would keep is read as a whole before it gets there, so that every trace of a sample is one that can be replayed; of
the others only what the sampler needs to know is checked.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import BinaryIO, Final, NamedTuple

import orjson

from replay.errors import FixtureError, Location, UsageError
from replay.trace.codec import blob_digests, parse_document, read_trace, write_trace
from replay.trace.limits import MAX_TRACE_BYTES
from replay.trace.sampler import Sampler
from replay.trace.sampler_choice import Sample
from replay.trace.sampler_explanation import EXPLANATION, render_explanation
from replay.trace.sampler_features import Place, candidate_of

__all__ = ["Part", "find_sources", "read_sources", "write_sample"]

_LINES, _WHOLE = ".jsonl", ".json"
_PART_BYTES: Final = 32 << 20
_BLOBS: Final = "blobs"
_TRACES: Final = "traces"


class Part(NamedTuple):
    """Some traces: a file of one, or those lines of a file that begin from `start` on and before `end`."""

    path: str
    start: int
    end: int

    @property
    def has_lines(self) -> bool:
        """Whether it is a trace a line."""
        return self.path.endswith(_LINES)


def find_sources(paths: Iterable[str]) -> list[Part]:
    """The parts of all files below, in the order of their names. Raises UsageError for what holds no trace."""
    parts: list[Part] = []
    for path in paths:
        found = sorted(_files_below(path)) if os.path.isdir(path) else [path]
        if not found:
            raise UsageError(f"{path} holds no {_WHOLE} and no {_LINES} file")
        for file in found:
            parts += _parts(file)
    if not parts:
        raise UsageError("there is no trace to choose from", fix="name files or directories of traces")
    return parts


def read_sources(parts: Sequence[Part], count: int, seed: int, jobs: int = 1) -> Sampler:
    """What a sampler knows after all of them. jobs: how many processes read. Raises FixtureError with file and line."""
    if jobs > 1 and sum(part.end - part.start for part in parts) > _PART_BYTES:
        with ProcessPoolExecutor(jobs) as pool:
            samplers = pool.map(_read_some, _dealt(parts, jobs), [count] * jobs, [seed] * jobs)
            first, *others = samplers
        for other in others:
            first.merge(other)
        return first
    return _read_some(parts, count, seed)


def write_sample(sample: Sample, seed: int, directory: str) -> None:
    """Write each trace to traces/<trace_id>.json, the blobs it refers to, and sample.json, which says why.

    The directory may be that of a suite, without traces yet. Raises UsageError, and FixtureError for a source that has changed.
    """
    traces = os.path.join(directory, _TRACES)
    if os.path.isdir(traces) and os.listdir(traces):
        raise UsageError(f"{traces} is not empty", fix="name a directory that has no traces yet")
    try:
        os.makedirs(traces, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{traces} cannot be made: {error.strerror}") from None
    for one in sample.chosen:
        place = one.candidate.place
        data = _bytes_at(place)
        trace = read_trace(data, place.source)
        _write(os.path.join(traces, trace.trace_id + _WHOLE), write_trace(trace))
        for digest in sorted(blob_digests(data, place.source)):
            _copy_blob(digest.removeprefix("sha256:"), os.path.dirname(place.source), traces)
    _write(os.path.join(directory, EXPLANATION), render_explanation(sample, seed))


def _files_below(directory: str) -> Iterator[str]:
    for root, names, files in os.walk(directory):
        names[:] = [name for name in names if name != _BLOBS and not name.startswith(".")]
        for file in files:
            if file.endswith((_LINES, _WHOLE)) and file != EXPLANATION:
                yield os.path.join(root, file)


def _parts(path: str) -> list[Part]:
    if not path.endswith((_LINES, _WHOLE)):
        raise UsageError(f"{path} is neither {_WHOLE} (a trace) nor {_LINES} (a trace a line)")
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if not path.endswith(_LINES):
        return [Part(path, 0, size)]
    if not size:
        raise FixtureError("is empty", Location(path))
    return [Part(path, start, min(start + _PART_BYTES, size)) for start in range(0, size, _PART_BYTES)]


def _dealt(parts: Sequence[Part], jobs: int) -> list[list[Part]]:
    """Parts for each process: each time to the one that has least to read."""
    hands: list[list[Part]] = [[] for _ in range(jobs)]
    loads = [0] * jobs
    for part in parts:
        least = loads.index(min(loads))
        hands[least].append(part)
        loads[least] += part.end - part.start
    return hands


def _read_some(parts: Sequence[Part], count: int, seed: int) -> Sampler:
    sampler = Sampler(count, seed)
    for part in parts:
        with open(part.path, "rb") as file:
            for place, data in _lines(file, part) if part.has_lines else _whole(file, part):
                _offer(sampler, place, data)
    return sampler


def _offer(sampler: Sampler, place: Place, data: bytes) -> None:
    try:
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError:
            document = parse_document(data, "")  # says what is wrong
        candidate = candidate_of(document, data, place, sampler.key)
        if sampler.wants(candidate):
            read_trace(data, "")
        sampler.add(candidate)
    except FixtureError as error:
        line = error.where.line
        if place.source.endswith(_LINES):
            line = _line_at(place)
        raise FixtureError(error.what, Location(place.source, line, error.where.path), error.fix) from None


def _whole(file: BinaryIO, part: Part) -> Iterator[tuple[Place, bytes]]:
    data = file.read(MAX_TRACE_BYTES + 1)
    if len(data) > MAX_TRACE_BYTES:
        raise FixtureError(f"has more than {MAX_TRACE_BYTES} bytes", Location(part.path))
    yield Place(part.path, 0, len(data)), data


def _lines(file: BinaryIO, part: Part) -> Iterator[tuple[Place, bytes]]:
    """Lines that begin within the part. An empty line is no trace, and no mistake."""
    offset = part.start
    if offset:
        # A line that began before belongs to the part before, and so does one that ends where this begins.
        file.seek(offset - 1)
        offset += len(_read_line(file, part.path, offset)) - 1
    while offset < part.end:
        line = _read_line(file, part.path, offset)
        if not line:
            raise FixtureError("became shorter while it was read", Location(part.path))
        if line.strip():
            yield Place(part.path, offset, len(line)), line
        offset += len(line)


def _read_line(file: BinaryIO, path: str, offset: int) -> bytes:
    line = file.readline(MAX_TRACE_BYTES + 1)
    if len(line) > MAX_TRACE_BYTES:
        where = Location(path, _line_at(Place(path, offset, 0)))
        raise FixtureError(f"the line has more than {MAX_TRACE_BYTES} bytes", where)
    return line


def _line_at(place: Place) -> int:
    """The number of the line that begins there."""
    line = 1
    with open(place.source, "rb") as file:
        left = place.offset
        while left > 0 and (data := file.read(min(left, 1 << 20))):
            line += data.count(b"\n")
            left -= len(data)
    return line


def _bytes_at(place: Place) -> bytes:
    with open(place.source, "rb") as file:
        file.seek(place.offset)
        return file.read(place.size)


def _copy_blob(name: str, source: str, directory: str) -> None:
    target = os.path.join(directory, _BLOBS, name)
    if os.path.exists(target):
        return
    origin = os.path.join(source, _BLOBS, name)
    try:
        with open(origin, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FixtureError(
            f"cannot be read, and a chosen trace refers to it: {error.strerror}", Location(origin)
        ) from None
    os.makedirs(os.path.dirname(target), exist_ok=True)
    _write(target, data)


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
