"""Transcripts as other projects write them, of all five protocols: played to the end by a client that is not theirs."""

import pytest

from replay.errors import DivergenceError, FixtureError
from replay.transport.engine import AwaitOutbound, Emit, Engine
from replay.transport.interleave import Orders
from replay.transport.mechanical import MechanicalClient, play
from replay.transport.prepared import prepare
from replay.transport.profile import PROFILES, profile
from replay.transport.transcript import (
    EmitInbound,
    ExpectOutbound,
    RuntimeExit,
    Transcript,
    read_transcript,
    write_transcript,
)
from tests.transport.shapes import (
    ACP,
    CLAUDE,
    CODEX,
    CURSOR,
    OPENCODE,
    WILD,
    answers,
    asks,
    ends,
    into,
    logical,
    out,
    rules_of,
    tells,
    transcript_of,
)

REQUESTS_WITH_IDS = {ACP: 4, CODEX: 3, CLAUDE: 0, CURSOR: 0, OPENCODE: 0}


def test_every_protocol_has_a_shape_here() -> None:
    assert set(WILD) == set(PROFILES)


@pytest.mark.parametrize("protocol", WILD)
def test_wild_transcript_is_played_to_its_end_with_other_ids(protocol: str) -> None:
    transcript = transcript_of(*WILD[protocol], protocol=protocol, schema=0)
    played = play(transcript, rules_of(transcript))
    assert played.status.is_consumed, played.status.finding
    assert played.status.played == len(WILD[protocol])
    assert played.renumbered == REQUESTS_WITH_IDS[protocol]


@pytest.mark.parametrize("protocol", WILD)
def test_wild_transcript_is_played_in_every_order(protocol: str) -> None:
    transcript = transcript_of(*WILD[protocol], protocol=protocol, schema=0)
    orders = Orders(transcript, rules_of(transcript))
    assert orders.left_out == 0
    for number in range(orders.count):
        assert play(transcript, rules_of(transcript), order=orders.order(number)).status.is_consumed


def send_as_recorded(transcript: Transcript, changed: int = -1) -> None:
    """Sends every outbound frame as it stands, the one at `changed` with a key more. Raises what the engine says to it."""
    rules = rules_of(transcript)
    engine = Engine(transcript, rules, workspace="{{workspace}}")
    entries = prepare(transcript, rules, "{{workspace}}").entries
    connection = 1
    engine.open(connection)
    for at, entry in enumerate(entries):
        while isinstance(engine.step(10**6 * (at + 1)), Emit):
            pass
        if isinstance(entry, RuntimeExit):
            engine.close(connection)
            connection += 1
            if at + 1 < len(entries):
                engine.open(connection)
        elif isinstance(entry, ExpectOutbound):
            engine.receive(connection, {**entry.frame, "more": 1} if at == changed else entry.frame)
    assert engine.finish().is_consumed


@pytest.mark.parametrize("protocol", WILD)
def test_every_outbound_frame_of_a_wild_transcript_is_looked_at(protocol: str) -> None:
    transcript = transcript_of(*WILD[protocol], protocol=protocol, schema=0)
    send_as_recorded(transcript)
    outbound = [at for at, entry in enumerate(transcript.entries) if isinstance(entry, ExpectOutbound)]
    assert outbound
    for at in outbound:
        with pytest.raises(DivergenceError, match=r"\$\.more: expected absent, actual 1"):
            send_as_recorded(transcript, at)


@pytest.mark.parametrize("protocol", WILD)
def test_wild_transcript_survives_writing(protocol: str) -> None:
    transcript = transcript_of(*WILD[protocol], protocol=protocol, schema=0)
    assert read_transcript(write_transcript(transcript), transcript.place) == transcript


def test_logical_frames_of_acp_become_numbered_ones() -> None:
    entries = profile(ACP).prepare(transcript_of(*WILD[ACP], protocol=ACP, schema=0).entries, "t")
    frames = [entry.frame for entry in entries if not isinstance(entry, RuntimeExit)]
    assert [(frame.get("id"), frame.get("method", "")) for frame in frames] == [
        (1, "initialize"),
        (1, ""),
        (2, "session/new"),
        (2, ""),
        (3, "session/prompt"),
        (4, "session/prompt"),
        (1, "session/request_permission"),
        (None, "session/update"),
        (1, ""),
        (None, "session/cancel"),
        (3, ""),
        (4, ""),
    ]
    assert all(frame["jsonrpc"] == "2.0" and "kind" not in frame for frame in frames)
    assert frames[-2]["error"]["code"] == -32800 and frames[-1]["result"] == {"stopReason": "end_turn"}


