"""What tests left in their outputs: finds the bundles below Bazel's test logs and reads them.

    <testlogs>/<package>/<target>/[shard_1_of_2/][run_1_of_3/]test.outputs/      the files, or one outputs.zip of them
        result.json, actual/…                one scenario
        <scenario>/result.json, …            a target that runs several

A bundle is what the newest run of a scenario left: result.json, and where the run did not pass, its outputs in the
layout of a fixture. Nothing here judges them.
"""

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson

from replay.errors import Location, UsageError
from replay.session import MAX_FILE_BYTES

__all__ = [
    "Bundle",
    "Outputs",
    "actual_files",
    "find_bundles",
    "newest_bundle",
    "newest_bundles",
    "open_outputs",
]

_OUTPUTS = "test.outputs"
_ZIP = "outputs.zip"
_RESULT = "result.json"
_ACTUAL = "actual/"
_UTF8_NAME = 0x800


class Bundle(NamedTuple):
    """One run of one scenario. `place` is where it lies, as a person can find it."""

    place: str
    container: str
    """A directory, or a zip file."""
    prefix: str
    """Below the container: "" or "<scenario>/"."""
    written: float
    """Seconds since the epoch at which its container was written."""
    result: dict[str, Any]
    """result.json (replay/proto/result.proto)."""

    def actual(self) -> dict[str, bytes]:
        """The outputs of the run: name in the fixture -> content. Raises UsageError for an unreadable bundle."""
        below = self.prefix + _ACTUAL
        return {
            name[len(below) :]: data
            for name, data in _contents(self.container, below)
            if not name.endswith("/")
        }


class Outputs(NamedTuple):
    """The files that one run of a test left in `directory`, or in an outputs.zip there."""

    directory: str
    container: str

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        if self.container == self.directory:
            return os.path.isfile(os.path.join(self.directory, name))
        with _opened(self.container) as archive:
            return name in map(_name, archive.infolist())

    def read(self, name: str) -> bytes:
        """A file. Raises UsageError for one that is not there, too large, or cannot be read."""
        if self.container != self.directory and not self.has(name):
            raise UsageError(f"{self.container} holds no {name}")
        return _member(self.container, name)


def open_outputs(directory: str) -> Outputs:
    """What a test left in a directory, which need not be there."""
    zipped = os.path.join(directory, _ZIP)
    return Outputs(directory, zipped if os.path.isfile(zipped) else directory)


def newest_bundle(testlogs: str, package: str, target: str, scenario: str) -> Bundle | None:
    """The newest bundle of a scenario among those of its test target; None if there is none."""
    return newest_bundles(find_bundles(testlogs, package, target)).get(scenario)


def newest_bundles(bundles: Iterable[Bundle]) -> dict[str, Bundle]:
    """Scenario -> the newest of its `bundles`."""
    newest: dict[str, Bundle] = {}
    for bundle in bundles:
        scenario = bundle.result.get("scenario")
        if isinstance(scenario, str) and (
            scenario not in newest or newest[scenario].written < bundle.written
        ):
            newest[scenario] = bundle
    return newest


def find_bundles(testlogs: str, package: str, target: str) -> Iterator[Bundle]:
    """Every bundle of a test target, of whatever shard and run. Raises UsageError for one that cannot be read."""
    for directory in _outputs(os.path.join(testlogs, package, target)):
        zipped = os.path.join(directory, _ZIP)
        container = zipped if os.path.isfile(zipped) else directory
        for name, data in _results(container):
            result = _decode(data, f"{container}/{name}")
            prefix = name.removesuffix(_RESULT)
            place = f"{directory}/{prefix}".rstrip("/")
            written = os.stat(container if container == zipped else os.path.join(container, name)).st_mtime
            yield Bundle(place, container, prefix, written, result)


def actual_files(outputs: str) -> dict[str, bytes]:
    """The outputs of the run in a directory `test.outputs`, zipped or not; none where it holds none."""
    return Bundle(outputs, open_outputs(outputs).container, "", 0.0, {}).actual()


def _outputs(directory: str) -> Iterator[str]:
    """The directories of outputs of one target: its own, and those of its shards and runs."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name == _OUTPUTS:
            yield entry.path
        elif entry.name.startswith(("shard_", "run_")) and entry.is_dir():
            yield from _outputs(entry.path)


def _results(container: str) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each result.json of a container, by name: at its top, or one level below."""
    if container.endswith(f"/{_ZIP}"):
        with _opened(container) as archive:
            infos = {_name(info): info for info in archive.infolist()}
            for name in sorted(infos):
                if name == _RESULT or name.partition("/")[2] == _RESULT:
                    yield name, _inflate(archive, infos[name], container)
        return
    inner = [entry.name for entry in os.scandir(container) if entry.is_dir()]
    for name in sorted((_RESULT, *(f"{one}/{_RESULT}" for one in inner))):
        if os.path.isfile(os.path.join(container, name)):
            yield name, _read(os.path.join(container, name))


def _contents(container: str, below: str) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every file of a container whose name begins with `below`."""
    if container.endswith(f"/{_ZIP}"):
        with _opened(container) as archive:
            for info in archive.infolist():
                if _name(info).startswith(below):
                    yield _name(info), _inflate(archive, info, container)
        return
    for path, _, files in os.walk(os.path.join(container, os.path.dirname(below))):
        for file in sorted(files):
            full = os.path.join(path, file)
            if os.path.relpath(full, container).startswith(below):
                yield os.path.relpath(full, container), _read(full)


def _member(container: str, name: str) -> bytes:
    if not container.endswith(f"/{_ZIP}"):
        return _read(os.path.join(container, name))
    with _opened(container) as archive:
        [info] = [info for info in archive.infolist() if _name(info) == name][:1]
        return _inflate(archive, info, container)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{path} is larger than a fixture may be")
    return data


@contextmanager
def _opened(path: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (OSError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", fix="run the test again, which writes its outputs anew"
        ) from None


def _inflate(archive: zipfile.ZipFile, info: zipfile.ZipInfo, container: str) -> bytes:
    if info.file_size > MAX_FILE_BYTES:
        raise UsageError(f"{container}: {_name(info)} is larger than a fixture may be")
    return archive.read(info)


def _name(info: zipfile.ZipInfo) -> str:
    """A member's name; the zip program that Bazel starts does not always say that its names are UTF-8."""
    if info.flag_bits & _UTF8_NAME:
        return info.filename
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _decode(data: bytes, place: str) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise UsageError(f"is no JSON: {error}", Location(place), "run the test again") from None
    if not isinstance(value, dict):
        raise UsageError("is no JSON object", Location(place), "run the test again")
    return value
