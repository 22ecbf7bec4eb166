"""From runs to a transcript: frames in one order, labels, ends, and what the orchestrator minted."""

import signal
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from replay.errors import AgentError, FixtureError, ReplayError, UsageError
from replay.transport.recorders.assemble import About, entries_of, exit_of, transcript_of
from replay.transport.recorders.minted import with_references
from replay.transport.recorders.passage import Passage, Run, Sign, encode_passage, read_run, start_of
from replay.transport.recorders.redaction import WORKSPACE, Known
from replay.transport.recorders.steady import is_same_course
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    RuntimeExit,
    Transcript,
    read_transcript,
    write_transcript,
)

CODEX = "codex.app-server"
ABOUT = About("codex", CODEX, "1.2.3", "simple", None, "gateway", "codex", "2026-01-02")
KNOWN = Known({WORKSPACE: ["/tmp/rec-4711/workspace"]})
ONE, TWO, THREE = (f"{number}b0d4a4e-93f5-4b64-9b2f-0d6a3c5f1e77" for number in (1, 2, 3))


def run(steps: Sequence[tuple[int, str, Any]], process: str = "", name: str = "a.run") -> Run:
    """A run of (time, sign, frame or number), begun a nanosecond before its first step."""
    passages = [Passage(steps[0][0] - 1, Sign.START, start_of(process, ["app-server"]))]
    for at, sign, data in steps:
        raw = (
            orjson.dumps(data) if isinstance(data, dict) else str(data).encode() if data is not None else b""
        )
        passages.append(Passage(at, Sign(sign), raw))
    return read_run(b"".join(map(encode_passage, passages)), name)


def labels(entries: Sequence[Entry]) -> list[str]:
    return [entry.label for entry in entries]


def test_ids_of_both_sides_are_told_apart() -> None:
    entries = list(
        entries_of(
            [
                run(
                    [
                        (1, ">", {"id": 0, "method": "turn/start"}),
                        (2, "<", {"id": 0, "method": "ask"}),
                        (3, ">", {"id": 0, "result": {}}),
                        (4, "<", {"id": 0, "result": {}}),
                        (5, "<", {"id": "0", "result": {}}),
                        (6, "x", 0),
                    ]
                )
            ],
            CODEX,
        )
    )
    assert labels(entries) == [
        "turn/start",
        "ask",
        "ask.response",
        "turn/start.response",
        "unasked.response",
        "",
    ]


def test_text_that_looks_like_a_placeholder_is_text_again() -> None:
    [entry, _] = entries_of(
        [run([(1, "<", {"method": "m", "params": {"text": "{{any}} {{workspace}}"}})])], CODEX
    )
    assert isinstance(entry, EmitInbound)
    assert entry.frame["params"]["text"] == "{{text:any}} {{text:workspace}}"


def test_processes_lie_in_one_order_of_time() -> None:
    first = run([(10, ">", {"method": "a"}), (40, "<", {"method": "d"}), (41, "x", 0)], "left")
    second = run([(20, ">", {"method": "b"}), (30, "<", {"method": "c"}), (50, "x", 0)], "right")
    entries = list(entries_of([second, first], CODEX))
    assert labels(entries) == ["a", "b", "c", "d", "", ""]
    assert [entry.process for entry in entries] == ["left", "right", "right", "left", "left", "right"]


def test_process_that_comes_after_another_of_its_name_goes_on() -> None:
    killed = run([(1, ">", {"method": "a"})], name="1.run")
    next_one = run([(9, ">", {"method": "b"}), (10, "e", None), (11, "c", None), (12, "x", 0)], name="2.run")
    entries = list(entries_of([killed, next_one], CODEX))
    assert labels(entries) == ["a", "", "b", ""]
    assert entries[1] == entries[3] == RuntimeExit("success")


