from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.session import LogWriter, Row, canonical_form, encode_log, pack, read_log, unpack
from tests.session.log_lines import HEADER, begin, chunk, delta, event_lists, finish, log_bytes


def rows(events: list[dict[str, Any]]) -> list[Row]:
    return [Row(line, event) for line, event in enumerate(events, 2)]


@given(event_lists())
def test_unpacking_what_was_packed_gives_every_event_back_byte_for_byte(events: list[dict[str, Any]]) -> None:
    ordered = _key_order(events)
    packed = list(pack(rows(ordered)))
    assert orjson.dumps([row.fields for row in unpack(rows(packed))]) == orjson.dumps(ordered)


def _key_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Deltas with their keys in the order of the design: what a packed row cannot remember is the order of keys."""
    order = ("type", "index", "id", "name", "text", "argumentsDelta", "extras")
    for event in events:
        found = event["data"].get("chunk")
        if found is not None:
            event["data"]["chunk"] = {key: found[key] for key in order if key in found}
    return events


@given(event_lists())
def test_packing_again_changes_nothing(events: list[dict[str, Any]]) -> None:
    packed = list(pack(rows(events)))
    assert list(pack(unpack(rows(packed)))) == packed


@given(event_lists())
def test_no_three_neighbours_that_belong_together_stay_unpacked(events: list[dict[str, Any]]) -> None:
    packed = list(pack(rows(events)))
    for three in zip(packed, packed[1:], packed[2:], strict=False):
        assert len(list(pack(rows(list(three))))) == 3


@given(event_lists())
def test_a_writer_that_is_never_flushed_early_writes_the_canonical_form(events: list[dict[str, Any]]) -> None:
    writer = LogWriter()
    written = b"".join(writer.append(event) for event in events) + writer.flush()
    assert written == encode_log(HEADER, pack(rows(events)))[len(orjson.dumps(HEADER)) + 1 :]


@given(event_lists(), st.lists(st.booleans(), min_size=40, max_size=40))
def test_flushing_at_any_time_loses_nothing(events: list[dict[str, Any]], flushes: list[bool]) -> None:
    writer = LogWriter()
    written = b""
    for at, event in enumerate(events):
        written += writer.append(event)
        if flushes[at % 40]:
            written += writer.flush()
            read = [Row(0, orjson.loads(line)) for line in written.split(b"\n")[:-1]]
            assert [row.fields for row in unpack(read)] == events[: at + 1]
    written += writer.flush()
    read = [Row(0, orjson.loads(line)) for line in written.split(b"\n")[:-1]]
    assert [row.fields for row in unpack(read)] == events


def test_gaps_of_a_log_without_times_survive() -> None:
    packed = {"turn": 1, "step": 1, "index": 0, "dt": [5, 0, -2], "texts": ["a", "b", "c", ""]}
    data = log_bytes(begin(), {"type": "text-chunks", "data": packed}, finish())
    log = read_log(data, "session.jsonl")
    assert [row.gap for row in unpack(log.rows)] == [None, None, 5, 0, -2, None]
    assert canonical_form(log) == data


def test_seq_and_time_of_a_packed_row_are_those_of_its_first_delta() -> None:
    events = [
        {"type": "assistant/chunk", "seq": 7 + at, "time": 100 + 10 * at, "data": delta(text)["data"]}
        for at, text in enumerate("abc")
    ]
    (packed,) = pack(rows(events))
    assert (packed["seq"], packed["time"], packed["data"]["dt"]) == (7, 100, [10, 10])
    assert [row.fields for row in unpack(rows([packed]))] == events


def test_seq0_and_time0_of_other_writers_are_understood() -> None:
    packed = {"type": "text-chunks", "seq0": 3, "time0": 50, "data": {}}
    packed["data"] = {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"]}
    assert [(row.fields["seq"], row.fields["time"]) for row in unpack(rows([packed]))] == [(3, 50), (4, 51)]


def test_a_run_ends_where_a_gap_in_seq_would_be_lost() -> None:
    events = [{**delta("x"), "seq": seq} for seq in (1, 2, 4, 5)]
    assert list(pack(rows(events))) == events


def test_a_delta_that_carries_more_than_the_layout_holds_is_not_packed() -> None:
    extras = [chunk({"type": "text-delta", "index": 0, "text": "x", "extras": {"signature": "s"}})] * 3
    references = [{**delta("x"), "sourceEventSeqs": [1]}] * 3
    odd = [chunk({"type": "text-delta", "index": True, "text": "x"})] * 3
    for events in (extras, references, odd):
        assert list(pack(rows(events))) == events


@pytest.mark.parametrize("other", [{"id": "b"}, {"name": "bash"}, {"index": 1}])
def test_deltas_of_another_call_are_another_run(other: dict[str, Any]) -> None:
    one = {"type": "tool-call-delta", "index": 0, "id": "a", "name": "read", "argumentsDelta": "x"}
    events = [chunk(one), chunk({**one, **other})] * 2
    assert list(pack(rows(events))) == events


@settings(max_examples=5, deadline=None)
@given(st.sampled_from(["x", "\0"]))
def test_a_huge_run_stays_below_the_limit_of_a_line(char: str) -> None:
    writer = LogWriter()
    written = [writer.append(delta(char * 100_000)) for _ in range(60)] + [writer.flush()]
    assert max(map(len, written)) < 16 << 20
    assert len([part for part in written if part]) > 1
