"""The host: clock, gates, several transcripts, who may connect, what bad bytes do, and what files it leaves."""

import asyncio
import contextlib
import json
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.errors import DivergenceError, FixtureError, UsageError
from replay.transport.host import Host, load
from replay.transport.journal import MAX_ROWS, Journal
from replay.transport.link import AsyncLink, Link
from replay.transport.message import Diverged, Exit, Inbound
from replay.transport.status import CONSUMED, DIVERGED, UNCONSUMED
from replay.transport.transcript import (
    EmitInbound,
    Entry,
    ExpectOutbound,
    RuntimeExit,
    Start,
    Transcript,
    write_transcript,
)
from tests.transport.wire_client import LinePeer, launcher

CODEX = "codex.app-server"
CLAUDE = "claude-agent-sdk.query"
_METADATA = {
    "model": None,
    "cwdPolicy": "workspace",
    "capturedAt": "2026-01-31",
    "provenance": {"kind": "authored", "reason": "a test of the host"},
}


def transcript(*entries: Entry, name: str = "codex", protocol: str = CODEX) -> Transcript:
    numbered = tuple(entry._replace(line=at) for at, entry in enumerate(entries, 2))
    return Transcript(f"{name}.transcript.ndjson", Start(name, protocol, "1", "host", _METADATA), numbered)


def ask(number: int) -> dict[str, Any]:
    return {"id": number, "method": "turn/start", "params": {"n": number}}


def answer(number: int) -> dict[str, Any]:
    return {"id": number, "result": {"n": number}}


def exchange(number: int, **fields: Any) -> tuple[Entry, Entry]:
    """A request and its answer; the fields are the answer's."""
    return ExpectOutbound(ask(number), f"ask {number}"), EmitInbound(
        answer(number), f"answer {number}", **fields
    )


def take(link: Link, *numbers: int) -> None:
    """Send requests and read their answers."""
    for number in numbers:
        link.send(ask(number))
        assert link.receive() == Inbound(answer(number), number, f"answer {number}")