def test_two_processes_of_one_name_at_once_are_refused() -> None:
    with pytest.raises(AgentError, match="two processes without a name ran at the same time"):
        list(entries_of([run([(1, ">", {}), (9, "x", 0)]), run([(5, ">", {}), (6, "x", 0)])], CODEX))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([(1, "e", None), (2, "c", None), (3, "x", 0)], RuntimeExit("success")),
        ([(1, "c", None), (2, "e", None), (3, "x", 0)], RuntimeExit("success", code=0)),
        ([(1, "c", None), (2, "x", 0)], RuntimeExit("success", code=0)),
        (
            [(1, "e", None), (2, "c", None), (3, "x", 4)],
            RuntimeExit("error", error="exited with status 4", code=4),
        ),
        ([(1, "k", 15), (2, "c", None), (3, "x", -15)], RuntimeExit("success")),
        ([(1, "k", 15), (2, "c", None), (3, "x", 143)], RuntimeExit("success")),
        (
            [(1, "k", 10), (2, "c", None), (3, "x", -9)],
            RuntimeExit("error", error="was ended by SIGKILL", signal="SIGKILL"),
        ),
        (
            [(1, "c", None), (2, "k", 15), (3, "x", 1)],
            RuntimeExit("error", error="exited with status 1", code=1),
        ),
        ([(1, "<", {})], RuntimeExit("success")),
    ],
)
def test_end_says_whose_wish_it_was(steps: list[tuple[int, str, Any]], told: RuntimeExit) -> None:
    assert exit_of(run(steps)) == told


def test_signal_numbers_of_this_file_are_the_system_s() -> None:
    assert (signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL) == (15, 10, 9)


def test_transcript_is_canonical_and_complete() -> None:
    recorded = transcript_of(
        [
            run(
                [
                    (1, ">", {"id": 1, "method": "a", "params": {"cwd": "/tmp/rec-4711/workspace"}}),
                    (2, "x", 0),
                ]
            )
        ],
        ABOUT,
        KNOWN,
    )
    data = write_transcript(recorded.transcript)
    assert write_transcript(read_transcript(data, "x")) == data
    assert recorded.replaced == {"workspace": 1}
    assert recorded.told("simple/codex") == "simple/codex: 1 frame out, 0 frames in; replaced: workspace 1"


def test_recording_of_nothing_is_refused() -> None:
    for runs in ([], [run([(1, "<", {"method": "hello"}), (2, "x", 0)])]):
        with pytest.raises(FixtureError, match="nothing passed"):
            transcript_of(runs, ABOUT, KNOWN)


def test_protocol_without_a_recorder_is_named() -> None:
    with pytest.raises(UsageError, match='no recorder knows the protocol "x"'):
        list(entries_of([run([(1, ">", {})])], "x"))


@pytest.mark.parametrize(
    "data", [b"", b"5 > {}\n", b"x s {}\n", b"5 q {}\n", b"5\n", b'5 s {"process":"","arguments":[]}']
)
def test_file_that_is_no_run_is_refused(data: bytes) -> None:
    with pytest.raises(ReplayError):
        read_run(data, "a.run")


# What the orchestrator minted.


def minted(*entries: Entry, protocol: str = CODEX) -> list[Any]:
    return [entry.frame for entry in with_references(entries, protocol) if not isinstance(entry, RuntimeExit)]


def test_id_that_the_provider_made_stays() -> None:
    entries: list[EmitInbound | ExpectOutbound] = [
        EmitInbound({"id": 1, "result": {"id": ONE}}),
        ExpectOutbound({"method": "m", "params": {"id": ONE}}),
    ]
    assert minted(*entries) == [entry.frame for entry in entries]


def test_id_that_comes_again_is_captured_and_referred_to() -> None:
    out = minted(
        ExpectOutbound({"type": "query.open", "options": {"sessionId": ONE, "fork": ONE}}),
        EmitInbound({"type": "system", "session_id": ONE, "note": f"in {ONE}"}),
        ExpectOutbound({"type": "x", "sessionId": TWO}),
        EmitInbound({"session_id": TWO}),
    )
    assert out == [
        {
            "type": "query.open",
            "options": {"sessionId": "{{capture:sessionId}}", "fork": "{{ref:sessionId}}"},
        },
        {"type": "system", "session_id": "{{ref:sessionId}}", "note": "in {{ref:sessionId}}"},
        {"type": "x", "sessionId": "{{capture:sessionId2}}"},
        {"session_id": "{{ref:sessionId2}}"},
    ]


