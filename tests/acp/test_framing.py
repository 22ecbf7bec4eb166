"""LineReader: chunk borders do not matter, only LF and CRLF end a line, everything is bounded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.acp import LineReader, excerpt
from replay.errors import AgentError

CONTENT = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"").rstrip(b"\r"))


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(border % (len(data) + 1) for border in borders)})
    return [data[a:b] for a, b in pairwise(edges)]


@given(
    st.lists(st.tuples(CONTENT, st.sampled_from([b"\n", b"\r\n"]))), CONTENT, st.lists(st.integers(0, 500))
)
def test_lines_do_not_depend_on_chunk_borders(
    lines: list[tuple[bytes, bytes]], tail: bytes, borders: list[int]
) -> None:
    data = b"".join(line + end for line, end in lines) + tail
    expected = [line for line, _ in lines]
    for chunks in ([data], [data[i : i + 1] for i in range(len(data))], cut(data, borders)):
        reader = LineReader()
        assert [line for piece in chunks for line in reader.feed(piece)] == expected
        if tail:
            with pytest.raises(AgentError, match="in the middle of a line"):
                reader.close()
        else:
            reader.close()


def test_other_line_separators_are_content() -> None:
    content = "a\u2028b\u0085c\x0bd\x0ce\rf".encode()
    assert LineReader().feed(content + b"\n") == [content]


def test_line_of_the_limit_is_accepted_and_one_byte_more_is_refused() -> None:
    assert LineReader(10).feed(b"x" * 10 + b"\r\n") == [b"x" * 10]
    assert LineReader(10).feed(b"x" * 10 + b"\n") == [b"x" * 10]
    for chunks in ([b"x" * 11 + b"\n"], [b"x"] * 12, [b"x" * 10, b"x\r\n"]):
        reader = LineReader(10)
        with pytest.raises(AgentError, match="a line of more than 10 bytes"):
            for chunk in chunks:
                reader.feed(chunk)


def test_line_of_16_mib_in_small_chunks_is_accepted() -> None:
    reader = LineReader()
    chunk = b"x" * 65536
    for _ in range(256):
        assert reader.feed(chunk) == []
    assert [len(line) for line in reader.feed(b"\n")] == [16 * 1024 * 1024]


def test_reader_that_refused_once_refuses_for_ever() -> None:
    for too_long in (b"too long", b"xxxxx\n"):
        reader = LineReader(4)
        with pytest.raises(AgentError):
            reader.feed(too_long)
        with pytest.raises(AgentError):
            reader.feed(b"{}\n")


def test_whole_stream_is_bounded() -> None:
    reader = LineReader(10, 20)
    reader.feed(b"123456789\n123456789\n")
    with pytest.raises(AgentError, match="more than 20 bytes to stdout"):
        reader.feed(b"x")


def test_blank_lines_are_handed_on() -> None:
    assert LineReader().feed(b"\n\r\n{}\n") == [b"", b"", b"{}"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"Loading config", '"Loading config"'),
        (b'say "hi"\\', '"say \\"hi\\"\\\\"'),
        (b"\x1b[31mred\x00", '"\\x1b[31mred\\x00"'),
        (b"\xff\xfe", '"\\\\xff\\\\xfe"'),
        (b"x" * 500, '"' + "x" * 160 + '…"'),
        ("ü\u2028".encode(), '"ü\\u2028"'),
    ],
)
def test_excerpt_is_one_line_quoted_and_escaped(line: bytes, shown: str) -> None:
    assert excerpt(line) == shown