def test_each_life_of_a_logical_process_is_numbered_anew() -> None:
    life = (out(logical("request", "initialize")), ends("error"))
    entries = profile(ACP).prepare(transcript_of(*life, *life, protocol=ACP, schema=0).entries, "t")
    assert [entry.frame["id"] for entry in entries if isinstance(entry, ExpectOutbound)] == [1, 1]


def test_what_a_life_left_unanswered_is_not_answered_in_the_next() -> None:
    lines = (
        into({"type": "permission.request", "options": {}}),
        ends("error"),
        out({"type": "permission.response", "result": {}}),
    )
    transcript = transcript_of(*lines, protocol=CLAUDE, schema=0)
    with pytest.raises(FixtureError, match=r'answers "permission\.request"'):
        play(transcript, rules_of(transcript))


def test_mechanical_client_notices_a_frame_that_is_not_the_recorded_one() -> None:
    transcript = transcript_of(into(tells("a", x=1)))
    prepared = prepare(transcript, rules_of(transcript), "/w")
    [entry] = transcript.entries
    assert isinstance(entry, EmitInbound)
    client = MechanicalClient(prepared)
    client.inbound(Emit(1, 1, entry, tells("a", x=1), None))
    with pytest.raises(DivergenceError, match=r"another \$\.params\.x than"):
        client.inbound(Emit(1, 1, entry, tells("a", x=2), None))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (into(logical("response", "session/new", result={})), 'answers "session/new"'),
        (out({"kind": "request", "method": 3}), "must be the name of a method"),
    ],
)
def test_logical_frame_that_makes_no_sense_is_named(line: dict[str, object], words: str) -> None:
    transcript = transcript_of(line, protocol=ACP, schema=0)
    with pytest.raises(FixtureError, match=words) as caught:
        play(transcript, rules_of(transcript))
    assert caught.value.where.line == 2


def test_wild_placeholders_are_text_in_format_1() -> None:
    transcript = transcript_of(out(tells("a", text="<any>")))
    engine = Engine(transcript, rules_of(transcript), workspace="/w")
    engine.open(1)
    with pytest.raises(DivergenceError):
        engine.receive(1, tells("a", text="other"))


def test_start_of_a_cursor_run_says_whose_it_is() -> None:
    entries = profile(CURSOR).prepare(transcript_of(*WILD[CURSOR], protocol=CURSOR, schema=0).entries, "t")
    assert isinstance(entries[2], ExpectOutbound) and entries[2].frame["agentId"] == "a"


def test_mechanical_client_fills_every_placeholder() -> None:
    transcript = transcript_of(
        out(asks(1, "a", x="{{any}}", y="{{regex:[0-9]{3}}}", z="{{capture:z}}", v="v{{capture:n:[a-c]+}}!")),
        into(answers(1, z="{{ref:z}}", n="{{ref:n}}")),
        out(tells("b", z="{{ref:z}}", at="{{workspace}}/{{ref:n}}"), group="g"),
        out(tells("c"), group="g"),
        into(asks(9, "ok?"), gate="held"),
        out(answers(9)),
    )
    played = play(transcript, rules_of(transcript))
    assert played.status.is_consumed, played.status.finding


def test_profiles_give_each_ignore_rule_a_name_and_a_reason() -> None:
    for protocol in PROFILES:
        rules = profile(protocol).ignored
        assert len({rule.name for rule in rules}) == len(rules)
        assert all(rule.name and len(rule.reason) > 20 for rule in rules)


def test_unknown_protocol_lists_the_known() -> None:
    with pytest.raises(FixtureError) as caught:
        profile("telepathy")
    assert all(name in caught.value.fix for name in PROFILES)


def test_transcript_is_played_by_its_own_profile_only() -> None:
    transcript = transcript_of(into(tells("a")))
    with pytest.raises(Exception, match=r"speaks codex\.app-server, not acp"):
        Engine(transcript, profile(ACP), workspace="/w")


def test_engine_waits_for_what_the_mechanical_client_would_send() -> None:
    transcript = transcript_of(*WILD[OPENCODE], protocol=OPENCODE, schema=0)
    engine = Engine(transcript, rules_of(transcript), workspace="/w")
    engine.open(1)
    step = engine.step(0)
    assert isinstance(step, AwaitOutbound) and step.entries[0].frame == {"type": "event.subscribe"}