def leave(link: Link) -> Exit | Diverged | None:
    """Close, and what the host had to say to that."""
    link.close()
    message = link.receive()
    assert not isinstance(message, Inbound)
    link.disconnect()
    return message


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Makes a running host whose statuses go to tmp_path/out; it is ended with the test."""
    hosts: list[Host] = []

    def make(*transcripts: Transcript, **options: Any) -> Host:
        made = Host(transcripts, workspace=tmp_path, status_directory=tmp_path / "out", **options)
        hosts.append(made)
        return made.__enter__()

    yield make
    for each in hosts:
        each.finish(0.0)


type Make = Callable[..., Host]


# -- playing ---------------------------------------------------------------------------------------------------


def test_link_is_told_its_number_and_workspace(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    link = Link.dial(running.path, CODEX)
    assert (link.connection, link.workspace, list(link.answered)) == (1, str(tmp_path), ["turn/start"])
    take(link, 1)
    assert leave(link) is None
    [status] = running.finish()
    assert (status.outcome, status.played, status.outbound, status.inbound) == (CONSUMED, 2, 1, 1)
    assert running.finish() == [status]


def test_virtual_clock_jumps_to_what_is_due(host: Make) -> None:
    hour = 3_600_000
    running = host(transcript(*exchange(1, after_ms=hour), *exchange(2, after_ms=2 * hour)))
    link = Link.dial(running.path, CODEX)
    assert running.now_ms() == 0
    take(link, 1)
    assert running.now_ms() == hour
    take(link, 2)
    assert running.now_ms() == 3 * hour


def test_virtual_clock_stands_still_while_bytes_are_pending(host: Make, tmp_path: Path) -> None:
    padding = "x" * (3 << 20)
    late = {"id": 2, "method": "turn/start", "params": {"padding": padding}}
    first, second = exchange(1, after_ms=1000)
    running = host(transcript(first, second, ExpectOutbound(late, "late")))
    link = Link.dial(running.path, CODEX)
    # More than the host reads at once, so what is left is pending when the first request makes time all that is missing.
    rows = [{"op": "outbound", "frame": frame} for frame in (ask(1), late)]
    link._socket.sendall(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    assert link.receive() == Inbound(answer(1), 1, "answer 1")
    leave(link)
    running.finish()
    journal = [
        orjson.loads(line) for line in (tmp_path / "out/codex.frames.ndjson").read_bytes().splitlines()
    ]
    assert [(row["what"], row["atMs"]) for row in journal if "label" in row] == [
        ("outbound", 0),
        ("outbound", 0),
        ("inbound", 1000),
    ]


def test_virtual_clock_stands_still_while_somebody_is_about_to_speak(host: Make) -> None:
    running = host(transcript(*exchange(1, after_ms=1000)))
    link = Link.dial(running.path, CODEX)
    is_sent = threading.Event()

    def block() -> None:
        is_sent.wait(10)

    running._running().call(block)
    # Both arrive before the loop looks: it accepts the controller and, with the request, comes to want a later time.
    with socket.socket(socket.AF_UNIX) as controller:
        controller.connect(running.path)
        controller.sendall(b'{"op":"hold","label":"answer 1"}\n')
        link.send(ask(1))
        is_sent.set()
        assert controller.recv(100) == b'{"ok":true}\n'
    assert "held" in running.waits_for()["codex"]
    assert running.now_ms() == 0


def test_real_clock_waits_as_long_as_recorded(host: Make) -> None:
    running = host(transcript(*exchange(1, after_ms=400)), clock="real")
    busy = time.process_time()
    take(Link.dial(running.path, CODEX), 1)
    assert 400 <= running.now_ms() < 20_000
    # By sleeping in the selector, not by asking again and again.
    assert time.process_time() - busy < 0.08


def test_gate_of_the_transcript_holds_until_released(host: Make) -> None:
    running = host(transcript(*exchange(1, gate="go")))
    link = Link.dial(running.path, CODEX)
    link.send(ask(1))
    running.wait_for("ask 1")
    assert running.waits_for() == {"codex": 'entry 2 is held by the gate "go"'}
    running.release("go")
    assert link.receive() == Inbound(answer(1), 1, "answer 1")


def test_second_entry_of_a_label_is_held_by_its_number(host: Make) -> None:
    notes = [EmitInbound({"method": "note", "params": {"n": n}}, "note") for n in (1, 2, 3)]
    running = host(transcript(*exchange(1), *notes))
    running.hold("note#2")
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    running.wait_for("note")
    assert "held" in running.waits_for()["codex"]
    with pytest.raises(DivergenceError, match=r'"note" was not played within 0\.01 s .* is held by the gate'):
        running.wait_for("note", 2, timeout_s=0.01)
    running.release("note#2")
    running.wait_for("note#3")
    running.wait_for("note", 3)


def test_wait_for_what_cannot_come_says_so_at_once(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    with pytest.raises(UsageError, match='no transcript has the label "answr 1"; there are "answer 1"'):
        running.wait_for("answr 1", timeout_s=60)
    with pytest.raises(DivergenceError, match='"answer 1" stands 1 times'):
        running.wait_for("answer 1", 2, timeout_s=60)
    with pytest.raises(UsageError, match="gate or label"):
        running.release("nothing")


def test_exit_reaches_the_peer_and_a_new_connection_goes_on(host: Make) -> None:
    end = RuntimeExit("error", "crash", error="out of memory", code=9)
    running = host(transcript(*exchange(1), end, *exchange(2)))
    first = Link.dial(running.path, CODEX)
    take(first, 1)
    assert first.receive() == Exit("error", "out of memory", 9)
    assert first.receive() is None
    second = Link.dial(running.path, CODEX)
    take(second, 2)
    leave(second)
    [status] = running.finish()
    assert (status.outcome, status.processes) == (CONSUMED, 2)


def test_close_plays_an_exit_that_was_to_come(host: Make) -> None:
    running = host(transcript(*exchange(1), RuntimeExit("success")))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    assert running.waits_for() == {"codex": "the orchestrator has to close the provider"}
    leave(link)
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_order_of_a_race_is_played_by_its_number(host: Make) -> None:
    note = EmitInbound({"method": "note", "params": {}}, "note")
    asked, answered = exchange(1)
    for number, labels in ((0, ["note", "answer 1"]), (1, ["answer 1", "note"])):
        running = host(transcript(asked, note, answered), orders={"codex": number})
        link = Link.dial(running.path, CODEX)
        link.send(ask(1))
        messages = [link.receive() for _ in labels]
        assert [message.label for message in messages if isinstance(message, Inbound)] == labels
        leave(link)
        [status] = running.finish()
        assert (status.outcome, status.order) == (CONSUMED, number)
    with pytest.raises(
        UsageError, match=r"^codex\.transcript\.ndjson: there is no order 2: this transcript has 2 orders"
    ):
        host(transcript(asked, note, answered), orders={"codex": 2})


def test_end_of_input_lets_inbound_frames_come(host: Make) -> None:
    notes = [EmitInbound({"method": "note", "params": {"n": n}}, "note", gate="go") for n in (1, 2)]
    running = host(transcript(ExpectOutbound(ask(1), "ask 1"), *notes))
    link = Link.dial(running.path, CODEX)
    link.send(ask(1))
    link.end()
    running.wait_for("ask 1")
    running.release("go")
    assert [type(link.receive()) for _ in range(3)] == [Inbound, Inbound, Exit]
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_end_of_input_before_a_frame_that_is_needed_is_a_divergence(host: Make) -> None:
    running = host(transcript(*exchange(1), *exchange(2)))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    link.end()
    assert isinstance(link.receive(), Diverged)
    [status] = running.finish()
    assert status.outcome == DIVERGED


def test_lost_connection_is_noticed(host: Make) -> None:
    running = host(transcript(*exchange(1), *exchange(2)))
    link = Link.dial(running.path, CODEX)
    take(link, 1)
    link.disconnect()
    [status] = running.finish()
    assert status.outcome == DIVERGED and status.finding is not None
    assert "closed" in status.finding.what and status.finding.where.startswith("codex.transcript.ndjson:4")


# -- several ---------------------------------------------------------------------------------------------------


def test_two_transcripts_of_one_protocol_are_told_apart_by_name(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    right, left = Link.dial(running.path, CODEX, "right"), Link.dial(running.path, CODEX, "left")
    take(right, 2)
    take(left, 1)
    running.wait_for("answer 2")
    assert [leave(link) for link in (left, right)] == [None, None]
    assert [status.outcome for status in running.finish()] == [CONSUMED, CONSUMED]


def test_label_of_both_transcripts_needs_the_transcripts_name(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(1), name="right"))
    with pytest.raises(UsageError, match='stands in several transcripts: "left", "right"'):
        running.hold("answer 1")
    running.hold("answer 1", "right")
    take(Link.dial(running.path, CODEX, "left"), 1)
    with pytest.raises(UsageError, match='no transcript is called "middle"; there are "left", "right"'):
        running.release("answer 1", "middle")


def test_one_transcript_that_diverges_leaves_the_other_alone(host: Make) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    left, right = Link.dial(running.path, CODEX, "left"), Link.dial(running.path, CODEX, "right")
    left.send(ask(3))
    assert isinstance(left.receive(), Diverged) and left.receive() is None
    take(right, 2)
    leave(right)
    assert [status.outcome for status in running.finish()] == [DIVERGED, CONSUMED]


@pytest.mark.parametrize(
    ("protocol", "name", "sentence"),
    [
        (CODEX, "", "several transcripts are that"),
        (CODEX, "middle", 'no transcript is that: "left"'),
        (CLAUDE, "", "no transcript is that"),
    ],
)
def test_peer_without_a_transcript_is_refused_and_found(
    protocol: str, name: str, sentence: str, host: Make
) -> None:
    running = host(transcript(*exchange(1), name="left"), transcript(*exchange(2), name="right"))
    with pytest.raises(DivergenceError, match=sentence):
        Link.dial(running.path, protocol, name)
    statuses = running.finish()
    assert statuses[0].outcome == DIVERGED and sentence in str(statuses[0].finding)


def test_one_connection_more_than_recorded_is_refused(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    take(Link.dial(running.path, CODEX), 1)
    with pytest.raises(DivergenceError, match="once more"):
        Link.dial(running.path, CODEX)
    with pytest.raises(DivergenceError, match="once more"):
        Link.dial(running.path, CODEX)


def test_hosts_of_one_process_do_not_meet(host: Make) -> None:
    one, two = host(transcript(*exchange(1))), host(transcript(*exchange(2)))
    assert one.path != two.path
    take(Link.dial(two.path, CODEX), 2)
    take(Link.dial(one.path, CODEX), 1)


def test_asyncio_link_is_the_same(host: Make) -> None:
    running = host(transcript(*exchange(1), RuntimeExit("error", code=4)))

    async def talk() -> list[object]:
        with pytest.raises(DivergenceError, match="no transcript is that"):
            await AsyncLink.dial(running.path, CODEX, "other")
        return []

    async def play() -> list[object]:
        link = await AsyncLink.dial(running.path, CODEX)
        await link.send(ask(1))
        messages: list[object] = [await link.receive() for _ in range(3)]
        await link.disconnect()
        return [link.connection, *messages]

    assert asyncio.run(play()) == [1, Inbound(answer(1), 1, "answer 1"), Exit("error", "", 4), None]
    assert running.statuses()[0].outcome == CONSUMED
    asyncio.run(talk())


# -- bad bytes -------------------------------------------------------------------------------------------------

_OPEN = b'{"op":"open","protocol":"codex.app-server"}\n'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"garbage\n", "no JSON"),
        (b"[]\n", "no JSON object"),
        (b'{"op":"dance"}\n', 'the op "dance"'),
        (b'{"op":["open"]}\n', "the op list"),
        (b'{"op":"outbound"}\n', 'an object "frame"'),
        (b'{"op":"outbound","frame":[1]}\n', 'an object "frame"'),
        (b'{"op":"outbound","frame":{},"ref":[1]}\n', 'a string or a whole number "ref"'),
        (b'{"op":"open","protocol":7}\n', 'a string "protocol"'),
        (b'{"op":"now"}\n', "a controller's"),
        (_OPEN, "the op open twice"),
        (b'{"op":"outbound","frame":' + b'{"a":' * 400 + b"1" + b"}" * 401 + b"\n", "nested more than"),
        (b'{"op":"outbound","frame":"' + b"x" * (17 << 20), "a line of more than"),
    ],
    ids=[
        "garbage",
        "array",
        "op",
        "type",
        "frame",
        "list",
        "ref",
        "protocol",
        "control",
        "twice",
        "depth",
        "length",
    ],
)
def test_message_that_is_none_ends_the_connection_with_one_sentence(
    data: bytes, sentence: str, host: Make
) -> None:
    running = host(transcript(*exchange(1)))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(running.path)
        peer.sendall(_OPEN)
        with peer.makefile("rb") as read:
            assert orjson.loads(read.readline())["op"] == "opened"
            with contextlib.suppress(BrokenPipeError):
                peer.sendall(data)
            [line] = read.read().splitlines()
        message = orjson.loads(line)
        assert message["op"] == "diverged" and sentence in message["message"]
        assert "\n" not in message["message"]
    [status] = running.finish()
    assert status.finding is not None and sentence in status.finding.what
    # The place is the transcript, never the bytes.
    assert status.finding.where == "codex.transcript.ndjson"


def test_stranger_who_says_nothing_sensible_harms_nobody(host: Make) -> None:
    running = host(transcript(*exchange(1)))
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(running.path)
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert b"no JSON" in stranger.makefile("rb").read()
    take(link := Link.dial(running.path, CODEX), 1)
    leave(link)
    [status] = running.finish()
    assert status.outcome == CONSUMED


def test_peer_that_does_not_read_holds_nobody_up(host: Make) -> None:
    big = {"method": "note", "params": {"text": "y" * (4 << 20)}}
    running = host(
        transcript(ExpectOutbound(ask(1), "ask 1"), EmitInbound(big, "big"), name="slow"),
        transcript(*exchange(2), name="quick"),
    )
    slow = Link.dial(running.path, CODEX, "slow")
    slow.send(ask(1))
    running.wait_for("big")
    take(Link.dial(running.path, CODEX, "quick"), 2)
    assert slow.receive() == Inbound(big, None, "big")


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)
_FRAMES = st.fixed_dictionaries(
    {},
    optional={
        "id": _VALUES,
        "method": st.sampled_from(["turn/start", "x"]) | _VALUES,
        "params": _VALUES,
        "result": _VALUES,
    },
)
_ROWS = st.fixed_dictionaries(
    {"op": st.sampled_from(["open", "outbound", "end", "close", "release", "hold", "wait", "now", "status"])},
    optional={
        "protocol": st.just(CODEX) | _VALUES,
        "frame": _FRAMES | _VALUES,
        "ref": _VALUES,
        "label": st.sampled_from(["answer 1", "answer 1#1", "#", "answer 1#0"]) | _VALUES,
        "gate": _VALUES,
        "n": _VALUES,
        "process": _VALUES,
        "transcript": _VALUES,
        "pid": _VALUES,
        "error": _VALUES,
    },
)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(_ROWS, max_size=6), cut=st.integers(1, 200))
def test_no_message_breaks_the_host(rows: list[dict[str, Any]], cut: int) -> None:
    data = _OPEN + b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    with Host([transcript(*exchange(1), RuntimeExit("success"))], workspace="/w") as running:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(running.path)
            with contextlib.suppress(BrokenPipeError):
                for start in range(0, len(data), cut):
                    peer.sendall(data[start : start + cut])
        # Raises what the loop died of, if it did.
        [status] = running.finish()
    assert status.outcome in (CONSUMED, UNCONSUMED, DIVERGED)


# -- files and arguments ---------------------------------------------------------------------------------------


def test_status_is_there_from_the_start_and_whole_at_the_end(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    file = tmp_path / "out/codex.status.json"
    assert orjson.loads(file.read_bytes())["outcome"] == UNCONSUMED
    take(link := Link.dial(running.path, CODEX), 1)
    leave(link)
    running.finish()
    status = orjson.loads(file.read_bytes())
    assert (status["outcome"], status["played"]) == (CONSUMED, 2)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "codex.frames.ndjson",
        "codex.status.json",
    ]


def test_status_is_written_when_the_test_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        Host([transcript(*exchange(1))], workspace=tmp_path, status_directory=tmp_path),
    ):
        raise ZeroDivisionError
    assert orjson.loads((tmp_path / "codex.status.json").read_bytes())["outcome"] == UNCONSUMED
    assert (tmp_path / "codex.frames.ndjson").exists()


def test_divergence_is_in_the_status_file_at_once(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    link = Link.dial(running.path, CODEX)
    link.send(ask(2))
    message = link.receive()
    assert isinstance(message, Diverged)
    status = orjson.loads((tmp_path / "out/codex.status.json").read_bytes())
    assert status["outcome"] == DIVERGED
    assert message.message.startswith(f"{status['finding']['where']}: {status['finding']['what']}")


def test_journal_withholds_a_frame_with_a_secret(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    key = "sk-ant-" + "api03-" + "Zk3vQ8mT1xWc7RbN5pLd9HsJ2gFy6KaE" * 2
    link = Link.dial(running.path, CODEX)
    link.send({"id": 5, "method": "login", "params": {"key": key}})
    assert isinstance(link.receive(), Diverged)
    running.finish()
    journal = (tmp_path / "out/codex.frames.ndjson").read_bytes()
    assert b"withheld" in journal and key.encode() not in journal


def test_journal_of_a_long_run_keeps_its_end() -> None:
    journal = Journal()
    for at_ms in range(MAX_ROWS + 5):
        journal.add(at_ms, 1, "inbound", (at_ms,), "note")
    first, second, *_ = journal.to_ndjson().splitlines()
    assert orjson.loads(first) == {"dropped": 5}
    assert orjson.loads(second)["atMs"] == 5


def test_finish_hears_what_was_sent_before_it(host: Make, tmp_path: Path) -> None:
    running = host(transcript(*exchange(1)))
    with LinePeer([launcher(tmp_path / "bin", "codex")], running.environment()) as peer:
        peer.send(ask(1))
        assert peer.receive() == answer(1)
        # Still on its way through the peer when the test ends.
        peer.send(ask(2))
        peer.close_input()
        [status] = running.finish()
        assert peer.wait() == 1
    assert status.outcome == DIVERGED


def test_socket_is_of_its_owner_and_goes_with_the_host(tmp_path: Path) -> None:
    with Host([transcript(*exchange(1))], workspace=tmp_path) as running:
        directory = Path(running.path).parent
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert running.environment() == {"AGENT_REPLAY_TRANSPORT": running.path}
    assert not directory.exists()
    with pytest.raises(UsageError, match="no host listens"):
        Link.dial(running.path, CODEX)


def test_socket_path_that_no_system_takes_is_explained(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    with (
        pytest.raises(UsageError, match=r"the socket's path has \d+ bytes"),
        Host([transcript(*exchange(1))], workspace=tmp_path, directory=deep),
    ):
        pass
    assert list(deep.iterdir()) == []


def test_transcripts_come_from_files_too(tmp_path: Path) -> None:
    file = tmp_path / "codex.transcript.ndjson"
    file.write_bytes(write_transcript(transcript(*exchange(1))))
    with Host([file], workspace=tmp_path) as running:
        take(link := Link.dial(running.path, CODEX, "codex"), 1)
        leave(link)
        [status] = running.finish()
    assert status.outcome == CONSUMED and status.transcript == str(file)
    with pytest.raises(FixtureError, match="cannot be read"):
        load(tmp_path / "absent.ndjson")


@pytest.mark.parametrize(
    ("transcripts", "options", "sentence"),
    [
        ([], {}, "a host needs a transcript"),
        (["codex"], {"clock": "fast"}, '"virtual" or "real", not "fast"'),
        (["codex", "codex"], {}, 'two transcripts are called "codex"'),
        (["codex"], {"orders": {"claude": 1}}, 'an order is given for "claude"'),
        (["codex", "other"], {"status_file": "x"}, "a status file is for one transcript"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused(
    transcripts: Sequence[str], options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        Host([transcript(*exchange(1), name=name) for name in transcripts], workspace=tmp_path, **options)


def test_host_that_does_not_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use it as a context manager"):
        Host([transcript(*exchange(1))], workspace=tmp_path).hold("answer 1")
