"""Frames of event streams, whole and cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import FixtureError
from replay.models.sse import Event, EventDecoder, encode_event

_LINE = st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))


@given(
    st.lists(st.tuples(_LINE, st.sampled_from(["", "ping", "delta"]))),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_events_survive_any_cut_and_line_end(events, line_end, data):
    wire = b"".join(encode_event(line, name) for line, name in events).replace(b"\n", line_end)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    decoder = EventDecoder()
    seen = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        seen += decoder.feed(wire[start:end])
    assert seen == [Event(name, line) for line, name in events]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_event_of_several_lines_survives_byte_by_byte(line_end):
    wire = b"event: x\ndata: a\ndata: b\n\ndata: c\n\n".replace(b"\n", line_end)
    decoder = EventDecoder()
    events = [event for byte in wire for event in decoder.feed(bytes([byte]))]
    assert events == [Event("x", b"a\nb"), Event("", b"c")]


def test_comments_ids_and_unknown_fields_are_no_events():
    wire = b": keep-alive\n\nid: 7\nretry: 1\n\ndata:tight\ndata:  two\n\n"
    assert EventDecoder().feed(wire) == [Event("", b"tight\n two")]


def test_unfinished_event_is_not_given():
    assert EventDecoder().feed(b"data: x\n") == []


def test_other_separators_are_content():
    text = "a\u2028b\u0085c\x0bd".encode()
    assert EventDecoder().feed(encode_event(text)) == [Event("", text)]


@pytest.mark.parametrize("wire", [b"data: " + b"x" * 40, b"data: xxxxxxxxxx\n" * 4, b"data:\n" * 33])
def test_event_beyond_the_bound_is_refused(wire):
    with pytest.raises(FixtureError, match="larger than 32 bytes"):
        EventDecoder(max_bytes=32).feed(wire)
