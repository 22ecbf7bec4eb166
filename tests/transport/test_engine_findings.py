"""Placeholders in a run, transcripts that cannot be played, and the words for a run that left its recording."""

import pytest

from replay.errors import FixtureError, UsageError
from replay.transport.engine import (
    AwaitOutbound,
    Finished,
)
from tests.transport.engine_run import EVENT, Run, refused
from tests.transport.shapes import (
    OPENCODE,
    Line,
    answers,
    asks,
    ends,
    into,
    out,
    tells,
)

# -- placeholders -------------------------------------------------------------------------------------------------


def test_captured_value_is_filled_in_and_expected_later() -> None:
    lines = (
        out(tells("a", id="{{capture:id}}", at="{{workspace}}/x")),
        into(tells("b", id="{{ref:id}}", text="it is {{ref:id}} in {{workspace}}")),
        out(tells("c", id="{{ref:id}}")),
    )
    run = Run(*lines)
    run.send(tells("a", id=17, at="/w/x"))
    assert run.frames() == [tells("b", id=17, text="it is 17 in /w")]
    assert "$.params.id: expected 17, actual 18" in refused(run, tells("c", id=18)).what


def test_reference_in_another_process_waits_for_its_capture() -> None:
    run = Run(
        out(tells("a", id="{{capture:id}}"), process="one"),
        into(tells("b", id="{{ref:id}}"), process="two"),
        is_open=False,
    )
    run.engine.open(1, "two")
    waiting = run.go()
    assert isinstance(waiting, AwaitOutbound) and waiting.ordinals == (1,)
    run.engine.open(2, "one")
    assert run.send(tells("a", id="x"), connection=2) == Finished()
    assert run.frames() == [tells("b", id="x")]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ([into(tells("a", x="{{ref:x}}"))], 2, "refers to nothing"),
        ([out(tells("a", x="{{ref:x}}")), out(tells("b", x="{{capture:x}}"))], 2, "refers to nothing"),
        (
            [out(tells("a", x="{{capture:x}}"), group="g"), out(tells("b", x="{{ref:x}}"), group="g")],
            3,
            "in the group in which it is captured",
        ),
        ([into(tells("a", x="{{any}}"))], 2, "is sent as it stands"),
        ([out(asks(1, "a")), out(asks(1, "b"))], 3, "the id 1 is that of line 2"),
        ([into(answers(1))], 2, "answers 1, and no request"),
        ([out(answers(1))], 2, "answers 1, and no request"),
        ([out(asks(1, "a")), ends("error"), into(answers(1))], 4, "answers 1, and no request"),
        ([out(asks(1, "a"), process="p"), into(answers(1), process="q")], 3, "answers 1, and no request"),
    ],
)
def test_transcript_that_cannot_be_played_is_refused(lines: list[Line], line: int, words: str) -> None:
    with pytest.raises(FixtureError) as caught:
        Run(*lines)
    assert (caught.value.where.file, caught.value.where.line) == ("s/p.transcript.ndjson", line)
    assert words in caught.value.what


def test_answers_without_ids_need_a_request_too() -> None:
    with pytest.raises(FixtureError, match=r'answers "session\.get"'):
        Run(into({"type": "sdk.response", "operation": "session.get"}), protocol=OPENCODE)


def test_placeholder_that_takes_too_long_is_the_fixtures_fault() -> None:
    run = Run(out(tells("a", x="{{regex:a+a+b}}"), label="l"))
    with pytest.raises(FixtureError, match='a placeholder of entry 1 "l" could take more than'):
        run.send(tells("a", x="a" * 20_000))


def test_order_has_to_name_every_entry_once() -> None:
    with pytest.raises(UsageError, match="names each of the 2 entries once"):
        Run(into(EVENT), into(EVENT), order=[0, 0])


# -- what a mismatch says -----------------------------------------------------------------------------------------

