"""The engine: what it emits and when, how live ids meet recorded ones, groups, gates and time."""

import pytest

from replay.errors import DivergenceError, FixtureError, UsageError
from replay.transport.engine import (
    AwaitClose,
    AwaitOpen,
    AwaitOutbound,
    Exit,
    Finished,
    Held,
    Wait,
)
from replay.transport.status import CONSUMED, UNCONSUMED
from tests.transport.engine_run import EVENT, Run, refused
from tests.transport.shapes import (
    ACP,
    CLAUDE,
    OPENCODE,
    Line,
    answers,
    asks,
    ends,
    into,
    out,
    tells,
)

# -- the order of one process -------------------------------------------------------------------------------------


def test_entries_are_played_in_order_to_the_end() -> None:
    run = Run(out(asks(1, "a")), into(answers(1)), into(EVENT), out(tells("b")), ends())
    assert isinstance(run.go(), AwaitOutbound)
    assert run.frames() == []
    assert run.send(asks(1, "a")) == AwaitOutbound(1, (4,), run.engine.step(0).entries)  # type: ignore[union-attr]
    assert run.frames() == [answers(1), EVENT]
    assert isinstance(run.send(tells("b")), AwaitClose)
    assert run.outcome() == UNCONSUMED
    run.engine.close(1)
    assert run.go() == Finished()
    status = run.engine.finish()
    assert (status.outcome, status.entries, status.played) == (CONSUMED, 5, 5)
    assert (status.outbound, status.inbound, status.processes) == (2, 2, 1)
    assert status.finding is None and status.order == 0


def test_nothing_is_emitted_before_the_process_is_started() -> None:
    run = Run(into(EVENT), is_open=False)
    assert run.go() == AwaitOpen("")
    run.engine.open(7)
    assert isinstance(run.go(), Finished)
    assert [emit.connection for emit in run.emitted] == [7]


def test_early_frame_counts_when_the_cursor_gets_there() -> None:
    run = Run(into(EVENT, gate="g"), out(tells("a")), out(tells("b")), into(EVENT))
    run.send(tells("a"))
    run.send(tells("b"))
    assert run.engine.take_matched() == (2, 3)
    assert run.engine.take_matched() == ()
    assert run.engine.finish().played == 0
    run.engine.release("g")
    assert run.go() == Finished()
    assert run.frames() == [EVENT, EVENT]


def test_early_frame_that_no_entry_could_take_is_refused_at_once() -> None:
    error = refused(Run(into(EVENT, gate="g"), out(tells("a"))), tells("b"))
    assert (error.where.line, error.where.path) == (3, "$.frame.method")


def test_outbound_frames_out_of_order_are_refused() -> None:
    error = refused(Run(out(tells("a")), out(tells("b"))), tells("b"))
    assert "entry 1 comes next, and entry 2 (s/p.transcript.ndjson:3), which it is, only later" in error.what


def test_frame_beyond_the_end_is_refused() -> None:
    run = Run(out(tells("a"), label="l"))
    run.send(tells("a"))
    error = refused(run, tells("a"))
    assert error.what == (
        'the orchestrator sent "a" as outbound frame 2, and every expected frame has come already; '
        'closest is entry 1 "l", which it equals'
    )


def test_frame_of_the_next_life_is_refused_in_this_one() -> None:
    error = refused(Run(into(EVENT, gate="g"), ends(), out(tells("a"))), tells("a"))
    assert "the process was to end first" in error.what


def test_divergence_is_raised_again_by_every_call() -> None:
    run = Run(out(tells("a")))
    error = refused(run, tells("b"))
    for call in (
        run.go,
        lambda: run.engine.open(2),
        lambda: run.engine.close(1),
        lambda: run.send(tells("a")),
    ):
        with pytest.raises(DivergenceError) as caught:
            call()
        assert caught.value is error


# -- ids ----------------------------------------------------------------------------------------------------------


