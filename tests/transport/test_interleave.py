"""Races: every legal order once, counted exactly, against orders that are found by trying all permutations."""

from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replay.errors import FixtureError, UsageError
from replay.transport.interleave import Orders
from replay.transport.mechanical import play
from replay.transport.transcript import EmitInbound, Transcript
from tests.transport.shapes import Line, answers, asks, ends, into, out, rules_of, tells, transcript_of


def orders_of(transcript: Transcript, most: int = 10_000) -> Orders:
    return Orders(transcript, rules_of(transcript), most)


@st.composite
def transcripts(draw: st.DrawFn, most_entries: int) -> Transcript:
    """Requests, responses to open ones, events, gates, exits, of one or two processes."""
    lines: list[Line] = []
    pending: dict[str, list[int]] = {"": [], "b": []}
    for at in range(draw(st.integers(1, most_entries))):
        process = draw(st.sampled_from(["", "", "b"]))
        kinds = [
            "out",
            "event",
            "event",
            "gated",
            "grouped",
            "exit",
            *["answer"] * 4 * bool(pending[process]),
        ]
        kind = draw(st.sampled_from(kinds))
        fields = {"process": process} if process else {}
        if kind == "out":
            lines.append(out(asks(at, "m", n=at), **fields))
            pending[process].append(at)
        elif kind == "answer":
            place = draw(st.integers(0, len(pending[process]) - 1))
            is_gated = draw(st.sampled_from([False, False, False, True]))
            gate = {"gate": f"g{at}"} if is_gated else {}
            lines.append(into(answers(pending[process].pop(place), n=at), **fields, **gate))
        elif kind == "exit":
            lines.append(ends("error", **fields))
            pending[process].clear()
        else:
            extra = {"gated": {"gate": f"g{at}"}, "grouped": {"group": f"g{at}"}}.get(kind, {})
            lines.append(into(tells("e", n=at), **fields, **extra))
    return transcript_of(*lines)


def legal_orders(transcript: Transcript) -> set[tuple[int, ...]]:
    """By the definition: every permutation that moves nothing but responses, and those within their run."""
    answers_of = rules_of(transcript).pairs(transcript.entries)
    runs: list[list[int]] = []
    for process in ("", "b"):
        run: list[int] = []
        for index, entry in enumerate(transcript.entries):
            if entry.process != process:
                continue
            is_free = isinstance(entry, EmitInbound) and not entry.group and not entry.gate
            if is_free:
                run.append(index)
                continue
            runs.append(run)
            run = []
        runs.append(run)
    found = {tuple(range(len(transcript.entries)))}
    for run in runs:
        events = [index for index in run if index not in answers_of]
        kept = [
            order for order in permutations(run) if [index for index in order if index in events] == events
        ]
        found = {
            tuple(dict(zip(run, order, strict=True)).get(index, index) for index in base)
            for base in found
            for order in kept
        }
    return found


@given(transcripts(8))
def test_orders_are_exactly_the_legal_ones(transcript: Transcript) -> None:
    legal = legal_orders(transcript)
    assume(len(legal) <= 2000)
    orders = orders_of(transcript)
    assert orders.total == orders.count == len(legal)
    assert orders.left_out == 0
    found = [orders.order(number) for number in range(orders.count)]
    assert set(found) == legal
    assert len(found) == len(legal)
    assert found[0] == tuple(range(len(transcript.entries)))


@given(transcripts(30), st.data())
def test_any_order_keeps_events_in_place_and_responses_after_their_requests(
    transcript: Transcript, draw: st.DataObject
) -> None:
    orders = orders_of(transcript)
    order = orders.order(draw.draw(st.integers(0, orders.total - 1)))
    pairs = rules_of(transcript).pairs(transcript.entries)
    assert sorted(order) == list(range(len(transcript.entries)))
    place = {index: at for at, index in enumerate(order)}
    for answer, request in pairs.items():
        assert place[answer] > place[request]
    for process in ("", "b"):
        others = [
            index for index in order if index not in pairs and transcript.entries[index].process == process
        ]
        assert others == sorted(others)


@given(transcripts(14), st.data())
def test_any_order_can_be_played_to_its_end(transcript: Transcript, draw: st.DataObject) -> None:
    orders = orders_of(transcript)
    number = draw.draw(st.integers(0, orders.total - 1))
    status = play(transcript, rules_of(transcript), order=orders.order(number)).status
    assert status.is_consumed, status.finding


RACE = (out(asks(1, "a")), into(tells("x")), into(answers(1)), into(tells("y")), into(tells("z")))


def test_one_response_has_as_many_places_as_there_are_events_and_one() -> None:
    orders = orders_of(transcript_of(*RACE))
    assert [orders.order(number) for number in range(orders.count)] == [
        (0, 1, 2, 3, 4),
        (0, 1, 3, 2, 4),
        (0, 1, 3, 4, 2),
        (0, 2, 1, 3, 4),
    ]


def test_orders_with_one_response_moved_come_first() -> None:
    two = (*RACE, out(asks(2, "b")), into(tells("p")), into(answers(2)), into(tells("q")))
    orders = orders_of(transcript_of(*two))
    assert orders.total == 4 * 3
    moved = [sum(index not in (at,) for at, index in enumerate(orders.order(n))) for n in range(orders.count)]
    runs_changed = [
        (orders.order(n)[:5] != (0, 1, 2, 3, 4)) + (orders.order(n)[5:] != (5, 6, 7, 8))
        for n in range(orders.count)
    ]
    assert runs_changed == sorted(runs_changed) and moved[0] == 0
    assert runs_changed.count(1) == 3 + 2


@pytest.mark.parametrize("events", [0, 1, 2])
def test_responses_of_one_run_change_places_with_each_other(events: int) -> None:
    requests = [out(asks(ref, "m")) for ref in (1, 2, 3)]
    run = [
        into(answers(1)),
        *(into(tells("e", n=n)) for n in range(events)),
        into(answers(2)),
        into(answers(3)),
    ]
    transcript = transcript_of(*requests, *run)
    orders = orders_of(transcript)
    assert {orders.order(number) for number in range(orders.count)} == legal_orders(transcript)
    assert orders.count == (6, 24, 60)[events]


def test_bound_is_counted_and_the_rest_still_has_numbers() -> None:
    orders = orders_of(transcript_of(*RACE), 3)
    assert (orders.count, orders.left_out, orders.total) == (3, 1, 4)
    assert orders.order(3) == (0, 2, 1, 3, 4)
    for number in (-1, 4):
        with pytest.raises(UsageError, match="this transcript has 4 orders"):
            orders.order(number)


def test_gated_entry_is_a_border() -> None:
    gated = (*RACE[:3], into(tells("y"), gate="g"), into(tells("z")))
    assert orders_of(transcript_of(*gated)).total == 2
    response = (*RACE[:2], into(answers(1), gate="g"), *RACE[3:])
    assert orders_of(transcript_of(*response)).total == 1


def test_huge_number_of_orders_is_counted_without_listing_them() -> None:
    lines: list[Line] = []
    for block in range(20):
        lines += [out(asks(block, "m")), *(into(tells("e")) for _ in range(9)), into(answers(block))]
    orders = orders_of(transcript_of(*lines), 200)
    assert orders.total == 10**20
    assert sorted(orders.order(10**20 - 1)) == list(range(len(lines)))


def test_wrong_pairs_are_named_with_their_file() -> None:
    with pytest.raises(FixtureError) as caught:
        orders_of(transcript_of(into(answers(1))))
    assert str(caught.value.where) == "s/p.transcript.ndjson:2 $.frame.id"
