import gzip

import pytest

from replay.errors import FixtureError
from replay.session import decompress


def test_every_member_of_a_log_that_was_flushed_often_is_read() -> None:
    assert decompress(gzip.compress(b"one\n") + gzip.compress(b"two\n"), 100) == b"one\ntwo\n"


def test_plain_bytes_pass_as_they_are() -> None:
    assert decompress(b'{"type":"session"}\n', 100) == b'{"type":"session"}\n'


def test_the_limit_holds_over_all_members_and_for_plain_bytes() -> None:
    assert decompress(gzip.compress(b"x" * 60) + gzip.compress(b"y" * 40), 100) == b"x" * 60 + b"y" * 40
    for data in (
        gzip.compress(b"x" * 60) + gzip.compress(b"y" * 41),
        b"x" * 101,
        gzip.compress(b"\0" * 10_000_000),
    ):
        with pytest.raises(FixtureError, match="100"):
            decompress(data, 100)


@pytest.mark.parametrize("length", [2, 5, 12, -9, -1])
def test_an_agent_that_died_inside_a_member_is_told_apart_from_damage(length: int) -> None:
    with pytest.raises(FixtureError, match="is cut off"):
        decompress(gzip.compress(b"some text that is long enough")[:length], 100)
    damaged = bytearray(gzip.compress(b"some text"))
    damaged[12] ^= 0xFF
    with pytest.raises(FixtureError, match="damaged"):
        decompress(bytes(damaged), 100)
