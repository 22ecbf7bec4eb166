"""The engine over several lives and several processes of a provider."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import DivergenceError
from replay.transport.engine import (
    AwaitClose,
    AwaitOpen,
    Exit,
    Finished,
)
from replay.transport.status import CONSUMED
from tests.transport.engine_run import EVENT, Run, refused
from tests.transport.shapes import (
    CURSOR,
    Line,
    ends,
    into,
    out,
    tells,
)

# -- the end of a process, and the next one -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending", [ends("error"), ends("cancelled"), ends(code=0), ends("error", signal="SIGKILL")]
)
def test_provider_that_ends_of_its_own_accord_does_so_at_once(ending: Line) -> None:
    run = Run(into(EVENT), ending)
    step = run.go()
    assert isinstance(step, Exit) and (step.connection, step.ordinal) == (1, 2)
    assert run.go() == Finished()
    run.engine.receive(1, tells("into the void"))
    assert run.engine.close(1) is None
    assert run.outcome() == CONSUMED


@pytest.mark.parametrize("ending", [ends(), ends("error", code=3)])
def test_close_plays_the_exit_that_comes_next(ending: Line) -> None:
    run = Run(out(tells("a")), ending)
    run.engine.receive(1, tells("a"))
    played = run.engine.close(1)
    assert played is not None and played.status == ending["status"]
    assert run.outcome() == CONSUMED


def test_next_life_goes_on_from_the_same_cursor() -> None:
    run = Run(out(tells("a")), ends(), out(tells("b")), into(EVENT), ends())
    run.send(tells("a"))
    run.engine.close(1)
    assert run.go() == AwaitOpen("")
    run.engine.open(2)
    run.send(tells("b"), connection=2)
    assert [emit.connection for emit in run.emitted] == [2]
    run.engine.close(2)
    status = run.engine.finish()
    assert (status.outcome, status.processes) == (CONSUMED, 2)


def test_next_connection_may_come_before_the_last_one_is_gone() -> None:
    run = Run(out(tells("a")), ends(), out(tells("b")), ends())
    run.send(tells("a"))
    run.engine.open(2)
    assert isinstance(run.send(tells("b"), connection=2), AwaitClose)
    assert run.engine.take_matched() == (1,)
    run.engine.close(1)
    assert run.engine.take_matched() == (3,)
    run.engine.close(2)
    assert run.outcome() == CONSUMED


def test_what_a_waiting_connection_sent_is_judged_when_its_turn_comes() -> None:
    run = Run(out(tells("a")), ends(), out(tells("b")), ends())
    run.send(tells("a"))
    run.engine.open(2)
    run.engine.receive(2, tells("wrong"))
    with pytest.raises(DivergenceError, match='sent "wrong"'):
        run.engine.close(1)


def test_close_before_the_end_is_refused() -> None:
    run = Run(out(tells("a")), into(EVENT, gate="g", label="l"), ends())
    run.send(tells("a"))
    with pytest.raises(DivergenceError) as caught:
        run.engine.close(1)
    assert caught.value.where.line == 3
    assert run.engine.finish().closed_early
    assert 'closed the provider before entry 2 "l", an inbound frame held by "g"' in caught.value.what


def test_close_after_the_last_entry_is_no_divergence() -> None:
    run = Run(out(tells("a")))
    run.send(tells("a"))
    assert run.engine.close(1) is None
    assert run.outcome() == CONSUMED
    assert not run.engine.finish().closed_early


def test_farewell_of_a_protocol_lets_the_connection_go() -> None:
    opens, closing = {"type": "agent.open", "options": {}}, {"type": "agent.close", "agentId": "a"}
    lines = (out(opens), into({"type": "agent.opened", "agentId": "a"}), out(closing), out(opens))
    run = Run(*lines, protocol=CURSOR)
    run.send(opens)
    run.send(closing)
    run.engine.close(1)
    run.engine.open(2)
    assert run.send(opens, connection=2) == Finished()
    other = Run(*lines, protocol=CURSOR)
    other.send(opens)
    with pytest.raises(DivergenceError, match="closed the provider before entry 3"):
        other.engine.close(1)


def test_process_that_is_started_too_often_is_refused() -> None:
    run = Run(out(tells("a")), ends())
    with pytest.raises(DivergenceError, match="once more than the transcript has it"):
        run.engine.open(2)


def test_process_that_is_started_after_the_end_is_refused() -> None:
    run = Run(ends("error"))
    run.go()
    with pytest.raises(DivergenceError, match="once more"):
        run.engine.open(2)


# -- several processes --------------------------------------------------------------------------------------------

TWO = (
    out(tells("a"), process="one"),
    out(tells("b"), process="two"),
    into(tells("from two"), process="two"),
    into(tells("from one"), process="one"),
)


def test_each_process_has_its_own_cursor() -> None:
    run = Run(*TWO, is_open=False)
    run.engine.open(1, "two")
    run.send(tells("b"))
    assert run.frames() == [tells("from two")]
    run.engine.open(2, "one")
    assert run.send(tells("a"), connection=2) == Finished()
    assert run.outcome() == CONSUMED


def test_what_several_processes_may_send_goes_in_the_order_of_the_file() -> None:
    run = Run(*TWO, is_open=False)
    run.engine.open(1, "one")
    run.engine.open(2, "two")
    run.engine.receive(1, tells("a"))
    run.send(tells("b"), connection=2)
    assert [(emit.connection, emit.frame["method"]) for emit in run.emitted] == [
        (2, "from two"),
        (1, "from one"),
    ]


def test_process_without_a_name_is_known_by_its_first_frame() -> None:
    run = Run(*TWO, is_open=False)
    run.engine.open(1)
    run.engine.open(2)
    run.send(tells("b"))
    run.send(tells("a"), connection=2)
    assert [(emit.connection, emit.frame["method"]) for emit in run.emitted] == [
        (1, "from two"),
        (2, "from one"),
    ]


def test_frame_that_no_process_begins_with_is_refused() -> None:
    run = Run(*TWO, is_open=False)
    run.engine.open(1)
    assert 'sent "c" to one' in refused(run, tells("c")).what


def test_last_process_without_a_name_is_the_one_that_is_left() -> None:
    run = Run(*TWO[1:], is_open=False)
    run.engine.open(1, "one")
    run.engine.open(2)
    run.go()
    assert [emit.connection for emit in run.emitted] == [1]
    run.send(tells("b"), connection=2)
    with pytest.raises(DivergenceError, match="started the provider once more"):
        run.engine.open(3)


def test_unknown_process_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DivergenceError, match='"three"; the transcript has: one, two'):
        Run(*TWO, is_open=False).engine.open(1, "three")


def test_transcript_of_one_process_takes_any_name() -> None:
    run = Run(into(EVENT), is_open=False)
    run.engine.open(1, "whatever")
    assert run.go() == Finished()


NAMES = ("one", "two", "three")


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), min_size=1, max_size=14),
    st.randoms(use_true_random=False),
)
def test_any_interleaving_of_processes_keeps_the_order_of_each(
    entries: list[tuple[str, bool]], chance: Any
) -> None:
    lines = [
        (out if is_outbound else into)(tells(f"{name}-{at}"), process=name)
        for at, (name, is_outbound) in enumerate(entries)
    ]
    run = Run(*lines, is_open=False)
    names = sorted({name for name, _ in entries})
    number = {name: at for at, name in enumerate(names, 1)}
    to_send = {
        name: [
            line["frame"] for line in lines if line["process"] == name and line["type"] == "expect_outbound"
        ]
        for name in names
    }
    todo = [name for name in names for _ in range(len(to_send[name]) + 1)]
    chance.shuffle(todo)
    opened: set[str] = set()
    for name in todo:
        if name not in opened:
            opened.add(name)
            run.engine.open(number[name], name)
        else:
            run.engine.receive(number[name], to_send[name].pop(0))
        if chance.random() < 0.5:
            run.go()
    assert run.go() == Finished()
    for name in names:
        recorded = [
            line["frame"] for line in lines if line["process"] == name and line["type"] == "emit_inbound"
        ]
        assert [emit.frame for emit in run.emitted if emit.connection == number[name]] == recorded