MODELS = (
    out(asks(1, "initialize"), label="initialize"),
    into(answers(1)),
    out(asks(2, "turn/start", model="m-1", cwd="/a", text="one"), label="first"),
    into(answers(2)),
    out(asks(3, "turn/start", model="m-2", cwd="/a", text="two"), label="second"),
)


def test_mismatch_names_place_entry_path_and_values() -> None:
    run = Run(*MODELS)
    run.send(asks(1, "initialize"))
    error = refused(run, asks(2, "turn/start", model="m-1", cwd="/b", text="on"))
    assert str(error) == (
        's/p.transcript.ndjson:4 $.frame.params.cwd: the orchestrator sent "turn/start" as outbound frame 2; entry 3 '
        '"first" comes next: $.params.cwd: expected "/a", actual "/b" (and 1 difference more)'
    )
    assert '"match":"subset"' in error.fix


def test_mismatch_names_the_closest_entry_where_that_is_another() -> None:
    run = Run(*MODELS)
    run.send(asks(1, "initialize"))
    error = refused(run, asks(2, "turn/start", model="m-2", cwd="/a", text="twi"))
    assert error.where.line == 4
    assert error.what == (
        'the orchestrator sent "turn/start" as outbound frame 2; entry 3 "first" comes next; closest is entry 5 "second" '
        '(s/p.transcript.ndjson:6): $.params.text: expected "two", actual "twi"'
    )


def test_entry_of_the_same_kind_is_closer_than_one_of_another() -> None:
    run = Run(out(tells("x", a=0, b=0)), out(tells("turn", a=1, b=2), label="far"))
    assert 'closest is entry 2 "far"' in refused(run, tells("turn", a=0, b=0)).what


def test_long_values_are_shown_where_they_differ() -> None:
    text = "x" * 300
    what = refused(Run(out(tells("a", t=text + "left"))), tells("a", t=text + "right")).what
    assert "left" in what and "right" in what and len(what) < 500


def test_secret_is_not_shown() -> None:
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
    what = refused(Run(out(tells("a", key="none"))), tells("a", key=secret)).what
    assert secret[:20] not in what and "looks like a secret" in what


def test_subset_of_an_entry_forgives_further_keys() -> None:
    run = Run(out(tells("a", x={"y": 1}), match="subset"))
    assert run.send({**tells("a", x={"y": 1, "z": 2}), "more": 1}) == Finished()
    refused(Run(out(tells("a", x={"y": 1}), match="exact")), tells("a", x={"y": 1, "z": 2}))


def test_ignore_rules_of_the_profile_hold() -> None:
    run = Run(out(asks(1, "initialize", clientInfo={"name": "x", "version": "1"}, other=1)))
    assert (
        run.send({"jsonrpc": "2.0", **asks(1, "initialize", clientInfo={"name": "y"}, other=1)}) == Finished()
    )
    other = Run(out(asks(1, "turn/start", clientInfo={"name": "x"})))
    refused(other, asks(1, "turn/start", clientInfo={"name": "y"}))


def test_status_says_everything_as_json() -> None:
    run = Run(out(tells("a")), out(tells("b"), label="l"), number=4)
    run.send(tells("a"))
    assert run.engine.finish().to_json() == (
        b'{\n  "schema": 1,\n  "transcript": "s/p.transcript.ndjson",\n  "provider": "p",\n  "scenario": "s",\n'
        b'  "order": 4,\n  "outcome": "unconsumed",\n  "entries": 2,\n  "played": 1,\n  "frames": {\n'
        b'    "outbound": 1,\n    "inbound": 0\n  },\n  "processes": 1,\n  "finding": {\n'
        b'    "what": "the provider stopped before entry 2 \\"l\\", which the orchestrator sends",\n'
        b'    "where": "s/p.transcript.ndjson:3",\n'
        b'    "fix": "let the orchestrator go on to the end, or record what it does now"\n  }\n}\n'
    )