def test_answer_goes_out_with_the_id_of_the_live_request() -> None:
    run = Run(out(asks(1, "a")), into(answers(1, x=1)))
    run.send(asks("live", "a"))
    assert run.frames() == [{"id": "live", "result": {"x": 1}}]


def test_any_number_of_requests_of_one_method_may_be_pending() -> None:
    requests = [out(asks(n, "turn", n=n)) for n in (1, 2, 3)]
    run = Run(*requests, *(into(answers(n, n=n)) for n in (3, 1, 2)))
    for number, live in ((1, 30), (2, 10), (3, 20)):
        run.send(asks(live, "turn", n=number))
    assert run.frames() == [answers(20, n=3), answers(30, n=1), answers(10, n=2)]


def test_ids_of_requests_that_look_alike_are_bound_in_the_order_they_came() -> None:
    run = Run(out(asks(1, "a")), out(asks(2, "a")), into(answers(2, n=2)), into(answers(1, n=1)))
    run.send(asks(7, "a"))
    run.send(asks(8, "a"))
    assert run.frames() == [answers(8, n=2), answers(7, n=1)]


def test_id_that_is_pending_may_not_be_given_again() -> None:
    run = Run(out(asks(1, "a")), out(asks(2, "b")), into(answers(1)), into(answers(2)), out(asks(3, "c")))
    run.send(asks(5, "a"))
    error = refused(run, asks(5, "b"))
    assert "gave entry 2 the id 5, which is that of entry 1, not answered yet" in error.what


def test_id_may_be_given_again_once_it_is_answered() -> None:
    run = Run(out(asks(1, "a")), into(answers(1)), out(asks(2, "b")), into(answers(2)))
    run.send(asks(5, "a"))
    assert run.send(asks(5, "b")) == Finished()


def test_ids_start_anew_with_each_life() -> None:
    life = (out(asks(1, "a")), out(asks(2, "b")), ends("error"))
    run = Run(*life, *life)
    run.send(asks(5, "a"))
    assert isinstance(run.send(asks(6, "b")), Exit)
    run.engine.open(2)
    run.send(asks(5, "a"), connection=2)
    assert isinstance(run.send(asks(6, "b"), connection=2), Exit)
    assert run.outcome() == CONSUMED


def test_answers_to_the_providers_requests_are_told_apart_by_id() -> None:
    lines = (into(asks(0, "ok?")), into(asks(1, "ok?")), out(answers(1, d=1)), out(answers(0, d=0)))
    run = Run(*lines)
    run.go()
    assert [emit.ref for emit in run.emitted] == [0, 1]
    run.send(answers(1, d=1))
    assert run.send(answers(0, d=0)) == Finished()
    other = Run(*lines)
    other.go()
    error = refused(other, answers(0, d=1))
    assert (error.where.line, error.where.path) == (4, "$.frame.id")
    assert "$.id: expected 1, actual 0" in error.what


def test_answer_cannot_come_before_its_request() -> None:
    run = Run(into(asks(0, "ok?"), gate="g"), out(answers(0)))
    error = refused(run, answers(0))
    assert 'expected "the handle of entry 1, which is not sent yet"' in error.what


@pytest.mark.parametrize(
    ("sent", "path"), [(tells("a"), "$.frame.id"), (asks(1, "a") | {"x": 1}, "$.frame.x")]
)
def test_request_without_id_and_further_key_are_differences(sent: Line, path: str) -> None:
    assert refused(Run(out({"id": 1, "method": "a", "params": {}})), sent).where.path == path


def test_notification_with_an_id_is_a_difference() -> None:
    assert refused(Run(out(tells("a"))), asks(1, "a")).where.path == "$.frame.id"