def test_id_that_nobody_repeats_may_be_anything() -> None:
    assert minted(ExpectOutbound({"method": "m", "params": {"token": f"t-{THREE}"}})) == [
        {"method": "m", "params": {"token": "t-{{any}}"}}
    ]


def test_id_of_a_frame_itself_is_left_to_correlation() -> None:
    frames: list[EmitInbound | ExpectOutbound] = [
        ExpectOutbound({"id": ONE, "method": "m"}),
        EmitInbound({"id": ONE, "result": {}}),
    ]
    assert minted(*frames) == [entry.frame for entry in frames]
    out = minted(
        ExpectOutbound({"id": ONE, "params": {"token": ONE}}), EmitInbound({"id": ONE, "result": ONE})
    )
    assert [frame["id"] for frame in out] == [ONE, ONE]
    assert (out[0]["params"]["token"], out[1]["result"]) == ("{{capture:token}}", "{{ref:token}}")


def test_value_that_a_client_chooses_by_protocol_is_minted() -> None:
    out = minted(
        ExpectOutbound({"type": "session.promptAsync", "input": {"messageID": "msg_1", "text": "msg"}}),
        EmitInbound({"type": "sdk.event", "event": {"id": "msg_1"}}),
        protocol="opencode-sdk.sse",
    )
    assert out[0]["input"] == {"messageID": "{{capture:messageID}}", "text": "msg"}
    assert out[1]["event"] == {"id": "{{ref:messageID}}"}


# Two recordings of one thing.


def transcript(*entries: Entry) -> Transcript:
    return transcript_of([run([(1, ">", {"method": "x"})])], ABOUT, KNOWN).transcript._replace(
        entries=entries
    )


def started(identity: str, at: int, status: str = "busy", path: str = "2026-01-02T03-04-05") -> EmitInbound:
    return EmitInbound(
        {"id": identity, "startedAtMs": at, "status": status, "path": f"/x/{path}-{identity}.jsonl"}
    )


def test_recording_with_other_ids_and_times_tells_the_same() -> None:
    old = transcript(started(ONE, 5), started(TWO, 6), ExpectOutbound({"id": 1, "turnId": ONE}))
    new = transcript(
        started(THREE, 9),
        ExpectOutbound({"id": 1, "turnId": THREE}),
        started(TWO, 3, path="2026-12-31T23-59-59"),
    )
    new = new._replace(start=new.start._replace(metadata={**new.start.metadata, "capturedAt": "2027-01-01"}))
    assert is_same_course(old, new) and is_same_course(new, old)


@pytest.mark.parametrize(
    "new",
    [
        transcript(started(ONE, 5), started(TWO, 6, "idle"), ExpectOutbound({"id": 1, "turnId": ONE})),
        transcript(started(ONE, 5), started(TWO, 6), ExpectOutbound({"id": 1, "turnId": TWO})),
        transcript(started(ONE, 5), started(TWO, 6), ExpectOutbound({"id": 2, "turnId": ONE})),
        transcript(started(ONE, 5), ExpectOutbound({"id": 1, "turnId": ONE})),
        transcript(started(ONE, 5), started(ONE, 6), ExpectOutbound({"id": 1, "turnId": ONE})),
        transcript(started(ONE, 5), started(TWO, 6, path="3"), ExpectOutbound({"id": 1, "turnId": ONE})),
    ],
)
def test_recording_of_something_else_does_not(new: Transcript) -> None:
    old = transcript(started(ONE, 5), started(TWO, 6), ExpectOutbound({"id": 1, "turnId": ONE}))
    assert is_same_course(old, old)
    assert not is_same_course(old, new)


def test_recording_of_another_version_does_not() -> None:
    old = transcript(started(ONE, 5))
    assert not is_same_course(old, old._replace(start=old.start._replace(version="2")))
