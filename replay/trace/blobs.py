"""Large values of traces, kept beside them by what they are: `blobs/<sha256 of the bytes>`.

A store hands out only bytes that hash to their name, so a trace cannot be given another value than it was written
with. DirectoryBlobs is the one place here that touches files.
"""

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Protocol

from replay.errors import FixtureError, Location
from replay.trace.limits import MAX_BLOB_BYTES

__all__ = ["BlobStore", "DirectoryBlobs", "MemoryBlobs", "digest_of", "is_digest"]

_PREFIX = "sha256:"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest_of(data: bytes) -> str:
    """ "sha256:<64 hex digits>" of the bytes."""
    return _PREFIX + hashlib.sha256(data).hexdigest()


def is_digest(text: object) -> bool:
    """Whether it is a digest as digest_of spells it, and so the name of no other file than a blob."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


class BlobStore(Protocol):
    """Bytes by their digest. get raises FixtureError for bytes that are not what their name says."""

    def get(self, digest: str) -> bytes | None: ...
    def put(self, data: bytes) -> str: ...


class MemoryBlobs:
    """A store that lasts as long as its object."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def get(self, digest: str) -> bytes | None:
        """The bytes, or None."""
        return self.held.get(digest)

    def put(self, data: bytes) -> str:
        """Keeps the bytes; answers their digest."""
        digest = digest_of(data)
        self.held[digest] = data
        return digest


class DirectoryBlobs:
    """A directory of blobs, made when the first is put there."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    def get(self, digest: str) -> bytes | None:
        """The bytes of a regular file, or None. Raises FixtureError for one that is too large or was changed."""
        path = self._path(digest)
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise FixtureError("is no regular file", Location(str(path)))
                if status.st_size > MAX_BLOB_BYTES:
                    what = f"has {status.st_size} bytes, a blob may have {MAX_BLOB_BYTES}"
                    raise FixtureError(what, Location(str(path)))
                data = file.read(MAX_BLOB_BYTES + 1)
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise FixtureError("is no regular file", Location(str(path))) from None
        if digest_of(data) != digest:
            what = f"was changed: its bytes hash to {digest_of(data)[:19]}…, which is not its name"
            raise FixtureError(what, Location(str(path)), "git checkout it, or record the trace again")
        return data

    def put(self, data: bytes) -> str:
        """Writes the bytes aside and renames them; one that is there and sound is left alone."""
        digest = digest_of(data)
        path = self._path(digest)
        if path.exists() and path.read_bytes() == data:
            return digest
        self.directory.mkdir(parents=True, exist_ok=True)
        # The process's number: two that write the same blob at once must not write one file.
        aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with aside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        return digest

    def _path(self, digest: str) -> Path:
        if not is_digest(digest):
            raise FixtureError(f"{digest[:80]!r} is no digest", Location(str(self.directory)))
        return self.directory / digest.removeprefix(_PREFIX)