def test_cancel_names_the_live_id_of_what_it_cancels() -> None:
    def cancel(ref: int) -> Line:
        return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": ref}}

    def prompt(ref: int) -> Line:
        return {"jsonrpc": "2.0", "id": ref, "method": "session/prompt", "params": {}}

    lines = (out(prompt(1)), out(prompt(2)), out(cancel(2)))
    run = Run(*lines, protocol=ACP)
    run.send(prompt(41))
    run.send(prompt(42))
    assert run.send(cancel(42)) == Finished()
    other = Run(*lines, protocol=ACP)
    other.send(prompt(41))
    other.send(prompt(42))
    assert "$.params.requestId: expected 42, actual 2" in refused(other, cancel(2)).what


def test_handles_beside_the_frames_pair_answers_too() -> None:
    call, reply = {"type": "session.get", "input": {}}, {"type": "sdk.response", "operation": "session.get"}
    run = Run(out(call), out(call), into({**reply, "data": 1}), into({**reply, "data": 2}), protocol=OPENCODE)
    run.send(call, "first")
    run.send(call, "second")
    assert [(emit.ref, emit.frame["data"]) for emit in run.emitted] == [("first", 1), ("second", 2)]


def test_answer_without_ids_in_frames_brings_the_engines_handle() -> None:
    def request(use: str) -> Line:
        return {"type": "permission.request", "options": {"toolUseID": use}}

    def response(use: str) -> Line:
        return {"type": "permission.response", "result": {"toolUseID": use}}

    lines = (into(request("a")), into(request("b")), out(response("b")), out(response("a")))
    run = Run(*lines, protocol=CLAUDE)
    run.go()
    assert [emit.ref for emit in run.emitted] == [1, 2]
    run.send(response("b"), 2)
    assert run.send(response("a")) == Finished()
    other = Run(*lines, protocol=CLAUDE)
    other.go()
    assert "$.id: expected 2, actual 1" in refused(other, response("b"), 1).what


# -- groups -------------------------------------------------------------------------------------------------------

GROUP = (
    out(asks(1, "a"), group="g"),
    out(asks(2, "b"), group="g"),
    into(answers(1, n=1), group="g"),
    into(answers(2, n=2), group="g"),
    into(EVENT, group="g"),
    out(tells("after")),
)


def test_outbound_frames_of_a_group_may_come_in_any_order() -> None:
    run = Run(*GROUP)
    waiting = run.send(asks(9, "b"))
    assert isinstance(waiting, AwaitOutbound) and waiting.ordinals == (1,)
    assert run.frames() == [answers(9, n=2)], "a response waits for its request only"
    waiting = run.send(asks(8, "a"))
    assert run.frames() == [answers(8, n=1), EVENT]
    assert isinstance(waiting, AwaitOutbound) and waiting.ordinals == (6,)
    assert run.send(tells("after")) == Finished()


def test_whole_group_is_awaited_and_nothing_beyond_it() -> None:
    run = Run(*GROUP)
    waiting = run.go()
    assert isinstance(waiting, AwaitOutbound) and waiting.ordinals == (1, 2)
    error = refused(run, tells("after"))
    assert "2 entries of the group may come now" in error.what
    assert "entry 6 (s/p.transcript.ndjson:7), which it is, only later" in error.what


def test_gate_in_a_group_holds_its_entry_and_those_behind() -> None:
    run = Run(out(tells("a"), group="g"), into(tells("x"), group="g", gate="q"), into(EVENT, group="g"))
    step = run.send(tells("a"))
    assert isinstance(step, Held) and step.ordinal == 2
    run.engine.release("q")
    assert run.go() == Finished()
    assert run.frames() == [tells("x"), EVENT]


def test_event_of_a_group_waits_for_what_stands_before_it() -> None:
    run = Run(out(tells("a"), group="g"), into(EVENT, group="g"), out(tells("b"), group="g"))
    run.send(tells("b"))
    assert run.frames() == []
    assert run.engine.finish().played == 0
    assert run.send(tells("a")) == Finished()
    assert run.frames() == [EVENT]


def test_response_of_a_group_passes_an_event_that_is_held() -> None:
    run = Run(
        out(asks(1, "a"), group="g"),
        into(EVENT, group="g", gate="q"),
        into(answers(1), group="g"),
        into(EVENT),
    )
    assert isinstance(run.send(asks(5, "a")), Held)
    assert run.frames() == [answers(5)]
    assert run.engine.finish().played == 2
    run.engine.release("q")
    assert run.go() == Finished()


