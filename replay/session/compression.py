"""Reads gzip: a deployed agent compresses its logs, each flush a member of its own, and may die inside one."""

import zlib

from replay.errors import FixtureError

__all__ = ["decompress"]

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


def decompress(data: bytes, max_bytes: int) -> bytes:
    """The plain bytes of gzip data with any number of members; data that is no gzip is returned as it is.

    Raises FixtureError where the result would have more than max_bytes bytes, or the data is damaged or cut off.
    The error names no file; use its `at`.
    """
    if not data.startswith(_GZIP_MAGIC):
        if len(data) > max_bytes:
            raise FixtureError(f"has {len(data)} bytes, a log may have {max_bytes}")
        return data
    parts: list[bytes] = []
    left = max_bytes
    while data:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            part = member.decompress(data, left + 1)
        except zlib.error as error:
            raise FixtureError(f"is damaged gzip data: {error}") from None
        left -= len(part)
        if left < 0:
            raise FixtureError(f"unpacks to more than {max_bytes} bytes")
        if not member.eof:
            raise FixtureError("is cut off: the gzip data ends in the middle")
        parts.append(part)
        data = member.unused_data
    return b"".join(parts)
