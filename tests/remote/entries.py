"""Entries of an HTTP cache as files: action results in ac/, blobs in cas/, and ways to spoil those of one test."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

__all__ = ["DAMAGES", "REVERSED", "Damage", "Entries", "Part"]

_HASH = rb"\n\x40([0-9a-f]{64})"
# An ActionResult of the Remote Execution API: the digest in an output file is field 2 after its path, that of stdout field 6.
_XML = re.compile(rb"/test\.xml\x12." + _HASH, re.DOTALL)
_LOG = re.compile(rb"\x32." + _HASH, re.DOTALL)


class Part(StrEnum):
    """What is stored of a test."""

    LOG = "log"
    XML = "test.xml"
    RESULT = "action result"


class Entries:
    """What the cache keeps below `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def results(self, label: str) -> list[Path]:
        """The action results of a test: one, or more if what it depends on changed meanwhile."""
        package, _, name = label.removeprefix("//").partition(":")
        xml = f"/testlogs/{package}/{name}/test.xml".encode()
        return [file for file in sorted((self._directory / "ac").iterdir()) if xml in file.read_bytes()]

    def files(self, label: str, part: Part) -> list[Path]:
        results = self.results(label)
        if part is Part.RESULT:
            return results
        pattern = _LOG if part is Part.LOG else _XML
        hashes = {match[1].decode() for file in results for match in pattern.finditer(file.read_bytes())}
        return self._blobs(hashes)

    def outputs(self) -> list[Path]:
        """What other actions than tests made."""
        others = [
            data
            for file in (self._directory / "ac").iterdir()
            if b"/testlogs/" not in (data := file.read_bytes())
        ]
        return self._blobs(match[1].decode() for data in others for match in re.finditer(_HASH, data))

    def _blobs(self, hashes: Iterable[str]) -> list[Path]:
        # An empty output is named and not stored.
        blobs = (self._directory / "cas" / name for name in sorted(set(hashes)))
        return [blob for blob in blobs if blob.is_file()]


class Damage(NamedTuple):
    what: str
    part: Part
    spoil: Callable[[bytes], bytes | None]
    """The bytes in place of the right ones; None for an entry that is gone."""

    is_valid: bool = False
    """Whether the entry can still be read, as one that says less."""

    def apply(self, files: Sequence[Path]) -> int:
        """How many there were."""
        for file in files:
            data = self.spoil(file.read_bytes())
            # A new file: the server may still hold the old one open.
            file.unlink()
            if data is not None:
                file.write_bytes(data)
        return len(files)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _with_other_hashes(result: bytes) -> bytes:
    return re.sub(_HASH, lambda match: match[0][:-1] + (b"0" if match[1][-1:] != b"0" else b"1"), result)


DAMAGES = (
    Damage("a log with other bytes, as many", Part.LOG, bytes.swapcase),
    Damage("half a log", Part.LOG, _half),
    Damage("an empty log", Part.LOG, lambda _: b""),
    Damage("a log that is gone", Part.LOG, lambda _: None),
    Damage("a test.xml with other bytes, as many", Part.XML, bytes.swapcase),
    Damage("half a test.xml", Part.XML, _half),
    Damage("half an action result", Part.RESULT, _half),
    Damage("an empty action result", Part.RESULT, lambda _: b"", is_valid=True),
    Damage("an action result that is no message", Part.RESULT, lambda data: b"\xff" * len(data)),
    Damage("an action result that names blobs nobody has", Part.RESULT, _with_other_hashes),
)
REVERSED = Damage("what other actions made, its bytes reversed", Part.RESULT, lambda data: data[::-1])