def test_time_after_a_group_counts_from_its_end() -> None:
    run = Run(out(tells("a"), group="g"), into(EVENT, group="g"), into(EVENT, afterMs=100))
    run.go()
    run.now_ms = 1000
    assert run.send(tells("a")) == Wait(1100)


def test_two_groups_that_follow_each_other_are_apart() -> None:
    run = Run(out(tells("a"), group="g"), out(tells("b"), group="h"))
    assert "entry 1 comes next" in refused(run, tells("b")).what


def test_group_that_comes_back_later_is_refused() -> None:
    with pytest.raises(FixtureError) as caught:
        Run(out(tells("a"), group="g"), out(tells("b")), out(tells("c"), group="g"))
    assert (caught.value.where.line, caught.value.where.path) == (4, "$.group")


# -- gates and time -----------------------------------------------------------------------------------------------


def test_gate_holds_until_it_is_released() -> None:
    run = Run(into(EVENT, gate="g", label="l"), into(tells("more")))
    held = run.go()
    assert isinstance(held, Held) and (held.ordinal, held.gate, held.entry.label) == (1, "g", "l")
    finding = run.engine.finish().finding
    assert finding is not None and 'stopped before entry 1 "l", an inbound frame held by "g"' in finding.what
    run.engine.release("g")
    assert run.go() == Finished()


def test_gate_may_be_released_before_it_is_reached() -> None:
    run = Run(out(tells("a")), into(EVENT, gate="g"))
    run.engine.release("g")
    assert run.send(tells("a")) == Finished()


@pytest.mark.parametrize(("label", "emitted"), [("l", 0), ("l#1", 0), ("l#2", 1), ("m", 2), ("end", 3)])
def test_test_holds_an_entry_by_its_label(label: str, emitted: int) -> None:
    run = Run(
        into(EVENT, label="l"), into(EVENT, label="l"), into(EVENT, label="m"), ends("error", label="end")
    )
    run.engine.hold(label)
    assert isinstance(run.go(), Held)
    assert len(run.emitted) == emitted
    run.engine.release(label)
    assert isinstance(run.go(), Exit)


def test_hold_after_a_release_holds_again() -> None:
    run = Run(into(EVENT, label="l"))
    run.engine.release("l")
    run.engine.hold("l")
    assert isinstance(run.go(), Held)


@pytest.mark.parametrize("label", ["nothing", "l#3", "l#0", "sent", "l#", "#1"])
def test_unknown_label_is_a_usage_error_that_lists_the_known(label: str) -> None:
    run = Run(into(EVENT, label="l"), into(EVENT, label="l"), out(tells("a"), label="sent"))
    for call in (run.engine.hold, run.engine.release):
        with pytest.raises(UsageError) as caught:
            call(label)
        assert "labels are: l;" in caught.value.fix


def test_after_ms_counts_from_when_the_cursor_gets_there() -> None:
    run = Run(out(tells("a")), into(EVENT, afterMs=100), into(EVENT, afterMs=50))
    run.go()
    run.now_ms = 1000
    assert run.send(tells("a")) == Wait(1100)
    run.now_ms = 1099
    assert run.go() == Wait(1100)
    run.now_ms = 1100
    assert run.go() == Wait(1150)
    assert len(run.emitted) == 1
    run.now_ms = 2000
    assert run.go() == Finished()


def test_gate_and_after_ms_hold_both() -> None:
    run = Run(into(EVENT, gate="g", afterMs=100))
    assert isinstance(run.go(), Held)
    run.now_ms = 60
    run.engine.release("g")
    assert run.go() == Wait(100)
    other = Run(into(EVENT, gate="g", afterMs=100))
    other.go()
    other.now_ms = 100
    assert isinstance(other.go(), Held)
